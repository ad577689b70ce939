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
    stack: list[tuple[UOp, bool]] = [(root, False) for root in roots]
    stack.reverse()
    while stack:
        node, expanded = stack.pop()
        if expanded:
            order.append(node)
            continue
        if node in seen:
            continue
        seen.add(node)
        stack.append((node, True))
        for source in reversed(node.src):
            if source not in seen:
                stack.append((source, False))
    return order
