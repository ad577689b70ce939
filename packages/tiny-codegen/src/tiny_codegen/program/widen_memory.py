"""Lanes that stand side by side in memory become one wide access.

before   LOAD(INDEX(p, base + IOTA 16))
after    LOAD(INDEX(p, base; 16))

Lanes in reverse order, and every second to fourth element, are loaded wide and shuffled; any other
pattern stays lane by lane.
"""

from __future__ import annotations

from tiny_codegen.buffers import memory_of
from tiny_ir import Op, UOp, bounds, const, dtypes, make, rebuild, simplify, toposort
from tiny_plugin import Target

WIDEST_STEP = 4
"""Up to this step, loading what lies between the lanes costs less than loading lane by lane."""


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
    found = lanes_of(load.src[0])
    if found is None:
        return load
    base, step, lanes = found
    rest = load.src[1:]
    memory = load.src[0].src[0]
    if step == 1:
        return make(Op.LOAD, None, (address_of_lanes(memory, base, lanes), *rest))
    if step == -1:
        order = tuple(reversed(range(lanes)))
        wide = make(
            Op.LOAD, None, (address_of_lanes(memory, base - (lanes - 1), lanes), *_in(order, rest))
        )
        return make(Op.SHUFFLE, None, (wide,), order)
    return load if rest else _every_other(load, memory, base, step, lanes)


def _every_other(load: UOp, memory: UOp, base: UOp, step: int, lanes: int) -> UOp:
    """Load everything between the lanes too, where that stays inside the buffer."""
    if not 1 < step <= WIDEST_STEP or memory_of(memory).op is not Op.PARAM:
        return load
    elements = memory_of(memory).arg.elements
    for skipped in range(step):
        start = simplify(base - skipped)
        low, high = bounds(start)
        if 0 <= low and high + step * lanes <= elements:
            wide = make(Op.LOAD, None, (address_of_lanes(memory, start, step * lanes),))
            order = tuple(skipped + step * lane for lane in range(lanes))
            return make(Op.SHUFFLE, None, (wide,), order)
    return load


def _in(order: tuple[int, ...], rest: tuple[UOp, ...]) -> tuple[UOp, ...]:
    """What a guarded load takes besides its address, with lanes in another order."""
    return tuple(
        make(Op.SHUFFLE, None, (source,), order) if source.shape else source for source in rest
    )


def _wide_store(store: UOp) -> UOp:
    found = lanes_of(store.src[0])
    if found is None or found[1] not in (1, -1):
        return store
    base, step, lanes = found
    if step == -1:
        order = tuple(reversed(range(lanes)))
        address = address_of_lanes(store.src[0].src[0], base - (lanes - 1), lanes)
        return make(Op.STORE, None, (address, *_in(order, store.src[1:])))
    return make(
        Op.STORE, None, (address_of_lanes(store.src[0].src[0], base, lanes), *store.src[1:])
    )


def address_of_lanes(memory: UOp, base: UOp, lanes: int) -> UOp:
    return make(Op.INDEX, None, (memory, simplify(base)), lanes)


def lanes_of(address: UOp) -> tuple[UOp, int, int] | None:
    """Where the first lane of a wide address is, the step between lanes, and their number."""
    if address.op is not Op.INDEX or address.arg is not None or address.shape == ():
        return None
    found = _affine(address.src[1])
    if found is None or found[1] == 0:
        return None
    lanes = int(address.shape[0])  # type: ignore[arg-type]  # lanes are always counted
    return (*found, lanes)


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
