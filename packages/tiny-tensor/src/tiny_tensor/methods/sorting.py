"""Sorted values and their places: sort, argsort, topk."""

from __future__ import annotations

from typing import Self

from tiny_ir import ArgumentError, UnsupportedError, UOp, dtypes
from tiny_plugin import boundary
from tiny_tensor.methods.indexing import IndexingMethods
from tiny_tensor.methods.ordering import order_of_rows, ordered_key
from tiny_tensor.methods.reductions import positions_along


@boundary
class SortingMethods(IndexingMethods):
    """Order along an axis. It is stable; NaN is greater than every number."""

    __slots__ = ()

    def sort(self, dim: int = -1, descending: bool = False) -> tuple[Self, Self]:
        """The elements along an axis in ascending order, and where they stood.

        Args:
            dim: the axis.
            descending: let the greatest come first; NaN stands before all others then.

        Returns:
            The values and their positions (int32; int64 where they do not fit). Equal elements keep
            their order.

        Raises:
            AxisError: there is no such axis.

        Example:
            >>> from tiny_tensor import Tensor
            >>> [x.tolist() for x in Tensor([3, 1, 2]).sort()]
            [[1, 2, 3], [1, 2, 0]]
        """
        order = self.argsort(dim, descending)
        return (self.gather(dim, order) if self.ndim else self), order

    def argsort(self, dim: int = -1, descending: bool = False) -> Self:
        """The positions of `sort`.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([3, 1, 2]).argsort().tolist()
            [1, 2, 0]
        """
        if not self.ndim:
            self._resolve_axis(dim, extra=1)
            return self._apply(self.uop.const_like(0).cast(dtypes.int32))
        axis = self._resolve_axis(dim)
        return self._apply(_order(self.uop, axis, self._length(axis), descending=descending))

    def topk(
        self, k: int, dim: int = -1, largest: bool = True, sorted_: bool = True
    ) -> tuple[Self, Self]:
        """The greatest elements along an axis, the greatest first, and where they stood.

        Args:
            k: how many.
            dim: the axis.
            largest: False takes the least, the least first.
            sorted_: must be true.

        Returns:
            The values and their positions (int32). Of equal ones the first come first.

        Raises:
            ArgumentError: `k` is negative or more than the axis has.

        Example:
            >>> from tiny_tensor import Tensor
            >>> [x.tolist() for x in Tensor([1, 5, 5, 2]).topk(2)]
            [[5, 5], [1, 2]]
        """
        if not sorted_:
            raise UnsupportedError(
                "topk gives sorted elements only.",
                why="another order would be neither defined nor cheaper.",
                fix="leave sorted_ out.",
            )
        axis = self._resolve_axis(dim)
        length = self._length(axis)
        if not 0 <= k <= length:
            raise ArgumentError(
                f"there are no {k} greatest elements along axis {axis} of shape {self.shape}.",
                why=f"the axis has {length} elements.",
                fix=f"choose k from 0 to {length}.",
            )
        order = self.argsort(axis, largest)._part(axis, 0, k)
        return self.gather(axis, order), order


def _order(node: UOp, axis: int, length: int, *, descending: bool) -> UOp:
    """The positions along an axis in the order of the elements, in the shape of the node."""
    if length <= 1 or any(isinstance(size, int) and size == 0 for size in node.shape):
        return positions_along(node, axis)[0]
    last = [*[n for n in range(len(node.shape)) if n != axis], axis]
    moved = ordered_key(node, descending=descending).permute(last)
    rows = 1
    for size in moved.shape[:-1]:
        assert isinstance(size, int)
        rows *= size
    order = order_of_rows(moved.reshape((rows, length))).reshape(moved.shape)
    return order.permute([last.index(n) for n in range(len(last))])
