"""Movement of Tensor: views that reorder, repeat, cut and pad, without touching data."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Self, TypeVar

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
from tiny_plugin import boundary
from tiny_tensor.axes import resolved_axes, resolved_axis
from tiny_tensor.broadcast import broadcast
from tiny_tensor.methods.rearrangement import rearrangement
from tiny_tensor.tensor_core import TensorCore


@boundary
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
        return self._view(self.uop.reshape(without_unknown(self.shape, sizes)))

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

    def view(self, *shape: Size | Sequence[Size | None] | None) -> Self:
        """Another name of `reshape`."""
        return self.reshape(*shape)

    def transpose(self, dim0: int = 1, dim1: int = 0) -> Self:
        """Let two axes change places.

        Raises:
            AxisError: there is no such axis.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([[1, 2], [3, 4]]).transpose().tolist()
            [[1, 3], [2, 4]]
        """
        first, second = self._resolve_axis(dim0), self._resolve_axis(dim1)
        order = list(range(self.ndim))
        order[first], order[second] = second, first
        return self._view(self.uop.permute(order))

    @property
    def T(self) -> Self:  # noqa: N802  # as mathematics writes it
        """The transpose of the first two axes."""
        return self.transpose()

    def flip(self, *axes: int | Sequence[int]) -> Self:
        """Reverse axes.

        Raises:
            AxisError: an axis does not exist or is named twice.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([[1, 2], [3, 4]]).flip(1).tolist()
            [[2, 1], [4, 3]]
        """
        return self._view(self.uop.flip(resolved_axes(ints_of(axes), self.ndim)))

    def _check_count(self, count: int, what: str) -> None:
        if count != self.ndim:
            raise ShapeError(
                f"{count} {what} do not fit a tensor of shape {self.shape}.",
                why="there is one for each axis.",
                fix="write one for each; None leaves an axis as it is.",
            )

    def squeeze(self, dim: int | None = None) -> Self:
        """Drop axes of size 1.

        Args:
            dim: the axis; it stays where its size is not 1. None drops all that have size 1.

        Raises:
            AxisError: there is no such axis.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([[[1], [2]]]).squeeze(0).shape
            (2, 1)
        """
        shape = self.shape
        chosen = range(len(shape)) if dim is None else resolved_axes(dim, len(shape))
        kept = [n for n, size in enumerate(shape) if n not in chosen or not is_one(size)]
        return self._view(self.uop.reshape([shape[n] for n in kept]))

    def unsqueeze(self, dim: int) -> Self:
        """Insert an axis of size 1.

        Args:
            dim: where it stands in the result.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1, 2]).unsqueeze(-1).shape
            (2, 1)
        """
        axis = self._resolve_axis(dim, extra=1)
        return self._view(self.uop.reshape((*self.shape[:axis], 1, *self.shape[axis:])))

    def flatten(self, start_dim: int = 0, end_dim: int = -1) -> Self:
        """Merge the axes from `start_dim` to `end_dim` into one.

        Raises:
            AxisError: there is no such axis, or the end stands before the start.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor.zeros(2, 3, 4).flatten(1).shape
            (2, 12)
        """
        shape = self.shape
        if not shape:
            return self.reshape(1)
        first, last = self._resolve_axis(start_dim), self._resolve_axis(end_dim)
        if first > last:
            raise AxisError(
                f"cannot merge axes {first} to {last}.",
                why="the end stands before the start.",
                fix="let them change places.",
            )
        merged = product(shape[first : last + 1])
        return self._view(self.uop.reshape((*shape[:first], merged, *shape[last + 1 :])))

    def unflatten(self, dim: int, sizes: Sequence[Size]) -> Self:
        """Split an axis into several; one of the sizes may be -1.

        Raises:
            ShapeError: the sizes do not multiply to that of the axis.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor.zeros(2, 12).unflatten(1, (3, -1)).shape
            (2, 3, 4)
        """
        axis = self._resolve_axis(dim)
        shape = self.shape
        parts = without_unknown((shape[axis],), tuple(sizes))
        return self._view(self.uop.reshape((*shape[:axis], *parts, *shape[axis + 1 :])))

    def rearrange(self, formula: str, **sizes: int) -> Self:
        """Split, merge and reorder axes as a formula says.

        Args:
            formula: names of axes before and after an arrow. Axes in parentheses are one axis of
                the tensor; 1 and () are axes of size 1; ... are all axes that have no name.
            sizes: of named axes, where they do not follow from the shape.

        Raises:
            ArgumentError: the formula is not well formed, or does not fit the shape.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor.zeros(2, 12).rearrange("b (h w) -> w b h", h=3).shape
            (4, 2, 3)
        """
        steps = rearrangement(formula, self.shape, sizes)
        node = self.uop.reshape(steps.split).permute(steps.order)
        return self._view(node.reshape(steps.merged))

    def _length(self, axis: int) -> int:
        """The size of an axis, which must be a number here."""
        size = self.shape[axis]
        if not isinstance(size, int):
            raise ShapeError(
                f"axis {axis} has the symbolic size {size!r}.",
                why="how many parts there are must be known.",
                fix="take slices with symbolic bounds instead.",
            )
        return size


Kind = TypeVar("Kind")


def sizes_of(shape: Sequence[Size | Sequence[Size | None] | None]) -> tuple[Size | None, ...]:
    """Sizes that were given one by one, or as one sequence."""
    if len(shape) == 1 and isinstance(shape[0], Sequence):
        shape = shape[0]
    shape = [_python_number(size) for size in shape]
    for size in shape:
        if isinstance(size, bool) or not (size is None or isinstance(size, int | UOp)):
            raise ArgumentTypeError(
                f"{size!r} is not a size.",
                why="sizes are integers, or bound variables.",
                fix="pass the sizes one by one, or one tuple of them.",
            )
    return tuple(shape)  # type: ignore[arg-type]  # checked just above


def _python_number(size: Kind) -> Kind | int:
    """A whole number of NumPy as Python's own; anything else as it is."""
    return int(size) if isinstance(size, Integral) and not isinstance(size, bool) else size


def ints_of(values: Sequence[int | Sequence[int]]) -> tuple[int, ...]:
    """Numbers that were given one by one, or as one sequence."""
    if len(values) == 1 and isinstance(values[0], Sequence):
        return tuple(values[0])
    return tuple(values)  # type: ignore[arg-type]  # a lone sequence is dealt with above


def is_one(size: Size) -> bool:
    """Whether a size is the number 1."""
    return isinstance(size, int) and size == 1


def without_unknown(old: Shape, sizes: tuple[Size, ...]) -> Shape:
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
