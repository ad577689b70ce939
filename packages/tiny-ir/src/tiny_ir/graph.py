"""Builds graphs again with other parts; nothing here recurses, so depth has no limit."""

from __future__ import annotations

from collections.abc import Mapping

from tiny_ir.op_table import OP_TABLE
from tiny_ir.uop import UOp, interned


def rebuild(node: UOp, src: tuple[UOp, ...]) -> UOp:
    """Return `node` with other sources; its dtype follows them where the op's row says so."""
    op = node.op
    rule = _DTYPE_RULES[op]
    return interned(op, node.dtype if rule is None else rule(src), src, node.arg)


_DTYPE_RULES = {op: row.dtype_of for op, row in OP_TABLE.items()}


def substitute(root: UOp, replacements: Mapping[UOp, UOp]) -> UOp:
    """Replace nodes, everywhere below `root`, in one pass; replacements are not looked into."""
    done: dict[UOp, UOp] = dict(replacements)
    stack = [root]
    while stack:
        node = stack[-1]
        if node in done:
            stack.pop()
            continue
        missing = [source for source in node.src if source not in done]
        if missing:
            stack += missing
            continue
        stack.pop()
        src = tuple([done[source] for source in node.src])
        done[node] = node if src == node.src else rebuild(node, src)
    return done[root]
