"""Other shapes and orders of the same elements."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index

from tiny_ir import ArgumentError, AxisError, dtypes
from tiny_tensor.array_api.data_types import result_type
from tiny_tensor.axes import resolved_axes, resolved_axis
from tiny_tensor.broadcast import broadcast_shape
from tiny_tensor.tensor import Tensor

Axes = int | Sequence[int] | None


def broadcast_arrays(*arrays: Tensor) -> tuple[Tensor, ...]:
    """Arrays spread to their common shape.

    Example:
        >>> from tiny_tensor import array_api as xp
        >>> [x.shape for x in xp.broadcast_arrays(xp.zeros((2, 1)), xp.zeros(3))]
        [(2, 3), (2, 3)]
    """
    shape = broadcast_shape(*[x.shape for x in arrays])
    return tuple(x.expand(shape) for x in arrays)


def broadcast_to(x: Tensor, /, shape: Sequence[int]) -> Tensor:
    """An array spread to a shape."""
    return x.expand(tuple(map(index, shape)))


def concat(arrays: Sequence[Tensor], /, *, axis: int | None = 0) -> Tensor:
    """Arrays joined along an axis; None joins all elements in their order.

    Raises:
        ArgumentError: there are no arrays.

    Example:
        >>> from tiny_tensor import array_api as xp
        >>> xp.concat([xp.asarray([1]), xp.asarray([2, 3])]).tolist()
        [1, 2, 3]
    """
    _check_some(arrays, "concat")
    dtype = result_type(*arrays)
    parts = [x.cast(dtype) for x in arrays]
    if axis is None:
        parts, axis = [x.reshape(-1) for x in parts], 0
    return parts[0].cat(*parts[1:], dim=axis)


def stack(arrays: Sequence[Tensor], /, *, axis: int = 0) -> Tensor:
    """Arrays of one shape, joined along a new axis.

    Raises:
        ArgumentError: there are no arrays.
    """
    _check_some(arrays, "stack")
    dtype = result_type(*arrays)
    parts = [x.cast(dtype) for x in arrays]
    return parts[0].stack(*parts[1:], dim=axis)


def _check_some(arrays: Sequence[Tensor], name: str) -> None:
    if not arrays:
        raise ArgumentError(
            f"{name} got no arrays.",
            why="the result of nothing would have no dtype.",
            fix="pass at least one array.",
        )


def expand_dims(x: Tensor, /, axis: int | tuple[int, ...]) -> Tensor:
    """New axes of size 1, at places in the result.

    Example:
        >>> from tiny_tensor import array_api as xp
        >>> xp.expand_dims(xp.zeros(3), axis=(0, -1)).shape
        (1, 3, 1)
    """
    places = (axis,) if isinstance(axis, int) else axis
    rank = x.ndim + len(places)
    for place in sorted(resolved_axes(places, rank)):
        x = x.unsqueeze(place)
    return x


def flip(x: Tensor, /, *, axis: Axes = None) -> Tensor:
    """Axes reversed; all by default."""
    return x.flip(resolved_axes(axis, x.ndim))


def moveaxis(x: Tensor, source: int | Sequence[int], destination: int | Sequence[int], /) -> Tensor:
    """Axes at other places; the rest keep their order."""
    return x.moved(source, destination)


def permute_dims(x: Tensor, /, axes: Sequence[int]) -> Tensor:
    """The axes in another order."""
    return x.permute(tuple(axes))


def repeat(x: Tensor, repeats: int | Tensor, /, *, axis: int | None = None) -> Tensor:
    """Every element several times, next to each other.

    Args:
        x: the array.
        repeats: how often: for all, or for each position on the axis (this computes then).
        axis: the axis; None takes all elements in their order.

    Example:
        >>> from tiny_tensor import array_api as xp
        >>> xp.repeat(xp.asarray([1, 2]), xp.asarray([2, 1])).tolist()
        [1, 1, 2]
    """
    if axis is None:
        x, axis = x.reshape(-1), 0
    place = resolved_axis(axis, x.ndim)
    if isinstance(repeats, int):
        return x.repeat_interleave(repeats, place)
    count = x._length(place)
    each = repeats.reshape(-1).expand(count).cast(dtypes.int64)
    ends = each.cumsum(0)
    total = int(ends[-1].item()) if count else 0
    places = ends.searchsorted(Tensor.arange(total, device=x.device).cast(dtypes.int64), "right")
    return take(x, places, axis=place)


def reshape(x: Tensor, /, shape: Sequence[int], *, copy: bool | None = None) -> Tensor:
    """The same elements, row by row, under other sizes; one may be -1.

    Args:
        x: the array.
        shape: the sizes.
        copy: True gives memory of its own.
    """
    result = x.reshape(tuple(map(index, shape)))
    return result.clone() if copy else result


def roll(x: Tensor, /, shift: int | Sequence[int], *, axis: Axes = None) -> Tensor:
    """Elements moved along axes, around the end; all elements in their order without axes."""
    if axis is None:
        return x.reshape(-1).roll(shift, 0).reshape(x.shape)
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    shifts = (shift,) * len(axes) if isinstance(shift, int) else tuple(shift)
    for amount, one in zip(shifts, axes, strict=True):
        x = x.roll(amount, one)
    return x


def squeeze(x: Tensor, /, axis: int | tuple[int, ...]) -> Tensor:
    """Without axes of size 1.

    Raises:
        AxisError: an axis has another size.
    """
    axes = resolved_axes(axis, x.ndim)
    for one in axes:
        if x.shape[one] != 1:
            raise AxisError(
                f"axis {one} of shape {x.shape} cannot be dropped.",
                why=f"it has size {x.shape[one]}, and only an axis of size 1 holds nothing.",
                fix="name axes of size 1, or take one element of the axis.",
            )
    return x.reshape([size for n, size in enumerate(x.shape) if n not in axes])


def tile(x: Tensor, repetitions: Sequence[int], /) -> Tensor:
    """The whole array several times along each axis."""
    times = tuple(repetitions)
    rank = max(x.ndim, len(times))
    grown = x.reshape((1,) * (rank - x.ndim) + x.shape)
    if not rank:
        return x
    return grown.repeat((1,) * (rank - len(times)) + times)


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """The parts of an array along an axis, which is gone then.

    Example:
        >>> from tiny_tensor import array_api as xp
        >>> [part.tolist() for part in xp.unstack(xp.asarray([[1, 2], [3, 4]]), axis=1)]
        [[1, 3], [2, 4]]
    """
    return tuple(x.moved(axis, 0))


def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
    """The parts at positions along an axis.

    Raises:
        AxisError: no axis is named, and there are several.

    Example:
        >>> from tiny_tensor import array_api as xp
        >>> xp.take(xp.asarray([5, 6, 7]), xp.asarray([2, 0])).tolist()
        [7, 5]
    """
    if axis is None:
        if x.ndim != 1:
            raise AxisError(
                f"take does not know which axis of {x.shape} to take along.",
                why="only a vector has one axis.",
                fix="name the axis.",
            )
        axis = 0
    place = resolved_axis(axis, x.ndim)
    key = (slice(None),) * place + (indices,)
    return x[key]


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """For each position its own element along an axis; the other axes broadcast."""
    place = resolved_axis(axis, x.ndim)
    others = broadcast_shape(
        tuple(1 if n == place else size for n, size in enumerate(x.shape)),
        tuple(1 if n == place else size for n, size in enumerate(indices.shape)),
    )
    mine = [x.shape[n] if n == place else size for n, size in enumerate(others)]
    theirs = [indices.shape[n] if n == place else size for n, size in enumerate(others)]
    return x.expand(mine).gather(place, indices.expand(theirs))
