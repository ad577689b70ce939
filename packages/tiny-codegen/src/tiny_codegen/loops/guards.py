"""Which loops of a kernel ask guards, and how they are nested so that few of them do."""

from __future__ import annotations

from tiny_codegen.loops.ranges import size_of_axis
from tiny_codegen.loops.work import Site, sites_of
from tiny_codegen.scopes import EMPTY, Scope, by_number
from tiny_ir import AxisKind, Op, UOp, toposort

LONG_INSIDE = 8
"""Turns of a loop that are worth a division before it."""


def order_behind_guards(root: UOp) -> list[UOp] | None:
    """The axes of a reduction with those outermost that a guard looks at; None if all are so."""
    for site in sites_of(root):
        if site.node.op is not Op.REDUCE:
            continue
        axes = by_number(a for a in site.node.src[1:] if a.arg.kind is AxisKind.REDUCE)
        guarded = EMPTY.union(*map(_guarded_axes, site.loads))
        order = sorted(axes, key=lambda axis: axis not in guarded)
        if order != axes:
            return order
    return None


def guards_in_loops(root: UOp) -> list[UOp]:
    """Guards that are asked at each element, or nearly: they are best asked in simple terms."""
    return [
        load.src[2]
        for site in sites_of(root)
        for load in site.loads
        if len(load.src) > 2 and not _is_asked_outside(site, load)
    ]


def _is_asked_outside(site: Site, load: UOp) -> bool:
    """Whether a long innermost loop runs behind one answer."""
    inner = by_number(axis for axis in site.scope if axis.arg.kind is AxisKind.REDUCE)[-1:]
    return any(
        (size_of_axis(axis) or 1) >= LONG_INSIDE and axis not in _guarded_axes(load)
        for axis in inner
    )


def _guarded_axes(load: UOp) -> Scope:
    """The axes that say whether an element is read."""
    return frozenset(node for node in toposort(load.src[2:]) if node.op is Op.RANGE)
