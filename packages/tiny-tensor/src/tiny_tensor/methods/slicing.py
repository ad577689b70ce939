"""One position of an axis, and slices of it: views made of SHRINK, WINDOW and FLIP."""

from __future__ import annotations

from tiny_ir import IndexingError, Size, UOp, bounds


def picked(node: UOp, axis: int, index: int | UOp, place: str) -> UOp:
    """One position of an axis, which is gone then; `place` is what errors call the axis."""
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
            f"index {index} is outside of {place}.",
            why=f"the axis has {size} positions.",
            fix=f"choose one from -{size} to {size} - 1, or a slice.",
        )
    parts: list[tuple[Size, Size]] = [(0, other) for other in shape]
    parts[axis] = (position, position + 1)
    return node.shrink(parts).reshape((*shape[:axis], *shape[axis + 1 :]))


def sliced(node: UOp, axis: int, part: slice, place: str) -> UOp:
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
            f"{part} is not a slice of {place}.",
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
