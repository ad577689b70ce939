"""Reduces to accumulators.

before   REDUCE(x, r; ADD)
after    LOAD(AFTER(acc, END(STORE(acc, ADD(LOAD(AFTER(acc, STORE(acc, -0.0), r)), x)), r)))

The accumulator is a REGISTER, as wide as `x`. Reductions over the same loops, at the same place,
share one loop: the copies of a register tile do. A multiply-add of the reduction's own becomes one
FMA where the target has it: the only place, with the function polynomials, where a stage makes one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tiny_codegen.identities import identity_of
from tiny_codegen.own_loops import FreeNumbers, find_own_loops
from tiny_codegen.scopes import Scope, by_number, find_scopes, scopes_of
from tiny_ir import Op, RegisterArg, UOp, const, make, rebuild, substitute, toposort
from tiny_plugin import Target

_Place = tuple[tuple[UOp, ...], Scope]


def lower_reduce(sink: UOp, target: Target) -> UOp:
    """Give every REDUCE over loops an accumulator; those over lanes stay."""
    sink = _separated(sink)
    nodes = toposort((sink,))
    scopes = scopes_of(nodes)
    places: dict[UOp, _Place] = {
        node: (node.src[1:], scopes[node])
        for node in nodes
        if node.op is Op.REDUCE and len(node.src) > 1
    }
    groups: dict[_Place, list[UOp]] = {}
    for node, place in places.items():
        groups.setdefault(place, []).append(node)
    registers = {node: number for number, node in enumerate(places)}
    done: dict[UOp, UOp] = {}
    stack = [sink]
    while stack:
        node = stack[-1]
        if node in done:
            stack.pop()
            continue
        shared = places.get(node)
        together = groups[shared] if shared is not None else [node]
        missing = [source for member in together for source in member.src if source not in done]
        if missing:
            stack += missing
            continue
        stack.pop()
        if shared is not None:
            _accumulate(together, shared, registers, done, target)
        else:
            src = tuple([done[source] for source in node.src])
            done[node] = node if src == node.src else rebuild(node, src)
    return done[sink]


def _accumulate(
    together: Sequence[UOp],
    place: _Place,
    registers: dict[UOp, int],
    done: dict[UOp, UOp],
    target: Target,
) -> None:
    """Lower reductions that share one loop."""
    axes = tuple(done[axis] for axis in place[0])
    outer = [done[axis] for axis in by_number(place[1])]
    accumulators: list[UOp] = []
    effects: list[UOp] = []
    for node in together:
        value = done[node.src[0]]
        lanes = tuple(int(size) for size in value.shape if isinstance(size, int))
        register = make(Op.REGISTER, value.dtype, (), RegisterArg(registers[node], lanes))
        identity = const(value.dtype, _start_of(node.arg.op, value))
        start = register.after(*outer).store(identity)
        current = make(Op.LOAD, None, (register.after(start, *axes),))
        accumulators.append(register)
        effects.append(register.store(_combined(node.arg.op, value, current, target)))
    end = make(Op.END, None, (*effects, *by_number(axes)))
    for node, register in zip(together, accumulators, strict=True):
        result = make(Op.LOAD, None, (register.after(end),))
        done[node] = result.reduce(node.arg.op, node.arg.axes)


def _combined(op: Op, value: UOp, current: UOp, target: Target) -> UOp:
    if op is Op.ADD and value.dtype.is_float:
        if value.op is Op.MUL and target.has_fma(value.dtype):
            return make(Op.FMA, None, (*value.src, current))
        if value.op is Op.WHERE and _is_zero(value.src[2]):
            # A term that is left out leaves the sum as it is.
            condition, term, _ = value.src
            return condition.where(_combined(op, term, current, target), current)
    return make(op, None, (current, value))


def _start_of(op: Op, value: UOp) -> bool | int | float:
    """The neutral element; 0.0 where terms are left out, for each of them stands for a 0.0."""
    leaves_out = op is Op.ADD and value.op is Op.WHERE and _is_zero(value.src[2])
    # A term of -0.0 stands for nothing: it leaves every sum as it is.
    if leaves_out and math.copysign(1, value.src[2].arg) > 0:
        return 0
    return identity_of(op, value.dtype)


def _is_zero(node: UOp) -> bool:
    return node.op is Op.CONST and node.arg == 0


def _separated(sink: UOp) -> UOp:
    """Give reductions at different places loops of their own."""
    done: dict[UOp, UOp] = {}
    scopes: dict[UOp, Scope] = {}
    owners: dict[UOp, _Place] = {}
    copies: dict[_Place, dict[UOp, UOp]] = {}
    nodes = toposort((sink,))
    numbers = FreeNumbers.of(sink)
    for node in nodes:
        src = tuple([done[source] for source in node.src])
        current = node if src == node.src else rebuild(node, src)
        if node.op is Op.REDUCE and len(src) > 1:
            find_scopes(current, scopes)
            place = (src[1:], scopes[current])
            if any(owners.setdefault(axis, place) != place for axis in src[1:]):
                own = copies.setdefault(place, {})
                if not own:
                    own.update((axis, numbers.another(axis)) for axis in src[1:])
                find_own_loops(src[0], src[1:], numbers, own)
                current = substitute(current, own)
        done[node] = current
    return done[sink]
