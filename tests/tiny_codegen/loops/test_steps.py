"""Steps whose states are combined associatively become lanes; all others stay in order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from tiny_codegen.generator import Generator
from tiny_codegen.loops.legality import ActionError
from tiny_codegen.loops.ranges import ranges_of
from tiny_codegen.loops.steps import peel_steps, split_steps, vectorize_steps
from tiny_ir import AxisKind, Op, UOp, const, dtypes, make, toposort
from tiny_plugin import Launch, Options

from ..graphs import VERIFIED, WIDE, Sheet, dtype_of, full, result, scan, state, steps

Array = npt.NDArray[np.generic]

NUMBERS = np.random.default_rng(3).integers(-9, 9, 40).astype(np.int32)
UFUNCS = {Op.ADD: np.add, Op.MUL: np.multiply, Op.MAX: np.maximum, Op.XOR: np.bitwise_xor}


def running(sheet: Sheet, array: Array, op: Op, first: float) -> UOp:
    """All states of a SCAN that combines a row element by element: before and after each step."""
    dtype = dtype_of(array)
    step, before = steps(1, len(array)), state(1, 0, (), dtype)
    following = make(op, None, (before, sheet.memory(array).index(step)))
    return scan(1, step, [const(dtype, first)], [following], [following, before])


def largest(sheet: Sheet, array: Array, *, later_wins: bool) -> UOp:
    """The largest elements so far and their places; NaN is above all."""
    dtype = dtype_of(array)
    step = steps(1, len(array))
    best, place = state(1, 0, (), dtype), state(1, 1, (), dtypes.int32)
    value = sheet.memory(array).index(step)
    better = best <= value if later_wins else best < value
    better = (better | value.ne(value)) & best.eq(best)
    nexts = [better.where(value, best), better.where(step.cast(dtypes.int32), place)]
    return scan(1, step, [const(dtype, -np.inf), const(dtypes.int32, 0)], nexts, nexts)


def actions_of(sheet: Sheet) -> list[str]:
    launches = [s for s in sheet.schedule(WIDE, Options()).steps if isinstance(s, Launch)]
    return [action for launch in launches for action in launch.program.actions]


def kernel_of(sheet: Sheet) -> tuple[UOp, UOp]:
    """The only kernel of a sheet, and its steps."""
    ((_, kernel),) = Generator().kernels(sheet.graph, {"cpu": WIDE}, VERIFIED)
    (step,) = (axis for axis in ranges_of(kernel) if axis.arg.kind is AxisKind.SERIAL)
    return kernel, step


@pytest.mark.parametrize("op", UFUNCS, ids=lambda op: op.name)
@pytest.mark.parametrize("length", [16, 40])
def test_lanes_of_steps_hold_the_prefixes(op: Op, length: int) -> None:
    sheet, array = Sheet(), NUMBERS[:length] | 1
    walked = running(sheet, array, op, 3)
    slots = [sheet.output(result(walked, at)) for at in range(3)]
    after = sheet.run(WIDE, VERIFIED)
    last, following, before = (after[slot] for slot in slots)
    expected = UFUNCS[op].accumulate(np.insert(array, 0, 3), dtype=np.int32)
    assert (last.item(), following.tolist()) == (expected[-1], expected[1:].tolist())
    assert before.tolist() == expected[:-1].tolist()
    assert any("vectorize" in action for action in actions_of(sheet))


@pytest.mark.parametrize("later_wins", [True, False])
def test_a_choice_keeps_the_place_that_it_took(later_wins: bool) -> None:
    array = np.array([1, 3, 3, 0, 5, 5, 2, 7] * 2 + [np.nan, 9, np.nan, 8] * 4, np.float32)
    sheet = Sheet()
    walked = largest(sheet, array, later_wins=later_wins)
    slots = [sheet.output(result(walked, at)) for at in (2, 3)]
    assert any("vectorize" in action for action in actions_of(sheet))
    lanes, plain = (sheet.run(WIDE, options) for options in (VERIFIED, Options(optimize=False)))
    for slot in slots:
        assert np.array_equal(lanes[slot], plain[slot], equal_nan=True)


def decaying(before: UOp, value: UOp) -> UOp:
    return before * 0.5 + value


def multiplied(before: UOp, value: UOp) -> UOp:
    return before * value


def nearest_to_one(before: UOp, value: UOp) -> UOp:
    # Whether 0 or 2 is kept depends on which is compared with 1 first.
    return (before.eq(1) | value.eq(1)).where(value, before)


@pytest.mark.parametrize("body", [decaying, multiplied, nearest_to_one])
def test_what_depends_on_the_order_is_walked_in_order(body: Callable[[UOp, UOp], UOp]) -> None:
    sheet, step, before = Sheet(), steps(1, 32), state(1, 0, (), dtypes.float32)
    value = sheet.memory(np.ones(32, np.float32)).index(step)
    following = body(before, value)
    walked = scan(1, step, [const(dtypes.float32, 1)], [following], [following])
    sheet.output(result(walked, 1))
    assert actions_of(sheet) == []
    with pytest.raises(ActionError, match="not combined associatively"):
        vectorize_steps(*kernel_of(sheet))


def test_steps_are_split_and_peeled_with_their_states() -> None:
    sheet = Sheet()
    slot = sheet.output(result(running(sheet, NUMBERS, Op.ADD, 0), 1))
    kernel, step = kernel_of(sheet)
    peeled, main, _ = peel_steps(kernel, step, 12)
    blocks, _, inner = split_steps(peeled, main, 4)
    assert [axis.src[0].arg for axis in ranges_of(blocks)] == [9, 4, 4]
    assert inner.src[0].arg == 4
    for factor in (7, 0):
        with pytest.raises(ActionError):
            split_steps(kernel, step, factor)
    with pytest.raises(ActionError):
        peel_steps(kernel, step, 8)
    assert sheet.run(WIDE)[slot].tolist() == NUMBERS.cumsum().tolist()


VIEWS: dict[str, tuple[Callable[[UOp], UOp], Callable[[Array], Array]]] = {
    "permuted": (lambda x: x.permute((1, 0)), lambda y: y.T),
    "flipped": (lambda x: x.flip((0,)), lambda y: y[::-1]),
    "both": (
        lambda x: x.reshape((10, 1, 4)).flip((0,)).permute((2, 0, 1)).flip((0,)).reshape((8, 5)),
        lambda y: y[::-1].T[::-1].reshape(8, 5),
    ),
}


@pytest.mark.parametrize("name", VIEWS)
def test_outputs_lie_in_memory_as_they_are_looked_at(name: str) -> None:
    sheet, array = Sheet(), NUMBERS.reshape(4, 10)
    step, columns = steps(1, 10), sheet.memory(array).permute((1, 0))
    following = state(1, 0, (4,), dtypes.int32) + columns.index(step)
    walked = scan(1, step, [full(dtypes.int32, 0, (4,))], [following], [following])
    look, expected = VIEWS[name]
    slot = sheet.output(look(result(walked, 1)))
    assert len(sheet.schedule(WIDE).steps) == 1
    assert np.array_equal(sheet.run(WIDE, VERIFIED)[slot], expected(array.cumsum(1).T))


def test_an_output_that_is_looked_at_in_two_ways_is_kept_step_by_step() -> None:
    sheet, step = Sheet(), steps(1, 10)
    columns = sheet.memory(NUMBERS.reshape(4, 10)).permute((1, 0))
    following = state(1, 0, (4,), dtypes.int32) + columns.index(step)
    walked = scan(1, step, [full(dtypes.int32, 0, (4,))], [following], [following])
    sums = result(walked, 1)
    slot = sheet.output(sums.permute((1, 0)) * 2 + sums.reshape((4, 10)))
    expected = NUMBERS.reshape(4, 10).cumsum(1)
    found = sheet.run(WIDE, VERIFIED)[slot]
    assert np.array_equal(found, expected * 2 + expected.T.reshape(4, 10))


def test_axes_of_one_element_and_results_of_nobody_keep_no_state_in_memory() -> None:
    sheet, step = Sheet(), steps(1, 8)
    following = state(1, 0, (4,), dtypes.int32) + sheet.memory(NUMBERS[:32].reshape(8, 4)).index(
        step
    )
    outputs = [following.reshape((1, 4, 1)), step.cast(dtypes.int32)]
    walked = scan(1, step, [full(dtypes.int32, 0, (4,))], [following], outputs)
    slot = sheet.output(result(walked, 1))
    ((_, kernel),) = Generator().kernels(sheet.graph, {"cpu": WIDE}, VERIFIED)
    assert any(node.op is Op.REGISTER for node in toposort((kernel,)))
    found = sheet.run(WIDE, VERIFIED)[slot]
    assert np.array_equal(found.reshape(8, 4), NUMBERS[:32].reshape(8, 4).cumsum(0))


@pytest.mark.parametrize("columns", [256, 1100])
def test_states_beside_each_other_share_a_step(columns: int) -> None:
    array = np.arange(3 * columns, dtype=np.int32).reshape(3, columns)
    sheet, step = Sheet(), steps(1, 3)
    following = state(1, 0, (columns,), dtypes.int32) + sheet.memory(array).index(step)
    walked = scan(1, step, [full(dtypes.int32, 0, (columns,))], [following], [following])
    slot = sheet.output(result(walked, 1))
    assert any(action.endswith("by 128") for action in actions_of(sheet))
    assert np.array_equal(sheet.run(WIDE, VERIFIED)[slot], array.cumsum(0))
