"""Computed positions: a gather reads 0 outside, a scatter stores one by one in index order."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from tiny_ir import Op, UOp, dtypes, make
from tiny_plugin import Target

from ..graphs import SCALAR, TARGETS, VERIFIED, Sheet, full

Array = npt.NDArray[np.generic]

each_target = pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)

COMBINES: dict[Op | None, Callable[[Array, Array], Array]] = {
    None: lambda old, new: new,
    Op.ADD: np.add,
    Op.MUL: np.multiply,
    Op.MAX: np.maximum,
    Op.MIN: np.minimum,
}


def gathered(table: Array, *positions: Array) -> Array:
    """What INDEX means, element by element."""
    shape = np.broadcast_shapes(*(p.shape for p in positions))
    spread = [np.broadcast_to(p, shape) for p in positions]
    result = np.zeros((*shape, *table.shape[len(positions) :]), table.dtype)
    for at in np.ndindex(shape):
        where = tuple(int(p[at]) for p in spread)
        if all(0 <= w < size for w, size in zip(where, table.shape, strict=False)):
            result[at] = table[where]
    return result


def scattered(base: Array, value: Array, positions: list[Array], op: Op | None) -> Array:
    """What SCATTER means, one element of the positions after the other."""
    result = base.copy()
    shape = np.broadcast_shapes(*(p.shape for p in positions))
    spread = [np.broadcast_to(p, shape) for p in positions]
    for at in np.ndindex(shape):
        where = tuple(int(p[at]) for p in spread)
        if all(0 <= w < size for w, size in zip(where, base.shape, strict=False)):
            result[where] = COMBINES[op](result[where], value[at])
    return result


def scatter(base: UOp, value: UOp, *positions: UOp, op: Op | None = None) -> UOp:
    return make(Op.SCATTER, None, (base, value, *positions), op)


def random_integers(draw: random.Random, shape: tuple[int, ...], low: int, high: int) -> Array:
    count = int(np.prod(shape))
    return np.array([draw.randint(low, high) for _ in range(count)], np.int32).reshape(shape)


@pytest.mark.parametrize("name", TARGETS)
def test_random_gathers(name: str) -> None:
    for seed in range(20):
        draw = random.Random(f"{name} {seed}")
        table = random_integers(draw, draw.choice([(5,), (4, 6), (3, 2, 20)]), -9, 9)
        shape = draw.choice([(), (3,), (2, 17), (1, 4)])
        count = draw.randint(1, table.ndim)
        positions = [
            random_integers(draw, shape if draw.random() < 0.8 else (), -2, size + 1)
            for size in table.shape[:count]
        ]
        sheet = Sheet()
        source = sheet.memory(table)
        if draw.random() < 0.4:
            source, table = source.flip((0,)), table[::-1]
        if draw.random() < 0.3:
            reach = [(1, 1)] + [(0, 0)] * (table.ndim - 1)
            source, table = source.pad(reach), np.pad(table, reach)
        if draw.random() < 0.3:
            source, table = source * 2, table * 2
        index = make(Op.INDEX, None, (source, *map(sheet.memory, positions)))
        slot = sheet.output(index + 1)
        found = sheet.run(TARGETS[name], VERIFIED)[slot]
        assert np.array_equal(found, gathered(table, *positions) + 1), f"seed {seed}"


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("op", COMBINES, ids=lambda op: op.name if op else "store")
def test_random_scatters(name: str, op: Op | None) -> None:
    for seed in range(6):
        draw = random.Random(f"{name} {op} {seed}")
        base = random_integers(draw, draw.choice([(5,), (4, 6), (3, 2, 20)]), -9, 9)
        shape = draw.choice([(3,), (2, 9), (1, 4), (0,)])
        count = draw.randint(1, base.ndim)
        positions = [random_integers(draw, shape, -2, size + 1) for size in base.shape[:count]]
        value = random_integers(draw, (*shape, *base.shape[count:]), -4, 4)
        sheet = Sheet()
        sources = [sheet.memory(array) for array in (base, value, *positions)]
        slot = sheet.output(scatter(*sources, op=op) * 2)
        expected = scattered(base, value, positions, op) * 2
        assert np.array_equal(sheet.run(TARGETS[name], VERIFIED)[slot], expected), f"seed {seed}"


@each_target
def test_the_last_of_equal_positions_wins(target: Target) -> None:
    sheet = Sheet()
    positions = sheet.memory(np.array([1, 3, 1, 1, 9, -1], np.int32))
    value = sheet.memory(np.arange(6, dtype=np.int32) + 10)
    slot = sheet.output(scatter(full(dtypes.int32, 0, (4,)), value, positions))
    assert sheet.run(target)[slot].tolist() == [0, 13, 0, 11]


@each_target
def test_float_sums_keep_the_order_of_their_positions(target: Target) -> None:
    # 1e8 + 1 - 1e8 is 0 in this order and 1 in another.
    sheet = Sheet()
    positions = sheet.memory(np.zeros(3, np.int32))
    value = sheet.memory(np.array([1e8, 1, -1e8], np.float32))
    slot = sheet.output(scatter(full(dtypes.float32, 0, (2,)), value, positions, op=Op.ADD))
    assert sheet.run(target)[slot].tolist() == [0, 0]


@each_target
def test_a_scatter_into_the_memory_that_it_reads(target: Target) -> None:
    sheet = Sheet()
    x = sheet.memory(np.arange(6, dtype=np.int32))
    positions = sheet.memory(np.array([5, 0, 2], np.int32))
    value = x.shrink(((0, 3),)) * 10
    sheet.effect(x.store(scatter(x, value, positions)))
    assert sheet.run(target)[0].tolist() == [10, 1, 20, 3, 4, 0]


@each_target
@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint32, np.int64, np.uint64])
def test_positions_of_every_integer_dtype(target: Target, dtype: type[np.generic]) -> None:
    positions = np.array([2, 0, 255, 7], np.int64).astype(dtype)
    sheet = Sheet()
    table = sheet.memory(np.arange(8, dtype=np.float32) + 1)
    slot = sheet.output(make(Op.INDEX, None, (table, sheet.memory(positions))))
    assert sheet.run(target)[slot].tolist() == [3, 1, 0, 8]


@each_target
def test_huge_positions_are_outside(target: Target) -> None:
    top = np.iinfo(np.uint64).max
    positions = np.array([top, 1 << 32, (1 << 63) + 1, 1], np.uint64)
    negative = np.array([np.iinfo(np.int64).min, -(1 << 32), 1 << 33, 2], np.int64)
    sheet = Sheet()
    table = sheet.memory(np.arange(8, dtype=np.int32) + 1)
    slots = [
        sheet.output(make(Op.INDEX, None, (table, sheet.memory(array))))
        for array in (positions, negative)
    ]
    found = sheet.run(target)
    assert found[slots[0]].tolist() == [0, 0, 0, 2]
    assert found[slots[1]].tolist() == [0, 0, 0, 3]


def test_a_gather_of_a_computed_value_reads_its_memory() -> None:
    sheet = Sheet()
    x = sheet.memory(np.arange(12, dtype=np.float32).reshape(3, 4))
    positions = sheet.memory(np.array([2, 2, 0], np.int32))
    sheet.output(make(Op.INDEX, None, (x.alu(Op.EXP), positions)))
    assert len(sheet.schedule(SCALAR).steps) == 2
