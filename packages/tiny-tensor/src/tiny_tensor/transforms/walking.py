"""What the transformations of graphs walk over: nodes sources first, and the bodies of loops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tiny_ir import Op, UOp, toposort
from tiny_tensor.gradient.differentiate import Origin, no_origin


def sources_first(roots: Iterable[UOp], origin: Origin = no_origin) -> Iterator[UOp]:
    """Every node that a derivative may flow through to the roots, each after its sources.

    The source of a BUFFER is what it was made of; a user function is not looked into.

    Args:
        roots: where to begin.
        origin: the graph that a BUFFER was computed by, or None.
    """
    sources: dict[UOp, tuple[UOp, ...]] = {}
    stack = list(roots)
    done: set[UOp] = set()
    while stack:
        node = stack[-1]
        if node in done:
            stack.pop()
            continue
        if node not in sources:
            made = origin(node) if node.op is Op.BUFFER else None
            below = node.src[1:] if node.op is Op.CUSTOM else node.src
            sources[node] = below if made is None else (made,)
            stack += sources[node]
            continue
        stack.pop()
        done.add(node)
        yield node


def body_of(recurrence: UOp) -> list[UOp]:
    """The nodes of a LOOP or SCAN that differ from step to step, each after its sources."""
    number = recurrence.arg.number
    step = recurrence.src[0]
    found: dict[UOp, None] = {}
    for node in toposort(recurrence.src):
        is_state = node.op is Op.STATE and node.arg.number == number
        if is_state or node is step or any(source in found for source in node.src):
            found[node] = None
    return list(found)
