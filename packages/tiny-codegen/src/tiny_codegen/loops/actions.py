"""The loop actions: each turns a kernel into one with other loops and the same stores.

An action refuses (raises ActionError) where it would not be legal; whoever chooses is not trusted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

from tiny_codegen.identities import identity_of
from tiny_codegen.loops.legality import (
    ActionError,
    check_copies,
    check_lanes,
    check_one_reduction,
    check_overlap,
    check_pack,
    check_together,
    check_walked,
    check_workers,
    known_size,
    refused,
)
from tiny_codegen.loops.ranges import axis, next_number, replace_range, with_kind
from tiny_codegen.own_loops import FreeNumbers, with_own_loops
from tiny_ir import (
    AxisKind,
    Op,
    RangeArg,
    ScratchArg,
    UOp,
    const,
    dtypes,
    make,
    rebuild,
    simplify,
    size_node,
    substitute,
    toposort,
)


def split(
    root: UOp, old: UOp, factor: int, outer_kind: AxisKind, inner_kind: AxisKind
) -> tuple[UOp, UOp, UOp]:
    """Walk an axis in blocks of `factor`, which must divide its size.

    Returns:
        The kernel, the axis over blocks, the axis inside a block.
    """
    size = known_size(old)
    if factor < 1 or size % factor:
        raise refused(f"split an axis of {size} by {factor}", "the factor must divide the size")
    check_walked(old, "split")
    outer = axis(old.arg.number, size // factor, outer_kind)
    inner = axis(next_number(root), factor, inner_kind)
    return replace_range(root, old, outer * factor + inner, (outer, inner)), outer, inner


def peel(root: UOp, old: UOp, factor: int) -> tuple[UOp, UOp, UOp]:
    """Separate the last `size % factor` iterations of an axis, so that the rest can be split.

    Stores get a second loop beside the first, inside all other loops; a reduction becomes the
    combination of two.

    Returns:
        The kernel, the axis of the first part, the axis of the rest.
    """
    size = known_size(old)
    rest = size % factor
    if not 0 < rest < size:
        raise refused(f"peel an axis of {size} at {factor}", "nothing would be left on one side")
    check_walked(old, "peel")
    cut = _Cut.of(root, old, size - rest, rest)
    done: dict[UOp, UOp] = {}
    for node in toposort((root,)):
        src = tuple([done[source] for source in node.src])
        if node.op in (Op.END, Op.REDUCE) and old in node.src[1:]:
            done[node] = cut.reduction(src, node) if node.op is Op.REDUCE else cut.loops(src)
        elif node is root:
            effects = [e for s in src for e in (s.src if s.op is Op.SINK else (s,))]
            done[node] = make(Op.SINK, None, tuple(effects), root.arg)
        else:
            done[node] = node if src == node.src else rebuild(node, src)
    return done[root], cut.main, cut.tail


@dataclass(frozen=True, slots=True)
class _Cut:
    """An axis in two parts: what walks over it walks over `main`, and beside it over `tail`."""

    old: UOp
    main: UOp
    tail: UOp
    numbers: FreeNumbers

    @staticmethod
    def of(root: UOp, old: UOp, first: int, rest: int) -> _Cut:
        numbers = FreeNumbers.of(root)
        main, tail = (
            make(Op.RANGE, None, (size_node(count),), numbers.another(old).arg)
            for count in (first, rest)
        )
        return _Cut(old, main, tail, numbers)

    def reduction(self, src: tuple[UOp, ...], node: UOp) -> UOp:
        """The combination of two."""
        others = [source for source in src[1:] if source is not self.old]
        first, second = self._parts(src[0])
        parts = (
            make(Op.REDUCE, None, (first, *others, self.main), node.arg),
            make(Op.REDUCE, None, (second, *others, self.tail), node.arg),
        )
        return make(node.arg.op, None, parts)

    def loops(self, src: tuple[UOp, ...]) -> UOp:
        """Two loops over the effects, inside all other loops."""
        effects = [source for source in src if source.op is not Op.RANGE]
        others = [source for source in src if source.op is Op.RANGE and source is not self.old]
        first, second = zip(*map(self._parts, effects), strict=True)
        ends = (
            make(Op.END, None, (*first, self.main)),
            make(Op.END, None, (*second, self.tail)),
        )
        return make(Op.END if others else Op.SINK, None, (*ends, *others))

    def _parts(self, part: UOp) -> tuple[UOp, UOp]:
        copy = with_own_loops(part, (self.old,), self.numbers)
        after_main = self.tail + self.main.src[0]
        return (
            replace_range(part, self.old, self.main, (self.main,)),
            replace_range(copy, self.old, after_main, (self.tail,)),
        )


def reorder(root: UOp, axes: Sequence[UOp]) -> UOp:
    """Nest the loops over `axes` in this order, in the places that they have now.

    They are all loops over results, or all over one reduction, whose terms come in another order.
    """
    for one in axes:
        check_walked(one, "reorder")
        if one.arg.kind is not axes[0].arg.kind:
            raise refused(
                "reorder loops of two kinds", "a reduction ends before its result is used"
            )
    check_one_reduction(root, axes)
    numbers = sorted(int(one.arg.number) for one in axes)
    first = next_number(root)
    apart = {
        one: make(Op.RANGE, None, one.src, RangeArg(first + at, one.arg.kind))
        for at, one in enumerate(axes)
    }
    for one, moved in apart.items():
        root = replace_range(root, one, moved, (moved,))
    for moved, number in zip(apart.values(), numbers, strict=True):
        final = make(Op.RANGE, None, moved.src, RangeArg(number, moved.arg.kind))
        root = replace_range(root, moved, final, (final,))
    return root


def pack(root: UOp, load: UOp, axes: Sequence[UOp]) -> UOp:
    """Copy what a load touches along `axes` to fast memory, once, and read it from there.

    The copy stands inside the loops that the load depends on besides, and outside of all others, so
    that those find it in a cache, in the order in which it is read, and without any guard. Where
    each element is converted before it is used, the copy holds what it is converted to.

    Args:
        root: the kernel.
        load: the INDEX that is read.
        axes: the loops inside of which it is copied; the last is contiguous in fast memory.
    """
    known = {one: known_size(one) for one in axes}
    check_pack(root, load, axes)
    users = [node for node in toposort((root,)) if load in node.src]
    used = users[0] if len(users) == 1 and users[0].op is Op.CAST else load
    number = next_number(root)
    own = {
        one: make(Op.RANGE, None, one.src, RangeArg(number + at, _PACKED_KIND[one.arg.kind]))
        for at, one in enumerate(axes)
    }
    scratches = [node.arg.number for node in toposort((root,)) if node.op is Op.SCRATCH]
    arg = ScratchArg(max(scratches, default=-1) + 1, prod(known.values()), "scratch")
    scratch = make(Op.SCRATCH, used.dtype, (), arg)
    copied = scratch.index(_row_major(own.values())).store(substitute(used, own))
    packed = scratch.after(copied.end(*own.values())).index(_row_major(axes))
    return substitute(root, {used: packed})


_PACKED_KIND = {
    AxisKind.LOOP: AxisKind.LOOP,
    AxisKind.REDUCE: AxisKind.LOOP,
    AxisKind.UNROLL: AxisKind.UNROLL,
    AxisKind.LANE: AxisKind.LANE,
    AxisKind.REDUCE_LANE: AxisKind.LANE,
}


def _row_major(axes: Iterable[UOp]) -> UOp:
    offset = const(dtypes.weakint, 0)
    for one in axes:
        offset = offset * one.src[0] + one
    return offset


def vectorize(root: UOp, old: UOp) -> UOp:
    """Make one wide value of an axis."""
    check_walked(old, "vectorize")
    check_lanes(root, old)
    reduces = old.arg.kind is AxisKind.REDUCE
    return with_kind(root, old, AxisKind.REDUCE_LANE if reduces else AxisKind.LANE)


def unroll(root: UOp, old: UOp) -> UOp:
    """Make copies of what an axis repeats."""
    known_size(old)
    check_walked(old, "unroll")
    check_copies(root, old)
    return with_kind(root, old, AxisKind.UNROLL)


def shift(root: UOp, old: UOp, factor: int) -> tuple[UOp, UOp, UOp]:
    """Walk an axis in blocks of `factor`, the last moved back so that it ends where the axis ends.

    What the last two blocks have in common is computed twice, so this is legal only if that changes
    nothing: plain stores to memory that the kernel does not read, no state carried, and a block
    that fits the axis.

    Returns:
        The kernel, the axis over blocks, the axis inside a block.
    """
    size = known_size(old)
    if not 0 < factor <= size:
        raise refused(f"shift blocks of {factor} over an axis of {size}", "no block fits")
    check_walked(old, "shift")
    check_overlap(root, old)
    outer = axis(old.arg.number, -(-size // factor), AxisKind.LOOP)
    inner = axis(next_number(root), factor, AxisKind.LOOP)
    start = (outer * factor).minimum(size - factor)
    return replace_range(root, old, start + inner, (outer, inner)), outer, inner


def mask(root: UOp, old: UOp, factor: int) -> tuple[UOp, UOp, UOp]:
    """Walk the axis of a reduction in blocks of `factor`, the last of which is not full.

    What lies behind the end is not read, and its terms are the neutral element of the reduction.

    Returns:
        The kernel, the axis over blocks, the axis inside a block.
    """
    size = known_size(old)
    check_walked(old, "mask")
    if old.arg.kind is not AxisKind.REDUCE:
        raise refused("mask a loop over results", "what lies behind its end would be written")
    if not size % factor:
        raise refused(f"mask blocks of {factor} of {size}", "they are all full: split it")
    outer = axis(old.arg.number, -(-size // factor), AxisKind.REDUCE)
    inner = axis(next_number(root), factor, AxisKind.REDUCE)
    root = replace_range(root, old, outer * factor + inner, (outer, inner))
    inside = outer * factor + inner < size
    done: dict[UOp, UOp] = {}
    depends: set[UOp] = {inner}
    for node in toposort((root,)):
        src = tuple([done[source] for source in node.src])
        if any(source in depends for source in node.src):
            if node.op is Op.REDUCE and inner in node.src[1:]:
                neutral = const(node.dtype, identity_of(node.arg.op, node.dtype))
                done[node] = make(
                    Op.REDUCE, None, (inside.where(src[0], neutral), *src[1:]), node.arg
                )
                continue
            depends.add(node)
            if node.op is Op.INDEX:
                src = (*src[:2], src[2] & inside if len(src) > 2 else inside)
        done[node] = node if src == node.src else rebuild(node, src)
    return done[root], outer, inner


def may_shift(root: UOp, old: UOp) -> bool:
    """Whether blocks along an axis may overlap."""
    try:
        check_overlap(root, old)
    except ActionError:
        return False
    return True


def is_shifted(root: UOp, block: UOp) -> bool:
    """Whether blocks along an axis overlap."""
    return any(node.op is Op.MIN and block in toposort((node,)) for node in toposort((root,)))


def merge(root: UOp, outer: UOp, inner: UOp) -> tuple[UOp, UOp]:
    """Walk two axes that follow each other as one.

    Returns:
        The kernel and the one axis.
    """
    sizes = known_size(outer), known_size(inner)
    check_walked(outer, "merge")
    check_together(root, outer, inner)
    one = axis(outer.arg.number, sizes[0] * sizes[1], outer.arg.kind)
    root = replace_range(root, inner, one % sizes[1], ())
    return simplify(replace_range(root, outer, one // sizes[1], (one,))), one


def parallelize(root: UOp, old: UOp, chunks: int) -> UOp:
    """Spread an axis over workers, in `chunks` equal parts; the last may be shorter.

    Effects of the kernel beside the loops over that axis are left to the first worker.
    """
    size = known_size(old)
    check_walked(old, "parallelize")
    check_workers(root, old)
    length = -(-size // chunks)
    chunks = -(-size // length)
    if chunks < 2:
        raise refused(f"parallelize an axis of {size}", "there is only one chunk")
    if is_shifted(root, old) and size - (chunks - 1) * length < 2:
        raise refused("parallelize overlapping blocks", "two workers would write one element")
    worker = axis(next_number(root), chunks, AxisKind.THREAD)
    number = old.arg.number
    if size % length == 0:
        inner = axis(number, length, AxisKind.LOOP)
    else:
        left = size_node(size) - worker * length
        inner = axis(number, left.minimum(length), AxisKind.LOOP)
    effects = [
        replace_range(effect, old, worker * length + inner, (inner,))
        if old in effect.src[1:]
        else _by_first_worker(effect, worker)
        for effect in root.src
    ]
    return make(Op.SINK, None, (make(Op.END, None, (*effects, worker)),), root.arg)


def _by_first_worker(effect: UOp, worker: UOp) -> UOp:
    """The effect with no iterations for all workers but the first."""
    turning = (AxisKind.LOOP, AxisKind.SERIAL)
    ranges = [s for s in effect.src if s.op is Op.RANGE and s.arg.kind in turning]
    if effect.op is not Op.END or not ranges:
        raise refused("parallelize beside a single store", "every worker would do it")
    first = ranges[0]
    size = worker.eq(0).where(first.src[0], 0)
    return substitute(effect, {first: make(Op.RANGE, None, (size,), first.arg)})
