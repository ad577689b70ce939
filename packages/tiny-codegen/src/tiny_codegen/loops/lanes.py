"""Chooses the axis whose iterations become the lanes of wide values."""

from __future__ import annotations

from math import prod

from tiny_codegen.loops.accesses import stride
from tiny_codegen.loops.crossing import crossing_axis, is_crossed
from tiny_codegen.loops.legality import LANES
from tiny_codegen.loops.order_axes import READ_AGAIN
from tiny_codegen.loops.ranges import ranges_of, size_of_axis
from tiny_codegen.loops.steps import may_be_prefixes
from tiny_codegen.loops.work import Site, sites_of
from tiny_codegen.program.widen_memory import WIDEST_STEP
from tiny_ir import AxisKind, Op, UOp, toposort
from tiny_plugin import Target

_WALKED = (AxisKind.LOOP, AxisKind.REDUCE, AxisKind.SERIAL)
FEWEST_BLOCKS = 8
"""Blocks of several registers from which on what is left over is little beside them."""
FEWEST_LANES = 4
"""Fewer lanes than this are not worth a wide value."""
GATHER_COST = 1.5
"""What one lane of a lane-by-lane access costs beside a scalar access."""
PACK_COST = 4.0
"""What a lane costs while it is packed, beside one from a cache: each is on a page of its own."""
GUARD_COST = 2.0
"""What a guard costs at a single element: choosing where to read, and what to take."""
STEP_COST = 2.0
"""What one doubling of prefixes costs: moving lanes, and combining them."""
MOST_SIDE_BY_SIDE = 8
"""Registers to a wide value of a recurrence: enough to read whole pages of memory in few visits."""
REGISTERS_OF_A_STEP = 4
"""Wide values that a step of a recurrence holds at a time."""
CHEAP_BODY = 24
"""Operations of a step up to which it waits for memory, not for arithmetic."""
HORIZONTAL_COST = 8.0
"""What combining the lanes of one accumulator costs, in wide operations."""


def choose_lanes(root: UOp, target: Target) -> tuple[UOp, int] | None:
    """The axis to make wide and how many lanes it should have, or None to stay scalar.

    What has lanes already, and what is around it, gets no others.
    """
    if target.form != "wide" or not target.vector_nbytes:
        return None
    widest = max((node.dtype.nbytes for node in toposort((root,)) if node.dtype.nbytes), default=1)
    most = target.vector_nbytes[0] // widest
    sites = sites_of(root)
    taken = {axis for site in sites if _has_lanes(site) for axis in site.scope}
    if all(_has_lanes(site) for site in sites):
        return None
    has_scratch = any(space.name == "scratch" for space in target.spaces)
    packs = max(target.cache_nbytes[:2], default=0) if has_scratch else 0
    costs: dict[UOp, tuple[int, dict[Site, float]]] = {}
    for axis in ranges_of(root):
        size = size_of_axis(axis)
        if size is None or axis in taken or axis.arg.kind not in _WALKED:
            continue
        lanes = most
        while lanes > size:
            lanes //= 2
        if lanes < FEWEST_LANES:
            continue
        if axis.arg.kind is AxisKind.SERIAL and not may_be_prefixes(root, axis):
            continue
        waste = -(-size // lanes) * lanes / size
        turns = crossing_axis(root, sites, axis, lanes) is not None
        costs[axis] = (
            lanes,
            {
                site: waste * _site_cost(site, axis, lanes, packs=packs, turns=turns)
                for site in sites
                if axis in site.scope
            },
        )
    scalar = {site: _scalar_cost(site) for site in sites}
    best: tuple[float, UOp] | None = None
    for axis in costs:
        cost = _cost_with(axis, {a: cost for a, (_, cost) in costs.items()}, scalar)
        if best is None or cost <= best[0]:
            best = (cost, axis)
    if best is None or best[0] >= sum(scalar.values()):
        return None
    lanes = costs[best[1]][0]
    most = min(MOST_SIDE_BY_SIDE, target.vector_registers // REGISTERS_OF_A_STEP)
    return best[1], lanes * _registers_side_by_side(root, sites, best[1], lanes, most)


def _scalar_cost(site: Site) -> float:
    return site.iterations * (site.operations + len(site.loads) + (site.node.op is Op.STORE))


def _cost_with(axis: UOp, costs: dict[UOp, dict[Site, float]], scalar: dict[Site, float]) -> float:
    """What all sites take where an axis becomes lanes, and beside it the best axes for the rest."""
    around = {other for site in costs[axis] for other in site.scope}
    beside = [cost for other, cost in costs.items() if other not in around]
    return sum(costs[axis].values()) + sum(
        min([alone, *(cost[site] for cost in beside if site in cost)])
        for site, alone in scalar.items()
        if site not in costs[axis]
    )


def _has_lanes(site: Site) -> bool:
    return any(axis.arg.kind in LANES for axis in site.scope)


def _registers_side_by_side(root: UOp, sites: list[Site], axis: UOp, lanes: int, most: int) -> int:
    """How many registers each wide value of a recurrence takes.

    Where every step reads memory at another place, a longer stretch of it is read at a time.
    """
    steps = [one for one in ranges_of(root) if one.arg.kind is AxisKind.SERIAL]
    loads = [load for site in sites for load in site.loads]
    if axis.arg.kind is not AxisKind.LOOP or len(steps) != 1:
        return 1
    if not any(node.op is Op.REGISTER for node in toposort((root,))):
        return 1
    if sum(site.operations for site in sites) > CHEAP_BODY or any(
        stride(load.src[1], axis) != 1 or stride(load.src[1], steps[0]) in (0, 1, -1)
        for load in loads
    ):
        return 1
    size = size_of_axis(axis) or 1
    for factor in range(most, 1, -1):
        is_even = size % (factor * lanes) == 0
        if is_even or (factor.bit_count() == 1 and size >= FEWEST_BLOCKS * factor * lanes):
            return factor
    return 1


def _site_cost(site: Site, axis: UOp, lanes: int, *, packs: int, turns: bool) -> float:
    """Wide instructions that a site takes when `axis`, one of its loops, is made of lanes.

    Args:
        site: what is computed.
        axis: becomes lanes.
        lanes: how many.
        packs: the most bytes of what is read again that are copied to fast memory.
        turns: square blocks of memory are turned in registers.
    """
    elements = site.iterations / lanes
    cost = float(site.operations)
    for load in site.loads:
        step = stride(load.src[1], axis)
        if step in (0, 1, -1):
            cost += 1 + (GUARD_COST if step == 0 and len(load.src) > 2 else 0)
        elif step is not None and 1 < step <= WIDEST_STEP and len(load.src) == 2:
            cost += step
        elif turns and is_crossed(load, axis, lanes):
            cost += lanes.bit_length()
        else:
            is_packed = site.node.op is Op.REDUCE and _packed_nbytes(site, load, lanes) <= packs
            again = _reads_again(site, load) if is_packed else 1
            gather = lanes * GATHER_COST
            cost += 1 + PACK_COST * gather / again if again >= READ_AGAIN else gather
    if site.node.op is Op.STORE:
        address = site.node.src[0]
        step = stride(address.src[1], axis) if address.op is Op.INDEX else 1
        if step == 1:
            cost += 1
        elif turns and is_crossed(address, axis, lanes):
            cost += lanes.bit_length()
        else:
            cost += lanes * GATHER_COST
        if axis.arg.kind is AxisKind.SERIAL and address.op is not Op.INDEX:
            cost += STEP_COST * (lanes - 1).bit_length()
    cost *= elements
    if axis.arg.kind is AxisKind.REDUCE and axis in site.node.src[1:]:
        results = prod(size_of_axis(a) or 1 for a in site.scope if a not in site.node.src[1:])
        cost += results * HORIZONTAL_COST
    return cost


def _packed_nbytes(site: Site, load: UOp, lanes: int) -> int:
    """The size of a copy of what a reduction reads for one register of results."""
    below = toposort(load.src[1:])
    inner = [axis for axis in below if axis.op is Op.RANGE and axis.arg.kind is AxisKind.REDUCE]
    return prod(size_of_axis(axis) or 1 for axis in inner) * lanes * load.dtype.nbytes


def _reads_again(site: Site, load: UOp) -> int:
    """How often a load reads the same element, over the loops along which it does not move."""
    below = set(toposort(load.src[1:]))
    return prod(
        size_of_axis(axis) or 1
        for axis in site.scope
        if axis.arg.kind is AxisKind.LOOP and axis not in below
    )
