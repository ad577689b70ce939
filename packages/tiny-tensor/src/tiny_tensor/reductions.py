"""Reductions of Tensor: axes combined into one value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from tiny_ir import DType, Op, UOp, dtypes
from tiny_tensor.axes import resolved_axes
from tiny_tensor.tensor_core import TensorCore, concrete_dtype

Axes = int | Sequence[int] | None


class ReductionMethods(TensorCore):
    """Sums, maxima and what is made of them."""

    __slots__ = ()

    def _reduce(self, node: UOp, op: Op, axis: Axes, keepdim: bool) -> UOp:
        """Combine axes of `node`; with `keepdim` they stay with size 1."""
        axes = resolved_axes(axis, len(node.shape))
        reduced = node.reduce(op, axes)
        if not keepdim:
            return reduced
        return reduced.reshape([1 if n in axes else size for n, size in enumerate(node.shape)])

    def sum(
        self, axis: Axes = None, keepdim: bool = False, dtype: DType | str | None = None
    ) -> Self:
        """The sum along axes.

        Args:
            axis: one axis, several, or None for all.
            keepdim: keep the axes with size 1.
            dtype: the dtype to add in and to return.

        Returns:
            bool and narrow ints widen to at least int32 (unsigned: uint32); floats are added in at
            least float32 and returned in their own dtype.

        Raises:
            AxisError: an axis does not exist or is named twice.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([[1, 2], [3, 4]]).sum(0).tolist()
            [4, 6]
        """
        kept = dtypes.sum_dtype(self.dtype) if dtype is None else concrete_dtype(dtype)
        total = self._reduce(self.uop.cast(kept), Op.ADD, axis, keepdim)
        return self._apply(total.cast(self.dtype) if dtype is None and kept.is_float else total)

    def max(self, axis: Axes = None, keepdim: bool = False) -> Self:
        """The largest element along axes; NaN propagates.

        Args:
            axis: one axis, several, or None for all.
            keepdim: keep the axes with size 1.
        """
        return self._apply(self._reduce(self.uop, Op.MAX, axis, keepdim))
