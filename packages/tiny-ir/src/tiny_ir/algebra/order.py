"""A fixed order of nodes, so that equal sums and conjunctions are written in one way.

The order follows from what a node is, never from when or where it was built: programs that are
built again, also in another process, come out the same.
"""

from __future__ import annotations

from zlib import crc32

from tiny_ir.op import Op
from tiny_ir.uop import UOp

_DIGEST_BITS = 40
_DIGEST_MASK = (1 << _DIGEST_BITS) - 1
_DEPTH_MASK = (1 << 20) - 1
_WIDE = 1 << (_DIGEST_BITS + 20)
_RANK = {op: rank for rank, op in enumerate(Op)}


def order_of(node: UOp) -> int:
    """Return the place of a node among others.

    Values that loops further out can compute stand first, wide values last; so the first part of
    a sum does not change in the innermost loop. Nodes that look alike are told apart by a digest
    of what they are made of.
    """
    known = node._order
    if known is not None:
        return known
    stack = [node]
    while stack:
        top = stack[-1]
        if top._order is not None:
            stack.pop()
            continue
        missing = [source for source in top.src if source._order is None]
        if missing:
            stack += missing
        else:
            top._order = _order(top)
    result = node._order
    assert result is not None
    return result


def _order(node: UOp) -> int:
    op = node.op
    depth: int = node.arg.number + 1 if op is Op.RANGE else 0
    argument = node.arg.number if op is Op.RANGE else _number_of(node)
    parts = [_RANK[op], argument]
    for source in node.src:
        order = source._order or 0
        depth = max(depth, order >> _DIGEST_BITS & _DEPTH_MASK)
        parts.append(order & _DIGEST_MASK)
    digest = hash(tuple(parts)) & _DIGEST_MASK  # numbers hash alike in every process
    wide = _WIDE if node.shape else 0
    return wide | min(depth, _DEPTH_MASK) << _DIGEST_BITS | digest


def _number_of(node: UOp) -> int:
    argument = node.arg
    if argument is None:
        return crc32(node.dtype.name.encode()) if node.op is Op.CAST else 0
    if isinstance(argument, int):
        return argument
    return crc32(repr(argument).encode())
