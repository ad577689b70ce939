"""The first programs of the judge of writes, at every test run."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "judges" / "judge_writes.py"
SPEC = importlib.util.spec_from_file_location("judge_writes", SOURCE)
assert SPEC is not None
assert SPEC.loader is not None
JUDGE = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(JUDGE)


@pytest.mark.parametrize("first", range(0, 200, 20))
def test_random_programs_equal_numpy(first: int) -> None:
    for case in range(first, first + 20):
        JUDGE.judge(case)
