"""Interpolation: other sizes for the spatial axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from tiny_ir import ArgumentError, Op, UOp, const, dtypes
from tiny_plugin import boundary
from tiny_tensor.broadcast import broadcast
from tiny_tensor.choices import check_choice
from tiny_tensor.gathering import taken
from tiny_tensor.pooling import PoolingMethods
from tiny_tensor.triangles import counting


@boundary
class ResizingMethods(PoolingMethods):
    """Values between the elements, axis by axis."""

    __slots__ = ()

    def interpolate(
        self, size: Sequence[int], mode: str = "linear", align_corners: bool = False
    ) -> Self:
        """Give the last axes other sizes.

        Args:
            size: the sizes of the last axes, as many as there are numbers.
            mode: "linear" mixes the two nearest elements; "nearest" takes the one at or before
                the place; "nearest-exact" the one whose middle is nearest.
            align_corners: let the first and last elements keep their place (mode "linear" only).

        Returns:
            The shape with these sizes at its end, in the dtype of this tensor.

        Raises:
            ArgumentError: there is no such mode, or the sizes do not fit.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([0.0, 2.0]).interpolate((4,)).tolist()
            [0.0, 0.5, 1.5, 2.0]
        """
        check_choice("mode", mode, ("linear", "nearest", "nearest-exact"))
        sizes = tuple(size)
        first = self.ndim - len(sizes)
        if first < 0 or any(not isinstance(n, int) or n < 1 for n in sizes):
            raise ArgumentError(
                f"cannot interpolate a tensor of shape {self.shape} to {sizes}.",
                why="there are no more sizes than axes, and each is 1 or more.",
                fix="pass the sizes of the last axes.",
            )
        if align_corners and mode != "linear":
            raise ArgumentError(
                f"align_corners has no meaning in mode {mode!r}.",
                why="it says between which elements is mixed.",
                fix="leave it out.",
            )
        result = self.dtype
        node = self.uop
        if mode == "linear":
            node = node.cast(self._wide().dtype)
        for n, wanted in enumerate(sizes):
            axis = first + n
            length = self._length(axis)
            if length == wanted:
                continue
            places = _places(length, wanted, mode, align_corners)
            node = _mixed(node, axis, places) if mode == "linear" else _nearest(node, axis, places)
        return self._apply(node)._back(result)

    def _back(self, result: object) -> Self:
        """The mix of integers is rounded to the nearest one."""
        assert isinstance(result, type(self.dtype))
        if self.dtype.is_float and not result.is_float:
            return self.round().cast(result)
        return self.cast(result)


def _places(length: int, wanted: int, mode: str, align_corners: bool) -> UOp:
    """Where each new element lies between the old ones: float32, (wanted,)."""
    kept = dtypes.float32
    index = counting(wanted).cast(kept)
    if align_corners:
        return index * const(kept, (length - 1) / max(1, wanted - 1))
    scale = const(kept, length / wanted)
    if mode == "nearest":
        return (index * scale).alu(Op.FLOOR)
    middle = (index + const(kept, 0.5)) * scale
    if mode == "nearest-exact":
        return middle.alu(Op.FLOOR)
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
    shape = [1] * len(node.shape)
    shape[axis] = -1
    size = part.shape[0]
    weight = broadcast(part.reshape([size if n == -1 else n for n in shape]), left.shape)
    return left + (right - left) * weight
