"""What torch and NumPy call by other names, and small compositions that they have names for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self

from tiny_ir import ShapeError
from tiny_plugin import boundary
from tiny_tensor.methods.decompositions import DecompositionMethods


@boundary
class SynonymMethods(DecompositionMethods):
    """Each says in one line what it stands for."""

    __slots__ = ()

    # Reductions

    def amax(self, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Self:
        """Another name of `max`."""
        return self.max(dim, keepdim)

    def amin(self, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Self:
        """Another name of `min`."""
        return self.min(dim, keepdim)

    def count_nonzero(self, dim: int | Sequence[int] | None = None) -> Self:
        """How many elements are not 0.

        Args:
            dim: the axes to count along; None for all.

        Returns:
            int32, without these axes.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([[0, 2], [3, 0]]).count_nonzero(0).tolist()
            [1, 1]
        """
        return self.ne(0).sum(dim)

    def nansum(self, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Self:
        """The sum of what is a number.

        Args:
            dim: the axes to sum along; None for all.
            keepdim: keep them, with one element.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1.0, float("nan"), 2.0]).nansum().item()
            3.0
        """
        return self.isnan().where(0, self).sum(dim, keepdim)

    def nanmean(self, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Self:
        """The mean of what is a number; NaN where nothing is.

        Args:
            dim: the axes; None for all.
            keepdim: keep them, with one element.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1.0, float("nan"), 2.0]).nanmean().item()
            1.5
        """
        count = self.isnan().logical_not().sum(dim, keepdim)
        return self.nansum(dim, keepdim) / count

    # Movement

    def movedim(self, source: int | Sequence[int], destination: int | Sequence[int]) -> Self:
        """Move axes to other places; the others keep their order.

        Args:
            source: one axis, or several.
            destination: where each goes.

        Returns:
            A view.

        Raises:
            AxisError: there is no such axis, or one is named twice.
            ShapeError: there are not as many sources as destinations.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor.zeros(2, 3, 4).movedim(0, -1).shape
            (3, 4, 2)
        """
        moved = (source,) if isinstance(source, int) else tuple(source)
        places = (destination,) if isinstance(destination, int) else tuple(destination)
        if len(moved) != len(places):
            raise ShapeError(
                f"cannot move {len(moved)} axes to {len(places)} places.",
                why="each axis goes to one place.",
                fix="name as many destinations as sources.",
            )
        axes = [self._resolve_axis(axis) for axis in moved]
        ends = [self._resolve_axis(place) for place in places]
        order = [axis for axis in range(self.ndim) if axis not in axes]
        for end, axis in sorted(zip(ends, axes, strict=True)):
            order.insert(end, axis)
        return self.permute(order)

    def moveaxis(self, source: int | Sequence[int], destination: int | Sequence[int]) -> Self:
        """Another name of `movedim`."""
        return self.movedim(source, destination)

    def swapaxes(self, axis0: int, axis1: int) -> Self:
        """Another name of `transpose`."""
        return self.transpose(axis0, axis1)

    def swapdims(self, dim0: int, dim1: int) -> Self:
        """Another name of `transpose`."""
        return self.transpose(dim0, dim1)

    def ravel(self) -> Self:
        """All elements along one axis, in row-major order."""
        return self.flatten()

    def dim(self) -> int:
        """How many axes there are: another name of `ndim`."""
        return self.ndim

    def expand_as(self, other: Self) -> Self:
        """Broadcast to the shape of another tensor."""
        return self.expand(*other.shape)

    def reshape_as(self, other: Self) -> Self:
        """The same elements in the shape of another tensor."""
        return self.reshape(*other.shape)

    def view_as(self, other: Self) -> Self:
        """The same elements in the shape of another tensor."""
        return self.reshape(*other.shape)

    def type_as(self, other: Self) -> Self:
        """The same values in the dtype of another tensor."""
        return self.cast(other.dtype)

    def tile(self, *repeats: int) -> Self:
        """Another name of `repeat`."""
        return self.repeat(*repeats)

    def fliplr(self) -> Self:
        """Reverse the second axis."""
        return self.flip(1)

    def flipud(self) -> Self:
        """Reverse the first axis."""
        return self.flip(0)

    def index_select(self, dim: int, index: Self) -> Self:
        """The positions of one axis that an index names.

        Args:
            dim: the axis.
            index: integers, along one axis; one out of range reads 0.

        Returns:
            A tensor with as many positions on the axis.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([[1, 2, 3], [4, 5, 6]]).index_select(1, Tensor([2, 0])).tolist()
            [[3, 1], [6, 4]]
        """
        axis = self._resolve_axis(dim)
        return self[(*(slice(None),) * axis, index)]

    def take_along_dim(self, indices: Self, dim: int) -> Self:
        """Another name of `gather`, with the index last in NumPy's order."""
        return self.gather(dim, indices)

    # Elementwise

    def gt(self, other: Self | float) -> Self:
        """Whether each element is greater: the operator `>`."""
        return self > other

    def ge(self, other: Self | float) -> Self:
        """Whether each element is greater or equal: the operator `>=`."""
        return self >= other

    def lt(self, other: Self | float) -> Self:
        """Whether each element is less: the operator `<`."""
        return self < other

    def le(self, other: Self | float) -> Self:
        """Whether each element is less or equal: the operator `<=`."""
        return self <= other

    def subtract(self, other: Self | float) -> Self:
        """Another name of `sub`."""
        return self.sub(other)

    def multiply(self, other: Self | float) -> Self:
        """Another name of `mul`."""
        return self.mul(other)

    def divide(self, other: Self | float) -> Self:
        """Another name of `div`."""
        return self.div(other)

    def true_divide(self, other: Self | float) -> Self:
        """Another name of `div`."""
        return self.div(other)

    def floor_divide(self, other: Self | float) -> Self:
        """The quotient rounded down: the operator `//`."""
        return self // other

    def remainder(self, other: Self | float) -> Self:
        """What is left, with the sign of the divisor: another name of `mod`."""
        return self.mod(other)

    def negative(self) -> Self:
        """Another name of `neg`."""
        return self.neg()

    def absolute(self) -> Self:
        """Another name of `abs`."""
        return self.abs()

    def arcsin(self) -> Self:
        """Another name of `asin`."""
        return self.asin()

    def arccos(self) -> Self:
        """Another name of `acos`."""
        return self.acos()

    def arctan(self) -> Self:
        """Another name of `atan`."""
        return self.atan()

    def arcsinh(self) -> Self:
        """Another name of `asinh`."""
        return self.asinh()

    def arccosh(self) -> Self:
        """Another name of `acosh`."""
        return self.acosh()

    def arctanh(self) -> Self:
        """Another name of `atanh`."""
        return self.atanh()

    def fix(self) -> Self:
        """Another name of `trunc`."""
        return self.trunc()

    def frac(self) -> Self:
        """What stands behind the point, with the sign of the number.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1.5, -2.25]).frac().tolist()
            [0.5, -0.25]
        """
        return self - self.trunc()

    def deg2rad(self) -> Self:
        """Degrees in radians."""
        return self * (math.pi / 180)

    def rad2deg(self) -> Self:
        """Radians in degrees."""
        return self * (180 / math.pi)

    def nan_to_num(
        self, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
    ) -> Self:
        """Numbers in place of NaN and infinities.

        Args:
            nan: in place of NaN.
            posinf: in place of infinity; None for the largest number of the dtype.
            neginf: in place of minus infinity; None for the smallest.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([float("nan"), float("-inf"), 1.0]).nan_to_num(neginf=-9.0).tolist()
            [0.0, -9.0, 1.0]
        """
        if not self.dtype.is_float:
            return self
        high = self.dtype.largest if posinf is None else posinf
        low = -self.dtype.largest if neginf is None else neginf
        infinite = self.isinf()
        positive = (self > 0).where(high, low)
        return self.isnan().where(nan, infinite.where(positive.cast(self.dtype), self))

    # Products

    def mm(self, other: Self) -> Self:
        """Another name of `matmul`, of two matrices."""
        return self.matmul(other)

    def bmm(self, other: Self) -> Self:
        """Another name of `matmul`, of two batches of matrices."""
        return self.matmul(other)

    def mv(self, vector: Self) -> Self:
        """Another name of `matmul`, of a matrix and a vector."""
        return self.matmul(vector)
