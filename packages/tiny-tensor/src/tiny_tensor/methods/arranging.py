"""Arrangements that NumPy and torch have names for: cuts and stacks along fixed axes, turns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Self, TypeVar

from tiny_ir import (
    ArgumentError,
    ArgumentTypeError,
    AxisError,
    IndexingError,
    Shape,
    ShapeError,
)
from tiny_plugin import boundary
from tiny_tensor.methods.joining import JoiningMethods, same_dtype
from tiny_tensor.methods.movement import ints_of

Arranged = TypeVar("Arranged", bound="ArrangingMethods")


@boundary
class ArrangingMethods(JoiningMethods):
    """Cuts are views of the same data; stacks have data of their own."""

    __slots__ = ()

    # Cuts.

    def narrow(self, dim: int, start: int, length: int) -> Self:
        """Some positions of an axis.

        Args:
            dim: the axis.
            start: the first position; a negative one counts from the end.
            length: how many positions.

        Returns:
            A view with this length on the axis.

        Raises:
            AxisError: there is no such axis.
            IndexingError: the axis has no such positions.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1, 2, 3, 4]).narrow(0, 1, 2).tolist()
            [2, 3]
        """
        axis = self._resolve_axis(dim)
        size = self._length(axis)
        for number in (start, length):
            if isinstance(number, bool) or not isinstance(number, int):
                raise ArgumentTypeError(
                    f"{number!r} is not a position.",
                    why="where an axis is cut is known when the call is made.",
                    fix="pass a Python integer; item() reads one from a tensor.",
                )
        begin = start + size if start < 0 else start
        if not 0 <= begin <= begin + length <= size or length < 0:
            raise IndexingError(
                f"axis {axis} has no {length} positions from {start} on.",
                why=f"it has {size} positions.",
                fix=f"choose a start from -{size} to {size}, and a length that ends in the axis.",
            )
        return self._part(axis, begin, begin + length)

    def unbind(self, dim: int = 0) -> tuple[Self, ...]:
        """The positions of an axis, each without it.

        Raises:
            AxisError: there is no such axis.

        Example:
            >>> from tiny_tensor import Tensor
            >>> [row.tolist() for row in Tensor([[1, 2], [3, 4]]).unbind()]
            [[1, 2], [3, 4]]
        """
        axis = self._resolve_axis(dim)
        return tuple(self._part(axis, n, n + 1).squeeze(axis) for n in range(self._length(axis)))

    def tensor_split(self, parts: int | Sequence[int], dim: int = 0) -> tuple[Self, ...]:
        """Cut an axis into parts of nearly equal sizes, or at given positions.

        Args:
            parts: how many; the first ones are longer by one where they are not equal. Or the
                positions at which the axis is cut, which are clamped as those of a slice.
            dim: the axis.

        Raises:
            ArgumentError: there are fewer than one part.
            AxisError: there is no such axis.

        Example:
            >>> from tiny_tensor import Tensor
            >>> [part.tolist() for part in Tensor([1, 2, 3]).tensor_split(2)]
            [[1, 2], [3]]
        """
        axis = self._resolve_axis(dim)
        size = self._length(axis)
        if isinstance(parts, int):
            if parts < 1:
                raise ArgumentError(
                    f"cannot cut an axis into {parts} parts.",
                    why="there is at least one part.",
                    fix="choose a number of 1 or more.",
                )
            each, longer = divmod(size, parts)
            borders = list(accumulate(each + (n < longer) for n in range(parts)))[:-1]
        else:
            borders = list(ints_of((parts,)))
        ends = [slice(None, border).indices(size)[1] for border in borders]
        pairs = zip([0, *ends], [*ends, size], strict=True)
        return tuple(self._part(axis, begin, max(begin, end)) for begin, end in pairs)

    def hsplit(self, parts: int | Sequence[int]) -> tuple[Self, ...]:
        """Cut axis 1, or the only axis, into equal parts, or at given positions.

        Raises:
            ShapeError: there is no axis, or its size is no multiple of the number of parts.

        Example:
            >>> from tiny_tensor import Tensor
            >>> [part.tolist() for part in Tensor([[1, 2], [3, 4]]).hsplit(2)]
            [[[1], [3]], [[2], [4]]]
        """
        return self._cut("hsplit", parts, 1, 0 if self.ndim == 1 else 1)

    def vsplit(self, parts: int | Sequence[int]) -> tuple[Self, ...]:
        """Cut axis 0 of at least two into equal parts, or at given positions.

        Raises:
            ShapeError: there are fewer axes, or the size is no multiple of the number of parts.
        """
        return self._cut("vsplit", parts, 2, 0)

    def dsplit(self, parts: int | Sequence[int]) -> tuple[Self, ...]:
        """Cut axis 2 into equal parts, or at given positions.

        Raises:
            ShapeError: there is no such axis, or its size is no multiple of the number of parts.
        """
        return self._cut("dsplit", parts, 3, 2)

    def _cut(
        self, name: str, parts: int | Sequence[int], least: int, axis: int
    ) -> tuple[Self, ...]:
        if self.ndim < least:
            raise ShapeError(
                f"{name} cannot cut a tensor of shape {self.shape}.",
                why=f"it needs at least {least} axes.",
                fix="use tensor_split(), which cuts any axis.",
            )
        size = self._length(axis)
        if isinstance(parts, int) and (parts < 1 or size % parts):
            raise ShapeError(
                f"{name} cannot cut {size} positions into {parts} equal parts.",
                why="the number of parts divides that of positions.",
                fix="choose another number, or use tensor_split().",
            )
        return self.tensor_split(parts, axis)

    # Stacks.

    def hstack(self, *others: object) -> Self:
        """Join along axis 1; tensors of one axis along that, and numbers as (1,).

        Args:
            others: further tensors, or one list of them.

        Raises:
            ShapeError: the shapes differ on another axis.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1, 2]).hstack(Tensor([3])).tolist()
            [1, 2, 3]
        """
        return _stacked(self, others, 1)

    def vstack(self, *others: object) -> Self:
        """Join rows: along axis 0, vectors as (1, n).

        Raises:
            ShapeError: the shapes differ on another axis.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1, 2]).vstack(Tensor([3, 4])).tolist()
            [[1, 2], [3, 4]]
        """
        return _stacked(self, others, 2)

    def dstack(self, *others: object) -> Self:
        """Join along axis 2; vectors as (1, n, 1), and matrices as (m, n, 1).

        Raises:
            ShapeError: the shapes differ on another axis.
        """
        return _stacked(self, others, 3)

    # Turns.

    def t(self) -> Self:
        """A matrix with rows and columns exchanged; a vector or one number as it is.

        Raises:
            ShapeError: there are more than two axes.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([[1, 2]]).t().tolist()
            [[1], [2]]
        """
        if self.ndim > 2:
            raise ShapeError(
                f"a tensor of shape {self.shape} is not a matrix.",
                why="t() exchanges the only two axes.",
                fix="use transpose() or mT.",
            )
        return self.transpose(0, 1) if self.ndim == 2 else self

    def rot90(self, k: int = 1, dims: Sequence[int] = (0, 1)) -> Self:
        """Turn the plane of two axes by right angles, from the first axis to the second.

        Args:
            k: how many times; negative ones turn back.
            dims: two axes.

        Raises:
            AxisError: they are not two different axes.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([[1, 2], [3, 4]]).rot90().tolist()
            [[2, 4], [1, 3]]
        """
        axes = [self._resolve_axis(axis) for axis in dims]
        if len(set(axes)) != 2 or len(axes) != 2:
            raise AxisError(
                f"axes {tuple(dims)} span no plane.",
                why="a turn has two different axes.",
                fix="name two of them.",
            )
        first, second = axes
        if k % 2 == 0:
            return self.flip(first, second) if k % 4 else self
        turned = self.transpose(first, second)
        return turned.flip(first if k % 4 == 1 else second)


def _stacked(first: Arranged, others: Sequence[object], least: int) -> Arranged:
    """Join tensors, each with at least so many axes, along the last of these."""
    lead, nodes = same_dtype(first, others)
    nodes = [node.reshape(_at_least(node.shape, least)) for node in nodes]
    axis = {1: min(1, max(len(node.shape) for node in nodes) - 1), 2: 0, 3: 2}[least]
    parts = [lead._apply(node) for node in nodes]
    return parts[0].cat(*parts[1:], dim=axis)


def _at_least(shape: Shape, rank: int) -> Shape:
    """A shape with axes of size 1 before it; the third axis comes after the two of a matrix."""
    if rank == 3 and len(shape) < 3:
        return (*_at_least(shape, 2), 1)
    return (1,) * (rank - len(shape)) + shape
