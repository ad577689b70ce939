"""Chooses loop actions by rule, from the strides of a kernel and the facts of its target."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod

from tiny_codegen.buffers import memory_of
from tiny_codegen.loops.accesses import loads_of, stride
from tiny_codegen.loops.actions import (
    mask,
    may_shift,
    merge,
    pack,
    parallelize,
    peel,
    reorder,
    shift,
    split,
    unroll,
    vectorize,
)
from tiny_codegen.loops.crossing import crossing_axis
from tiny_codegen.loops.guards import guards_in_loops, order_behind_guards
from tiny_codegen.loops.lanes import FEWEST_LANES, choose_lanes
from tiny_codegen.loops.legality import ActionError
from tiny_codegen.loops.order_axes import best_order, reads_of_a_copy
from tiny_codegen.loops.ranges import size_of_axis
from tiny_codegen.loops.steps import peel_steps, split_steps, unroll_steps, vectorize_steps
from tiny_codegen.loops.tile import LATENCY, choose_tile
from tiny_codegen.loops.work import operations_of, sites_of
from tiny_codegen.scopes import EMPTY, Scope, by_number
from tiny_ir import AxisKind, Op, UOp, toposort
from tiny_plugin import Options, Target

PARALLEL_WORK = 1 << 16
"""Elementary operations below which waking a second worker costs more than it saves."""
MASKED_BLOCKS = 8
"""Fewer blocks of a reduction than this are worth a mask, not a second loop for the rest."""
STRETCH = 16
"""Registers beside each other that a reduction across memory accumulates at a time, at most."""
FEWEST_BLOCKS = 8
"""Blocks of results that are left for workers to share."""
CHUNKS_PER_CORE = 4
"""Chunks a worker takes on average: enough to even out what the machine does besides."""


def choose(root: UOp, target: Target, options: Options) -> tuple[UOp, tuple[str, ...]]:
    """Return the kernel with loop actions applied, and what they were."""
    if not options.optimize:
        return root, ()
    applied: list[str] = []
    root = _order_reductions(root, applied)
    root = _merged(root, applied)
    root = _choose_lanes(root, target, applied)
    root = _choose_copies(root, target, applied)
    root = _choose_order(root, target, applied)
    root = _choose_threads(root, target, options.threads or target.cores, applied)
    root = _choose_packs(root, target, applied)
    return root, tuple(applied)


def _choose_lanes(root: UOp, target: Target, applied: list[str]) -> UOp:
    """Make lanes of an axis, and of others in loops beside it."""
    while (chosen := choose_lanes(root, target)) is not None:
        axis, lanes = chosen
        crossed = crossing_axis(root, sites_of(root), axis, lanes)
        try:
            done: list[str] = []
            root = _vectorized(root, axis, lanes, done)
            applied += done
            if crossed is not None:
                done = []
                root = _copied_across(root, crossed, lanes, done)
                applied += done
        except ActionError:
            break  # such as lanes that would all write one element
    return root


def _copied_across(root: UOp, axis: UOp, copies: int, applied: list[str]) -> UOp:
    """Make as many copies of an axis as there are lanes: square blocks of memory."""
    size = size_of_axis(axis)
    assert size is not None
    is_serial = axis.arg.kind is AxisKind.SERIAL
    if size % copies and not is_serial and _may_shift(root, axis):
        return _unroll_by(root, axis, copies, applied)
    if size % copies:
        root, axis, _ = (peel_steps if is_serial else peel)(root, axis, copies)
        applied.append(f"peel {size} at {copies}")
    if is_serial:
        root, _, axis = split_steps(root, axis, copies)
    else:
        root, _, axis = split(root, axis, copies, AxisKind.LOOP, AxisKind.LOOP)
    applied.append(f"unroll {axis.arg.number} by {copies}")
    return (unroll_steps if is_serial else unroll)(root, axis)


def _merged(root: UOp, applied: list[str]) -> UOp:
    """Walk neighbouring axes as one where every access does."""
    while True:
        pair = _mergeable(root)
        if pair is None:
            return root
        applied.append(f"merge {pair[0].arg.number} and {pair[1].arg.number}")
        root, _ = merge(root, *pair)


def _mergeable(root: UOp) -> tuple[UOp, UOp] | None:
    nodes = toposort((root,))
    addresses = [node for node in nodes if node.op is Op.INDEX]
    uses = [node for node in nodes if node.op is Op.CAST and node.src[0].dtype.is_weak]
    uses += guards_in_loops(root)
    for node in nodes:
        if node.op not in (Op.END, Op.REDUCE):
            continue
        axes = [source for source in node.src[1:] if source.op is Op.RANGE]
        for outer, inner in pairwise(axes):
            if outer.arg.kind is inner.arg.kind and _walks_as_one(outer, inner, addresses, uses):
                others = [n for n in nodes if n.op in (Op.END, Op.REDUCE) and n is not node]
                if not any(a in n.src[1:] for n in others for a in (outer, inner)):
                    return outer, inner
    return None


def _walks_as_one(outer: UOp, inner: UOp, addresses: Sequence[UOp], uses: Sequence[UOp]) -> bool:
    if outer.arg.kind not in (AxisKind.LOOP, AxisKind.REDUCE):
        return False
    size = size_of_axis(inner)
    if size is None or size_of_axis(outer) is None:
        return False
    if any({outer, inner} & set(toposort((use,))) for use in uses):
        return False
    for address in addresses:
        step = stride(address.src[1], inner)
        if step is None or stride(address.src[1], outer) != step * size:
            return False
    return True


def _vectorized(root: UOp, axis: UOp, lanes: int, applied: list[str]) -> UOp:
    """Make an axis lanes: as wide as the target's, and what is left over by a shorter way."""
    size = size_of_axis(axis)
    assert size is not None
    while lanes > size:
        lanes //= 2
    if axis.arg.kind is AxisKind.SERIAL:
        return _vectorized_steps(root, axis, lanes, applied)
    if lanes >= FEWEST_LANES and size % lanes and _may_shift(root, axis):
        root, _, inner = shift(root, axis, lanes)
        applied.append(f"shift {axis.arg.number} by {lanes}")
        return vectorize(root, inner)
    if axis.arg.kind is AxisKind.REDUCE and size % lanes and size < MASKED_BLOCKS * lanes:
        root, _, inner = mask(root, axis, lanes)
        applied.append(f"mask {axis.arg.number} by {lanes}")
        return vectorize(root, inner)
    rest: UOp | None = axis
    while rest is not None and lanes >= FEWEST_LANES:
        size = size_of_axis(rest)
        assert size is not None
        axis, rest = rest, None
        if size < lanes:
            rest = axis
        elif size % lanes:
            root, axis, rest = peel(root, axis, lanes)
            applied.append(f"peel {size} at {lanes}")
        if size >= lanes:
            kind = axis.arg.kind
            root, _, inner = split(root, axis, lanes, kind, kind)
            applied.append(f"vectorize {axis.arg.number} by {lanes}")
            root = vectorize(root, inner)
        lanes //= 2
    return root


def _vectorized_steps(root: UOp, step: UOp, lanes: int, applied: list[str]) -> UOp:
    """Make blocks of steps lanes; what is left over is walked step by step."""
    size = size_of_axis(step)
    assert size is not None
    if size % lanes:
        root, step, _ = peel_steps(root, step, lanes)
        applied.append(f"peel {size} at {lanes}")
    if size > lanes:
        root, _, step = split_steps(root, step, lanes)
    applied.append(f"vectorize {step.arg.number} by {lanes}")
    return vectorize_steps(root, step)


def _may_shift(root: UOp, axis: UOp) -> bool:
    """Whether blocks may overlap: never for the axis that workers will share."""
    others = [
        size_of_axis(other) or 1
        for end in root.src
        for other in end.src[1:]
        if other is not axis and other.op is Op.RANGE and other.arg.kind is AxisKind.LOOP
    ]
    if max(others, default=1) < 2 and operations_of(root) >= PARALLEL_WORK:
        return False
    return may_shift(root, axis)


def _choose_copies(root: UOp, target: Target, applied: list[str]) -> UOp:
    """Unroll outputs into a register tile, or else the reduction to hide its latency."""
    copies = 1
    for axis, factor in choose_tile(root, target).factors:
        root = _unroll_by(root, axis, factor, applied)
        copies *= factor
    if copies >= LATENCY or any(n.op is Op.REGISTER for n in toposort((root,))):
        return root
    beside = _axis_beside(root, target) if copies == 1 else None
    if beside is not None:
        return _unroll_by(root, *beside, applied)
    for axis in _reduced_axes(root):
        size = size_of_axis(axis)
        if size is not None and size % LATENCY == 0:
            root = _unroll_by(root, axis, LATENCY, applied)
    return root


def _axis_beside(root: UOp, target: Target) -> tuple[UOp, int] | None:
    """The axis of results to accumulate several of at a time, and how many, if that reads better.

    A reduction across memory reads a stretch of each row that it visits; one along memory reads
    several rows side by side, which a core fetches ahead as so many streams.
    """
    sites = sites_of(root)
    reduces = [site for site in sites if site.node.op is Op.REDUCE]
    if len(reduces) != 1 or not reduces[0].loads:
        return None
    scope = reduces[0].scope
    results = by_number(axis for axis in scope if axis.arg.kind is AxisKind.LOOP)
    if not results or any(not set(results) <= site.scope for site in sites):
        return None
    axis = results[-1]
    size = size_of_axis(axis) or 1
    is_across = any(other.arg.kind is AxisKind.LANE for other in scope)
    most = min(STRETCH, target.vector_registers // 2) if is_across else LATENCY
    factors = range(min(most, size // FEWEST_BLOCKS), LATENCY - 1, -1)
    factor = next((factor for factor in factors if size % factor == 0), None)
    return None if factor is None else (axis, factor)


def _reduced_axes(root: UOp) -> list[UOp]:
    """The outermost axis of each reduction that is inside of no other."""
    sites = [site for site in sites_of(root) if site.node.op is Op.REDUCE]
    found: dict[UOp, None] = {}
    for site in sites:
        axes = by_number(a for a in site.scope if a.arg.kind is AxisKind.REDUCE)
        if axes:
            found[axes[0]] = None
    return list(found)


def _order_reductions(root: UOp, applied: list[str]) -> UOp:
    while (order := order_behind_guards(root)) is not None:
        applied.append(f"reorder {' '.join(str(axis.arg.number) for axis in order)}")
        root = reorder(root, order)
    return root


def _choose_order(root: UOp, target: Target, applied: list[str]) -> UOp:
    order = best_order(root, target)
    if order is None:
        return root
    applied.append(f"reorder {' '.join(str(axis.arg.number) for axis in order)}")
    return reorder(root, order)


def _unroll_by(root: UOp, axis: UOp, factor: int, applied: list[str]) -> UOp:
    size = size_of_axis(axis)
    assert size is not None
    if size % factor:
        root, _, inner = shift(root, axis, factor)
        applied.append(f"shift {axis.arg.number} by {factor}")
    else:
        kind = axis.arg.kind
        root, _, inner = split(root, axis, factor, kind, kind)
    applied.append(f"unroll {axis.arg.number} by {factor}")
    return unroll(root, inner)


def _choose_threads(root: UOp, target: Target, workers: int, applied: list[str]) -> UOp:
    if workers < 2 or not target.grid_limits or operations_of(root) < PARALLEL_WORK:
        return root
    for effect in root.src:
        for axis in by_number(source for source in effect.src if source.op is Op.RANGE):
            size = size_of_axis(axis)
            if size is None or size < 2 or axis.arg.kind is not AxisKind.LOOP:
                continue
            for chunks in _chunks(size, CHUNKS_PER_CORE * workers):
                try:
                    threaded = parallelize(root, axis, chunks)
                except ActionError:
                    continue
                applied.append(f"parallelize {axis.arg.number} in {chunks}")
                return threaded
    return root


def _chunks(size: int, wanted: int) -> list[int]:
    """Numbers of chunks to try: near `wanted`, those that divide the size first."""
    most, least = min(wanted, size), max(2, wanted // 2)
    numbers = range(most, min(least, most) - 1, -1)
    return sorted(numbers, key=lambda chunks: size % chunks != 0)


def _choose_packs(root: UOp, target: Target, applied: list[str]) -> UOp:
    """Pack wide loads that inner loops read again, where memory or a guard would slow each read."""
    if not any(space.name == "scratch" for space in target.spaces) or not target.cache_nbytes:
        return root
    for load, scope in _loads_in_loops(root):
        axes = _packed_axes(load, scope)
        if axes and _is_worth_packing(load, axes, target):
            try:
                root = pack(root, load, axes)
            except ActionError:
                continue  # such as a state of a recurrence, which its own steps write
            applied.append(f"pack {memory_of(load).arg.slot} along {len(axes)}")
    return root


def _loads_in_loops(root: UOp) -> list[tuple[UOp, Scope]]:
    """What is read, and the loops around the reductions and stores that use it."""
    around: dict[UOp, Scope] = {}
    for site in sites_of(root):
        for load in site.loads:
            around[load] = around.get(load, EMPTY) | site.scope
    return [(load, around[load]) for load in loads_of(root) if load in around]


def _packed_axes(load: UOp, scope: Scope) -> list[UOp]:
    """The axes to pack a load along: reductions, copies, lanes; none where that gains nothing."""
    below = [node for node in toposort(load.src[1:]) if node.op is Op.RANGE]
    lanes = [a for a in below if a.arg.kind in (AxisKind.LANE, AxisKind.REDUCE_LANE)]
    inner = [a for a in below if a.arg.kind is AxisKind.REDUCE]
    copies = [a for a in below if a.arg.kind is AxisKind.UNROLL]
    if not lanes or not inner or any(size_of_axis(a) is None for a in inner):
        return []
    order = by_number(axis for axis in scope if axis.arg.kind is AxisKind.LOOP)
    if reads_of_a_copy(frozenset(below), order) == 1:
        return []
    return sorted(inner, key=lambda axis: int(axis.arg.number)) + copies + lanes


def _is_worth_packing(load: UOp, axes: Sequence[UOp], target: Target) -> bool:
    nbytes = prod(size_of_axis(axis) or 1 for axis in axes) * load.dtype.nbytes
    first, second = (
        target.cache_nbytes[0],
        target.cache_nbytes[min(1, len(target.cache_nbytes) - 1)],
    )
    if nbytes > second:
        return False
    if len(load.src) > 2 or stride(load.src[1], axes[-1]) not in (0, 1):
        return True  # a guard or a gather, at each read
    whole = memory_of(load)
    elements = whole.arg.elements if whole.op is Op.PARAM else 0
    return nbytes > first and elements * load.dtype.nbytes > second // 2
