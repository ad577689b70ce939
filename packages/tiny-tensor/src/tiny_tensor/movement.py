"""Movement of Tensor: views that reorder, repeat, cut and pad, without touching data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from tiny_ir import (
    ArgumentTypeError,
    AxisError,
    Shape,
    ShapeError,
    Size,
    UOp,
    is_same_size,
    product,
)
from tiny_tensor.axes import resolved_axis
from tiny_tensor.broadcast import broadcast
from tiny_tensor.tensor_core import TensorCore


class MovementMethods(TensorCore):
    """Views of the same data."""

    __slots__ = ()

    def reshape(self, *shape: Size | Sequence[Size | None] | None) -> Self:
        """The same elements, row by row, under other sizes.

        Args:
            shape: the sizes, one by one or as one sequence. One of them may be -1 and follows from
                the others; None keeps the size of that axis.

        Returns:
            A view of the given shape.

        Raises:
            ShapeError: the sizes do not hold as many elements.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([[1, 2, 3], [4, 5, 6]]).reshape(3, -1).shape
            (3, 2)
        """
        sizes = self._kept_sizes(sizes_of(shape))
        return self._view(self.uop.reshape(_without_unknown(self.shape, sizes)))

    def _kept_sizes(self, sizes: tuple[Size | None, ...]) -> tuple[Size, ...]:
        old = self.shape
        kept: list[Size] = []
        for axis, size in enumerate(sizes):
            if size is None:
                if axis >= len(old):
                    raise AxisError(
                        f"None keeps the size of axis {axis}, which does not exist.",
                        why=f"the tensor has shape {old}.",
                        fix="write the size.",
                    )
                size = old[axis]
            kept.append(size)
        return tuple(kept)

    def expand(self, *shape: Size | Sequence[Size | None] | None) -> Self:
        """Repeat axes of size 1, and add axes in front.

        Args:
            shape: the sizes; -1 or None keeps the size of an axis.

        Returns:
            A view of the given shape; it cannot be written where an axis grew.

        Raises:
            ShapeError: an axis of another size than 1 would change.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([[1], [2]]).expand(3, -1, 4).shape
            (3, 2, 4)
        """
        wanted = sizes_of(shape)
        missing = len(wanted) - self.ndim
        old = (1,) * missing + self.shape
        sizes = tuple(
            old[axis] if size is None or (isinstance(size, int) and size == -1) else size
            for axis, size in enumerate(wanted)
        )
        return self._view(broadcast(self.uop, sizes))

    def permute(self, *order: int | Sequence[int]) -> Self:
        """Put the axes in another order.

        Args:
            order: every axis once; negative ones count from the end.

        Returns:
            A view whose axis n is axis `order[n]` of this tensor.

        Raises:
            AxisError: an axis is missing, unknown or named twice.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([[1, 2, 3]]).permute(1, 0).shape
            (3, 1)
        """
        axes = tuple(resolved_axis(axis, self.ndim) for axis in ints_of(order))
        return self._view(self.uop.permute(axes))


def sizes_of(shape: Sequence[Size | Sequence[Size | None] | None]) -> tuple[Size | None, ...]:
    """Sizes that were given one by one, or as one sequence."""
    if len(shape) == 1 and isinstance(shape[0], Sequence):
        shape = shape[0]
    for size in shape:
        if isinstance(size, bool) or not (size is None or isinstance(size, int | UOp)):
            raise ArgumentTypeError(
                f"{size!r} is not a size.",
                why="sizes are integers, or bound variables.",
                fix="pass the sizes one by one, or one tuple of them.",
            )
    return tuple(shape)  # type: ignore[arg-type]  # checked just above


def ints_of(values: Sequence[int | Sequence[int]]) -> tuple[int, ...]:
    """Numbers that were given one by one, or as one sequence."""
    if len(values) == 1 and isinstance(values[0], Sequence):
        return tuple(values[0])
    return tuple(values)  # type: ignore[arg-type]  # a lone sequence is dealt with above


def _without_unknown(old: Shape, sizes: tuple[Size, ...]) -> Shape:
    """Sizes with the one -1 replaced by what is left over."""
    unknown = [axis for axis, size in enumerate(sizes) if isinstance(size, int) and size == -1]
    if not unknown:
        return sizes
    rest = product(tuple(size for axis, size in enumerate(sizes) if axis not in unknown))
    count = product(old)
    if len(unknown) > 1 or (isinstance(rest, int) and rest == 0):
        raise ShapeError(
            f"cannot reshape {old} to {sizes}.",
            why="one -1 follows from the other sizes only if there is one and none of them is 0.",
            fix="write the sizes.",
        )
    left = count // rest
    if not is_same_size(left * rest, count):
        raise ShapeError(
            f"cannot reshape {old} to {sizes}.",
            why=f"{count} elements do not divide into groups of {rest}.",
            fix="choose sizes whose product divides the number of elements.",
        )
    axis = unknown[0]
    return (*sizes[:axis], left, *sizes[axis + 1 :])
