"""Lanes and copies: hard cases, each named for what once broke."""

from __future__ import annotations

from tiny_codegen.program.expand_lanes import expand_lanes
from tiny_ir import (
    AxisKind,
    KernelArg,
    Op,
    ParamArg,
    RangeArg,
    RegisterArg,
    UOp,
    const,
    dtypes,
    make,
    toposort,
    verify,
)

from ..graphs import WIDE

float32, weakint = dtypes.float32, dtypes.weakint


def memory(slot: int) -> UOp:
    return make(Op.PARAM, float32, (), ParamArg(slot, 64, ""))


def axis(number: int, size: int, kind: AxisKind = AxisKind.LOOP) -> UOp:
    return make(Op.RANGE, None, (const(weakint, size),), RangeArg(number, kind))


def sink(*effects: UOp) -> UOp:
    return make(Op.SINK, None, effects, KernelArg("kernel"))


def expanded(root: UOp) -> list[UOp]:
    verify(root, "kernel")
    result = expand_lanes(root, WIDE)
    verify(result, "kernel")
    return toposort((result,))


def test_one_element_that_some_lanes_ask_for_is_read_once() -> None:
    # The offset is one, the gate is wide: a wide value has the shape of its offset.
    i, lane = axis(0, 4), axis(1, 8, AxisKind.LANE)
    value = memory(1).index(i, lane < 5)
    nodes = expanded(sink(memory(0).index(i * 8 + lane).store(value).end(i, lane)))
    (read,) = [node for node in nodes if node.op is Op.INDEX and len(node.src) == 3]
    assert read.shape == ()
    assert read.src[2].op is Op.REDUCE


def test_a_register_that_waits_for_lanes_waits_for_nothing() -> None:
    lane, step = axis(0, 8, AxisKind.LANE), axis(1, 3, AxisKind.SERIAL)
    register = make(Op.REGISTER, float32, (), RegisterArg(-1, ()))
    start = register.after(lane).store(const(float32, 0))
    now = make(Op.LOAD, None, (register.after(start, step),))
    end = register.after(now).store(now + memory(1).index(lane)).end(step)
    total = make(Op.LOAD, None, (register.after(end),))
    nodes = expanded(sink(memory(0).index(lane).store(total).end(lane)))
    (wide,) = [node for node in nodes if node.op is Op.REGISTER]
    assert wide.arg.lanes == (8,)
    assert all(node.op is not Op.AFTER or node.src[1:] or node.src[0] is wide for node in nodes)


def test_copies_share_their_loops() -> None:
    # The size of the inner loop was simplified in the copies, and not in its END.
    worker = axis(0, 4, AxisKind.THREAD)
    left = (const(weakint, 17) - worker * 5).minimum(5)
    inner = make(Op.RANGE, None, (left,), RangeArg(2, AxisKind.LOOP))
    copy = axis(1, 2, AxisKind.UNROLL)
    place = memory(0).index(copy * 17 + worker * 5 + inner)
    nodes = expanded(sink(place.store(memory(1).index(inner)).end(copy, inner).end(worker)))
    assert sum(node.op is Op.RANGE for node in nodes) == 2
    assert sum(node.op is Op.STORE for node in nodes) == 2
