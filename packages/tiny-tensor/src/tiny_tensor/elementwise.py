"""Elementwise operators and functions of Tensor: every element by itself."""

from __future__ import annotations

from typing import Self

from tiny_ir import DType, Op, dtypes, make
from tiny_tensor.tensor_core import TensorCore, concrete_dtype


class ElementwiseMethods(TensorCore):
    """Operators, comparisons, casts and functions."""

    __slots__ = ()

    def __add__(self, other: object) -> Self:
        return self._binary(Op.ADD, other)

    def __radd__(self, other: object) -> Self:
        return self._binary(Op.ADD, other, reverse=True)

    def __sub__(self, other: object) -> Self:
        return self._binary(Op.SUB, other)

    def __rsub__(self, other: object) -> Self:
        return self._binary(Op.SUB, other, reverse=True)

    def __mul__(self, other: object) -> Self:
        return self._binary(Op.MUL, other)

    def __rmul__(self, other: object) -> Self:
        return self._binary(Op.MUL, other, reverse=True)

    def __truediv__(self, other: object) -> Self:
        return self._quotient(other)

    def __rtruediv__(self, other: object) -> Self:
        return self._quotient(other, reverse=True)

    def _quotient(self, other: object, *, reverse: bool = False) -> Self:
        first, second = self._broadcasted(other, reverse=reverse)
        dtype = dtypes.float_dtype(first.dtype)
        return self._apply(make(Op.FDIV, None, (first.cast(dtype), second.cast(dtype))))

    def __lt__(self, other: object) -> Self:
        return self._binary(Op.CMPLT, other)

    def __gt__(self, other: object) -> Self:
        return self._binary(Op.CMPLT, other, reverse=True)

    def maximum(self, other: object) -> Self:
        """The larger of both, element by element; NaN propagates."""
        return self._binary(Op.MAX, other)

    def sqrt(self) -> Self:
        """The square root; NaN for negative elements."""
        return self.cast(dtypes.float_dtype(self.dtype))._unary(Op.SQRT)

    def cast(self, dtype: DType | str) -> Self:
        """Convert the elements to another dtype.

        Args:
            dtype: the dtype, or its name.

        Returns:
            A tensor of the same shape; the tensor itself where it has that dtype.

        Raises:
            DTypeError: there is no such dtype, or it is a weak one.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1.7, -1.7]).cast("int32").dtype
            dtypes.int32
        """
        wanted = concrete_dtype(dtype)
        return self if wanted is self.dtype else self._apply(self.uop.cast(wanted))

    def contiguous(self) -> Self:
        """The same elements in memory of their own, in row-major order."""
        return self._apply(make(Op.CONTIGUOUS, None, (self.uop,)))
