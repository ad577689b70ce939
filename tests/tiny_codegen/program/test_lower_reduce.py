"""Accumulators: hard cases, each named for what once broke."""

from __future__ import annotations

import numpy as np

from tiny_codegen.program.lower_reduce import lower_reduce
from tiny_ir import (
    AxisKind,
    KernelArg,
    Op,
    ParamArg,
    RangeArg,
    ScratchArg,
    UOp,
    const,
    dtypes,
    make,
    toposort,
    verify,
)
from tiny_plugin import FloatFacts, Options, replace

from ..graphs import SCALAR, Sheet

float32, weakint = dtypes.float32, dtypes.weakint
FUSED = replace(SCALAR, floats=(FloatFacts(float32, fma=True),))
PLAIN = replace(SCALAR, floats=(FloatFacts(float32, fma=False),))


def memory(slot: int) -> UOp:
    return make(Op.PARAM, float32, (), ParamArg(slot, 64, ""))


def axis(number: int, size: int, kind: AxisKind = AxisKind.LOOP) -> UOp:
    return make(Op.RANGE, None, (const(weakint, size),), RangeArg(number, kind))


def lowered(root: UOp, target: object = PLAIN) -> list[UOp]:
    verify(root, "kernel")
    result = lower_reduce(root, target)  # type: ignore[arg-type]
    verify(result, "kernel")
    return toposort((result,))


def sink(*effects: UOp) -> UOp:
    return make(Op.SINK, None, effects, KernelArg("kernel"))


def test_reductions_at_one_place_share_a_loop() -> None:
    i, k = axis(0, 4), axis(1, 8, AxisKind.REDUCE)
    x = memory(1).index(i * 8 + k)
    both = x.reduce(Op.ADD, ranges=(k,)) * x.reduce(Op.MAX, ranges=(k,))
    nodes = lowered(sink(memory(0).index(i).store(both).end(i)))
    assert sum(node.op is Op.REGISTER for node in nodes) == 2
    assert sum(node.op is Op.RANGE for node in nodes) == 2


def test_reductions_at_two_places_have_loops_of_their_own() -> None:
    i, k = axis(0, 4), axis(1, 8, AxisKind.REDUCE)
    whole = memory(1).index(k).reduce(Op.ADD, ranges=(k,))
    rows = memory(1).index(i * 8 + k).reduce(Op.ADD, ranges=(k,))
    nodes = lowered(sink(memory(0).index(i).store(rows * whole).end(i)))
    assert sum(node.op is Op.RANGE for node in nodes) == 3


def test_a_copy_inside_two_reductions_is_made_in_each() -> None:
    # The loops of the packed copy were closed twice when the second reduction got its own axis.
    i, j, k = axis(0, 4), axis(1, 8), axis(2, 8, AxisKind.REDUCE)
    scratch = make(Op.SCRATCH, float32, (), ScratchArg(0, 8, "scratch"))
    copied = scratch.index(j).store(memory(1).index(k * 8 + j)).end(j)
    packed = scratch.after(copied)
    sums = [packed.index(at).reduce(Op.ADD, ranges=(k,)) for at in (const(weakint, 3), i)]
    nodes = lowered(sink(memory(0).index(i).store(sums[0] * sums[1]).end(i)))
    closed = [axis for node in nodes if node.op is Op.END for axis in node.src[1:]]
    assert len([one for one in closed if one.op is Op.RANGE]) == len(set(closed) & set(nodes))
    assert sum(node.op is Op.SCRATCH for node in nodes) == 2


def test_only_a_reduction_fuses_its_own_multiply_and_add() -> None:
    sheet = Sheet()
    x, y = (sheet.memory(np.ones((4, 8), np.float32)) for _ in range(2))
    sheet.output((x * y).reduce(Op.ADD, (1,)))
    sheet.output(x * y + x)
    for target, count in ((FUSED, 1), (PLAIN, 0)):
        steps = sheet.schedule(replace(target, supported=SCALAR.supported), Options()).steps
        ops = [node.op for step in steps for node in step.program.uops]  # type: ignore[union-attr]
        assert (ops.count(Op.FMA) > 0) == count
        assert Op.MUL in ops
