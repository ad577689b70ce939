"""Axes of lanes become wide values, unrolled axes become copies.

before   END(STORE(INDEX(p, o*4 + l), x), o, l)      l walked as LANE, of 4
after    END(STORE(INDEX(p, o*4 + IOTA 4), SPLAT(x; 4)), o)

before   END(STORE(INDEX(p, o*2 + u), x), o, u)      u walked as UNROLL, of 2
after    END(STORE(INDEX(p, ADD(o*2, 0)), x), STORE(INDEX(p, ADD(o*2, 1)), x), o)
"""

from __future__ import annotations

from collections.abc import Sequence

from tiny_codegen.buffers import memory_of
from tiny_codegen.program.combine_prefixes import ScanLanes
from tiny_codegen.scopes import scopes_of
from tiny_ir import (
    AxisKind,
    Op,
    ReduceArg,
    RegisterArg,
    UOp,
    const,
    dtypes,
    make,
    rebuild,
    substitute,
    toposort,
)
from tiny_plugin import Target

_LANES = (AxisKind.LANE, AxisKind.REDUCE_LANE, AxisKind.SCAN_LANE)


def expand_lanes(sink: UOp, target: Target) -> UOp:
    """Spell out LANE and UNROLL axes; what is left are loops."""
    return _widened(_unrolled(sink))


def _widened(sink: UOp) -> UOp:
    nodes = toposort((sink,))
    done = _wide_registers(nodes)
    scans = ScanLanes.of(sink, nodes)
    for node in scans.order if scans is not None else nodes:
        if node in done:
            continue
        if node.op is Op.RANGE and node.arg.kind in _LANES:
            done[node] = make(Op.IOTA, dtypes.weakint, (), int(node.src[0].arg))
            continue
        if scans is not None and scans.combine(node, done):
            continue
        src = tuple([done[source] for source in node.src])
        if node.op in (Op.END, Op.AFTER):
            src = tuple(source for source in src if source.op is not Op.IOTA)
        if node.op is Op.END:
            done[node] = make(Op.END, None, src) if _has_loops(src) else _group(src)
        elif node.op is Op.REDUCE and any(source.op is Op.IOTA for source in src[1:]):
            done[node] = _reduced_lanes(node, src)
        elif node.op is Op.STORE:
            done[node] = _wide_store(src)
        elif node.op is Op.INDEX and len(src) == 3 and src[2].shape and not src[1].shape:
            done[node] = _one_for_all(src)
        else:
            done[node] = node if src == node.src else rebuild(node, src)
    return done[sink]


def _wide_registers(nodes: list[UOp]) -> dict[UOp, UOp]:
    """The registers of a recurrence whose elements are lanes become as wide."""
    scopes = scopes_of(nodes)
    wide: dict[UOp, UOp] = {}
    for node in nodes:
        memory = memory_of(node.src[0]) if node.op is Op.STORE else node
        if memory.op is not Op.REGISTER or memory in wide:
            continue
        kinds = (AxisKind.LANE, AxisKind.SCAN_LANE)
        lanes = [int(a.src[0].arg) for a in scopes[node] if a.arg.kind in kinds]
        if lanes:
            arg = RegisterArg(memory.arg.number, tuple(lanes))
            wide[memory] = make(Op.REGISTER, memory.dtype, (), arg)
    return wide


def _has_loops(src: tuple[UOp, ...]) -> bool:
    return any(source.op is Op.RANGE for source in src)


def _group(effects: tuple[UOp, ...]) -> UOp:
    return effects[0] if len(effects) == 1 else make(Op.SINK, None, effects)


def _reduced_lanes(node: UOp, src: tuple[UOp, ...]) -> UOp:
    value, *axes = src
    lanes = next(axis.arg for axis in axes if axis.op is Op.IOTA)
    loops = tuple(axis for axis in axes if axis.op is Op.RANGE)
    if value.shape == ():
        value = make(Op.SPLAT, None, (value,), lanes)
    return make(Op.REDUCE, None, (value, *loops), ReduceArg(node.arg.op, (0,)))


def _one_for_all(src: tuple[UOp, ...]) -> UOp:
    """One element that some lanes ask for: it is read if any does."""
    memory, offset, valid = src
    element = memory.index(offset, valid.reduce(Op.OR, (0,)))
    return valid.where(element, 0)


def _wide_store(src: tuple[UOp, ...]) -> UOp:
    address, value, *gate = src
    if address.shape and value.shape == ():
        value = make(Op.SPLAT, None, (value,), address.shape[0])
    return make(Op.STORE, None, (address, value, *gate))


def _unrolled(sink: UOp) -> UOp:
    done: dict[UOp, UOp] = {}
    for node in toposort((sink,)):
        src = tuple([done[source] for source in node.src])
        current = node if src == node.src else rebuild(node, src)
        if node.op in (Op.END, Op.REDUCE):
            axes = [s for s in src[1:] if s.op is Op.RANGE and s.arg.kind is AxisKind.UNROLL]
            if node.op is Op.REDUCE and axes:
                current = _copied_reduce(current, axes)
            for axis in axes if node.op is Op.END else ():
                current = _copied_end(current, axis)
        done[node] = current
    return done[sink]


def _copies(node: UOp, axis: UOp) -> list[UOp]:
    """The node at each iteration; the next stage simplifies all of them at once."""
    changing = {axis: None}
    for below in toposort((node,)):
        if any(source in changing for source in below.src):
            changing[below] = None
    if node not in changing:
        return [node] * int(axis.src[0].arg)
    del changing[axis]
    copies: list[UOp] = []
    for number in range(int(axis.src[0].arg)):
        done = {axis: const(dtypes.weakint, number)}
        for below in changing:
            done[below] = rebuild(below, tuple([done.get(source, source) for source in below.src]))
        copies.append(done[node])
    return copies


def _copied_end(end: UOp, axis: UOp) -> UOp:
    effects = [source for source in end.src if source.op is not Op.RANGE]
    loops = tuple(source for source in end.src if source.op is Op.RANGE and source is not axis)
    if any(_is_state(effect) for effect in effects):
        copied = tuple(_chained(effects, axis))
    else:
        copied = tuple(copy for effect in effects for copy in _jammed(effect, axis))
    return make(Op.END, None, (*copied, *loops)) if loops else _group(copied)


def _is_state(effect: UOp) -> bool:
    return effect.op is Op.STORE and memory_of(effect.src[0]).op is Op.REGISTER


def _chained(effects: Sequence[UOp], axis: UOp) -> list[UOp]:
    """Copies of a step, each of which begins with the states that the one before it left."""
    carried = {memory_of(effect.src[0]): effect for effect in effects if _is_state(effect)}
    before: dict[UOp, UOp] = {}
    for node in toposort(effects):
        if node.op is Op.LOAD and memory_of(node.src[0]) in carried and axis in node.src[0].src:
            place = rebuild(node.src[0], tuple(s for s in node.src[0].src if s is not axis))
            before[node] = rebuild(node, (place,))
    now = dict(before)
    copied: list[UOp] = []
    for number in range(int(axis.src[0].arg)):
        step = {axis: const(dtypes.weakint, number)}
        nexts = {
            register: substitute(store.src[1], now | step) for register, store in carried.items()
        }
        copied += [substitute(effect, now | step) for effect in effects if not _is_state(effect)]
        now = {load: nexts[memory_of(load.src[0])] for load in before}
    for register, store in carried.items():
        copied.append(substitute(store.src[0], before).store(nexts[register]))
    return copied


def _jammed(effect: UOp, axis: UOp) -> list[UOp]:
    """Copies of an effect; those of a loop stand together inside the one loop."""
    if effect.op in (Op.END, Op.SINK):
        inner = [source for source in effect.src if source.op is not Op.RANGE]
        loops = tuple(source for source in effect.src if source.op is Op.RANGE)
        copied = tuple(copy for one in inner for copy in _jammed(one, axis))
        return [make(effect.op, None, (*copied, *loops), effect.arg)]
    return _copies(effect, axis)


def _copied_reduce(node: UOp, axes: Sequence[UOp]) -> UOp:
    """Each copy accumulates on its own, to hide latency; lanes are combined once, at the end."""
    value, *ranges = node.src
    copies = [value]
    for axis in axes:
        copies = [copy for one in copies for copy in _copies(one, axis)]
    lanes = [axis for axis in ranges if axis.arg.kind in _LANES]
    loops = [axis for axis in ranges if axis not in axes and axis not in lanes]
    op: Op = node.arg.op
    total, *rest = (copy.reduce(op, ranges=loops) for copy in copies)
    for one in rest:
        total = make(op, None, (total, one))
    if not lanes and not node.arg.axes:
        return total
    return make(Op.REDUCE, None, (total, *lanes), node.arg)
