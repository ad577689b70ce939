"""Sums, extremes and spreads along axes."""

from __future__ import annotations

from collections.abc import Sequence

from tiny_ir import AxisError, DType
from tiny_tensor.axes import resolved_axes, resolved_axis
from tiny_tensor.tensor import Tensor

Axes = int | Sequence[int] | None


def sum(
    x: Tensor, /, *, axis: Axes = None, dtype: DType | None = None, keepdims: bool = False
) -> Tensor:
    """The sums along axes; integers widen to at least 32 bits.

    Example:
        >>> from tiny_tensor import array_api as xp
        >>> xp.sum(xp.asarray([[1, 2], [3, 4]]), axis=0).tolist()
        [4, 6]
    """
    return x.sum(axis, keepdims, dtype)


def prod(
    x: Tensor, /, *, axis: Axes = None, dtype: DType | None = None, keepdims: bool = False
) -> Tensor:
    """The products along axes, in the dtypes of `sum`."""
    return x.prod(axis, keepdims, dtype)


def mean(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The means along axes."""
    return x.mean(axis, keepdims)


def max(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The largest elements along axes; NaN propagates."""
    return x.max(axis, keepdims)


def min(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The smallest elements along axes; NaN propagates."""
    return x.min(axis, keepdims)


def var(
    x: Tensor, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False
) -> Tensor:
    """The variances along axes.

    Args:
        x: the array.
        axis: the axes; all by default.
        correction: the squares are divided by the number of elements less this.
        keepdims: keep the axes with size 1.

    Example:
        >>> from tiny_tensor import array_api as xp
        >>> xp.var(xp.asarray([1.0, 3.0])).item()
        1.0
    """
    if correction == int(correction):
        return x.var(axis, keepdims, int(correction))
    count = 1
    for n in resolved_axes(axis, x.ndim):
        count *= x._length(n)
    return x.var(axis, keepdims, 0) * (count / (count - correction))


def std(
    x: Tensor, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False
) -> Tensor:
    """The standard deviations along axes: the roots of `var`."""
    return var(x, axis=axis, correction=correction, keepdims=keepdims).sqrt()


def cumulative_sum(
    x: Tensor,
    /,
    *,
    axis: int | None = None,
    dtype: DType | None = None,
    include_initial: bool = False,
) -> Tensor:
    """The sums of the elements up to each position.

    Args:
        x: the array.
        axis: the axis; it may be left out where there is only one.
        dtype: the dtype to add in and to return.
        include_initial: let the result begin with the sum of nothing.

    Example:
        >>> from tiny_tensor import array_api as xp
        >>> xp.cumulative_sum(xp.asarray([1, 2]), include_initial=True).tolist()
        [0, 1, 3]
    """
    place = _lone_axis(x, axis)
    values = x if dtype is None else x.cast(dtype)
    result = values.cumsum(place)
    result = result if dtype is None else result.cast(dtype)
    return _after(result, place, 0) if include_initial else result


def cumulative_prod(
    x: Tensor,
    /,
    *,
    axis: int | None = None,
    dtype: DType | None = None,
    include_initial: bool = False,
) -> Tensor:
    """The products of the elements up to each position; see `cumulative_sum`."""
    place = _lone_axis(x, axis)
    values = x if dtype is None else x.cast(dtype)
    result = values.cumprod(place)
    result = result if dtype is None else result.cast(dtype)
    return _after(result, place, 1) if include_initial else result


def _lone_axis(x: Tensor, axis: int | None) -> int:
    """The axis that was named, or the only one."""
    if axis is None and x.ndim > 1:
        raise AxisError(
            f"a running result needs to know which axis of {x.shape} to go along.",
            why="only a vector has one axis.",
            fix="name the axis.",
        )
    return resolved_axis(0 if axis is None else axis, x.ndim or 1)


def _after(result: Tensor, axis: int, first: int) -> Tensor:
    """A running result behind what it begins with."""
    shape = tuple(1 if n == axis else size for n, size in enumerate(result.shape))
    return Tensor.full(shape, first, dtype=result.dtype, device=result.device).cat(result, dim=axis)


def all(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Whether all elements along axes are true."""
    return x.all(axis, keepdims)


def any(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Whether some element along axes is true."""
    return x.any(axis, keepdims)


def diff(
    x: Tensor,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor:
    """The differences of neighbours along an axis, taken `n` times."""
    return x.diff(n, axis, prepend, append)
