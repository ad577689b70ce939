"""Reductions that only a comparison looks at become arithmetic or a load: no dense one-hot runs."""

from __future__ import annotations

import numpy as np
import pytest

from tiny_ir import Op, UOp, dtypes
from tiny_plugin import Options, Program, Target

from ..graphs import SCALAR, TARGETS, Sheet, counting, full

each_target = pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)

TABLE = np.random.default_rng(1).integers(-9, 10, (50, 20)).astype(np.float32)
PICKS = np.array([3, 49, 0, -1, 60, 50, 3], np.int32)
int32 = dtypes.int32


def loops(program: Program) -> list[int]:
    """How often each loop turns, outermost first."""
    return [int(node.src[0].arg) for node in program.uops if node.op is Op.RANGE]


def only_program(sheet: Sheet) -> Program:
    (step,) = sheet.schedule(SCALAR).steps
    return step.program  # type: ignore[union-attr]


def one_hot(sheet: Sheet, picks: np.ndarray, size: int) -> UOp:
    """(picks, size), true where the position is the one that is picked."""
    shape = (len(picks), size)
    wanted = sheet.memory(picks).reshape((len(picks), 1)).expand(shape)
    return counting(size).reshape((1, size)).expand(shape).eq(wanted)


@each_target
def test_one_hot_times_table_is_a_load(target: Target) -> None:
    sheet = Sheet()
    chosen = one_hot(sheet, PICKS, 50).reshape((7, 50, 1)).expand((7, 50, 20))
    table = sheet.memory(TABLE).reshape((1, 50, 20)).expand((7, 50, 20))
    slot = sheet.output(chosen.where(table, 0).reduce(Op.ADD, (1,)))
    inside = (PICKS >= 0) & (PICKS < 50)
    expected = np.where(inside[:, None], TABLE[np.clip(PICKS, 0, 49)], 0)
    assert np.array_equal(sheet.run(target)[slot], expected)
    assert 50 not in loops(only_program(sheet))


@each_target
def test_multiplied_by_a_cast_one_hot_too(target: Target) -> None:
    sheet = Sheet()
    chosen = one_hot(sheet, PICKS, 50).reshape((7, 50, 1)).expand((7, 50, 20))
    table = sheet.memory(TABLE).reshape((1, 50, 20)).expand((7, 50, 20))
    integers = (chosen.cast(int32) * table.cast(int32)).reduce(Op.ADD, (1,))
    slot = sheet.output(integers)
    inside = (PICKS >= 0) & (PICKS < 50)
    expected = np.where(inside[:, None], TABLE[np.clip(PICKS, 0, 49)], 0).astype(np.int32)
    assert np.array_equal(sheet.run(target)[slot], expected)


@each_target
@pytest.mark.parametrize("size", [1, 2, 37])
def test_counting_what_is_not_above_is_arithmetic(target: Target, size: int) -> None:
    sheet = Sheet()
    shape = (size, size)
    below = counting(size).reshape((1, size)).expand(shape)
    at = counting(size).reshape((size, 1)).expand(shape)
    ones = full(int32, 1, shape)
    inclusive = sheet.output((below <= at).where(ones, 0).reduce(Op.ADD, (1,)))
    exclusive = sheet.output((below < at).where(ones, 0).reduce(Op.ADD, (1,)))
    above = sheet.output((at < below).where(ones * 3, 0).reduce(Op.ADD, (1,)))
    found = sheet.run(target)
    assert found[inclusive].tolist() == list(range(1, size + 1))
    assert found[exclusive].tolist() == list(range(size))
    assert found[above].tolist() == [3 * (size - 1 - k) for k in range(size)]
    for step in sheet.schedule(SCALAR).steps:
        assert len(loops(step.program)) <= 1  # type: ignore[union-attr]


@each_target
def test_counting_what_lies_below_a_bound_from_memory(target: Target) -> None:
    bounds = np.array([-3, 0, 1, 5, 19, 20, 21, 100], np.int32)
    sheet = Sheet()
    shape = (8, 20)
    limit = sheet.memory(bounds).reshape((8, 1)).expand(shape)
    counted = (counting(20).reshape((1, 20)).expand(shape) < limit).where(full(int32, 2, shape), 0)
    slot = sheet.output(counted.reduce(Op.ADD, (1,)))
    assert np.array_equal(sheet.run(target)[slot], 2 * np.clip(bounds, 0, 20))
    assert 20 not in loops(only_program(sheet))


@each_target
def test_a_value_that_does_not_change_is_multiplied(target: Target) -> None:
    sheet = Sheet()
    x = sheet.memory(np.arange(6, dtype=np.int32))
    spread = x.reshape((6, 1)).expand((6, 10))
    slots = [sheet.output(spread.reduce(op, (1,))) for op in (Op.ADD, Op.MAX, Op.MIN)]
    found = sheet.run(target)
    assert found[slots[0]].tolist() == [0, 10, 20, 30, 40, 50]
    assert found[slots[1]].tolist() == found[slots[2]].tolist() == [0, 1, 2, 3, 4, 5]
    for step in sheet.schedule(SCALAR).steps:
        assert 10 not in loops(step.program)  # type: ignore[union-attr]


@each_target
def test_narrow_counts_wrap_before_they_are_compared(target: Target) -> None:
    # As int8 the positions 128 to 299 come back as -128 and up: each pick is chosen twice.
    picks = np.array([3, -5, 100], np.int8)
    sheet = Sheet()
    shape = (3, 300)
    positions = counting(300).cast(dtypes.int8).reshape((1, 300)).expand(shape)
    chosen = positions.eq(sheet.memory(picks).reshape((3, 1)).expand(shape))
    slot = sheet.output(chosen.where(full(int32, 1, shape), 0).reduce(Op.ADD, (1,)))
    wrapped = np.arange(300).astype(np.int8)
    expected = (wrapped[None] == picks[:, None]).sum(1)
    assert np.array_equal(sheet.run(target)[slot], expected)


@each_target
def test_float_terms_keep_their_special_values(target: Target) -> None:
    # A one-hot product with NaN or infinity in rows that are not picked: `where` leaves them out.
    table = np.array([[np.nan, 1], [np.inf, -0.0], [2, 3]], np.float32)
    sheet = Sheet()
    chosen = one_hot(sheet, np.array([2, 1], np.int32), 3).reshape((2, 3, 1)).expand((2, 3, 2))
    spread = sheet.memory(table).reshape((1, 3, 2)).expand((2, 3, 2))
    slot = sheet.output(chosen.where(spread, 0).reduce(Op.ADD, (1,)))
    found = sheet.run(target)[slot]
    assert found.tolist() == [[2, 3], [np.inf, 0]]


@each_target
def test_counts_that_a_float_does_not_hold_are_summed(target: Target) -> None:
    # 70000 is beyond float16: 0 times infinity would be NaN. 2049 is not a float16 either.
    sheet = Sheet()
    x = sheet.memory(np.array([0, 1, -0.0], np.float16))
    long = sheet.output(x.reshape((3, 1)).expand((3, 4099)).reduce(Op.MAX, (1,)))
    zeros = x.shrink(((0, 1),)).reshape((1, 1)).expand((1, 70_000))
    total = sheet.output(zeros.reduce(Op.ADD, (1,)))
    found = sheet.run(target, options=Options())
    assert found[long].tolist() == [0, 1, 0]
    assert found[total].tolist() == [0]


@each_target
def test_no_terms_are_zero_whatever_they_are(target: Target) -> None:
    terms = np.array([np.inf, np.nan, 2.5], np.float32)
    limits = np.array([0, 0, 3], np.int32)
    sheet = Sheet()
    limit = sheet.memory(limits).reshape((3, 1)).expand((3, 8))
    term = sheet.memory(terms).reshape((3, 1)).expand((3, 8))
    chosen = counting(8).reshape((1, 8)).expand((3, 8)) < limit
    slot = sheet.output(chosen.where(term, 0).reduce(Op.ADD, (1,)))
    assert sheet.run(target)[slot].tolist() == [0, 0, 7.5]
