"""Lets the tests of this folder see the examples as if pip had installed them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

STAND_INS = Path(__file__).parent / "stand_ins"
collect_ignore = [STAND_INS.name]  # they are plugins, found by whoever looks for distributions

Run = Callable[..., str]


@pytest.fixture(scope="module", autouse=True)
def installed(installed_examples: None) -> None:
    """All examples are installed while the tests of one module run."""


@pytest.fixture
def run() -> Run:
    """A function that runs Python in a process of its own, with examples and stand-ins installed.

    It takes the arguments of Python and settings, and returns what was printed.
    """

    def run(*arguments: str, **settings: str) -> str:
        kept = {name: text for name, text in os.environ.items() if not name.startswith("TINY_")}
        folders = os.pathsep.join([*sys.path, str(STAND_INS)])
        done = subprocess.run(
            [sys.executable, *arguments],
            env={**kept, "TINY_CACHE": "", "PYTHONPATH": folders, **settings},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    return run
