"""Shapes that meet: the common shape, and a node spread to it."""

from __future__ import annotations

from tiny_ir import Shape, ShapeError, Size, UOp, is_same_size


def broadcast_shape(*shapes: Shape) -> Shape:
    """The shape in which several meet: axes are aligned at the last one, and size 1 grows.

    Raises:
        ShapeError: two sizes differ and neither is 1.

    Example:
        >>> broadcast_shape((2, 1), (3,))
        (2, 3)
    """
    first = shapes[0]
    if all(shape is first or shape == first for shape in shapes):
        return first
    rank = max(map(len, shapes))
    found: list[Size] = [1] * rank
    for shape in shapes:
        for axis, size in enumerate(shape, rank - len(shape)):
            present = found[axis]
            if is_same_size(size, present) or (isinstance(size, int) and size == 1):
                continue
            if not (isinstance(present, int) and present == 1):
                listed = " and ".join(str(shape) for shape in shapes)
                raise ShapeError(
                    f"cannot broadcast {listed}.",
                    why=f"sizes {present} and {size} meet in one axis, and neither is 1.",
                    fix="reshape one side so that sizes, from the last axis on, agree or are 1.",
                )
            found[axis] = size
    return tuple(found)


def broadcast(node: UOp, shape: Shape) -> UOp:
    """Spread a node to `shape`: new axes come first, and axes of size 1 grow.

    Raises:
        ShapeError: an axis has another size.
    """
    if node.shape == shape:
        return node
    missing = len(shape) - len(node.shape)
    if missing < 0:
        raise ShapeError(
            f"cannot broadcast {node.shape} to {shape}.",
            why="broadcasting adds axes and removes none.",
            fix="reshape first.",
        )
    if missing:
        node = node.reshape((1,) * missing + node.shape)
    return node.expand(shape)
