"""Mathematical integers get a width: int32 where every value provably fits, int64 elsewhere.

before   INDEX(p, ADD(MUL(RANGE 1000, 4), 1))        weakint
after    INDEX(p, ADD(MUL(RANGE 1000, 4), 1))        int32

An offset into fewer than 2**31 elements that is right only where it is in range (a gather's) is
computed modulo 2**32: where it is in range, that is the offset itself.
"""

from __future__ import annotations

from tiny_ir import OP_TABLE, DType, Op, UOp, bounds, const, dtypes, make, rebuild, toposort
from tiny_plugin import Target

RING = frozenset((Op.ADD, Op.SUB, Op.MUL, Op.NEG))
"""Ops whose low bits depend on the low bits of their sources alone."""

_BOUNDARIES = frozenset((Op.INDEX, Op.CAST, Op.END, Op.AFTER, Op.SINK, Op.BARRIER))
"""Ops whose sources need no common width."""


def narrow_indices(sink: UOp, target: Target | None = None) -> UOp:
    """Give every weakint node a fixed width; the sources of one node share the widest of theirs."""
    nodes = toposort((sink,))
    done: dict[UOp, UOp] = {}
    modular: dict[UOp, UOp] = {}
    for node in nodes:
        if node.op is Op.INDEX and _is_addressed_by_32_bits(node):
            place, offset, *valid = node.src
            low = _modulo_32_bits(offset, done, modular)
            src = (done[place], low, *(done[source] for source in valid))
            done[node] = make(Op.INDEX, None, src, node.arg)
        else:
            done[node] = _narrowed(node, done)
    return done[sink]


def _narrowed(node: UOp, done: dict[UOp, UOp]) -> UOp:
    if node.op is Op.CONST:
        return const(_narrowest(node), node.arg) if node.dtype is dtypes.weakint else node
    src = _with_one_width(node, [done[source] for source in node.src])
    if node.dtype is not dtypes.weakint:
        return node if src == node.src else rebuild(node, src)
    if node.op is Op.CAST:
        return src[0].cast(_narrowest(node))
    if OP_TABLE[node.op].dtype_of is None:
        return make(node.op, _narrowest(node), src, node.arg)
    return rebuild(node, src)


def _with_one_width(node: UOp, src: list[UOp]) -> tuple[UOp, ...]:
    """Cast the sources that were weakint to one width; a place in memory decides what it holds."""
    weak = [at for at, source in enumerate(node.src) if source.dtype is dtypes.weakint]
    if not weak or node.op in _BOUNDARIES:
        return tuple(src)
    if node.op in (Op.STORE, Op.LOAD):
        width = src[0].dtype
    elif node.op is Op.REDUCE:
        width = src[0].dtype
        weak = weak[:1] if weak[0] == 0 else []
    else:
        needed = {src[at].dtype for at in weak}
        if node.dtype is dtypes.weakint:
            needed.add(_narrowest(node))
        width = dtypes.int64 if dtypes.int64 in needed else dtypes.int32
    for at in weak:
        src[at] = src[at].cast(width)
    return tuple(src)


def _narrowest(node: UOp) -> DType:
    low, high = bounds(node)
    fits = dtypes.int32.minimum <= low and high <= dtypes.int32.maximum
    return dtypes.int32 if fits else dtypes.int64


def _is_addressed_by_32_bits(index: UOp) -> bool:
    """Whether an offset may leave int32, and all offsets that are in range do not."""
    place, offset = index.src[:2]
    elements = place.shape[0]
    return (
        offset.dtype is dtypes.weakint
        and _narrowest(offset) is dtypes.int64
        and isinstance(elements, int)
        and elements <= 2**31
    )


def _modulo_32_bits(root: UOp, done: dict[UOp, UOp], modular: dict[UOp, UOp]) -> UOp:
    """An int32 that is equal modulo 2**32."""
    stack = [root]
    while stack:
        node = stack[-1]
        if node in modular:
            stack.pop()
        elif node.op in RING and node.dtype is dtypes.weakint:
            missing = [source for source in node.src if source not in modular]
            stack += missing
            if not missing:
                modular[node] = rebuild(node, tuple(modular[source] for source in node.src))
        else:
            modular[node] = _low_bits(node, done[node])
    return modular[root]


def _low_bits(node: UOp, narrowed: UOp) -> UOp:
    if node.op is Op.CONST:
        return const(dtypes.int32, node.arg)
    # A cast from a narrower or wider integer of memory needs no stop at 64 bits.
    if node.op is Op.CAST and node.src[0].dtype.is_int and not node.src[0].dtype.is_weak:
        return (
            narrowed.src[0].cast(dtypes.int32)
            if narrowed.op is Op.CAST
            else narrowed.cast(dtypes.int32)
        )
    return narrowed.cast(dtypes.int32)


NARROW_INDICES = narrow_indices
