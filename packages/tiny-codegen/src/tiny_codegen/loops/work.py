"""Counts what a kernel does: how often each of its reductions and stores computes an element."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

from tiny_codegen.scopes import Scope, by_number, loops_of_stores, scopes_of
from tiny_ir import Op, UOp, bounds, toposort


@dataclass(frozen=True, slots=True)
class Site:
    """A place that computes elements: the value of a REDUCE, or of a STORE.

    Attributes:
        node: the REDUCE or STORE.
        scope: the loops around its value.
        loads: the INDEX nodes read for one element, those inside inner reductions left out.
        operations: elementwise operations for one element.
    """

    node: UOp
    scope: Scope
    loads: tuple[UOp, ...]
    operations: int

    @property
    def iterations(self) -> int:
        """How many elements are computed at most."""
        return iterations_of(self.scope)


def iterations_of(axes: Iterable[UOp]) -> int:
    """The iterations of loops inside each other."""
    return prod(int(bounds(axis)[1]) + 1 for axis in axes)


def sites_of(root: UOp) -> list[Site]:
    """The reductions and stores of a kernel, inner ones first."""
    nodes = toposort((root,))
    scopes = scopes_of(nodes)
    around = loops_of_stores(nodes)
    sites: list[Site] = []
    for node in nodes:
        if node.op is Op.STORE:
            scope = scopes[node] | around.get(node, frozenset())
            sites.append(_site(node, node.src[1], scope, scopes, frozenset()))
        elif node.op is Op.REDUCE and len(node.src) > 1:
            innermost = frozenset(by_number(node.src[1:])[-1:])
            sites.append(_site(node, node.src[0], scopes[node.src[0]], scopes, innermost))
    return sites


def operations_of(root: UOp) -> int:
    """Elementwise operations of one launch."""
    return sum(site.iterations * max(1, site.operations) for site in sites_of(root))


def _site(node: UOp, value: UOp, scope: Scope, scopes: dict[UOp, Scope], innermost: Scope) -> Site:
    """The site of a value; what is the same in every turn of its innermost loop is not counted."""
    loads: list[UOp] = []
    operations = 0
    seen: set[UOp] = set()
    stack = [value]
    while stack:
        at = stack.pop()
        if at in seen or at.op is Op.REDUCE or at.dtype.is_weak:
            continue
        seen.add(at)
        if at.op is Op.INDEX:
            loads.append(at)
            stack += [source for source in at.src[1:] if source.op is not Op.AFTER]
            continue
        if at.op in (Op.END, Op.STORE, Op.AFTER):
            continue
        operations += bool(at.src) and innermost <= scopes[at]
        stack += at.src
    return Site(node, scope, tuple(loads), operations)
