"""Sums of a tensor and a multiple of a product, rounded once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

from tiny_ir import dtypes
from tiny_plugin import boundary
from tiny_tensor.broadcast import broadcast_shape
from tiny_tensor.methods.linear_algebra import LinearAlgebraMethods
from tiny_tensor.tensor_core import Scalar


@boundary
class CombinationMethods(LinearAlgebraMethods):
    """beta * self + alpha * product, in the promoted dtype of all; floats keep at least float32.

    Where `beta` is 0, this tensor counts for nothing, also where it is NaN.
    """

    __slots__ = ()

    def addcmul(self, first: object, second: object, *, value: Scalar = 1) -> Self:
        """self + value * first * second, element by element.

        Raises:
            ShapeError: the shapes do not broadcast.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1, 2]).addcmul(Tensor([3, 4]), Tensor([5, 6]), value=10).tolist()
            [151, 242]
        """
        return self._with(first, second, lambda a, b: a * b, 1, value)

    def addcdiv(self, first: object, second: object, *, value: Scalar = 1) -> Self:
        """self + value * first / second, element by element.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1.0]).addcdiv(Tensor([3.0]), Tensor([4.0]), value=2).tolist()
            [2.5]
        """
        return self._with(first, second, lambda a, b: a / b, 1, value)

    def addmm(self, first: object, second: object, *, beta: Scalar = 1, alpha: Scalar = 1) -> Self:
        """beta * self + alpha * first @ second.

        Args:
            first: (m, k).
            second: (k, n).
            beta: a factor of this tensor, which broadcasts to (m, n).
            alpha: a factor of the product.

        Raises:
            ShapeError: the inner sizes differ, or the shapes do not broadcast.

        Example:
            >>> from tiny_tensor import Tensor
            >>> x = Tensor([[1, 2], [3, 4]])
            >>> x.addmm(x, x, beta=2).tolist()
            [[9, 14], [21, 30]]
        """
        return self._with(first, second, lambda a, b: a @ b, beta, alpha)

    def addmv(self, matrix: object, vector: object, *, beta: Scalar = 1, alpha: Scalar = 1) -> Self:
        """beta * self + alpha * matrix @ vector, for (m, k) and (k,); see `addmm`."""
        return self._with(matrix, vector, lambda a, b: a @ b, beta, alpha)

    def addr(self, first: object, second: object, *, beta: Scalar = 1, alpha: Scalar = 1) -> Self:
        """beta * self + alpha * the outer product of vectors (m,) and (n,); see `addmm`."""
        return self._with(first, second, lambda a, b: a.unsqueeze(1) * b.unsqueeze(0), beta, alpha)

    def baddbmm(
        self, first: object, second: object, *, beta: Scalar = 1, alpha: Scalar = 1
    ) -> Self:
        """`addmm` for each of several matrices, (batch, m, k) and (batch, k, n)."""
        return self._with(first, second, lambda a, b: a @ b, beta, alpha)

    def addbmm(self, first: object, second: object, *, beta: Scalar = 1, alpha: Scalar = 1) -> Self:
        """beta * self + alpha * the sum of the products of several matrices; see `baddbmm`."""

        def added(a: Self, b: Self) -> Self:
            return (a @ b).sum(0, dtype=a.dtype)

        return self._with(first, second, added, beta, alpha)

    def _with(
        self,
        first: object,
        second: object,
        product: Callable[[Self, Self], Self],
        beta: Scalar,
        alpha: Scalar,
    ) -> Self:
        """beta * self + alpha * product(first, second); bools add up as bools."""
        left, right = self._wrap(first), self._wrap(second)
        dtype = self._meeting(self, left, right)
        kept = dtypes.promote(dtype, dtypes.float32) if dtype.is_float else dtype
        found = product(left.cast(kept), right.cast(kept))
        own = self.cast(kept)
        if dtype.is_bool:
            alpha, beta = bool(alpha), bool(beta)
        found = found if alpha == 1 else found * alpha
        if beta == 0:
            total = found.expand(*broadcast_shape(own.shape, found.shape))
        else:
            total = found + (own if beta == 1 else own * beta)
        return total.cast(dtype) if dtype.is_float else total
