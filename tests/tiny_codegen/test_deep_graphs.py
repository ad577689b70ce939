"""Depth and length have no limit, and cost in proportion."""

from __future__ import annotations

import sys
from time import process_time

import numpy as np
import pytest

from tiny_ir import Op, UOp, make
from tiny_plugin import Options, Target

from .graphs import SCALAR, WIDE, Sheet, matmul

UNVERIFIED = Options()


def chain(x: UOp, length: int) -> UOp:
    for count in range(length):
        x = x * 3 if count % 2 else x + count
    return x


@pytest.mark.parametrize(("target", "length"), [(SCALAR, 10_000), (WIDE, 2000)])
def test_thousands_of_ops_in_a_row(target: Target, length: int) -> None:
    sheet = Sheet()
    x = np.arange(20, dtype=np.int32)
    sheet.output(chain(sheet.memory(x), length))
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(220)
    try:
        schedule = sheet.schedule(target, UNVERIFIED)
    finally:
        sys.setrecursionlimit(before)
    assert len(schedule.steps) == 1


def test_a_chain_computes_what_it_should() -> None:
    sheet = Sheet()
    x = np.arange(4, dtype=np.int32)
    slot = sheet.output(chain(sheet.memory(x), 1000))
    expected = x
    with np.errstate(over="ignore"):
        for count in range(1000):
            expected = expected * np.int32(3) if count % 2 else expected + np.int32(count)
    assert np.array_equal(sheet.run(SCALAR, UNVERIFIED)[slot], expected)


def kernels(count: int) -> Sheet:
    sheet = Sheet()
    x = sheet.memory(np.arange(8, dtype=np.int32))
    for _ in range(count):
        x = make(Op.CONTIGUOUS, None, (x.flip((0,)) + 1,))
    sheet.output(x)
    return sheet


def writes(count: int) -> Sheet:
    sheet = Sheet()
    x = sheet.memory(np.arange(8, dtype=np.int32))
    for _ in range(count):
        half = x.shrink(((4, 8),)) * 2
        x = x.after(sheet.effect(x.shrink(((0, 4),)).store(half)))
    return sheet


def layers(count: int) -> Sheet:
    sheet = Sheet()
    w = sheet.memory(np.ones((4, 4), np.float32))
    x = w
    for _ in range(count):
        x = matmul(x, w).maximum(0)
    sheet.output(x)
    return sheet


def stencil(count: int) -> Sheet:
    sheet = Sheet()
    x = sheet.memory(np.arange(16, dtype=np.int32))
    for _ in range(count):
        x = x + x.shrink(((1, 16),)).pad(((0, 1),))
    sheet.output(x)
    return sheet


@pytest.mark.parametrize("build", [kernels, writes, layers, stencil])
def test_time_grows_with_the_graph_and_no_faster(build: object) -> None:
    def seconds(count: int) -> float:
        started = process_time()
        build(count).schedule(SCALAR, UNVERIFIED)  # type: ignore[operator]
        return process_time() - started

    seconds(20)
    short, long = seconds(60), seconds(240)
    assert long < 12 * short + 0.5, f"{short:.3f} s became {long:.3f} s for four times as much"
