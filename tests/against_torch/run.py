"""Run the comparisons with torch in the environment that has it; `hatch run test` calls this.

Arguments are those of a narrowed `hatch run test`: then torch is left out, and this says so.
"""

from __future__ import annotations

import subprocess
import sys

TORCH_PYTHON = (3, 11)  # the Python that the pinned torch wheel in hatch.toml is built for


def reason_to_skip(arguments: list[str]) -> str | None:
    """Return why the torch tests do not run now, or None when they do."""
    if arguments:
        return "this is a narrowed run; `hatch run torch:test` runs them alone"
    if sys.version_info[:2] != TORCH_PYTHON:
        return "they need Python {}.{}, this is {}.{}".format(*TORCH_PYTHON, *sys.version_info)
    return None


def main(arguments: list[str]) -> int:
    """Return the exit status of the torch tests, or 0 with a printed reason."""
    reason = reason_to_skip(arguments)
    if reason is not None:
        print(f"tests/against_torch: skipped: {reason}", flush=True)
        return 0
    return subprocess.run(
        [sys.executable, "-m", "hatch", "run", "torch:test"], check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
