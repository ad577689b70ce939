"""Products of tensors: outer, vecdot, tensordot, kron, cross, trace, powers of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from tiny_ir import ArgumentError, DType, ShapeError, is_same_size, product
from tiny_plugin import boundary
from tiny_tensor.axes import resolved_axis
from tiny_tensor.broadcast import broadcast, broadcast_shape
from tiny_tensor.methods.linear_algebra import LinearAlgebraMethods, product_dtype
from tiny_tensor.methods.pairs import PairMethods
from tiny_tensor.methods.sorting import SortingMethods


@boundary
class ProductMethods(LinearAlgebraMethods, SortingMethods, PairMethods):
    """What is multiplied and added up in other patterns than those of matrices."""

    __slots__ = ()

    @property
    def mT(self) -> Self:  # noqa: N802  # as the array API writes it
        """The transposes of the matrices on the last two axes: a view.

        Raises:
            ShapeError: there are fewer than two axes.
        """
        rank = self.ndim
        if rank < 2:
            raise ShapeError(
                f"a tensor of shape {self.shape} has no matrices to transpose.",
                why="matrices lie on the last two axes.",
                fix="reshape it first.",
            )
        return self._view(self.uop.permute((*range(rank - 2), rank - 1, rank - 2)))

    @property
    def mH(self) -> Self:  # noqa: N802  # as torch writes it
        """The conjugate transpose of matrices: of real ones, the transpose.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([[1, 2]]).mH.tolist()
            [[1], [2]]
        """
        return self.mT

    def outer(self, other: object) -> Self:
        """Every element of this vector times every element of another.

        Returns:
            (m, n), in the promoted dtype.

        Raises:
            ShapeError: one of them has more or fewer axes than one.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1, 2]).outer(Tensor([3, 4])).tolist()
            [[3, 4], [6, 8]]
        """
        right = self._wrap(other)
        for side in (self, right):
            if side.ndim != 1:
                raise ShapeError(
                    f"an outer product cannot take a tensor of shape {side.shape}.",
                    why="it is made of two vectors.",
                    fix="reshape it to one axis first: reshape(-1).",
                )
        return self.unsqueeze(1) * right.unsqueeze(0)

    def vecdot(self, other: object, axis: int = -1) -> Self:
        """The sums of products along one axis.

        Args:
            other: a tensor that broadcasts with this one.
            axis: the axis, of both; it has one size.

        Raises:
            ShapeError: the axis differs in size.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([[1, 2], [3, 4]]).vecdot(Tensor([1, 10])).tolist()
            [21, 43]
        """
        right = self._wrap(other)
        a, b = (side.moved(axis, -1) for side in (self, right))
        if not is_same_size(a.shape[-1], b.shape[-1]):
            raise ShapeError(
                f"vectors of sizes {a.shape[-1]} and {b.shape[-1]} have no product.",
                why="their elements are multiplied in pairs.",
                fix="give both the same size along the axis.",
            )
        return a.unsqueeze(-2).matmul(b.unsqueeze(-1)).squeeze(-1).squeeze(-1)

    def moved(self, source: int | Sequence[int], destination: int | Sequence[int]) -> Self:
        """A view with axes at other places; the rest keep their order.

        Raises:
            AxisError: an axis does not exist.
            ArgumentError: there are more or fewer places than axes, or one twice.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor.zeros(2, 3, 4).moved(0, -1).shape
            (3, 4, 2)
        """
        sources = (source,) if isinstance(source, int) else tuple(source)
        places = (destination,) if isinstance(destination, int) else tuple(destination)
        rank = self.ndim
        begin = [resolved_axis(axis, rank) for axis in sources]
        end = [resolved_axis(axis, rank) for axis in places]
        if len(begin) != len(end) or len({*begin}) != len(begin) or len({*end}) != len(end):
            raise ArgumentError(
                f"axes {sources} cannot move to {places}.",
                why="every axis moves to one place of its own.",
                fix="name as many places as axes, each once.",
            )
        rest = iter([axis for axis in range(rank) if axis not in begin])
        from_place = dict(zip(end, begin, strict=True))
        order = [from_place[n] if n in from_place else next(rest) for n in range(rank)]
        return self._view(self.uop.permute(order))

    def tensordot(self, other: object, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Self:
        """The sums of products along several axes of both.

        Args:
            other: the other tensor.
            axes: how many of the last axes of this one meet the first ones of the other; or the
                axes of each.

        Returns:
            The axes of this tensor that are left, then those of the other.

        Raises:
            ShapeError: axes that meet differ in size, or there are not as many.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor.ones(2, 3, 4).tensordot(Tensor.ones(3, 4, 5)).shape
            (2, 5)
        """
        right = self._wrap(other)
        if isinstance(axes, int):
            if not 0 <= axes <= min(self.ndim, right.ndim):
                raise ShapeError(
                    f"{axes} axes of {self.shape} cannot meet those of {right.shape}.",
                    why="each side has to have as many.",
                    fix="name fewer axes.",
                )
            mine, theirs = list(range(self.ndim - axes, self.ndim)), list(range(axes))
        else:
            if len(axes) != 2:
                raise ArgumentError(
                    f"axes cannot be {axes!r}.",
                    why="each side has a list of axes.",
                    fix="write a pair of lists, or how many axes meet.",
                )
            mine = [resolved_axis(axis, self.ndim) for axis in axes[0]]
            theirs = [resolved_axis(axis, right.ndim) for axis in axes[1]]
        fits = len(mine) == len(theirs) and all(
            is_same_size(self.shape[a], right.shape[b]) for a, b in zip(mine, theirs, strict=True)
        )
        if not fits:
            raise ShapeError(
                f"axes {mine} of {self.shape} cannot meet axes {theirs} of {right.shape}.",
                why="axes that meet have one size.",
                fix="name axes of equal sizes, in the same order.",
            )
        left_free = [n for n in range(self.ndim) if n not in mine]
        right_free = [n for n in range(right.ndim) if n not in theirs]
        inner = product(tuple(self.shape[n] for n in mine))
        rows, columns = [self.shape[n] for n in left_free], [right.shape[n] for n in right_free]
        a = self.permute(*left_free, *mine).reshape(product(tuple(rows)), inner)
        b = right.permute(*theirs, *right_free).reshape(inner, product(tuple(columns)))
        return a.matmul(b).reshape((*rows, *columns))

    def kron(self, other: object) -> Self:
        """Every element times the whole of another tensor, block by block.

        Returns:
            Each size is the product of both sizes.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1, 10]).kron(Tensor([1, 2])).tolist()
            [1, 2, 10, 20]
        """
        right = self._wrap(other)
        rank = max(self.ndim, right.ndim)
        a = (1,) * (rank - self.ndim) + self.shape
        b = (1,) * (rank - right.ndim) + right.shape
        left = self.reshape([size for n in range(rank) for size in (a[n], 1)])
        grown = right.reshape([size for n in range(rank) for size in (1, b[n])])
        return (left * grown).reshape([a[n] * b[n] for n in range(rank)])

    def cross(self, other: object, axis: int = -1) -> Self:
        """The cross product of vectors with three elements.

        Args:
            other: a tensor that broadcasts with this one.
            axis: the axis of the vectors, in both.

        Raises:
            ShapeError: the axis has another size than 3.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1, 0, 0]).cross(Tensor([0, 1, 0])).tolist()
            [0, 0, 1]
        """
        right = self._wrap(other)
        for side in (self, right):
            if side.shape[resolved_axis(axis, side.ndim)] != 3:
                raise ShapeError(
                    f"there is no cross product along axis {axis} of shape {side.shape}.",
                    why="it is one of vectors with three elements.",
                    fix="name an axis of size 3.",
                )
        a, b = self.moved(axis, -1), right.moved(axis, -1)
        shape = broadcast_shape(a.shape, b.shape)
        left, other_side = (side._apply(broadcast(side.uop, shape)) for side in (a, b))
        turned = [side.roll((-1, -2)[n], -1) for side in (left, other_side) for n in (0, 1)]
        result = turned[0] * turned[3] - turned[1] * turned[2]
        place = axis if axis < 0 else axis - max(self.ndim, right.ndim)
        return result.moved(-1, place)

    def trace(
        self, offset: int = 0, dim1: int = -2, dim2: int = -1, dtype: DType | str | None = None
    ) -> Self:
        """The sum of a diagonal.

        Args:
            offset: above 0 for a diagonal to the right of the main one.
            dim1: the axis of rows.
            dim2: the axis of columns.
            dtype: the dtype to add in and to return.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([[1, 2], [3, 4]]).trace().item()
            5
        """
        return self.diagonal(offset, dim1, dim2).sum(-1, dtype=dtype)

    def matrix_power(self, exponent: int) -> Self:
        """Square matrices to a whole power; a negative one inverts them first.

        Raises:
            ShapeError: the matrices are not square.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([[1, 1], [0, 1]]).matrix_power(5).tolist()
            [[1, 5], [0, 1]]
        """
        size = self.square_size()
        if exponent < 0:
            return self._inverse().matrix_power(-exponent)
        if exponent == 0:
            one = self._identity(size)
            return self._apply(broadcast(one.uop.cast(self.dtype), self.shape))
        result: Self | None = None
        square = self
        while exponent:
            if exponent & 1:
                result = square if result is None else result.matmul(square)
            exponent >>= 1
            if exponent:
                square = square.matmul(square)
        assert result is not None
        return result

    def _inverse(self) -> Self:
        """The inverse, which decompositions know."""
        raise NotImplementedError

    def square_size(self) -> int:
        """The size of square matrices on the last two axes.

        Raises:
            ShapeError: there are none.
        """
        shape = self.shape
        if len(shape) < 2 or not is_same_size(shape[-1], shape[-2]):
            raise ShapeError(
                f"a tensor of shape {shape} holds no square matrices.",
                why="they lie on the last two axes, which have one size.",
                fix="reshape it, or take another function.",
            )
        return self._length(len(shape) - 1)

    def _identity(self, size: int) -> Self:
        """(size, size) in the dtype of this tensor."""
        square = self._apply(broadcast(self._constant(0, self.dtype), (size, size)))
        diagonal = square._columns_from_diagonal().eq(0)
        return self._apply(diagonal.cast(product_dtype(self.dtype)))
