"""Symbolic sizes, bound to numbers, become ints."""

from __future__ import annotations

from tiny_ir import ArgumentError, Op, Shape, Size, UOp, meaning, toposort


def concrete_size(size: Size) -> int:
    """The number that a size is bound to.

    Raises:
        ArgumentError: a variable in it is not bound.
    """
    if isinstance(size, int):
        return size
    values: dict[UOp, int] = {}
    for node in toposort((size,)):
        if node.op is Op.CONST:
            values[node] = int(node.arg)
        elif node.op is Op.BIND:
            values[node] = values[node.src[1]]
        elif node.op is Op.VARIABLE:
            values[node] = 0  # read through its BIND only
        else:
            sources = [source.dtype for source in node.src]
            apply = meaning(node.op, node.dtype, *sources)
            values[node] = apply(*[values[source] for source in node.src])
    if any(
        node.op is not Op.BIND and source.op is Op.VARIABLE
        for node in values
        for source in node.src
    ):
        raise ArgumentError(
            f"the size {size} has no value.",
            why="a variable in it is not bound to a number.",
            fix="bind it: variable.bind(n).",
        )
    return values[size]


def concrete_shape(shape: Shape) -> tuple[int, ...]:
    """A shape in numbers.

    Raises:
        ArgumentError: a variable in it is not bound.

    Example:
        >>> concrete_shape((2, 3))
        (2, 3)
    """
    return tuple(map(concrete_size, shape))
