"""How long `import tiny_tensor` takes beside `import numpy`: fresh processes, taking turns.

Both find their bytecode compiled, as an installed wheel leaves it. CPU time is taken, because
machines are shared.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator

ROUNDS = 15
PROGRAM = """
import time
start = time.process_time()
import {module}
print(time.process_time() - start)
"""


def seconds_to_import(module: str, bytecode: str) -> float:
    """Return how long the import takes in a fresh process.

    Args:
        module: its name.
        bytecode: the folder that compiled files are kept in.
    """
    environment = os.environ | {"PYTHONPYCACHEPREFIX": bytecode}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-c", PROGRAM.format(module=module)]
    out = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return float(out.stdout)


def measure() -> Iterator[tuple[str, float, str, float]]:
    """Take turns, so that both see the same load; keep the best of each."""
    modules = ("tiny_tensor", "numpy")
    with tempfile.TemporaryDirectory() as bytecode:
        for module in modules:
            seconds_to_import(module, bytecode)  # writes the bytecode
        rounds = [
            [seconds_to_import(module, bytecode) for module in modules] for _ in range(ROUNDS)
        ]
    ours, theirs = zip(*rounds, strict=True)
    yield "import", min(ours), "numpy", min(theirs)
