"""Parts of Tensor: views of some positions, of windows, of diagonals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from tiny_ir import ArgumentError, AxisError, ShapeError, Size
from tiny_plugin import boundary
from tiny_tensor.methods.movement import MovementMethods, sizes_of


@boundary
class PartMethods(MovementMethods):
    """Views of parts of the same data."""

    __slots__ = ()

    def shrink(self, parts: Sequence[tuple[Size, Size] | None]) -> Self:
        """Take a part of each axis.

        Args:
            parts: for each axis (begin, end), or None for all of it.

        Raises:
            ShapeError: there are more or fewer parts than axes, or one lies outside of its axis.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([[1, 2, 3], [4, 5, 6]]).shrink((None, (1, 3))).tolist()
            [[2, 3], [5, 6]]
        """
        self._check_count(len(parts), "parts")
        full = [
            (0, size) if part is None else (part[0], part[1])
            for part, size in zip(parts, self.shape, strict=True)
        ]
        return self._view(self.uop.shrink(full))

    def shrink_to(self, *shape: Size | Sequence[Size | None] | None) -> Self:
        """Keep the first elements of each axis: as many as `shape` says; None keeps all."""
        sizes = sizes_of(shape)
        self._check_count(len(sizes), "sizes")
        return self.shrink([None if size is None else (0, size) for size in sizes])

    def unfold(self, dim: int, size: int, step: int) -> Self:
        """Slide a window over an axis; positions in the window become a new last axis.

        Args:
            dim: the axis.
            size: elements of a window.
            step: from one window to the next.

        Returns:
            A view with (length - size) // step + 1 windows in place of the axis.

        Raises:
            ArgumentError: the size or the step is less than 1.
            ShapeError: a window is longer than the axis.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor.arange(5).unfold(0, 3, 2).tolist()
            [[0, 1, 2], [2, 3, 4]]
        """
        if size < 1 or step < 1:
            raise ArgumentError(
                f"a window of {size} cannot move by {step}.",
                why="size and step are at least 1.",
                fix="choose positive numbers.",
            )
        return self._view(self.uop.window(self._resolve_axis(dim), size, step))

    def split(self, sizes: int | Sequence[int], dim: int = 0) -> tuple[Self, ...]:
        """Cut an axis into parts.

        Args:
            sizes: of each part; one number cuts parts of that size, the last of which may be
                shorter.
            dim: the axis.

        Returns:
            Views of the parts.

        Raises:
            ShapeError: the sizes do not add up to that of the axis.

        Example:
            >>> from tiny_tensor import Tensor
            >>> [part.tolist() for part in Tensor([1, 2, 3]).split(2)]
            [[1, 2], [3]]
        """
        axis = self._resolve_axis(dim)
        length = self._length(axis)
        if isinstance(sizes, int):
            if sizes < 1:
                raise ArgumentError(
                    f"cannot cut an axis into parts of {sizes}.",
                    why="a part has at least one element.",
                    fix="choose a size of 1 or more.",
                )
            sizes = [min(sizes, length - begin) for begin in range(0, max(length, 1), sizes)]
        if sum(sizes) != length or any(size < 0 for size in sizes):
            raise ShapeError(
                f"cannot cut an axis of {length} into {tuple(sizes)}.",
                why=f"the sizes add up to {sum(sizes)}.",
                fix="choose sizes that add up to that of the axis.",
            )
        parts: list[Self] = []
        begin = 0
        for size in sizes:
            parts.append(self._part(axis, begin, begin + size))
            begin += size
        return tuple(parts)

    def chunk(self, n: int, dim: int = 0) -> tuple[Self, ...]:
        """Cut an axis into at most `n` parts of one size; the last may be shorter.

        Raises:
            ArgumentError: `n` is less than 1.

        Example:
            >>> from tiny_tensor import Tensor
            >>> [part.tolist() for part in Tensor.arange(5).chunk(3)]
            [[0, 1], [2, 3], [4]]
        """
        if n < 1:
            raise ArgumentError(
                f"cannot cut an axis into {n} parts.",
                why="there is at least one part.",
                fix="choose a number of 1 or more.",
            )
        length = self._length(self._resolve_axis(dim))
        return self.split(max(1, -(-length // n)), dim)

    def diagonal(self, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Self:
        """The diagonal of the matrices that two axes span.

        Args:
            offset: above 0 for a diagonal to the right of the main one, below 0 to the left.
            dim1: the axis of rows.
            dim2: the axis of columns.

        Returns:
            A view without these two axes, and with the diagonal as last axis.

        Raises:
            AxisError: both are one axis.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([[1, 2], [3, 4]]).diagonal().tolist()
            [1, 4]
        """
        row, column = self._resolve_axis(dim1), self._resolve_axis(dim2)
        if row == column:
            raise AxisError(
                f"axis {row} alone has no diagonal.",
                why="a diagonal goes through two axes.",
                fix="name two of them.",
            )
        rest = [axis for axis in range(self.ndim) if axis not in (row, column)]
        node = self.uop.permute((*rest, row, column))
        rows, columns = self._length(row), self._length(column)
        first, left = max(0, -offset), max(0, offset)
        count = max(0, min(rows - first, columns - left))
        outer = node.shape[:-2]
        whole = [(0, size) for size in outer]
        if not count:
            return self._view(node.shrink([*whole, (0, 0), (0, 1)]).reshape((*outer, 0)))
        square = node.shrink([*whole, (first, first + count), (left, left + count)])
        # One row further and one column further are count + 1 elements further.
        flat = square.reshape((*outer, count * count)).window(len(outer), 1, count + 1)
        return self._view(flat.reshape((*outer, count)))

    def _part(self, axis: int, begin: Size, end: Size) -> Self:
        """The positions of one axis from `begin` up to `end`."""
        parts: list[tuple[Size, Size]] = [(0, size) for size in self.shape]
        parts[axis] = (begin, end)
        return self._view(self.uop.shrink(parts))
