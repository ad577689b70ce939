"""What is measured is checked, and what is wrong is found."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from measuring.rounds import difference
from peers import numpy_peer, tiny_peer
from works import KINDS, work_named, works_of
from works.answers import ANSWERS, comparable, handed_over


@pytest.mark.parametrize("quick", [True, False])
def test_every_work_has_a_name_of_its_own_and_an_answer(quick: bool) -> None:
    works = [work for kind in KINDS for work in works_of(kind, quick)]
    assert len({work.name for work in works}) == len(works)
    assert {work.operation for work in works} <= set(ANSWERS)


def test_we_compute_every_work() -> None:
    ours = {*tiny_peer.FUNCTIONS, *tiny_peer.BUILDERS}
    assert ours == set(ANSWERS)
    assert set(numpy_peer.FUNCTIONS) < ours


def test_there_are_forty_shapes_of_matmul() -> None:
    assert sum(work.group == "matmul shapes" for work in works_of("ops", False)) == 40


def test_a_wrong_result_is_found() -> None:
    work = work_named("sum axis 0 64x64", quick=True)
    answer = np.arange(4.0)
    assert difference(work, answer, answer) == ""
    assert "off by" in difference(work, answer + [0, 0, 0, 1e-2], answer)
    assert "off by" in difference(work, answer * np.nan, answer)
    assert "shape" in difference(work, answer[:3], answer)


def test_positions_of_equal_elements_may_differ() -> None:
    work = work_named("argsort 1,000", quick=True)
    x = work.inputs()["x"]
    assert difference(work, comparable(work, np.argsort(x)), np.sort(x)) == ""


def test_inputs_are_rounded_as_bfloat16_rounds_them() -> None:
    work = work_named("matmul bf16 64", quick=True)
    expected = work.inputs()["a"].astype(ml_dtypes.bfloat16).astype("float32")
    np.testing.assert_array_equal(handed_over(work)["a"], expected)
