"""Comparisons of Tensor, and choices by them."""

from __future__ import annotations

import math
from typing import Self

from tiny_ir import DType, DTypeError, Op, dtypes, make
from tiny_plugin import boundary
from tiny_tensor.arrays import number_of
from tiny_tensor.broadcast import broadcast, broadcast_shape
from tiny_tensor.methods.bits import BitMethods
from tiny_tensor.tensor_core import weak_dtype


@boundary
class ComparisonMethods(BitMethods):
    """Bools, and what is made of them."""

    __slots__ = ()

    def _compared(self, op: Op, other: object, *, reverse: bool = False) -> Self:
        """A comparison; an integer that this dtype cannot hold is beyond all that it does."""
        side = self._side_of(other)
        if side:
            return self.cast(dtypes.float64)._binary(op, side * math.inf, reverse=reverse)
        return self._binary(op, other, reverse=reverse)

    def _side_of(self, other: object) -> int:
        """1 for an integer above all that this integer dtype holds, -1 for one below, else 0."""
        number = number_of(other)
        if not isinstance(number, int) or not self.dtype.is_int:
            return 0
        return (number > self.dtype.maximum) - (number < self.dtype.minimum)

    def eq(self, other: object) -> Self:
        """Where both sides are equal, as bools.

        Example:
            >>> from tiny_tensor import Tensor
            >>> (Tensor([1, 2, 3]) == 2).tolist()
            [False, True, False]
        """
        return self._compared(Op.CMPEQ, other)

    def ne(self, other: object) -> Self:
        """Where both sides differ, as bools; NaN differs from everything."""
        return self._compared(Op.CMPNE, other)

    def logical_and(self, other: object) -> Self:
        """Where both sides differ from 0, as bools.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([0, 2]).logical_and(1).tolist()
            [False, True]
        """
        return self.ne(0)._bits(Op.AND, self._truth_of(other))

    def logical_or(self, other: object) -> Self:
        """Where one side or both differ from 0, as bools."""
        return self.ne(0)._bits(Op.OR, self._truth_of(other))

    def logical_xor(self, other: object) -> Self:
        """Where one side differs from 0 and the other does not, as bools."""
        return self.ne(0)._bits(Op.XOR, self._truth_of(other))

    def _truth_of(self, other: object) -> Self:
        number = number_of(other)
        if number is None:
            return self._wrap(other).ne(0)
        return self._apply(self._constant(number != 0, dtypes.bool_))

    def where(self, x: object, y: object) -> Self:
        """`x` where this is true, and `y` elsewhere.

        Args:
            x: a tensor or a number.
            y: a tensor or a number.

        Returns:
            The common shape of the three, in the promoted dtype of `x` and `y`.

        Raises:
            DTypeError: this tensor is not bool.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([True, False]).where(Tensor([1, 2]), 0.5).tolist()
            [1.0, 0.5]
        """
        if not self.dtype.is_bool:
            raise DTypeError(
                f"cannot choose by a tensor of {self.dtype.name}.",
                why="a condition is bool.",
                fix="compare it with something first, for example x != 0.",
            )
        dtype = self._meeting(x, y)
        first, second = self._operand(x, dtype), self._operand(y, dtype)
        shape = broadcast_shape(self.shape, first.shape, second.shape)
        sources = [
            node if node.shape == () else broadcast(node, shape)
            for node in (self.uop, first, second)
        ]
        return self._apply(make(Op.WHERE, None, tuple(sources)))

    def _meeting(self, *values: object) -> DType:
        """The dtype in which tensors and numbers meet."""
        numbers = [number_of(value) for value in values]
        found = [
            self._operand(value).dtype if number is None else weak_dtype(number)
            for value, number in zip(values, numbers, strict=True)
        ]
        dtype = dtypes.promote(*found)
        if dtype is dtypes.weakfloat:
            return self._session.default_float
        if dtype is not dtypes.weakint:
            return dtype
        narrow = all(isinstance(n, int) and _fits(n, dtypes.int32) for n in numbers)
        return dtypes.int32 if narrow else dtypes.int64


def _fits(value: int, dtype: DType) -> bool:
    return dtype.minimum <= value <= dtype.maximum
