"""The process of a first call: prints the seconds from asking for a work to its result.

Inputs and weights are there already. Prints null where a peer does not offer the work.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from time import perf_counter


def main(name: str, work_name: str, *flags: str) -> None:
    """Measure one call."""
    from peers import peer_named
    from works import work_named

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    work = work_named(work_name, "--quick" in flags)
    call = peer_named(name).prepare(work, work.inputs())
    seconds = None
    if call is not None:
        start = perf_counter()
        call()
        seconds = perf_counter() - start
    answers.write(json.dumps(seconds) + "\n")
    answers.flush()


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    main(*sys.argv[1:])
