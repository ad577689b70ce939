"""Several tensors become one, and one is repeated: cat, stack, repeat, roll, meshgrid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, TypeVar, cast

from tiny_ir import (
    ArgumentError,
    ArgumentTypeError,
    ShapeError,
    Size,
    UOp,
    const,
    dtypes,
    is_same_shape,
    product,
)
from tiny_plugin import boundary
from tiny_tensor.axes import resolved_axis
from tiny_tensor.broadcast import broadcast
from tiny_tensor.choices import check_choice
from tiny_tensor.methods.elementwise import ElementwiseMethods
from tiny_tensor.methods.movement import ints_of
from tiny_tensor.methods.parts import PartMethods

Joined = TypeVar("Joined", bound="JoiningMethods")


@boundary
class JoiningMethods(PartMethods, ElementwiseMethods):
    """Joins and repetitions. Each gives a tensor with data of its own."""

    __slots__ = ()

    def cat(self, *others: object, dim: int = 0) -> Self:
        """Join tensors along an axis.

        Args:
            others: tensors with the same sizes on all other axes, or one list of them.
            dim: the axis.

        Returns:
            The promoted dtype.

        Raises:
            ShapeError: the shapes differ on another axis.
            AxisError: there is no such axis.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1, 2]).cat(Tensor([0.5])).tolist()
            [1.0, 2.0, 0.5]
        """
        first, nodes = same_dtype(self, others)
        shape = nodes[0].shape
        axis = resolved_axis(dim, len(shape))
        for node in nodes:
            other = node.shape
            if len(other) != len(shape) or not is_same_shape(
                (*other[:axis], *other[axis + 1 :]), (*shape[:axis], *shape[axis + 1 :])
            ):
                raise ShapeError(
                    f"cannot join {shape} and {other} along axis {axis}.",
                    why="all other axes have one size.",
                    fix="reshape, pad or shrink one of them first.",
                )
        return first._apply(joined(nodes, axis))

    def stack(self, *others: object, dim: int = 0) -> Self:
        """Join tensors of one shape along a new axis.

        Args:
            others: tensors of this shape, or one list of them.
            dim: where the new axis stands.

        Raises:
            ShapeError: the shapes differ.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1, 2]).stack(Tensor([3, 4]), dim=1).tolist()
            [[1, 3], [2, 4]]
        """
        first, nodes = same_dtype(self, others)
        shape = nodes[0].shape
        axis = resolved_axis(dim, len(shape) + 1)
        for node in nodes:
            if not is_same_shape(node.shape, shape):
                raise ShapeError(
                    f"cannot stack {shape} and {node.shape}.",
                    why="stacked tensors have one shape.",
                    fix="expand or reshape one of them, or use cat().",
                )
        wide = [node.reshape((*shape[:axis], 1, *shape[axis:])) for node in nodes]
        return first._apply(joined(wide, axis))

    def repeat(self, *repeats: int | Sequence[int]) -> Self:
        """Set copies side by side.

        Args:
            repeats: how many copies on each axis; more numbers than axes add axes in front.

        Raises:
            ShapeError: there are fewer numbers than axes, or one is negative.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1, 2]).repeat(2, 2).tolist()
            [[1, 2, 1, 2], [1, 2, 1, 2]]
        """
        counts = ints_of(repeats)
        if len(counts) < self.ndim or any(count < 0 for count in counts):
            raise ShapeError(
                f"cannot repeat a tensor of shape {self.shape} by {counts}.",
                why="there is a number for each axis, and none is negative.",
                fix="write 1 for axes that are not repeated.",
            )
        old = (1,) * (len(counts) - self.ndim) + self.shape
        pairs = list(zip(counts, old, strict=True))
        wide = self.uop.reshape([n for _, size in pairs for n in (1, size)])
        wide = wide.expand([n for count, size in pairs for n in (count, size)])
        return self._apply(wide.reshape([size * count for count, size in pairs]))

    def repeat_interleave(self, repeats: int, dim: int | None = None) -> Self:
        """Repeat each element, the copies next to each other.

        Args:
            repeats: how many copies there are.
            dim: the axis; None flattens first.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1, 2]).repeat_interleave(2).tolist()
            [1, 1, 2, 2]
        """
        if repeats < 0:
            raise ArgumentError(
                f"cannot repeat elements {repeats} times.",
                why="a count is 0 or more.",
                fix="choose another one.",
            )
        node = self.uop if dim is not None else self.uop.reshape((product(self.shape),))
        axis = resolved_axis(dim or 0, len(node.shape))
        shape = node.shape
        wide = node.reshape((*shape[: axis + 1], 1, *shape[axis + 1 :]))
        wide = wide.expand((*shape[: axis + 1], repeats, *shape[axis + 1 :]))
        merged = (*shape[:axis], shape[axis] * repeats, *shape[axis + 1 :])
        return self._apply(wide.reshape(merged))

    def roll(self, shifts: int | Sequence[int], dims: int | Sequence[int] | None = None) -> Self:
        """Move elements along axes; what leaves at the end comes in at the front.

        Args:
            shifts: by how many positions; one number for each axis.
            dims: the axes; None rolls all elements in their order.

        Raises:
            ArgumentError: there is not one number for each axis.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1, 2, 3]).roll(1).tolist()
            [3, 1, 2]
        """
        if dims is None:
            node = self.uop.reshape((product(self.shape),))
            moves = ints_of((shifts,))
            if len(moves) != 1:
                raise ArgumentError(
                    f"cannot roll all elements by {moves}.",
                    why="without axes there is one shift for all elements in their order.",
                    fix="write one number, or name an axis for each.",
                )
            pairs = [(0, moves[0])]
        else:
            node = self.uop
            axes, moves = ints_of((dims,)), ints_of((shifts,))
            if len(axes) != len(moves):
                raise ArgumentError(
                    f"cannot roll axes {axes} by {moves}.",
                    why="there is one shift for each axis.",
                    fix="write as many shifts as axes.",
                )
            pairs = [
                (self._resolve_axis(axis), move) for axis, move in zip(axes, moves, strict=True)
            ]
        for axis, shift in pairs:
            size = node.shape[axis]
            if not isinstance(size, int):
                raise ShapeError(
                    f"cannot roll an axis of the symbolic size {size}.",
                    why="where it is cut must be known.",
                    fix="slice and join it yourself.",
                )
            if size and shift % size:
                cut = size - shift % size
                node = joined([part_of(node, axis, cut, size), part_of(node, axis, 0, cut)], axis)
        return self._apply(node.reshape(self.shape))

    def meshgrid(self, *others: Self, indexing: str = "ij") -> tuple[Self, ...]:
        """Coordinates of a grid.

        Args:
            others: coordinates along the further axes; each is one number or (n,).
            indexing: "ij" for rows first, "xy" for columns first.

        Returns:
            For each tensor its coordinates, spread over the whole grid.

        Raises:
            ArgumentError: the indexing is neither.

        Example:
            >>> from tiny_tensor import Tensor
            >>> [grid.tolist() for grid in Tensor([1, 2]).meshgrid(Tensor([3, 4]))]
            [[[1, 1], [2, 2]], [[3, 4], [3, 4]]]
        """
        check_choice("indexing", indexing, ("ij", "xy"))
        nodes = [self._line(tensor) for tensor in (self, *others)]
        swaps = indexing == "xy" and len(nodes) > 1
        if swaps:
            nodes[0], nodes[1] = nodes[1], nodes[0]
        rank = len(nodes)
        shape = tuple(node.shape[0] for node in nodes)
        grids = [
            broadcast(node.reshape((*(1,) * n, node.shape[0], *(1,) * (rank - 1 - n))), shape)
            for n, node in enumerate(nodes)
        ]
        if swaps:
            grids[0], grids[1] = grids[1], grids[0]
        return tuple(self._apply(grid) for grid in grids)

    def _line(self, tensor: Self) -> UOp:
        node = self._wrap(tensor).uop
        if len(node.shape) > 1:
            raise ShapeError(
                f"a tensor of shape {node.shape} is not a line of coordinates.",
                why="coordinates of a grid have one axis.",
                fix="flatten it first.",
            )
        return node.reshape((product(node.shape),))


def joined(nodes: Sequence[UOp], axis: int) -> UOp:
    """Nodes of one dtype, one after another along an axis."""
    if len(nodes) == 1:
        return nodes[0]
    middle = len(nodes) // 2
    left, right = joined(nodes[:middle], axis), joined(nodes[middle:], axis)
    first, second = left.shape[axis], right.shape[axis]
    for size, other in ((first, right), (second, left)):
        if isinstance(size, int) and size == 0:
            return other
    after: list[tuple[Size, Size]] = [(0, 0)] * len(left.shape)
    before = list(after)
    after[axis], before[axis] = (0, second), (first, 0)
    return inside_of(left, after).where(left.pad(after), right.pad(before))


def inside_of(node: UOp, pairs: Sequence[tuple[Size, Size]]) -> UOp:
    """True where `node.pad(pairs)` has an element of the node, False in the padding."""
    return broadcast(const(dtypes.bool_, True), node.shape).pad(pairs)


def part_of(node: UOp, axis: int, begin: Size, end: Size) -> UOp:
    """The positions of one axis from `begin` up to `end`."""
    parts: list[tuple[Size, Size]] = [(0, size) for size in node.shape]
    parts[axis] = (begin, end)
    return node.shrink(parts)


def tensors_of(first: object, others: Sequence[object]) -> list[object]:
    """Tensors that were given one by one, or in lists."""
    found: list[object] = []
    for item in (first, *others):
        found += item if isinstance(item, list | tuple) else [item]
    return found


def same_dtype(first: Joined, others: Sequence[object]) -> tuple[Joined, list[UOp]]:
    """One of the tensors, and all of them as nodes of one dtype.

    `Tensor.cat([a, b])` calls a method with a list in the place of the tensor.
    """
    tensors = tensors_of(first, others)
    found = [item for item in tensors if isinstance(item, JoiningMethods)]
    if not found:
        raise ArgumentTypeError(
            f"there is no Tensor among the {len(tensors)} things to join.",
            why="tensors are joined with tensors.",
            fix="wrap them first: Tensor(...).",
        )
    lead = cast("Joined", found[0])
    nodes = [lead._wrap(tensor).uop for tensor in tensors]
    dtype = dtypes.promote(*[node.dtype for node in nodes])
    return lead, [node.cast(dtype) for node in nodes]
