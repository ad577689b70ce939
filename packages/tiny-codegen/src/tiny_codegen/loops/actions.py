"""The loop actions: each turns a kernel into one with other loops and the same stores.

An action refuses (raises ActionError) where it would not be legal; whoever chooses is not trusted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from tiny_codegen.buffers import loaded_from, memory_of, stored_to
from tiny_codegen.loops.ranges import axis, next_number, replace_range, size_of_axis, with_kind
from tiny_ir import (
    ArgumentError,
    AxisKind,
    Op,
    RangeArg,
    RegisterArg,
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


class ActionError(ArgumentError):
    """A loop action that is not legal on this kernel."""


_CARRIED = (AxisKind.SERIAL,)


def split(
    root: UOp, old: UOp, factor: int, outer_kind: AxisKind, inner_kind: AxisKind
) -> tuple[UOp, UOp, UOp]:
    """Walk an axis in blocks of `factor`, which must divide its size.

    Returns:
        The kernel, the axis over blocks, the axis inside a block.
    """
    size = _known_size(old)
    if factor < 1 or size % factor:
        raise _refused(f"split an axis of {size} by {factor}", "the factor must divide the size")
    _check_order(old, "split")
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
    size = _known_size(old)
    rest = size % factor
    if not 0 < rest < size:
        raise _refused(f"peel an axis of {size} at {factor}", "nothing would be left on one side")
    _check_order(old, "peel")
    number = next_number(root)
    main = axis(number, size - rest, old.arg.kind)
    tail = axis(number + 1, rest, old.arg.kind)
    shifted = tail + (size - rest)
    done: dict[UOp, UOp] = {}
    for node in toposort((root,)):
        src = tuple([done[source] for source in node.src])
        if node.op is Op.REDUCE and old in node.src[1:]:
            others = [source for source in src[1:] if source is not old]
            parts = [
                make(Op.REDUCE, None, (_at(src[0], old, value, part), *others, part), node.arg)
                for value, part in ((main, main), (shifted, tail))
            ]
            done[node] = make(node.arg.op, None, tuple(parts))
        elif node.op is Op.END and old in node.src[1:]:
            effects = [source for source in src if source.op is not Op.RANGE]
            others = [source for source in src if source.op is Op.RANGE and source is not old]
            first = [_at(effect, old, main, main) for effect in effects]
            copies = [_with_own_loops(effect, old, number + 2) for effect in effects]
            second = [_at(effect, old, shifted, tail) for effect in copies]
            ends = (
                make(Op.END, None, (*first, main)),
                make(Op.END, None, (*second, tail)),
            )
            done[node] = make(Op.END if others else Op.SINK, None, (*ends, *others))
        else:
            done[node] = node if src == node.src else rebuild(node, src)
    return done[root], main, tail


def reorder(root: UOp, axes: Sequence[UOp]) -> UOp:
    """Nest the loops over `axes` in this order, in the places that they have now."""
    for one in axes:
        _check_order(one, "reorder")
        if one.arg.kind is not AxisKind.LOOP:
            raise _refused("reorder a reduction", "a sum would have another order")
    numbers = sorted(int(one.arg.number) for one in axes)
    first = next_number(root)
    apart = {
        one: make(Op.RANGE, None, one.src, RangeArg(first + at, AxisKind.LOOP))
        for at, one in enumerate(axes)
    }
    for one, moved in apart.items():
        root = replace_range(root, one, moved, (moved,))
    for moved, number in zip(apart.values(), numbers, strict=True):
        final = make(Op.RANGE, None, moved.src, RangeArg(number, AxisKind.LOOP))
        root = replace_range(root, moved, final, (final,))
    return root


def pack(root: UOp, load: UOp, axes: Sequence[UOp]) -> UOp:
    """Copy what a load touches along `axes` to fast memory, once, and read it from there.

    The copy stands inside the loops that the load depends on besides, and outside of all others, so
    that those find it in a cache, in the order in which it is read, and without any guard.

    Args:
        root: the kernel.
        load: the INDEX that is read.
        axes: the loops inside of which it is copied; the last is contiguous in fast memory.
    """
    known = {one: _known_size(one) for one in axes}
    if any(one.arg.kind in _CARRIED for one in axes):
        raise _refused("pack along steps in order", "what is read may change from step to step")
    if memory_of(load) in stored_to(toposort((root,))):
        raise _refused("pack what the kernel writes", "the copy would be old")
    number = next_number(root)
    own = {
        one: make(Op.RANGE, None, one.src, RangeArg(number + at, _PACKED_KIND[one.arg.kind]))
        for at, one in enumerate(axes)
    }
    scratches = [node for node in toposort((root,)) if node.op is Op.SCRATCH]
    arg = ScratchArg(len(scratches), prod(known.values()), "scratch")
    scratch = make(Op.SCRATCH, load.dtype, (), arg)
    copied = scratch.index(_row_major(own.values())).store(substitute(load, own))
    packed = scratch.after(copied.end(*own.values())).index(_row_major(axes))
    return substitute(root, {load: packed})


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
    if _known_size(old) < 2:
        raise _refused("vectorize an axis of one iteration", "there is nothing to make wide")
    _check_order(old, "vectorize")
    reduces = old.arg.kind is AxisKind.REDUCE
    return with_kind(root, old, AxisKind.REDUCE_LANE if reduces else AxisKind.LANE)


def unroll(root: UOp, old: UOp) -> UOp:
    """Make copies of what an axis repeats."""
    _known_size(old)
    if any(node.op is Op.REGISTER for node in toposort((root,))):
        raise _refused("unroll beside a recurrence", "its copies would share one state")
    _check_order(old, "unroll")
    return with_kind(root, old, AxisKind.UNROLL)


def shift(root: UOp, old: UOp, factor: int) -> tuple[UOp, UOp, UOp]:
    """Walk an axis in blocks of `factor`, the last moved back so that it ends where the axis ends.

    What the last two blocks have in common is computed twice, so this is legal only if that changes
    nothing: plain stores to memory that the kernel does not read, no state carried, and a block
    that fits the axis.

    Returns:
        The kernel, the axis over blocks, the axis inside a block.
    """
    size = _known_size(old)
    if not 0 < factor <= size:
        raise _refused(f"shift blocks of {factor} over an axis of {size}", "no block fits")
    _check_shift(root, old)
    outer = axis(old.arg.number, -(-size // factor), AxisKind.LOOP)
    inner = axis(next_number(root), factor, AxisKind.LOOP)
    start = (outer * factor).minimum(size - factor)
    return replace_range(root, old, start + inner, (outer, inner)), outer, inner


def _check_shift(root: UOp, old: UOp) -> None:
    """Refuse where computing an element twice would change something."""
    if old.arg.kind is not AxisKind.LOOP:
        raise _refused("shift a reduction", "terms would be combined twice")
    nodes = toposort((root,))
    if any(node.op is Op.REGISTER or _is_serial(node) for node in nodes):
        raise _refused("shift beside a recurrence", "steps would be taken twice")
    if set(stored_to(nodes)) & set(loaded_from(nodes)):
        raise _refused("shift a kernel that reads what it writes", "elements would change twice")


def may_shift(root: UOp, old: UOp) -> bool:
    """Whether blocks along an axis may overlap."""
    try:
        _check_shift(root, old)
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
    sizes = _known_size(outer), _known_size(inner)
    if outer.arg.kind is not inner.arg.kind:
        raise _refused("merge axes of different kinds", "they are not walked alike")
    _check_order(outer, "merge")
    for node in toposort((root,)):
        if node.op in (Op.END, Op.REDUCE) and (outer in node.src[1:]) != (inner in node.src[1:]):
            raise _refused("merge axes of different loops", "they do not always stand together")
    one = axis(outer.arg.number, sizes[0] * sizes[1], outer.arg.kind)
    root = replace_range(root, inner, one % sizes[1], ())
    return simplify(replace_range(root, outer, one // sizes[1], (one,))), one


def parallelize(root: UOp, old: UOp, chunks: int) -> UOp:
    """Spread an axis over workers, in `chunks` equal parts; the last may be shorter.

    Effects of the kernel beside the loops over that axis are left to the first worker.
    """
    size = _known_size(old)
    _check_order(old, "parallelize")
    if old.arg.kind is not AxisKind.LOOP:
        raise _refused("parallelize a reduction", "workers would write one accumulator")
    length = -(-size // chunks)
    chunks = -(-size // length)
    if chunks < 2:
        raise _refused(f"parallelize an axis of {size}", "there is only one chunk")
    if is_shifted(root, old) and size - (chunks - 1) * length < 2:
        raise _refused("parallelize overlapping blocks", "two workers would write one element")
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
    ranges = [source for source in effect.src if source.op is Op.RANGE]
    if effect.op is not Op.END or not ranges:
        raise _refused("parallelize beside a single store", "every worker would do it")
    first = ranges[0]
    size = worker.eq(0).where(first.src[0], 0)
    return substitute(effect, {first: make(Op.RANGE, None, (size,), first.arg)})


def _is_serial(node: UOp) -> bool:
    return node.op is Op.RANGE and node.arg.kind is AxisKind.SERIAL


def _with_own_loops(effect: UOp, old: UOp, number: int) -> UOp:
    """A copy of an effect whose loops and registers inside the loop over `old` are its own.

    What the effect only waits for happens once, for both copies.
    """
    own: dict[UOp, UOp] = {}
    inside = {old}
    for node in toposort((effect,)):
        if inside.isdisjoint(node.src):
            continue
        inside.add(node)
        if node.op is Op.END:
            for source in node.src:
                if source.op is Op.RANGE and source not in own:
                    arg = RangeArg(number + len(own), source.arg.kind)
                    own[source] = make(Op.RANGE, None, source.src, arg)
        elif node.op is Op.STORE:
            register = memory_of(node.src[0])
            if register.op is Op.REGISTER:
                own[register] = _own_register(register)
    return substitute(effect, own)


def _own_register(register: UOp) -> UOp:
    arg = RegisterArg(register.arg.number - (1 << 16), register.arg.lanes)
    return make(Op.REGISTER, register.dtype, (), arg)


def _at(part: UOp, old: UOp, value: UOp, axis: UOp) -> UOp:
    return replace_range(part, old, value, (axis,))


def _known_size(old: UOp) -> int:
    size = size_of_axis(old)
    if size is None:
        raise _refused("change an axis of symbolic size", "its iterations are not known yet")
    return size


def _check_order(old: UOp, action: str) -> None:
    if old.arg.kind in _CARRIED:
        raise _refused(f"{action} an axis that carries state", "its iterations run in order")


def _refused(what: str, why: str) -> ActionError:
    return ActionError(f"cannot {what}.", why=f"{why}.", fix="choose another axis or factor.")
