"""Sizes and positions that are known only at launch: one Program serves all of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from tiny_ir import Op, UOp, dtypes, make
from tiny_plugin import Launch, Target

from ..graphs import (
    SCALAR,
    TARGETS,
    WIDE,
    Sheet,
    full,
    matmul,
    result,
    scan,
    softmax,
    state,
    steps,
    variable,
)

Array = npt.NDArray[np.generic]

n = variable("n", 1, 10)
maybe_none = variable("n", 0, 10)
position = variable("position", 0, 9)
TABLE = np.arange(40, dtype=np.int32).reshape(10, 4)
ROW = np.arange(10, dtype=np.int32)

each_target = pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
each_size = pytest.mark.parametrize("size", [1, 3, 7, 10])


def part(x: UOp, size: UOp = n, axis: int = 0) -> UOp:
    """The first `size` elements of an axis."""
    whole = [(0, length) for length in x.shape]
    return x.shrink([(0, size) if at == axis else pair for at, pair in enumerate(whole)])


def written(
    build: Callable[..., tuple[UOp, Callable[[UOp], UOp]]],
    target: Target,
    size: int,
    *arrays: Array,
) -> Array:
    """What memory of zeros, shaped like the first array, holds after a store of a part."""
    sheet = Sheet()
    place = sheet.memory(np.zeros_like(arrays[0]))
    value, view = build(*map(sheet.memory, arrays))
    sheet.effect(view(place).store(value))
    return sheet.run(target, values={"n": size, "position": size})[0]


@each_target
@each_size
def test_elementwise_over_a_symbolic_size(target: Target, size: int) -> None:
    found = written(lambda x: (part(x) * 2 + 1, part), target, size, TABLE)
    assert np.array_equal(found[:size], TABLE[:size] * 2 + 1)
    assert not found[size:].any()


@each_target
@each_size
def test_sum_over_a_symbolic_axis(target: Target, size: int) -> None:
    sheet = Sheet()
    x = sheet.memory(TABLE)
    columns = sheet.output(part(x).reduce(Op.ADD, (0,)))
    rows = sheet.output(part(x.permute((1, 0)), axis=1).reduce(Op.MAX, (1,)))
    found = sheet.run(target, values={"n": size})
    assert np.array_equal(found[columns], TABLE[:size].sum(0))
    assert np.array_equal(found[rows], TABLE[:size].max(0))


@each_target
def test_flip_pad_and_reshape_of_a_symbolic_axis(target: Target) -> None:
    flipped = written(lambda x: (part(x).flip((0,)), part), target, 6, TABLE)
    assert np.array_equal(flipped[:6], TABLE[:6][::-1])
    sheet = Sheet()
    x = sheet.memory(TABLE)
    padded = sheet.output(part(x).pad(((0, 10 - n), (1, 0))).reshape((10, 5)))
    expected = np.pad(TABLE[:6], ((0, 4), (1, 0)))
    assert np.array_equal(sheet.run(target, values={"n": 6})[padded], expected)
    sheet = Sheet()
    x, flat = sheet.memory(TABLE), sheet.memory(np.zeros(40, np.int32))
    sheet.effect(flat.shrink(((0, n * 4),)).store((part(x) + 1).reshape((n * 4,))))
    found = sheet.run(target, values={"n": 3})[1]
    assert np.array_equal(found[:12], TABLE.reshape(-1)[:12] + 1)
    assert not found[12:].any()


@each_target
def test_a_store_to_a_symbolic_position(target: Target) -> None:
    def view(place: UOp) -> UOp:
        return place.shrink(((position, position + 1), (0, 4)))

    found = written(lambda x: (view(x) * 2, view), target, 6, TABLE)
    assert np.array_equal(found[6], TABLE[6] * 2)
    assert not found[[0, 5, 7]].any()


@each_target
@each_size
def test_softmax_of_a_symbolic_axis(target: Target, size: int) -> None:
    table = np.linspace(-2, 2, 40, dtype=np.float32).reshape(4, 10)

    def view(place: UOp) -> UOp:
        return part(place, axis=1)

    found = written(lambda x: (softmax(view(x)), view), target, size, table)
    powers = np.exp(table[:, :size])
    assert np.allclose(found[:, :size], powers / powers.sum(1, keepdims=True), rtol=1e-5)


@each_target
@each_size
def test_matmul_over_a_symbolic_axis(target: Target, size: int) -> None:
    left, right = TABLE.T.copy(), TABLE[:, :3].copy()
    sheet = Sheet()
    x, y = part(sheet.memory(left), axis=1), part(sheet.memory(right))
    slot = sheet.output(matmul(x, y))
    found = sheet.run(target, values={"n": size})[slot]
    assert np.array_equal(found, left[:, :size] @ right[:size])


@each_target
def test_values_of_symbolic_shape_get_memory_of_their_own(target: Target) -> None:
    sheet = Sheet()
    kept = make(Op.CONTIGUOUS, None, (part(sheet.memory(TABLE)) * 2,))
    slot = sheet.output((kept + 1).reduce(Op.ADD, (0,)))
    assert np.array_equal(sheet.run(target, values={"n": 4})[slot], (TABLE[:4] * 2 + 1).sum(0))
    assert len(sheet.schedule(target).steps) == 2


@each_target
@each_size
def test_scan_of_a_symbolic_number_of_steps(target: Target, size: int) -> None:
    def build(x: UOp) -> tuple[UOp, Callable[[UOp], UOp]]:
        step = steps(1, n)
        following = state(1, 0, (4,), dtypes.int32) + part(x).index(step)
        sums = scan(1, step, [full(dtypes.int32, 0, (4,))], [following], [following])
        return result(sums, 1), part

    found = written(build, target, size, TABLE)
    assert np.array_equal(found[:size], TABLE[:size].cumsum(0))


@each_target
def test_a_variable_is_a_value_too(target: Target) -> None:
    sheet = Sheet()
    spread = n.cast(dtypes.int32).reshape((1,)).expand((10,))
    slot = sheet.output(sheet.memory(ROW) * spread)
    assert np.array_equal(sheet.run(target, values={"n": 6})[slot], ROW * 6)


@each_target
def test_a_symbolic_size_may_turn_out_to_be_zero(target: Target) -> None:
    def view(place: UOp) -> UOp:
        return part(place, maybe_none)

    found = written(lambda x: (view(x) + 1, view), target, 0, TABLE)
    assert not found.any()
    sheet = Sheet()
    floats = sheet.memory(TABLE.astype(np.float32))
    total = sheet.output(part(floats, maybe_none).reduce(Op.ADD, (0,)))
    after = sheet.run(target, values={"n": 0})[total]
    assert after.tobytes() == bytes(16), "an empty sum is +0"


def test_one_program_serves_all_sizes() -> None:
    sheet = Sheet()
    x, y = sheet.memory(TABLE), sheet.memory(np.zeros_like(TABLE))
    sheet.effect(part(y).store(part(x) + 1))
    (step,) = sheet.schedule(WIDE).steps
    assert isinstance(step, Launch)
    (found,) = step.program.variables
    assert (found.name, found.minimum, found.maximum) == ("n", 1, 10)
    schedule = sheet.schedule(SCALAR)
    for size in (1, 5, 10):
        after = sheet.run_steps(schedule, {"n": size})[1]
        assert np.array_equal(after[:size], TABLE[:size] + 1)
