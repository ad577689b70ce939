"""Reductions of Tensor: axes combined into one value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Self, TypeVar

from tiny_ir import ArgumentError, DType, Op, Size, UOp, bounds, const, dtypes, make, product
from tiny_plugin import boundary
from tiny_tensor.axes import resolved_axes
from tiny_tensor.broadcast import broadcast
from tiny_tensor.methods.functions import FunctionMethods
from tiny_tensor.methods.positions import position_dtype
from tiny_tensor.methods.triangles import TriangleMethods, counting
from tiny_tensor.tensor_core import Scalar, concrete_dtype

Axes = int | Sequence[int] | None
Values = TypeVar("Values", bound="ReductionMethods")


@boundary
class ReductionMethods(TriangleMethods, FunctionMethods):
    """Sums, extremes, and what is made of them.

    `axis` is one axis, several, or None for all of them; with `keepdim` they stay with size 1.
    """

    __slots__ = ()

    if TYPE_CHECKING:

        def item(self) -> Scalar:
            """The one element as a Python number; see `Tensor.item`."""

    def _reduce(self, node: UOp, op: Op, axis: Axes, keepdim: bool) -> UOp:
        """Combine axes of `node`; with `keepdim` they stay with size 1."""
        axes = resolved_axes(axis, len(node.shape))
        reduced = node.reduce(op, axes)
        return with_ones(reduced, node, axes) if keepdim else reduced

    def _extreme(self, op: Op, axis: Axes, keepdim: bool) -> Self:
        self._check_not_empty(axis)
        return self._apply(self._reduce(self.uop, op, axis, keepdim))

    def _check_not_empty(self, axis: Axes) -> None:
        shape = self.shape
        for n in resolved_axes(axis, len(shape)):
            if isinstance(shape[n], int) and shape[n] == 0:
                raise ArgumentError(
                    f"there is no extreme along axis {n} of shape {shape}.",
                    why="the axis has no elements, and no number is the extreme of none.",
                    fix="leave empty tensors out, or join a limit to them first.",
                )

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
            least float32 and returned in their own dtype. The sum of nothing is 0.

        Raises:
            AxisError: an axis does not exist or is named twice.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([[1, 2], [3, 4]]).sum(0).tolist()
            [4, 6]
        """
        return self._combined(Op.ADD, axis, keepdim, dtype)

    def prod(
        self, axis: Axes = None, keepdim: bool = False, dtype: DType | str | None = None
    ) -> Self:
        """The product along axes, in the dtypes of `sum`. The product of nothing is 1.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([100, 100], dtype="int8").prod().item()
            10000
        """
        return self._combined(Op.MUL, axis, keepdim, dtype)

    def _combined(self, op: Op, axis: Axes, keepdim: bool, dtype: DType | str | None) -> Self:
        kept = self._kept(dtype)
        total = self._reduce(self.uop.cast(kept), op, axis, keepdim)
        return self._apply(total.cast(self.dtype) if dtype is None and kept.is_float else total)

    def _kept(self, dtype: DType | str | None) -> DType:
        """The dtype that sums are kept in."""
        return dtypes.sum_dtype(self.dtype) if dtype is None else concrete_dtype(dtype)

    def max(self, axis: Axes = None, keepdim: bool = False) -> Self:
        """The largest element along axes; NaN propagates.

        Raises:
            ArgumentError: there are no elements.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([[1, 5], [3, 4]]).max(1).tolist()
            [5, 4]
        """
        return self._extreme(Op.MAX, axis, keepdim)

    def min(self, axis: Axes = None, keepdim: bool = False) -> Self:
        """The smallest element along axes; NaN propagates.

        Raises:
            ArgumentError: there are no elements.
        """
        return self._extreme(Op.MIN, axis, keepdim)

    def any(self, axis: Axes = None, keepdim: bool = False) -> Self:
        """Whether an element along axes is not 0, as bools; there is none in nothing."""
        return self._apply(self._reduce(self.uop.cast(dtypes.bool_), Op.OR, axis, keepdim))

    def all(self, axis: Axes = None, keepdim: bool = False) -> Self:
        """Whether no element along axes is 0, as bools; that holds for nothing."""
        return self._apply(self._reduce(self.uop.cast(dtypes.bool_), Op.AND, axis, keepdim))

    def argmax(self, axis: int | None = None, keepdim: bool = False) -> Self:
        """Where the largest element stands: the first of several, and the first NaN before all.

        Args:
            axis: one axis, or None for the position among all elements in their order.
            keepdim: keep the axis with size 1.

        Returns:
            int32 (int64 where positions do not fit).

        Raises:
            ArgumentError: there are no elements.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([0, 3, 3, 1]).argmax().item()
            1
        """
        return self._place(Op.MAX, axis, keepdim)

    def argmin(self, axis: int | None = None, keepdim: bool = False) -> Self:
        """Where the smallest element stands: the first of several, and the first NaN before all."""
        return self._place(Op.MIN, axis, keepdim)

    def _place(self, op: Op, axis: int | None, keepdim: bool) -> Self:
        self._check_not_empty(axis)
        node = self.uop
        if axis is None:
            node = node.reshape((product(node.shape),))
        axes = resolved_axes(0 if axis is None else axis, len(node.shape))
        if not axes:
            return self._apply(const(dtypes.int32, 0))
        extreme = broadcast(with_ones(node.reduce(op, axes), node, axes), node.shape)
        # A NaN makes the extreme NaN, which equals nothing.
        found = node.eq(extreme) | node.ne(node) if node.dtype.is_float else node.eq(extreme)
        positions, count = positions_along(node, axes[0])
        place = make(Op.WHERE, None, (found, positions, positions.const_like(count)))
        place = place.reduce(Op.MIN, axes)
        if keepdim:
            ones = [1] * self.ndim if axis is None else None
            place = place.reshape(ones) if ones is not None else with_ones(place, node, axes)
        return self._apply(place)

    def mean(self, axis: Axes = None, keepdim: bool = False) -> Self:
        """The mean along axes.

        Returns:
            The dtype of a float tensor; the default float for integers and bools. Sums are kept in
            at least float32. The mean of nothing is NaN.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([[1, 2], [3, 4]]).mean(0).tolist()
            [2.0, 3.0]
        """
        x = self._as_float()
        return x._wide_mean(axis, keepdim).cast(x.dtype)

    def _wide(self) -> Self:
        """As floats of at least float32."""
        x = self._as_float()
        return x.cast(dtypes.promote(x.dtype, dtypes.float32))

    def _wide_mean(self, axis: Axes, keepdim: bool) -> Self:
        wide = self._wide()
        total = wide._reduce(wide.uop, Op.ADD, axis, keepdim)
        return self._apply(total / as_float(self._count(axis), wide.dtype))

    def _count(self, axis: Axes) -> Size:
        """How many elements are combined into one."""
        axes = resolved_axes(axis, self.ndim)
        return product(tuple(size for n, size in enumerate(self.shape) if n in axes))

    def var(self, axis: Axes = None, keepdim: bool = False, correction: int = 1) -> Self:
        """The variance along axes.

        Args:
            axis: one axis, several, or None for all.
            keepdim: keep the axes with size 1.
            correction: the squares are divided by the number of elements less this.

        Returns:
            As `mean`.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1.0, 2.0, 3.0]).var().item()
            1.0
        """
        return self.var_mean(axis, keepdim, correction)[0]

    def var_mean(
        self, axis: Axes = None, keepdim: bool = False, correction: int = 1
    ) -> tuple[Self, Self]:
        """The variance and the mean along axes; see `var`."""
        x = self._as_float()
        wide = x._wide()
        mean = wide._wide_mean(axis, True)
        squares = (wide - mean).square()
        total = wide._reduce(squares.uop, Op.ADD, axis, keepdim)
        count = as_float(self._count(axis), wide.dtype) - correction
        variance = self._apply(total / count.maximum(0))
        middle = mean if keepdim else mean.reshape(variance.shape)
        return variance.cast(x.dtype), middle.cast(x.dtype)

    def std(self, axis: Axes = None, keepdim: bool = False, correction: int = 1) -> Self:
        """The standard deviation along axes: the root of `var`."""
        return self.std_mean(axis, keepdim, correction)[0]

    def std_mean(
        self, axis: Axes = None, keepdim: bool = False, correction: int = 1
    ) -> tuple[Self, Self]:
        """The standard deviation and the mean along axes."""
        x = self._as_float()
        variance, mean = x._wide().var_mean(axis, keepdim, correction)
        return variance.sqrt().cast(x.dtype), mean.cast(x.dtype)

    def allclose(
        self, other: object, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
    ) -> bool:
        """Whether `isclose` holds everywhere, as a Python bool: this computes.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1.0, 2.0]).allclose(Tensor([1.0, 2.0]))
            True
        """
        return bool(self.isclose(other, rtol, atol, equal_nan).all().item())

    def norm(self, axis: Axes = None, keepdim: bool = False, p: float = 2) -> Self:
        """The root of the sum of powers of magnitudes along axes.

        Args:
            axis: one axis, several, or None for all.
            keepdim: keep the axes with size 1.
            p: the power; inf for the largest magnitude.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([3.0, 4.0]).norm().item()
            5.0
        """
        return self._composed(lambda x: _norm(x, axis, keepdim, p))

    def normalize(self, p: float = 2, dim: int = 1, eps: float = 1e-12) -> Self:
        """The elements divided by the norm along an axis, which counts as at least `eps`."""
        return self._composed(lambda x: x / _norm(x, dim, True, p).maximum(eps))


def _norm(x: Values, axis: Axes, keepdim: bool, p: float) -> Values:
    if p == math.inf:
        return x.abs().max(axis, keepdim)
    if p == -math.inf:
        return x.abs().min(axis, keepdim)
    if p == 0:
        return x.ne(0).cast(x.dtype).sum(axis, keepdim)
    if p == 1:
        return x.abs().sum(axis, keepdim)
    if p != 2:
        return (x.abs() ** float(p)).sum(axis, keepdim) ** (1 / p)
    total = x.square().sum(axis, keepdim)
    # The root has no slope at 0; the norm of zeros has gradient 0.
    is_zero = total.eq(0)
    return is_zero.where(0.0, is_zero.where(1.0, total).sqrt())


def with_ones(reduced: UOp, node: UOp, axes: Sequence[int]) -> UOp:
    """A reduction of `node` with its axes back, as size 1."""
    return reduced.reshape([1 if n in axes else size for n, size in enumerate(node.shape)])


def as_float(count: Size, dtype: DType) -> UOp:
    """A size as a float node of shape ()."""
    return const(dtype, count) if isinstance(count, int) else count.cast(dtype)


def positions_along(node: UOp, axis: int) -> tuple[UOp, int]:
    """The position of every element along an axis, in the shape of `node`, and how many at most.

    They are int32, or int64 where they do not fit.
    """
    size = node.shape[axis]
    most = size if isinstance(size, int) else int(bounds(size)[1])
    shape = [size if n == axis else 1 for n in range(len(node.shape))]
    return broadcast(counting(size).cast(position_dtype(most)).reshape(shape), node.shape), most
