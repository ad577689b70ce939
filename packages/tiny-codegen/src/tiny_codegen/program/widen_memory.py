"""Lanes that stand side by side in memory become one wide access.

before   LOAD(INDEX(p, base + IOTA 16))
after    LOAD(INDEX(p, base; 16))

Lanes in reverse order are loaded wide and shuffled; any other pattern stays lane by lane.
"""

from __future__ import annotations

from tiny_ir import Op, UOp, const, dtypes, make, rebuild, simplify, toposort
from tiny_plugin import Target


def widen_memory(sink: UOp, target: Target) -> UOp:
    """Find contiguous lanes in every LOAD and STORE."""
    done: dict[UOp, UOp] = {}
    for node in toposort((sink,)):
        src = tuple([done[source] for source in node.src])
        current = node if src == node.src else rebuild(node, src)
        if node.op is Op.LOAD:
            current = _wide_load(current)
        elif node.op is Op.STORE:
            current = _wide_store(current)
        done[node] = current
    return done[sink]


def _wide_load(load: UOp) -> UOp:
    found = _contiguous(load.src[0])
    if found is None:
        return load
    address, step = found
    rest = load.src[1:]
    if step == 1:
        return make(Op.LOAD, None, (address, *rest))
    order = tuple(reversed(range(address.arg)))
    if rest:
        alternative, gate = rest
        gate = make(Op.SHUFFLE, None, (gate,), order) if gate.shape else gate
        if alternative.shape:
            alternative = make(Op.SHUFFLE, None, (alternative,), order)
        rest = (alternative, gate)
    return make(Op.SHUFFLE, None, (make(Op.LOAD, None, (address, *rest)),), order)


def _wide_store(store: UOp) -> UOp:
    found = _contiguous(store.src[0])
    if found is None or found[1] != 1:
        return store
    return make(Op.STORE, None, (found[0], *store.src[1:]))


def _contiguous(address: UOp) -> tuple[UOp, int] | None:
    """The wide address for lanes that step by 1 or -1, and that step."""
    if address.op is not Op.INDEX or address.arg is not None or address.shape == ():
        return None
    lanes = int(address.shape[0])  # type: ignore[arg-type]  # lanes are always counted
    found = _affine(address.src[1])
    if found is None or found[1] not in (1, -1):
        return None
    base, step = found
    if step == -1:
        base = base - (lanes - 1)
    return make(Op.INDEX, None, (address.src[0], simplify(base)), lanes), step


def _affine(offset: UOp) -> tuple[UOp, int] | None:
    """Split a wide offset into a scalar base and the factor of IOTA; None where it is not so."""
    if offset.shape == ():
        return offset, 0
    if offset.op is Op.IOTA:
        return const(dtypes.weakint, 0), 1
    if offset.op is Op.SPLAT:
        return offset.src[0], 0
    if offset.op in (Op.ADD, Op.SUB):
        a, b = _affine(offset.src[0]), _affine(offset.src[1])
        if a is None or b is None:
            return None
        if offset.op is Op.SUB:
            return a[0] - b[0], a[1] - b[1]
        return a[0] + b[0], a[1] + b[1]
    if offset.op is Op.MUL:
        for x, y in (offset.src, offset.src[::-1]):
            if y.op is Op.CONST:
                inner = _affine(x)
                return None if inner is None else (inner[0] * y, inner[1] * int(y.arg))
    return None
