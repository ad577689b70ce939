"""Chooses which axes to unroll, so that what is loaded into registers is used several times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import prod

from tiny_codegen.loops.accesses import loads_of, stores_of
from tiny_codegen.loops.actions import may_shift
from tiny_codegen.loops.ranges import ranges_of, size_of_axis
from tiny_codegen.loops.work import sites_of
from tiny_ir import AxisKind, Op, UOp, toposort
from tiny_plugin import Target

LARGEST_FACTOR = 12
"""Copies along one axis; more lengthen the kernel and gain nothing."""
OPERATION_COST = 1.0
"""What an operation costs beside a load: a core does two of either at a time."""
PANEL_SHARE = 0.75
"""The part of a core's own cache that an operand may fill and still be found there again."""
FAR_PANEL = 1.2
"""What it costs to read an operand from further away for every tile."""
_INSIDE = (AxisKind.REDUCE, AxisKind.UNROLL, AxisKind.LANE, AxisKind.REDUCE_LANE)
LATENCY = 4
"""Independent accumulations that hide the latency of one addition or multiply-add."""


@dataclass(frozen=True, slots=True)
class Tile:
    """Axes to unroll, and how many copies each makes."""

    factors: tuple[tuple[UOp, int], ...]


def choose_tile(root: UOp, target: Target) -> Tile:
    """The tile with the fewest loads an operation that the registers of the target hold.

    Each copy of the reduction keeps an accumulator in a register, each load that lanes make wide
    takes another while it is used, and one is left for a scalar that is spread over lanes.
    """
    reduces = [site for site in sites_of(root) if site.node.op is Op.REDUCE]
    if not reduces or any(node.op is Op.REGISTER for node in toposort((root,))):
        return Tile(())
    together = _reductions_at_once(root)
    registers = target.vector_registers if target.vector_nbytes else target.registers
    loads = [frozenset(_axes_below(load)) for load in loads_of(root)]
    around = frozenset.intersection(*(site.scope for site in reduces))
    lanes = {a for a in ranges_of(root) if a.arg.kind in (AxisKind.LANE, AxisKind.REDUCE_LANE)}
    candidates = [axis for axis in _candidates(root, loads) if axis in around]
    untiled = (_loads_an_operation(loads, {}) + OPERATION_COST) * LATENCY
    panels = [
        (axes, _panel_nbytes(load, axes))
        for axes, load in zip(loads, loads_of(root), strict=True)
        if axes & lanes
    ]
    second_cache = max(target.cache_nbytes[:2], default=1 << 62)
    best: tuple[float, int, Tile] = (untiled, 0, Tile(()))
    for count in (1, 2):
        for axes in combinations(candidates, count):
            for factors in product(*(_factors(root, axis) for axis in axes)):
                tile = dict(zip(axes, factors, strict=True))
                copies = prod(factors) * together
                wide = sum(_copies(load, tile) for load in loads if load & lanes)
                if copies + wide + 1 > registers:
                    continue
                cost = _loads_an_operation(loads, tile) + OPERATION_COST
                cost *= prod(_waste(axis, factor) for axis, factor in tile.items())
                panel = sum(nbytes * _copies(axes_of, tile) for axes_of, nbytes in panels)
                if panel > PANEL_SHARE * second_cache:
                    cost *= FAR_PANEL
                if copies < LATENCY:
                    cost *= LATENCY / copies
                choice = (cost, copies, Tile(tuple(tile.items())))
                if choice[:2] < best[:2]:
                    best = choice
    return best[2]


def _reductions_at_once(root: UOp) -> int:
    """The most reductions that one store waits for: each needs an accumulator of its own."""
    return max(
        sum(1 for node in toposort((store,)) if node.op is Op.REDUCE) for store in stores_of(root)
    )


def _axes_below(load: UOp) -> list[UOp]:
    return [node for node in toposort((load.src[1],)) if node.op is Op.RANGE]


def _candidates(root: UOp, loads: Sequence[frozenset[UOp]]) -> list[UOp]:
    """Axes of outputs along which some load does not move."""
    return [
        axis
        for axis in ranges_of(root)
        if axis.arg.kind is AxisKind.LOOP
        and size_of_axis(axis) is not None
        and any(axis not in load for load in loads)
    ]


def _factors(root: UOp, axis: UOp) -> list[int]:
    """How many copies an axis may make: any number where its last block may be shifted."""
    size = size_of_axis(axis) or 1
    divisors = [n for n in range(2, min(size, LARGEST_FACTOR) + 1) if size % n == 0]
    if len(divisors) == min(size, LARGEST_FACTOR) - 1 or not may_shift(root, axis):
        return divisors
    return list(range(2, min(size, LARGEST_FACTOR) + 1))


def _panel_nbytes(load: UOp, axes: frozenset[UOp]) -> int:
    """What a whole reduction reads of an operand for one register of results."""
    inner = [axis for axis in axes if axis.arg.kind in _INSIDE]
    return prod(size_of_axis(axis) or 1 for axis in inner) * load.dtype.nbytes


def _waste(axis: UOp, factor: int) -> float:
    """Elements computed for each one that is needed, where the last block is shifted."""
    size = size_of_axis(axis) or 1
    return -(-size // factor) * factor / size


def _copies(load: frozenset[UOp], tile: dict[UOp, int]) -> int:
    return prod(factor for axis, factor in tile.items() if axis in load)


def _loads_an_operation(loads: Sequence[frozenset[UOp]], tile: dict[UOp, int]) -> float:
    return sum(_copies(load, tile) for load in loads) / prod(tile.values())
