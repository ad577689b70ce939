"""Functions of two numbers: fmax, fmin, atan2, hypot, nextafter."""

from __future__ import annotations

import math
from typing import Self

from tiny_ir import DType, DTypeError, Op, dtypes
from tiny_plugin import boundary
from tiny_tensor.methods.functions import FunctionMethods


@boundary
class PairMethods(FunctionMethods):
    """Two tensors broadcast, and one result for each pair of elements."""

    __slots__ = ()

    def _two_floats(self, other: object) -> tuple[Self, Self, DType]:
        """Both sides in one shape, in at least float32; and the dtype of the result."""
        first, second = self._broadcasted(other)
        dtype = dtypes.float_dtype(first.dtype, default_float=self._session.default_float)
        kept = dtypes.promote(dtype, dtypes.float32)
        return self._apply(first.cast(kept)), self._apply(second.cast(kept)), dtype

    def fmax(self, other: object) -> Self:
        """The larger of both; where one is NaN, the other.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1.0, float("nan")]).fmax(3.0).tolist()
            [3.0, 3.0]
        """
        return self._without_nan(Op.MAX, other)

    def fmin(self, other: object) -> Self:
        """The smaller of both; where one is NaN, the other."""
        return self._without_nan(Op.MIN, other)

    def _without_nan(self, op: Op, other: object) -> Self:
        first, second = self._broadcasted(other)
        x, y = self._apply(first), self._apply(second)
        found = x._binary(op, y)
        if not found.dtype.is_float:
            return found
        return x.isnan().where(y, y.isnan().where(x, found))

    def atan2(self, other: object) -> Self:
        """The angle of the point (other, self), from -pi to pi.

        Args:
            other: the horizontal coordinates; this tensor has the vertical ones.

        Returns:
            The common shape, in a float dtype. The signs of zeros count: above and below the
            negative axis the angle is pi and -pi.

        Example:
            >>> from tiny_tensor import Tensor
            >>> angles = Tensor([0.0, 1.0, -0.0]).atan2(Tensor([1.0, 0.0, -1.0]))
            >>> [round(angle, 4) for angle in angles.tolist()]
            [0.0, 1.5708, -3.1416]
        """
        y, x, dtype = self._two_floats(other)
        up, right = y.abs(), x.abs()
        ratio = (up == right).where(1.0, up / right)  # also of two infinities
        ratio = (up.eq(0.0) & right.eq(0.0)).where(0.0, ratio)
        angle = ratio.atan()
        angle = x.signbit().where(math.pi - angle, angle)
        angle = y.signbit().where(-angle, angle)
        return (y.isnan() | x.isnan()).where(math.nan, angle).cast(dtype)

    def hypot(self, other: object) -> Self:
        """The root of the sum of both squares, without overflow on the way.

        Returns:
            The common shape, in a float dtype. With an infinity it is infinite, NaN or not.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([3.0, 3e38]).hypot(Tensor([4.0, 0.0])).tolist()[0]
            5.0
        """
        x, y, dtype = self._two_floats(other)
        a, b = x.abs(), y.abs()
        largest, least = a.maximum(b), a.minimum(b)
        if largest.dtype is dtypes.float32:
            wide_a, wide_b = a.cast("float64"), b.cast("float64")
            length = (wide_a * wide_a + wide_b * wide_b).sqrt().cast("float32")
        else:
            ratio = largest.eq(0.0).where(0.0, least / largest)
            length = largest * (ratio * ratio + 1.0).sqrt()
        return (a.isinf() | b.isinf()).where(math.inf, length).cast(dtype)

    def nextafter(self, other: object) -> Self:
        """The neighbour of each element on the way to the other one.

        Raises:
            DTypeError: the promoted dtype is not a float.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1.0]).nextafter(2.0).item() - 1.0 == 2.0**-23
            True
        """
        first, second = self._broadcasted(other)
        if not first.dtype.is_float:
            raise DTypeError(
                f"elements of {first.dtype.name} have no neighbours to find.",
                why="only floats have a grid of their own.",
                fix="cast to a float first, or add 1.",
            )
        x, y = self._apply(first), self._apply(second)
        word = f"int{first.dtype.bits}"
        bits = x.bitcast(word)
        # Floats of one sign are ordered as their bits are, away from 0.
        outwards = (x < y) == (x > 0.0)
        step = outwards.where(bits + 1, bits - 1).bitcast(first.dtype)
        least = x.const_bits(1)
        from_zero = (y < 0.0).where(-least, least)
        moved = x.eq(0.0).where(from_zero, step)
        moved = (x == y).where(y, moved)
        return (x.isnan() | y.isnan()).where(math.nan, moved)

    def const_bits(self, bits: int) -> Self:
        """One element of this dtype with the given bits."""
        word = f"int{self.dtype.bits}"
        return self._apply(self.uop.const_like(0)).bitcast(word).add(bits).bitcast(self.dtype)
