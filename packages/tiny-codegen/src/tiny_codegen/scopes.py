"""Which loops are open where a node is computed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tiny_ir import Op, UOp

Scope = frozenset[UOp]
EMPTY: Scope = frozenset()


def scope_of(node: UOp, scopes: dict[UOp, Scope]) -> Scope:
    """The RANGEs a node depends on, given those of its sources; END closes its own."""
    src = node.src
    if not src:
        return EMPTY
    scope = scopes[src[0]]
    for source in src[1:]:
        other = scopes[source]
        if not other <= scope:
            scope = scope | other
    if node.op is Op.RANGE:
        return scope | {node}
    if node.op is Op.END or node.op is Op.REDUCE:
        closed = [source for source in src if source.op is Op.RANGE]
        if closed:
            kept = frozenset(scope - frozenset(closed))
            for axis in closed:
                kept |= scopes[axis.src[0]]
            return kept
    return scope


def scopes_of(nodes: Iterable[UOp]) -> dict[UOp, Scope]:
    """The open loops of every node of a topologically sorted list."""
    scopes: dict[UOp, Scope] = {}
    for node in nodes:
        scopes[node] = scope_of(node, scopes)
    return scopes


def find_scopes(root: UOp, scopes: dict[UOp, Scope]) -> None:
    """Add what is not known yet of a node and of all below it."""
    stack = [root]
    while stack:
        node = stack[-1]
        missing = [source for source in node.src if source not in scopes]
        if missing and node not in scopes:
            stack += missing
        else:
            stack.pop()
            if node not in scopes:
                scopes[node] = scope_of(node, scopes)


def loops_of_stores(nodes: Sequence[UOp]) -> dict[UOp, Scope]:
    """The loops that are closed around each store."""
    around: dict[UOp, Scope] = {}
    for node in reversed(nodes):
        if node.op in (Op.END, Op.SINK):
            closed = frozenset(source for source in node.src if source.op is Op.RANGE)
            here = around.get(node, frozenset()) | closed
            for source in node.src:
                if source.op in (Op.END, Op.SINK, Op.STORE):
                    around[source] = around.get(source, frozenset()) | here
    return around


def by_number(axes: Iterable[UOp]) -> list[UOp]:
    """Loop axes, outermost first."""
    return sorted(axes, key=lambda axis: int(axis.arg.number))
