"""Interpolation: other sizes for the spatial axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self

from tiny_ir import ArgumentError, Op, Size, UOp, const, dtypes
from tiny_plugin import boundary
from tiny_tensor.broadcast import broadcast
from tiny_tensor.choices import check_choice
from tiny_tensor.methods.gathering import taken
from tiny_tensor.methods.pooling import PoolingMethods
from tiny_tensor.methods.triangles import counting

MODES = ("linear", "cubic", "nearest", "nearest-exact", "area")
CUBIC_SLOPE = -0.75
"""The slope of the cubic weights at a distance of 1; other libraries take the same."""


@boundary
class ResizingMethods(PoolingMethods):
    """Values between the elements, axis by axis."""

    __slots__ = ()

    def interpolate(
        self,
        size: Sequence[int] | None = None,
        mode: str = "linear",
        align_corners: bool = False,
        *,
        scale_factor: Sequence[float] | None = None,
    ) -> Self:
        """Give the last axes other sizes.

        Args:
            size: the sizes of the last axes, as many as there are numbers.
            mode: "linear" mixes the two nearest elements, "cubic" the four nearest; "nearest"
                takes the one at or before the place; "nearest-exact" the one whose middle is
                nearest; "area" is the mean of all that a new element covers.
            align_corners: let the first and last elements keep their place (modes "linear" and
                "cubic" only).
            scale_factor: instead of sizes, how many new elements stand for an old one. Places
                are counted by it, also where the sizes are rounded down.

        Returns:
            The shape with these sizes at its end, in the dtype of this tensor.

        Raises:
            ArgumentError: there is no such mode, or the sizes do not fit.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([0.0, 2.0]).interpolate((4,)).tolist()
            [0.0, 0.5, 1.5, 2.0]
        """
        check_choice("mode", mode, MODES)
        sizes, scales = self._new_sizes(size, scale_factor)
        first = self.ndim - len(sizes)
        if align_corners and mode not in _MIXING:
            raise ArgumentError(
                f"align_corners has no meaning in mode {mode!r}.",
                why="it says between which elements is mixed.",
                fix="leave it out.",
            )
        result = self.dtype
        node = self.uop
        if mode not in ("nearest", "nearest-exact"):
            node = node.cast(self._wide().dtype)
        for n, (wanted, scale) in enumerate(zip(sizes, scales, strict=True)):
            axis = first + n
            length = self._length(axis)
            if length == wanted and scale in (None, 1.0):
                continue
            if mode == "area":
                node = averaged(node, axis, wanted)
                continue
            places = _places(length, wanted, scale, mode, align_corners)
            node = _MIXING.get(mode, _nearest)(node, axis, places)
        return self._apply(node)._back(result)

    def _new_sizes(
        self, size: Sequence[int] | None, scale_factor: Sequence[float] | None
    ) -> tuple[tuple[int, ...], tuple[float | None, ...]]:
        """The sizes of the last axes, and by how much each grows where that was said."""
        if (size is None) == (scale_factor is None):
            raise ArgumentError(
                "interpolate() takes sizes or factors.",
                why="one follows from the other.",
                fix="pass size or scale_factor.",
            )
        factors: tuple[float | None, ...] = ()
        if scale_factor is not None:
            factors = tuple(scale_factor)
            lengths = self.shape[max(0, self.ndim - len(factors)) :]
            sizes = tuple(
                math.floor(length * factor)
                for length, factor in zip(lengths, factors, strict=False)
                if isinstance(length, int) and factor is not None
            )
        else:
            sizes = tuple(size or ())
            factors = (None,) * len(sizes)
        wrong = any(not isinstance(n, int) or n < 1 for n in sizes)
        if self.ndim < len(sizes) or wrong or len(sizes) != len(factors):
            raise ArgumentError(
                f"cannot interpolate a tensor of shape {self.shape} to {sizes or factors}.",
                why="there are no more sizes than axes, and each is 1 or more.",
                fix="pass the sizes of the last axes.",
            )
        return sizes, factors

    def _back(self, result: object) -> Self:
        """The mix of integers is rounded to the nearest one."""
        assert isinstance(result, type(self.dtype))
        if self.dtype.is_float and not result.is_float:
            return self.round().cast(result)
        return self.cast(result)


def _places(length: int, wanted: int, factor: float | None, mode: str, align_corners: bool) -> UOp:
    """Where each new element lies between the old ones: float32, (wanted,)."""
    kept = dtypes.float32
    index = counting(wanted).cast(kept)
    if align_corners:
        return index * const(kept, (length - 1) / max(1, wanted - 1))
    scale = const(kept, length / wanted if factor is None else 1 / factor)
    if mode == "nearest":
        return (index * scale).alu(Op.FLOOR)
    middle = (index + const(kept, 0.5)) * scale
    if mode == "nearest-exact":
        return middle.alu(Op.FLOOR)
    if mode == "cubic":
        return middle - const(kept, 0.5)
    last = const(kept, length - 1)
    return (middle - const(kept, 0.5)).maximum(const(kept, 0.0)).minimum(last)


def _nearest(node: UOp, axis: int, places: UOp) -> UOp:
    length = node.shape[axis]
    assert isinstance(length, int)
    index = places.cast(dtypes.int32).minimum(const(dtypes.int32, length - 1))
    return taken(node, axis, index)


def _mixed(node: UOp, axis: int, places: UOp) -> UOp:
    length = node.shape[axis]
    assert isinstance(length, int)
    low = places.alu(Op.FLOOR)
    part = (places - low).cast(node.dtype)
    before = low.cast(dtypes.int32)
    after = (before + const(dtypes.int32, 1)).minimum(const(dtypes.int32, length - 1))
    left, right = taken(node, axis, before), taken(node, axis, after)
    return left + (right - left) * _along(part, left, axis)


def _along(part: UOp, like: UOp, axis: int) -> UOp:
    """A number for each position of an axis, spread over the others."""
    shape: list[Size] = [1] * len(like.shape)
    shape[axis] = part.shape[0]
    return broadcast(part.reshape(shape), like.shape)


def _cubic(node: UOp, axis: int, places: UOp) -> UOp:
    """R. G. Keys, "Cubic convolution interpolation for digital image processing", 1981."""
    length = node.shape[axis]
    assert isinstance(length, int)
    low = places.alu(Op.FLOOR)
    part = (places - low).cast(node.dtype)
    rest = const(node.dtype, 1.0) - part
    one = const(dtypes.int32, 1)
    bottom, top = const(dtypes.int32, 0), const(dtypes.int32, length - 1)
    index = low.cast(dtypes.int32) - one
    weights = (far_weight(part), near_weight(part), near_weight(rest), far_weight(rest))
    total: UOp | None = None
    for weight in weights:
        term = taken(node, axis, index.maximum(bottom).minimum(top))
        term = term * _along(weight, term, axis)
        total = term if total is None else total + term
        index = index + one
    assert total is not None
    return total


def near_weight(distance: UOp) -> UOp:
    """The weight of an element less than 1 away."""
    x = distance
    slope = const(x.dtype, CUBIC_SLOPE)
    two, three, one = (const(x.dtype, n) for n in (2.0, 3.0, 1.0))
    return ((slope + two) * x - (slope + three)) * x * x + one


def far_weight(distance: UOp) -> UOp:
    """The weight of an element 1 farther away than that."""
    x = distance + const(distance.dtype, 1.0)
    slope = const(x.dtype, CUBIC_SLOPE)
    five, eight, four = (const(x.dtype, n * CUBIC_SLOPE) for n in (5.0, 8.0, 4.0))
    return ((slope * x - five) * x + eight) * x - four


def averaged(node: UOp, axis: int, wanted: int) -> UOp:
    """The mean of what each new element covers: from the floor of its share to the ceiling."""
    length = node.shape[axis]
    assert isinstance(length, int)
    seen = shares(node, axis, wanted, const(node.dtype, 0.0))
    total = seen.reduce(Op.ADD, (axis + 1,))
    begin, end = _borders(length, wanted)
    return total / _along((end - begin).cast(node.dtype), total, axis)


def shares(node: UOp, axis: int, wanted: int, rest: UOp) -> UOp:
    """What each of `wanted` windows over an axis covers, on a new axis after it.

    Windows that are shorter than the longest one end with `rest`.
    """
    length = node.shape[axis]
    assert isinstance(length, int)
    longest = max(
        (-(-(j + 1) * length // wanted) - j * length // wanted for j in range(wanted)), default=1
    )
    begin, end = _borders(length, wanted)
    grid = (wanted, longest)
    steps = counting(longest).cast(dtypes.int32).reshape((1, longest)).expand(grid)
    places = begin.reshape((wanted, 1)).expand(grid) + steps
    inside = (places < end.reshape((wanted, 1)).expand(grid)).reshape((wanted * longest,))
    nearest = places.minimum(const(dtypes.int32, length - 1)).reshape((wanted * longest,))
    covered = taken(node, axis, nearest)
    kept = _along(inside, covered, axis).where(covered, rest)
    return kept.reshape((*kept.shape[:axis], wanted, longest, *kept.shape[axis + 1 :]))


def _borders(length: int, wanted: int) -> tuple[UOp, UOp]:
    """Where each of `wanted` windows over an axis begins and ends: int32, (wanted,)."""
    count, divisor = const(dtypes.int32, length), const(dtypes.int32, max(1, wanted))
    index = counting(wanted).cast(dtypes.int32)
    begin = (index * count).alu(Op.FLOORDIV, divisor)
    reach = index * count + const(dtypes.int32, length + wanted - 1)
    return begin, reach.alu(Op.FLOORDIV, divisor)


_MIXING = {"linear": _mixed, "cubic": _cubic}
