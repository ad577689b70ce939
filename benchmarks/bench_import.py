"""How long `import tiny_tensor` takes beside `import numpy`: fresh processes, taking turns."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

ROUNDS = 15
PROGRAM = """
import time
start = time.perf_counter()
import {module}
print(time.perf_counter() - start)
"""


def seconds_to_import(module: str) -> float:
    """Return how long the import takes in a fresh process."""
    command = [sys.executable, "-c", PROGRAM.format(module=module)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def measure() -> Iterator[tuple[str, float, str, float]]:
    """Take turns, so that both see the same load; keep the best of each."""
    pairs = [(seconds_to_import("tiny_tensor"), seconds_to_import("numpy")) for _ in range(ROUNDS)]
    yield "import", min(ours for ours, _ in pairs), "numpy", min(theirs for _, theirs in pairs)
