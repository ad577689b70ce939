"""Graphs of one kernel or two, of every kind: what loop actions and stages are tried on."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from tiny_ir import Op, dtypes, make

from .graphs import (
    Sheet,
    convolution,
    counting,
    full,
    keep,
    loop,
    matmul,
    result,
    scan,
    state,
    steps,
)

int32 = dtypes.int32


def integers(*shape: int, seed: int = 0) -> np.ndarray:
    """Small integers: their sums and products are exact in float32 too."""
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.int32)


def floats(*shape: int, seed: int = 0) -> np.ndarray:
    """The same as float32."""
    return integers(*shape, seed=seed).astype(np.float32)


def elementwise(sheet: Sheet) -> None:
    x, y = sheet.memory(integers(6, 10)), sheet.memory(integers(10, seed=1))
    sheet.output(x * 3 + y.reshape((1, 10)).expand((6, 10)))


def transposed(sheet: Sheet) -> None:
    sheet.output(sheet.memory(integers(9, 7)).permute((1, 0)).pad(((1, 0), (0, 2))) + 1)


def in_place(sheet: Sheet) -> None:
    x = sheet.memory(integers(5, 12))
    sheet.effect(x.store(x * 2 + 1))


def reversed_rows(sheet: Sheet) -> None:
    x = sheet.memory(integers(4, 18))
    sheet.output(x.flip((1,)) - x)


def rows_summed(sheet: Sheet) -> None:
    sheet.output(sheet.memory(floats(7, 20)).reduce(Op.ADD, (1,)) * 2)


def columns_summed(sheet: Sheet) -> None:
    sheet.output(sheet.memory(integers(12, 18)).reduce(Op.MAX, (0,)))


def all_summed(sheet: Sheet) -> None:
    sheet.output(sheet.memory(integers(8, 12)).reduce(Op.ADD, (0, 1)).reshape((1,)))


def product(sheet: Sheet) -> None:
    sheet.output(matmul(sheet.memory(floats(6, 8)), sheet.memory(floats(8, 20, seed=1))))


def product_transposed(sheet: Sheet) -> None:
    right = sheet.memory(floats(10, 12, seed=1)).permute((1, 0))
    sheet.output(matmul(sheet.memory(floats(8, 12)), right).maximum(0))


def images(sheet: Sheet) -> None:
    filters = sheet.memory(floats(4, 2, 3, 3, seed=1))
    sheet.output(convolution(sheet.memory(floats(1, 2, 6, 8)), filters) + 1)


def pooled(sheet: Sheet) -> None:
    x = sheet.memory(integers(3, 17))
    sheet.output(x.window(1, 3, 2).reduce(Op.MAX, (2,)))


def folded(sheet: Sheet) -> None:
    sheet.output(sheet.memory(integers(2, 8, 3)).fold(1, 17, 2))


def two_reductions(sheet: Sheet) -> None:
    x = sheet.memory(integers(6, 16))
    sheet.output(x.reduce(Op.ADD, (1,)) * 2 - x.reduce(Op.MAX, (1,)))


def centered(sheet: Sheet) -> None:
    x = sheet.memory(integers(4, 16))
    sheet.output((x * 16 - keep(x, Op.ADD, 1)).reduce(Op.MAX, (1,)))


def gathered(sheet: Sheet) -> None:
    picks = sheet.memory(np.array([3, 0, 9, -1, 4, 4], np.int32))
    sheet.output(make(Op.INDEX, None, (sheet.memory(integers(5, 12)), picks)))


def scattered(sheet: Sheet) -> None:
    picks = sheet.memory(np.array([3, 0, 3, -1, 2, 0], np.int32))
    value = sheet.memory(integers(6, 12))
    sheet.output(make(Op.SCATTER, None, (full(int32, 1, (4, 12)), value, picks), Op.ADD))


def one_hot(sheet: Sheet) -> None:
    shape = (6, 10)
    picks = sheet.memory(np.array([3, 0, 9, -1, 4, 4], np.int32)).reshape((6, 1)).expand(shape)
    sheet.output(counting(10).reshape((1, 10)).expand(shape).eq(picks).cast(int32))


def running(sheet: Sheet) -> None:
    step = steps(1, 6)
    following = state(1, 0, (12,), int32) + sheet.memory(integers(6, 12)).index(step)
    sums = scan(1, step, [full(int32, 0, (12,))], [following], [following])
    sheet.output(result(sums, 1))


def turning(sheet: Sheet) -> None:
    now, x = state(1, 0, (12,), int32), sheet.memory(integers(12))
    turned = loop(1, steps(1, 3), [x], [now.flip((0,)) * 2 + x])
    sheet.output(result(turned, 0))


def ranked(sheet: Sheet) -> None:
    step, counts = steps(1, 12), state(1, 0, (8,), int32)
    key = (sheet.memory(integers(12)).index(step) + 4).reshape((1,))
    counted = make(Op.SCATTER, None, (counts, full(int32, 1, (1,)), key), Op.ADD)
    sheet.output(result(loop(1, step, [full(int32, 0, (8,))], [counted]), 0))


def running_rows(sheet: Sheet) -> None:
    step, columns = steps(1, 20), sheet.memory(integers(3, 20)).permute((1, 0))
    following = state(1, 0, (3,), int32) + columns.index(step)
    sums = scan(1, step, [full(int32, 0, (3,))], [following], [following])
    sheet.output(result(sums, 1).permute((1, 0)))


def placed(sheet: Sheet) -> None:
    """A pass of a radix sort in each of two rows: keys go to the next place of their digit."""
    step, row = steps(1, 8), counting(2)
    free, sorted_ = state(1, 0, (2, 4), int32), state(1, 1, (2, 8), int32)
    key = sheet.memory(integers(2, 8)).permute((1, 0)).index(step)
    at = make(Op.INDEX, None, (free, row, key & 3))
    moved = make(Op.SCATTER, None, (free, at + 1, row, key & 3))
    stored = make(Op.SCATTER, None, (sorted_, key, row, at.maximum(0).minimum(7)))
    starts = sheet.memory(np.array([[0, 2, 4, 6], [0, 1, 5, 6]], np.int32))
    sheet.output(result(loop(1, step, [starts, full(int32, 0, (2, 8))], [moved, stored]), 1))


GRAPHS: Mapping[str, Callable[[Sheet], None]] = {
    build.__name__: build
    for build in (
        *(elementwise, transposed, in_place, reversed_rows, rows_summed, columns_summed),
        *(all_summed, product, product_transposed, images, pooled, folded, two_reductions),
        *(centered, gathered, scattered, one_hot, running, turning, ranked),
        *(running_rows, placed),
    )
}


def sheet_of(name: str) -> Sheet:
    """One of the graphs."""
    sheet = Sheet()
    GRAPHS[name](sheet)
    return sheet
