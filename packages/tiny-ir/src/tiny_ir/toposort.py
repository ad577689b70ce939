"""Puts the nodes of a graph in one order: sources before users, without recursion."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiny_ir.uop import UOp


def toposort(roots: Iterable[UOp]) -> list[UOp]:
    """Every node that the roots depend on and the roots, sources before users; no recursion."""
    seen: set[UOp] = set()
    order: list[UOp] = []
    # A node stands under None while its sources are walked; a source that was seen is done by then.
    stack: list[UOp | None] = list(roots)
    stack.reverse()
    pop, push, see, done = stack.pop, stack.append, seen.add, order.append
    while stack:
        node = pop()
        if node is None:
            done(pop())  # type: ignore[arg-type]  # under None stands a node
        elif node not in seen:
            see(node)
            src = node.src
            if src:
                push(node)
                push(None)
                stack += src[::-1]
            else:
                done(node)
    return order
