"""Elements at computed places: gather, scatter, and what is made of them."""

from __future__ import annotations

from typing import Self

from tiny_ir import (
    ArgumentError,
    DTypeError,
    Op,
    ShapeError,
    UOp,
    const,
    dtypes,
    make,
    product,
)
from tiny_plugin import boundary
from tiny_tensor.arrays import number_of
from tiny_tensor.broadcast import broadcast
from tiny_tensor.choices import check_choice
from tiny_tensor.methods.positions import from_start
from tiny_tensor.methods.recurrences import RecurrenceMethods
from tiny_tensor.methods.reductions import positions_along
from tiny_tensor.methods.triangles import counting
from tiny_tensor.tensor_core import Scalar

SCATTER_OPS = {"sum": Op.ADD, "prod": Op.MUL, "amax": Op.MAX, "amin": Op.MIN, "mean": Op.ADD}


@boundary
class GatheringMethods(RecurrenceMethods):
    """Reads from and writes to places that are computed.

    Negative positions count from the end of their axis. Out of range, a read gives 0 and a write
    does nothing. Writes happen as if one by one in the order of the index.
    """

    __slots__ = ()

    def gather(self, dim: int, index: Self) -> Self:
        """Read at positions along one axis.

        Args:
            dim: the axis.
            index: integers, with as many axes as this tensor, and no larger on the others.

        Returns:
            The shape of the index: result[i, j] = self[index[i, j], j] for the axis 0.

        Raises:
            ShapeError: the index has other axes, or is larger on one.
            DTypeError: the index is not of integers.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([[1, 2], [3, 4]]).gather(1, Tensor([[1], [0]])).tolist()
            [[2], [3]]
        """
        axis = self._resolve_axis(dim)
        places = self._places(axis, self._wrap(index).uop)
        return self._apply(self.uop.index(*places))

    def _places(self, axis: int, index: UOp) -> list[UOp]:
        """A position for every axis, each in the shape of the index."""
        shape = self.shape
        if not index.dtype.is_int:
            raise DTypeError(
                f"a tensor of {index.dtype.name} does not say where elements are.",
                why="positions are integers.",
                fix="cast it to an integer first.",
            )
        fits = len(index.shape) == len(shape) and all(
            n == axis or not (isinstance(a, int) and isinstance(b, int)) or a <= b
            for n, (a, b) in enumerate(zip(index.shape, shape, strict=True))
        )
        if not fits:
            raise ShapeError(
                f"an index of shape {index.shape} does not fit {shape} along axis {axis}.",
                why="it has as many axes, and is no larger on the others.",
                fix="expand or shrink the index.",
            )
        return [
            from_start(index, shape[n]) if n == axis else positions_along(index, n)[0]
            for n in range(len(shape))
        ]

    def scatter(self, dim: int, index: Self, src: object, reduce: str | None = None) -> Self:
        """A copy with values written to positions along one axis.

        Args:
            dim: the axis.
            index: integers, with as many axes as this tensor.
            src: a tensor at least as large as the index, or a number.
            reduce: None lets the last value stay; "add" and "multiply" combine with what is there.

        Returns:
            The shape and dtype of this tensor.

        Raises:
            ShapeError: index or values do not fit.
            DTypeError: the values have another dtype.
            ArgumentError: there is no such `reduce`.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([0, 0, 0]).scatter(0, Tensor([1, 1]), Tensor([5, 7])).tolist()
            [0, 7, 0]
        """
        if reduce is not None:
            check_choice("reduce", reduce, ("add", "multiply"))
        op = {None: None, "add": Op.ADD, "multiply": Op.MUL}[reduce]
        return self._scattered(dim, index, src, op)

    def _scattered(self, dim: int, index: Self, src: object, op: Op | None) -> Self:
        axis = self._resolve_axis(dim)
        places = self._places(axis, self._wrap(index).uop)
        shape = places[0].shape
        return self._apply(
            make(Op.SCATTER, None, (self.uop, self._values(src, shape), *places), op)
        )

    def _values(self, src: object, shape: tuple[int | UOp, ...]) -> UOp:
        """What is written, in the shape of the index."""
        number = number_of(src)
        if number is not None:
            return broadcast(self._constant(number, self.dtype), shape)
        node = self._wrap(src).uop
        if node.dtype is not self.dtype:
            raise DTypeError(
                f"cannot write {node.dtype.name} into a tensor of {self.dtype.name}.",
                why="a write changes no dtype.",
                fix=f"cast the values first: src.cast('{self.dtype.name}').",
            )
        fits = len(node.shape) == len(shape) and all(
            not (isinstance(a, int) and isinstance(b, int)) or a <= b
            for a, b in zip(shape, node.shape, strict=True)
        )
        if not fits:
            raise ShapeError(
                f"values of shape {node.shape} do not fit an index of shape {shape}.",
                why="there is a value for each position.",
                fix="expand the values.",
            )
        return node.shrink([(0, size) for size in shape])

    def scatter_reduce(
        self, dim: int, index: Self, src: Self, reduce: str, include_self: bool = True
    ) -> Self:
        """A copy in which values are combined at positions along one axis.

        Args:
            dim: the axis.
            index: integers, with as many axes as this tensor.
            src: a tensor at least as large as the index.
            reduce: "sum", "prod", "mean", "amax" or "amin".
            include_self: what is there takes part; else only where nothing is written it stays.

        Raises:
            ArgumentError: there is no such `reduce`.
            ShapeError: index or values do not fit.
            DTypeError: the values have another dtype.

        Example:
            >>> from tiny_tensor import Tensor
            >>> x, index = Tensor([0, 0]), Tensor([0, 0, 1])
            >>> x.scatter_reduce(0, index, Tensor([-5, -3, 2]), "amax", False).tolist()
            [-3, 2]
        """
        check_choice("reduce", reduce, tuple(SCATTER_OPS))
        op = SCATTER_OPS[reduce]
        start = self
        zeros = self._apply(broadcast(const(dtypes.int32, 0), self.shape))
        if not include_self:
            is_written = zeros._scattered(dim, index, 1, None).ne(0)
            start = is_written.where(self._neutral(op), self)
        total = start._scattered(dim, index, src, op)
        if reduce != "mean":
            return total
        count = zeros._scattered(dim, index, 1, Op.ADD) + int(include_self)
        count = count.maximum(1).cast(self.dtype)
        return total / count if self.dtype.is_float else total // count

    def _neutral(self, op: Op) -> Self:
        limits = {Op.MAX: self.dtype.minimum, Op.MIN: self.dtype.maximum, Op.ADD: 0, Op.MUL: 1}
        return self._apply(const(self.dtype, limits[op]))

    def one_hot(self, num_classes: int = -1) -> Self:
        """A new last axis that is 1 at the position which the element names, and 0 elsewhere.

        Args:
            num_classes: the size of the axis. -1 takes one more than the largest element: this
                computes.

        Returns:
            int32. An element that is no position gives zeros.

        Raises:
            DTypeError: this tensor is not of integers.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([2, 0]).one_hot(3).tolist()
            [[0, 0, 1], [1, 0, 0]]
        """
        if not self.dtype.is_int:
            raise DTypeError(
                f"a tensor of {self.dtype.name} does not name positions.",
                why="positions are integers.",
                fix="cast it to an integer first.",
            )
        count = num_classes
        if count == -1:
            count = int(self.max().item()) + 1 if self.numel() != 0 else 0
        if count < 0:
            raise ArgumentError(
                f"there cannot be {count} classes.",
                why="a number of classes is 0 or more.",
                fix="pass how many there are.",
            )
        shape = (*self.shape, count)
        kept = dtypes.promote(self.dtype, dtypes.int32)
        mine = broadcast(self.uop.cast(kept).reshape((*self.shape, 1)), shape)
        classes = broadcast(counting(count).cast(kept), shape)
        return self._apply(mine.eq(classes).cast(dtypes.int32))

    def masked_select(self, mask: object, size: int | None = None, fill_value: Scalar = 0) -> Self:
        """The elements where a mask is true, one after another.

        Args:
            mask: bools that broadcast with this tensor.
            size: the size of the result; without it the true ones are counted: this computes.
            fill_value: what stands at the end where there are fewer than `size`.

        Example:
            >>> from tiny_tensor import Tensor
            >>> x = Tensor([1, 2, 3])
            >>> x.masked_select(x > 1).tolist()
            [2, 3]
        """
        condition = self._wrap(mask)
        both = self._apply(condition.uop.cast(dtypes.bool_))
        shape = both.where(self, self).shape
        chosen = both.expand(shape)
        values = broadcast(self.uop, shape).reshape((product(shape),))
        count = _count_true(chosen) if size is None else size
        places = _compacted(chosen, count)
        if size is None:
            return self._apply(values.index(places))
        base = broadcast(self._constant(fill_value, self.dtype), (count,))
        ranks = _ranks(chosen, count)
        return self._apply(make(Op.SCATTER, None, (base, values, ranks)))

    def nonzero(self, size: int | None = None, fill_value: int = 0) -> Self:
        """The positions of the elements that are not 0, in their order.

        Args:
            size: the number of rows; without it they are counted: this computes.
            fill_value: what stands in rows at the end where there are fewer than `size`.

        Returns:
            int32, (count, axes).

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([[0, 1], [1, 0]]).nonzero().tolist()
            [[0, 1], [1, 0]]
        """
        mask = self._apply(self.uop.cast(dtypes.bool_))
        count = _count_true(mask) if size is None else size
        flat = _compacted(mask, count)
        shape = [self._length(axis) for axis in range(self.ndim)]
        columns: list[UOp] = []
        for length in reversed(shape):
            columns.append((flat % max(length, 1)).reshape((count, 1)))
            flat = flat // max(length, 1)
        if not columns:
            return self._apply(broadcast(const(dtypes.int32, 0), (count, 0)))
        rows = self._apply(columns[-1]).cat(*[self._apply(c) for c in columns[-2::-1]], dim=1)
        if size is None:
            return rows
        known = self._apply(counting(count).cast(dtypes.int32).reshape((count, 1)))
        return (known < mask.sum()).where(rows, fill_value)


def _count_true(mask: GatheringMethods) -> int:
    return int(mask.sum().item())


def _ranks(mask: GatheringMethods, count: int) -> UOp:
    """For each true element how many stand before it, and `count` for all others: (n,)."""
    flat = mask.reshape(-1)
    ranks = flat.cumsum(0) - 1
    return flat.where(ranks, count).uop


def _compacted(mask: GatheringMethods, count: int) -> UOp:
    """The flat positions of the first `count` true elements: int32, (count,)."""
    places = counting(int(mask.numel())).cast(dtypes.int32)  # type: ignore[arg-type]
    base = broadcast(const(dtypes.int32, 0), (count,))
    if count == 0 or mask.numel() == 0:
        return base
    return make(Op.SCATTER, None, (base, places, _ranks(mask, count)))


def true_positions(mask: GatheringMethods) -> UOp:
    """The flat positions of the true elements of a mask, in their order. This computes."""
    return _compacted(mask, _count_true(mask))


def taken(node: UOp, axis: int, index: UOp) -> UOp:
    """The slices of an axis at positions (n,): the axis then has size n."""
    order = [axis, *[n for n in range(len(node.shape)) if n != axis]]
    found = node.permute(order).index(index)
    return found.permute([order.index(n) for n in range(len(order))])
