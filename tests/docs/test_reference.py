"""The pages that are made from tables are as new as their tables."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_reference_pages_are_as_new_as_their_tables() -> None:
    command = [sys.executable, ROOT / "scripts" / "make_reference.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
