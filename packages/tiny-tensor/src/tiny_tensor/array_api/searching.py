"""Where elements stand: extremes, masks, order, and sets of different values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tiny_ir import ArgumentError
from tiny_tensor.array_api.elementwise import Operand
from tiny_tensor.tensor import Tensor


def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Where the largest elements stand: the first of several."""
    return x.argmax(axis, keepdims)


def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Where the smallest elements stand: the first of several."""
    return x.argmin(axis, keepdims)


def count_nonzero(
    x: Tensor, /, *, axis: int | Sequence[int] | None = None, keepdims: bool = False
) -> Tensor:
    """How many elements along axes are not 0.

    Example:
        >>> from tiny_tensor import array_api as xp
        >>> xp.count_nonzero(xp.asarray([0, 2, 3])).item()
        2
    """
    return x.bool().sum(axis, keepdims)


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """The positions of the elements that are not 0, an array for each axis. This computes.

    Raises:
        ArgumentError: the array has no axes.

    Example:
        >>> from tiny_tensor import array_api as xp
        >>> [place.tolist() for place in xp.nonzero(xp.asarray([0, 2, 3]))]
        [[1, 2]]
    """
    if not x.ndim:
        raise ArgumentError(
            "nonzero takes no array of shape ().",
            why="its element has no position.",
            fix="reshape it to (1,) first.",
        )
    rows = x.nonzero()
    return tuple(rows[:, axis] for axis in range(x.ndim))


def searchsorted(
    x1: Tensor, x2: Tensor, /, *, side: str = "left", sorter: Tensor | None = None
) -> Tensor:
    """Where elements of `x2` have to stand in the sorted vector `x1`."""
    return x1.searchsorted(x2, side, sorter)


def where(condition: Tensor, x1: Operand, x2: Operand, /) -> Tensor:
    """`x1` where a condition is true, and `x2` elsewhere.

    Example:
        >>> from tiny_tensor import array_api as xp
        >>> xp.where(xp.asarray([True, False]), xp.asarray([1, 2]), 0).tolist()
        [1, 0]
    """
    if isinstance(x1, Tensor) and not isinstance(x2, Tensor):
        x2 = x1.ufix(x2)
    elif isinstance(x2, Tensor) and not isinstance(x1, Tensor):
        x1 = x2.ufix(x1)
    return condition.where(x1, x2)


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The elements along an axis in order; every sort is stable."""
    return x.sort(axis, descending)[0]


def argsort(
    x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Tensor:
    """The positions of the elements along an axis in order."""
    return x.argsort(axis, descending)


class UniqueAll(NamedTuple):
    """What `unique_all` finds."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """What `unique_counts` finds."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """What `unique_inverse` finds."""

    values: Tensor
    inverse_indices: Tensor


def unique_all(x: Tensor, /) -> UniqueAll:
    """The different elements, where the first of each stands, which of them each element is, and
    how often each stands. This computes.

    Example:
        >>> from tiny_tensor import array_api as xp
        >>> xp.unique_all(xp.asarray([3, 1, 3])).counts.tolist()
        [1, 2]
    """
    return UniqueAll(*x.unique_all())


def unique_counts(x: Tensor, /) -> UniqueCounts:
    """The different elements, and how often each stands. This computes."""
    values, _, _, counts = x.unique_all()
    return UniqueCounts(values, counts)


def unique_inverse(x: Tensor, /) -> UniqueInverse:
    """The different elements, and which of them each element is. This computes."""
    values, _, inverse, _ = x.unique_all()
    return UniqueInverse(values, inverse)


def unique_values(x: Tensor, /) -> Tensor:
    """The different elements, in ascending order. This computes."""
    return x.unique()
