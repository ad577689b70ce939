"""Padding: what stands before and after the elements of an axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self, TypeAlias

from tiny_ir import ArgumentError, ShapeError, Size, UOp
from tiny_plugin import boundary
from tiny_tensor.choices import check_choice
from tiny_tensor.methods.joining import JoiningMethods, inside_of, joined, part_of
from tiny_tensor.methods.movement import sizes_of
from tiny_tensor.tensor_core import Scalar

Pair: TypeAlias = tuple[Size, Size]
Padding: TypeAlias = Sequence[Size] | Sequence[Sequence[Size] | None]


@boundary
class PaddingMethods(JoiningMethods):
    """Larger tensors with the elements in their middle. Each has data of its own."""

    __slots__ = ()

    def pad(self, padding: Padding, mode: str = "constant", value: Scalar = 0) -> Self:
        """Put elements before and after those of each axis.

        Args:
            padding: pairs (before, after), one for each axis, or None for an axis that stays; or
                flat numbers, the last axis first: (before, after, before of the next to last, ...).
                Negative numbers cut elements off.
            mode: "constant" puts `value` there; "reflect" mirrors the elements without repeating
                the edge; "replicate" repeats the edge; "circular" goes on at the other end.
            value: for the mode "constant", in the dtype of this tensor.

        Raises:
            ShapeError: the numbers do not fit the axes, or more is mirrored than there is.
            ArgumentError: there is no such mode.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1, 2]).pad((1, 2)).tolist()
            [0, 1, 2, 0, 0]
            >>> Tensor([1, 2, 3]).pad((2, 0), mode="reflect").tolist()
            [3, 2, 1, 2, 3]
        """
        check_choice("mode", mode, ("constant", *_EDGES))
        pairs = self._pairs(padding)
        node = self.uop
        if mode != "constant":  # what is cut off on one side is still mirrored on the other
            grown = [(_kept(before), _kept(after)) for before, after in pairs]
            node = _mirrored(node, grown, mode)
            pairs = [(_lost(before), _lost(after)) for before, after in pairs]
        cut = [(_cut(before), _left(size, after)) for size, (before, after) in _with(node, pairs)]
        if any(isinstance(n, int) and isinstance(m, int) and m < n for n, m in cut):
            raise ShapeError(
                f"cannot cut {pairs} off a tensor of shape {self.shape}.",
                why="nothing, and less than nothing, would be left.",
                fix="choose smaller numbers.",
            )
        node = node.shrink(cut)
        if mode != "constant":
            return self._apply(node)
        pairs = [(_kept(before), _kept(after)) for before, after in pairs]
        padded = node.pad(pairs)
        if value != 0 and padded is not node:
            padded = inside_of(node, pairs).where(padded, self._constant(value, self.dtype))
        return self._apply(padded)

    def pad_to(self, *shape: Size | Sequence[Size | None] | None, value: Scalar = 0) -> Self:
        """Put `value` after the elements of each axis, up to a shape; None keeps an axis.

        Raises:
            ShapeError: a size is less than that of the axis.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1, 2]).pad_to(3).tolist()
            [1, 2, 0]
        """
        sizes = sizes_of(shape)
        self._check_count(len(sizes), "sizes")
        pairs: list[Pair] = []
        for size, old in zip(sizes, self.shape, strict=True):
            missing = 0 if size is None else size - old
            if isinstance(missing, int) and missing < 0:
                raise ShapeError(
                    f"cannot pad {self.shape} to {sizes}.",
                    why=f"an axis of {old} is longer than {size}.",
                    fix="shrink it first.",
                )
            pairs.append((0, missing))
        return self.pad(pairs, value=value)

    def _pairs(self, padding: Padding) -> list[Pair]:
        items = list(padding)
        rank = self.ndim
        numbers = [item for item in items if isinstance(item, int | UOp)]
        if len(numbers) == len(items):
            if len(items) % 2 or len(items) > 2 * rank:
                raise ShapeError(
                    f"cannot pad a tensor of shape {self.shape} by {tuple(items)}.",
                    why="flat padding has two numbers an axis, the last axis first.",
                    fix="write pairs, one for each axis.",
                )
            flat: list[Pair] = list(zip(numbers[::2], numbers[1::2], strict=True))
            return [(0, 0)] * (rank - len(flat)) + flat[::-1]
        self._check_count(len(items), "pairs")
        pairs: list[Pair] = []
        for item in items:
            if item is None:
                pairs.append((0, 0))
            elif isinstance(item, Sequence) and len(item) == 2:
                pairs.append((item[0], item[1]))
            else:
                raise ArgumentError(
                    f"{item!r} does not say how to pad an axis.",
                    why="it takes a pair (before, after), or None.",
                    fix="write pairs.",
                )
        return pairs


def _with(node: UOp, pairs: Sequence[Pair]) -> list[tuple[Size, Pair]]:
    return list(zip(node.shape, pairs, strict=True))


def _cut(before: Size) -> Size:
    return -before if isinstance(before, int) and before < 0 else 0


def _left(size: Size, after: Size) -> Size:
    return size + after if isinstance(after, int) and after < 0 else size


def _lost(count: Size) -> Size:
    return min(0, count) if isinstance(count, int) else 0


def _kept(count: Size) -> Size:
    return max(0, count) if isinstance(count, int) else count


def _mirrored(node: UOp, pairs: Sequence[Pair], mode: str) -> UOp:
    for axis, (before, after) in enumerate(pairs):
        size = node.shape[axis]
        if not (isinstance(size, int) and isinstance(before, int) and isinstance(after, int)):
            raise ShapeError(
                f"cannot pad an axis of {size} by ({before}, {after}) in mode {mode!r}.",
                why="what stands at the edges must be known.",
                fix="pad with a constant, or use sizes that are numbers.",
            )
        if before == after == 0:
            continue
        limit = {"reflect": size - 1, "circular": size}.get(mode)
        longest = max(before, after)
        if size == 0 or (limit is not None and longest > limit):
            raise ShapeError(
                f"cannot pad an axis of {size} by {longest} in mode {mode!r}.",
                why=f"there are {size} elements to take them from.",
                fix="pad several times, or use another mode.",
            )
        front, back = _EDGES[mode](node, axis, before, after)
        parts = [part for part in (front, node, back) if part.shape[axis] != 0]
        node = joined(parts, axis)
    return node


def _reflect(node: UOp, axis: int, before: int, after: int) -> tuple[UOp, UOp]:
    size = node.shape[axis]
    assert isinstance(size, int)
    front = part_of(node, axis, 1, 1 + before).flip((axis,))
    return front, part_of(node, axis, size - 1 - after, size - 1).flip((axis,))


def _replicate(node: UOp, axis: int, before: int, after: int) -> tuple[UOp, UOp]:
    def spread(part: UOp, count: int) -> UOp:
        return part.expand((*part.shape[:axis], count, *part.shape[axis + 1 :]))

    size = node.shape[axis]
    assert isinstance(size, int)
    front = spread(part_of(node, axis, 0, 1), before)
    return front, spread(part_of(node, axis, size - 1, size), after)


def _circular(node: UOp, axis: int, before: int, after: int) -> tuple[UOp, UOp]:
    size = node.shape[axis]
    assert isinstance(size, int)
    return part_of(node, axis, size - before, size), part_of(node, axis, 0, after)


_EDGES: dict[str, Callable[[UOp, int, int, int], tuple[UOp, UOp]]] = {
    "reflect": _reflect,
    "replicate": _replicate,
    "circular": _circular,
}
