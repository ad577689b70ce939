"""Chooses the order of a kernel's loops, so that what is loaded again is still in a cache.

The bytes that a load brings in from beyond a cache are those of the distinct elements it touches,
times the iterations of every axis along which it does not move but outside of which it touches more
than the cache holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from math import prod

from tiny_codegen.loops.accesses import loads_of, stride
from tiny_codegen.loops.ranges import size_of_axis
from tiny_codegen.loops.work import sites_of
from tiny_ir import AxisKind, Op, UOp, toposort
from tiny_plugin import Target

MOST_AXES = 5
"""Orders of more axes than this are not tried: there would be too many."""
CACHE_SHARE = 0.5
"""The part of a cache that one operand may fill."""
LEVEL_COST = (1.0, 4.0, 16.0)
"""What a byte from beyond the first, second, third cache costs, beside one from the first."""

SLOW_COST = 4.0
"""What a byte costs whose read is guarded, or gathered lane by lane."""
READ_AGAIN = 4
"""Reads of one packed copy from which on the copy costs less than it gains."""


@dataclass(frozen=True, slots=True)
class _Load:
    axes: frozenset[UOp]
    nbytes: int
    is_slow: bool


def best_order(root: UOp, target: Target) -> tuple[UOp, ...] | None:
    """The best order of the output axes of a kernel with one loop nest, or None to keep it."""
    nest = _nest(root)
    if nest is None or not target.cache_nbytes:
        return None
    loops = [a for a in nest if a.arg.kind is AxisKind.LOOP]
    if not 1 < len(loops) <= MOST_AXES:
        return None
    sites = sites_of(root)
    if any(not set(loops) <= site.scope for site in sites):
        return None  # what is computed once in outer loops would be computed in each turn of others
    inner = [a for a in _all_axes(root) if a not in loops]
    loads = [
        _Load(frozenset(_axes_below(load)), load.dtype.nbytes, _is_slow(root, load))
        for load in loads_of(root)
    ]
    costs = {
        order: sum(_cost(load, order, inner, target) for load in loads)
        for order in permutations(loops)
    }
    best = min(costs, key=lambda order: costs[order])
    # A tie keeps the order of the output, which its stores follow.
    return best if costs[best] < 0.95 * costs[tuple(loops)] else None


def _nest(root: UOp) -> list[UOp] | None:
    ends = [node for node in toposort((root,)) if node.op is Op.END]
    if len(ends) != 1 or len(root.src) != 1:
        return None
    nest = [source for source in ends[0].src if source.op is Op.RANGE]
    known = all(size_of_axis(axis) is not None for axis in nest)
    return sorted(nest, key=lambda axis: int(axis.arg.number)) if known else None


def _cost(load: _Load, order: Sequence[UOp], inner: Sequence[UOp], target: Target) -> float:
    again = [1] * len(target.cache_nbytes)
    footprint = load.nbytes * prod(size_of_axis(a) or 1 for a in inner if a in load.axes)
    for axis in reversed(order):  # from the inside: what the loops inside of this one touch
        size = size_of_axis(axis) or 1
        if axis in load.axes:
            footprint *= size
            continue
        for level, cache in enumerate(target.cache_nbytes):
            if footprint > CACHE_SHARE * cache:
                again[level] *= size
    cost = sum(w * footprint * n for n, w in zip(again, LEVEL_COST, strict=False))
    if load.is_slow:
        reads = load.nbytes * prod(size_of_axis(a) or 1 for a in (*order, *inner))
        cost += SLOW_COST * reads / reads_of_a_copy(load.axes, order)
    return cost


def reads_of_a_copy(axes: frozenset[UOp], order: Sequence[UOp]) -> int:
    """How often the innermost loops read the same elements: what a packed copy would save."""
    again = 1
    for axis in reversed(order):
        if axis in axes:
            break
        again *= size_of_axis(axis) or 1
    return again if again >= READ_AGAIN else 1


def _is_slow(root: UOp, load: UOp) -> bool:
    lanes = [a for a in _all_axes(root) if a.arg.kind in (AxisKind.LANE, AxisKind.REDUCE_LANE)]
    return len(load.src) > 2 or any(stride(load.src[1], axis) not in (0, 1) for axis in lanes)


def _axes_below(load: UOp) -> list[UOp]:
    return [node for node in toposort(load.src[1:]) if node.op is Op.RANGE]


def _all_axes(root: UOp) -> list[UOp]:
    return [node for node in toposort((root,)) if node.op is Op.RANGE]
