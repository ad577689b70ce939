"""Reading and writing parts of a Tensor: `x[...]` and `x[...] = value`."""

from __future__ import annotations

from types import EllipsisType
from typing import Self, TypeAlias

from tiny_ir import ArgumentTypeError, IndexingError, Size, UOp, bounds
from tiny_tensor.movement import MovementMethods

Basic: TypeAlias = int | slice | EllipsisType | UOp | None


class IndexingMethods(MovementMethods):
    """Indexing with integers, slices, None and an ellipsis: views."""

    __slots__ = ()

    def __getitem__(self, key: object) -> Self:
        return self._basic_view(key if isinstance(key, tuple) else (key,))

    def _basic_view(self, key: tuple[object, ...]) -> Self:
        """The view that integers, slices, None and an ellipsis take."""
        node = self.uop
        axis = 0
        for item in _spelled_out(key, len(node.shape)):
            if item is None:
                node = node.reshape((*node.shape[:axis], 1, *node.shape[axis:]))
                axis += 1
            elif isinstance(item, slice):
                node = _sliced(node, axis, item)
                axis += 1
            else:
                node = _picked(node, axis, item)
        return self._view(node)


def _spelled_out(key: tuple[object, ...], rank: int) -> list[int | slice | UOp | None]:
    """A key with an item for every axis, and no ellipsis."""
    used = sum(1 for item in key if item is not None and item is not Ellipsis)
    if used > rank:
        raise IndexingError(
            f"too many indices: {used}.",
            why=f"the tensor has {rank} axes.",
            fix="leave some out.",
        )
    dots = [n for n, item in enumerate(key) if item is Ellipsis]
    if len(dots) > 1:
        raise IndexingError(
            "an index has more than one ellipsis.",
            why="an ellipsis stands for all axes that are left.",
            fix="keep one of them.",
        )
    at = dots[0] if dots else len(key)
    full = (*key[:at], *(slice(None),) * (rank - used), *key[at + 1 :])
    items: list[int | slice | UOp | None] = []
    for item in full:
        if isinstance(item, bool) or not (item is None or isinstance(item, int | slice | UOp)):
            raise ArgumentTypeError(
                f"{item!r} is not an index.",
                why="an index is an integer, a slice, None, an ellipsis, or a Tensor.",
                fix="wrap lists and arrays in Tensor(...).",
            )
        items.append(item)
    return items


def _picked(node: UOp, axis: int, index: int | UOp) -> UOp:
    """One position of an axis, which is gone then."""
    shape = node.shape
    size = shape[axis]
    if isinstance(index, UOp):
        low, high = bounds(index)
        inside = low >= 0 and isinstance(size, int) and high < size
        position: Size = index
    else:
        inside = not isinstance(size, int) or -size <= index < size
        position = index + size if index < 0 else index
    if not inside:
        raise IndexingError(
            f"index {index} is outside of axis {axis} of shape {shape}.",
            why=f"the axis has {size} positions.",
            fix=f"choose one from -{size} to {size} - 1.",
        )
    parts: list[tuple[Size, Size]] = [(0, other) for other in shape]
    parts[axis] = (position, position + 1)
    return node.shrink(parts).reshape((*shape[:axis], *shape[axis + 1 :]))


def _sliced(node: UOp, axis: int, part: slice) -> UOp:
    """A slice of an axis, clamped as Python clamps it; a negative step goes backwards."""
    size = node.shape[axis]
    if part == slice(None):
        return node
    if not isinstance(size, int) or any(isinstance(x, UOp) for x in (part.start, part.stop)):
        return _symbolic_slice(node, axis, part)
    try:
        start, stop, step = part.indices(size)
    except (TypeError, ValueError) as error:
        raise IndexingError(
            f"{part} is not a slice of axis {axis}.",
            why=f"{error}; start, stop and step are integers or left out, and the step is not 0.",
            fix="write integers.",
        ) from error
    count = len(range(start, stop, step))
    if count == 0:
        begin = end = 0
    elif step > 0:
        begin, end = start, start + (count - 1) * step + 1
    else:
        begin, end = start + (count - 1) * step, start + 1
    parts: list[tuple[Size, Size]] = [(0, other) for other in node.shape]
    parts[axis] = (begin, end)
    node = node.shrink(parts)
    if abs(step) > 1 and count:
        # A window of one element that moves by the step; its axis of size 1 goes again.
        node = node.window(axis, 1, abs(step))
        node = node.reshape(node.shape[:-1])
    return node.flip((axis,)) if step < 0 and count else node


def _symbolic_slice(node: UOp, axis: int, part: slice) -> UOp:
    size = node.shape[axis]
    begin = 0 if part.start is None else part.start
    end = size if part.stop is None else part.stop
    if part.step not in (None, 1):
        raise IndexingError(
            f"{part} has a step.",
            why="a slice with symbolic bounds goes by steps of 1.",
            fix="take the slice first and the step of its result.",
        )
    parts: list[tuple[Size, Size]] = [(0, other) for other in node.shape]
    parts[axis] = (begin, end)
    return node.shrink(parts)
