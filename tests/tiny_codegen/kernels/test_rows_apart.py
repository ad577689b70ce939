"""Rows of states that never meet walk their steps one row after the other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tiny_codegen.kernels.rows_apart import are_rows_apart
from tiny_ir import AxisKind, Op, UOp, const, dtypes, make
from tiny_plugin import Launch, Options

from ..graphs import TARGETS, VERIFIED, WIDE, Sheet, counting, full, loop, result, state, steps

ROWS, LENGTH, DIGITS = 3, 20, 4
KEYS = np.random.default_rng(5).integers(0, DIGITS, (ROWS, LENGTH)).astype(np.int32)


def counted(counts: UOp, digit: UOp, row: UOp) -> UOp:
    return make(Op.SCATTER, None, (counts, full(dtypes.int32, 1, (ROWS,)), row, digit), Op.ADD)


def next_counts(sheet: Sheet, step: UOp, row: UOp) -> UOp:
    digit = sheet.memory(KEYS).permute((1, 0)).index(step)
    return counted(state(1, 0, (ROWS, DIGITS), dtypes.int32), digit, row)


def test_each_row_counts_on_its_own() -> None:
    sheet, step = Sheet(), steps(1, LENGTH)
    body = next_counts(sheet, step, counting(ROWS))
    walked = loop(1, step, [full(dtypes.int32, 0, (ROWS, DIGITS))], [body])
    slot = sheet.output(result(walked, 0))
    expected = [np.bincount(row, minlength=DIGITS).tolist() for row in KEYS]
    for target in TARGETS.values():
        assert sheet.run(target, VERIFIED)[slot].tolist() == expected
    (launch,) = (s for s in sheet.schedule(WIDE, Options()).steps if isinstance(s, Launch))
    loops = [node for node in launch.program.uops if node.op is Op.RANGE]
    # The rows are the outermost loop; inside are one that clears the counts and the steps.
    assert loops[0].src[0].arg == ROWS
    assert loops[-1].arg.kind is AxisKind.SERIAL


def other_row(row: UOp) -> UOp:
    return make(Op.SUB, None, (full(dtypes.int32, ROWS - 1, (ROWS,)), row))


def first_row(row: UOp) -> UOp:
    return row * 0


@pytest.mark.parametrize("place", [other_row, first_row])
def test_rows_that_write_to_others_are_not_apart(place: Callable[[UOp], UOp]) -> None:
    sheet, step = Sheet(), steps(1, LENGTH)
    initial = [full(dtypes.int32, 0, (ROWS, DIGITS))]
    body = next_counts(sheet, step, place(counting(ROWS)))
    assert not are_rows_apart(initial, [body], 1)
    assert are_rows_apart(initial, [next_counts(sheet, step, counting(ROWS))], 1)


def test_rows_that_read_others_are_not_apart() -> None:
    now = state(1, 0, (ROWS, DIGITS), dtypes.int32)
    initial = [full(dtypes.int32, 0, (ROWS, DIGITS))]
    assert are_rows_apart(initial, [now.permute((0, 1)) + 1], 1)
    for body in (now.flip((0,)), now.reduce(Op.ADD, (0,)).reshape((1, DIGITS)).expand((3, 4))):
        assert not are_rows_apart(initial, [body], 1)


def test_elements_are_read_before_any_is_written() -> None:
    """Places are taken from counters that the same step moves."""
    sheet, step = Sheet(), steps(1, LENGTH)
    keys = sheet.memory(KEYS[0])
    digit = keys.index(step).reshape((1,))
    free, placed = state(1, 0, (DIGITS,), dtypes.int32), state(1, 1, (LENGTH,), dtypes.int32)
    at = free.index(digit)
    moved = make(Op.SCATTER, None, (free, at + 1, digit))
    stored = make(Op.SCATTER, None, (placed, step.cast(dtypes.int32).reshape((1,)), at))
    starts = sheet.memory(np.searchsorted(np.sort(KEYS[0]), np.arange(DIGITS)).astype(np.int32))
    walked = loop(1, step, [starts, full(dtypes.int32, 0, (LENGTH,))], [moved, stored])
    slot = sheet.output(result(walked, 1))
    for target in TARGETS.values():
        found = sheet.run(target, VERIFIED)[slot]
        assert found.tolist() == np.argsort(KEYS[0], kind="stable").tolist()


def test_an_earlier_recurrence_of_the_same_number_does_not_join_rows() -> None:
    sheet, step = Sheet(), steps(1, LENGTH)
    first = next_counts(sheet, step, counting(ROWS))
    zero = full(dtypes.int32, 0, (ROWS, DIGITS))
    before = result(loop(1, step, [zero], [first]), 0)
    body = state(1, 0, (ROWS, DIGITS), dtypes.int32) + before.flip((0,)) * const(dtypes.int32, 2)
    assert are_rows_apart([zero], [body], 1)
