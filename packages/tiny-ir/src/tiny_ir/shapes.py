"""The shape that each kind of op gives its node, from its sources and argument."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tiny_ir.arguments import CallArg, LoopArg, ResultArg
from tiny_ir.errors import AxisError, ShapeError
from tiny_ir.sizes import (
    Shape,
    Size,
    is_same_shape,
    is_same_size,
    linear_form,
    product,
    size_of,
)

if TYPE_CHECKING:
    from tiny_ir.uop import UOp


def scalar(src: tuple[UOp, ...], arg: Any) -> Shape:
    """Shape () whatever the sources are."""
    return ()


def elements(src: tuple[UOp, ...], arg: Any) -> Shape:
    """Flat storage of `arg.elements` elements."""
    return (arg.elements,)


def lanes(src: tuple[UOp, ...], arg: Any) -> Shape:
    """`arg` lanes."""
    return (arg,)


def register(src: tuple[UOp, ...], arg: Any) -> Shape:
    """The lanes of an accumulator."""
    return tuple(arg.lanes)


def state(src: tuple[UOp, ...], arg: Any) -> Shape:
    """The shape of one state of a recurrence."""
    return tuple(arg.shape)


def first(src: tuple[UOp, ...], arg: Any) -> Shape:
    """The shape of the first source."""
    return src[0].shape


def elementwise(src: tuple[UOp, ...], arg: Any) -> Shape:
    """The one shape of all sources; shape () stands beside any other."""
    shape = src[0].shape
    for source in src:
        other = source.shape
        if other is shape or other == ():
            continue
        if shape == ():
            shape = other
        elif not is_same_shape(shape, other):
            raise ShapeError(
                f"cannot combine shapes {shape} and {other} element by element.",
                why="the sources of an elementwise node have one shape, or shape ().",
                fix="expand one side first.",
            )
    return shape


def reshape(src: tuple[UOp, ...], arg: Any) -> Shape:
    """The sizes after the first source, which hold as many elements."""
    shape = tuple(map(size_of, src[1:]))
    if not is_same_size(product(shape), product(src[0].shape)):
        raise ShapeError(
            f"cannot reshape {src[0].shape} to {shape}.",
            why=f"{product(src[0].shape)} elements do not fill {product(shape)} places.",
            fix="choose sizes whose product is the number of elements.",
        )
    return shape


def expand(src: tuple[UOp, ...], arg: Any) -> Shape:
    """The sizes after the first source; only axes of size 1 grow."""
    shape = tuple(map(size_of, src[1:]))
    old = src[0].shape
    if len(shape) != len(old) or any(
        not is_same_size(a, b) and not (isinstance(a, int) and a == 1)
        for a, b in zip(old, shape, strict=True)
    ):
        raise ShapeError(
            f"cannot expand {old} to {shape}.",
            why="only axes of size 1 can grow, and the rank stays.",
            fix="reshape first, so that each axis that grows has size 1.",
        )
    return shape


def permute(src: tuple[UOp, ...], arg: Any) -> Shape:
    """The sizes in the order of `arg`."""
    old = src[0].shape
    if sorted(arg) != list(range(len(old))):
        raise AxisError(
            f"{arg} is not an order of the axes of {old}.",
            why=f"each of the axes 0 to {len(old) - 1} must stand in the order exactly once.",
            fix="list every axis once.",
        )
    return tuple(old[axis] for axis in arg)


def pad(src: tuple[UOp, ...], arg: Any) -> Shape:
    """Each size plus what stands before and after it."""
    old = src[0].shape
    rank = len(old)
    before, after = src[1 : 1 + rank], src[1 + rank :]
    shape: list[Size] = []
    for size, b, a in zip(old, before, after, strict=True):
        shape.append(_sum_of(_sum_of(size, size_of(b)), size_of(a)))
    return tuple(shape)


def shrink(src: tuple[UOp, ...], arg: Any) -> Shape:
    """The sizes that follow the first positions."""
    old = src[0].shape
    rank = len(old)
    begins, sizes = map(size_of, src[1 : 1 + rank]), tuple(map(size_of, src[1 + rank :]))
    for begin, size, length in zip(begins, sizes, old, strict=True):
        numbers = (begin, size, length)
        if all(isinstance(n, int) for n in numbers) and not 0 <= begin <= begin + size <= length:
            raise ShapeError(
                f"cannot take {size} elements from position {begin} of an axis of {length}.",
                why="the part must lie inside the axis.",
                fix="shorten it, or pad first.",
            )
    return sizes


def flip(src: tuple[UOp, ...], arg: Any) -> Shape:
    """The shape of the source; `arg` lists axes that it has."""
    rank = len(src[0].shape)
    if len(set(arg)) != len(arg) or any(not 0 <= axis < rank for axis in arg):
        raise AxisError(
            f"cannot flip axes {arg} of {src[0].shape}.",
            why="each axis must exist and stand once.",
            fix=f"choose among the axes 0 to {rank - 1}.",
        )
    return src[0].shape


def window(src: tuple[UOp, ...], arg: Any) -> Shape:
    """The number of windows in place of the axis, and the window's size as a new last axis."""
    shape = list(src[0].shape)
    length = shape[arg.axis]
    count: Size
    if isinstance(length, int):
        count = (length - arg.dilation * (arg.size - 1) - 1) // arg.stride + 1
        if count < 0 or length < arg.dilation * (arg.size - 1) + 1:
            raise ShapeError(
                f"a window of {arg.size} (dilation {arg.dilation}) does not fit {length} elements.",
                why="the window may not reach beyond the axis.",
                fix="pad the axis or make the window smaller.",
            )
    else:
        count = (length - (arg.dilation * (arg.size - 1) + 1)) // arg.stride + 1
    shape[arg.axis] = count
    return (*shape, arg.size)


def fold(src: tuple[UOp, ...], arg: Any) -> Shape:
    """`arg.length` in place of the axis; the last axis is gone."""
    shape = list(src[0].shape[:-1])
    shape[arg.axis] = arg.length
    return tuple(shape)


def reduce(src: tuple[UOp, ...], arg: Any) -> Shape:
    """The sizes of the axes that are not reduced."""
    return tuple(size for axis, size in enumerate(src[0].shape) if axis not in arg.axes)


def get(src: tuple[UOp, ...], arg: Any) -> Shape:
    """One result of a recurrence: a final state, or an output with the steps as first axis.

    Or one of a CALL, which says its shape.
    """
    recurrence = src[0]
    if isinstance(recurrence.arg, CallArg):
        result: ResultArg = recurrence.arg.results[arg]
        return result.shape
    loop: LoopArg = recurrence.arg
    number: int = arg
    if number < loop.states:
        return recurrence.src[1 + number].shape
    steps = size_of(recurrence.src[0].src[0])
    return (steps, *recurrence.src[1 + loop.states + number].shape)


def index(src: tuple[UOp, ...], arg: Any) -> Shape:
    """`arg` contiguous lanes, or the shape of the index nodes and then the axes left over.

    In kernels the buffer is flat, so that the shape is that of the offset.
    """
    buffer, *offsets = src
    if arg is not None:
        return (arg,)
    positions = [offset for offset in offsets if offset.dtype.kind != "bool"]
    shape = elementwise(tuple(positions), None) if positions else ()
    return (*shape, *buffer.shape[len(positions) :])


def load(src: tuple[UOp, ...], arg: Any) -> Shape:
    """The shape of the address or register that is read."""
    return src[0].shape


def splat(src: tuple[UOp, ...], arg: Any) -> Shape:
    """`arg` equal lanes."""
    return (arg,)


def stack(src: tuple[UOp, ...], arg: Any) -> Shape:
    """One lane a source."""
    return (len(src), *src[0].shape)


def shuffle(src: tuple[UOp, ...], arg: Any) -> Shape:
    """One lane a listed position."""
    return (len(arg),)


def _sum_of(a: Size, b: Size) -> Size:
    """The sum of two sizes; a number where the symbols in it cancel."""
    if isinstance(a, int) and a == 0:
        return b
    if isinstance(b, int) and b == 0:
        return a
    total = b + a if isinstance(a, int) else a + b
    if isinstance(total, int):
        return total
    terms, constant = linear_form(total)
    return total if terms else constant
