"""Products of matrices, and what is made of them."""

from __future__ import annotations

from typing import Self

from tiny_ir import Op, ShapeError, UOp, dtypes, is_same_size
from tiny_tensor.broadcast import broadcast, broadcast_shape
from tiny_tensor.tensor_core import TensorCore


class LinearAlgebraMethods(TensorCore):
    """Contractions."""

    __slots__ = ()

    def matmul(self, other: object) -> Self:
        """Multiply matrices, batch by batch.

        Args:
            other: (..., k, n), or (k,). Leading axes broadcast with those of self, (..., m, k).

        Returns:
            (..., m, n), in the promoted dtype; float sums are kept in at least float32.

        Raises:
            ShapeError: the inner sizes differ.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([[1, 2], [3, 4]]).matmul(Tensor([1, 1])).tolist()
            [3, 7]
        """
        return self._apply(_product(self.uop, self._wrap(other).uop))

    def __matmul__(self, other: object) -> Self:
        return self.matmul(other)

    def __rmatmul__(self, other: object) -> Self:
        return self._apply(_product(self._wrap(other).uop, self.uop))


def _product(left: UOp, right: UOp) -> UOp:
    """REDUCE(ADD, left[..., m, 1, k] * right[..., 1, n, k]) over k."""
    if not left.shape or not right.shape:
        raise ShapeError(
            f"cannot multiply {left.shape} by {right.shape}.",
            why="a matrix product needs at least one axis on both sides.",
            fix="use * for a single number.",
        )
    vector, covector = len(right.shape) == 1, len(left.shape) == 1
    if covector:
        left = left.reshape((1, *left.shape))
    if vector:
        right = right.reshape((*right.shape, 1))
    m, k = left.shape[-2:]
    inner, n = right.shape[-2:]
    if not is_same_size(k, inner):
        raise ShapeError(
            f"cannot multiply {left.shape} by {right.shape}.",
            why=f"the last size of the left ({k}) must equal "
            f"the next-to-last of the right ({inner}).",
            fix="reshape or transpose one side so that both inner sizes agree.",
        )
    dtype = dtypes.promote(left.dtype, right.dtype)
    # Integers wrap at their own width; floats are added in at least float32.
    kept = dtypes.sum_dtype(dtype) if dtype.is_float else dtype
    batch = broadcast_shape(left.shape[:-2], right.shape[:-2])
    rank = len(right.shape)
    order = (*range(rank - 2), rank - 1, rank - 2)
    a = left.cast(kept).reshape((*left.shape[:-2], m, 1, k))
    b = right.cast(kept).permute(order).reshape((*right.shape[:-2], 1, n, k))
    shape = (*batch, m, n, k)
    total = (broadcast(a, shape) * broadcast(b, shape)).reduce(Op.ADD, (len(shape) - 1,))
    result = total.cast(dtype)
    if vector:
        result = result.reshape(result.shape[:-1])
    if covector:
        axis = len(result.shape) - (1 if vector else 2)
        result = result.reshape((*result.shape[:axis], *result.shape[axis + 1 :]))
    return result
