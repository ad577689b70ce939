"""The first cases of the judges of writes and of captured functions, at every test run.

Those of the judge of writes take gradients too.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

JUDGES = Path(__file__).parents[1] / "judges"


def judge_named(name: str) -> ModuleType:
    """A judge, loaded from its file."""
    spec = importlib.util.spec_from_file_location(f"judge_{name}", JUDGES / f"judge_{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("first", range(0, 200, 20))
def test_random_programs_equal_numpy(first: int) -> None:
    judge = judge_named("writes").judge
    for case in range(first, first + 20):
        judge(case)


@pytest.mark.parametrize("first", range(0, 100, 20))
def test_random_functions_do_the_same_captured(first: int) -> None:
    judge = judge_named("capture").judge
    for case in range(first, first + 12):
        judge(case)
