"""Turns a position in the result of a movement op into a position in its source."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tiny_ir import (
    Op,
    Shape,
    Size,
    UOp,
    bounds,
    const,
    dtypes,
    is_same_size,
    product,
    simplify,
    size_node,
)

Indices = tuple[UOp, ...]
TRUE = const(dtypes.bool_, True)
ZERO = const(dtypes.weakint, 0)


def flat_offset(indices: Sequence[UOp], shape: Shape) -> UOp:
    """The offset of a position in row-major storage of `shape`."""
    offset = ZERO
    for index, size in zip(indices, shape, strict=True):
        offset = offset * size + index
    return simplify(offset)


def source_position(node: UOp, indices: Indices) -> tuple[Indices, UOp]:
    """Where the element of a movement node at `indices` comes from.

    Returns:
        The position in `node.src[0]`, and the bool under which there is one (PAD has no source
        outside of its middle; everything else is always true).
    """
    return _POSITIONS[node.op](node, indices)


def _reshape(node: UOp, indices: Indices) -> tuple[Indices, UOp]:
    return reshape_indices(indices, node.shape, node.src[0].shape), TRUE


def reshape_indices(indices: Indices, outer: Shape, inner: Shape) -> Indices:
    """The position in shape `inner` that has the same offset as `indices` in shape `outer`.

    Axes are matched in groups with equal products, so that what a reshape leaves alone passes
    through unchanged and only what it splits or merges is divided.
    """
    result: list[UOp] = []
    i = o = 0
    while i < len(inner) or o < len(outer):
        first_i, first_o = i, o
        inner_count: Size = 1
        outer_count: Size = 1
        if i < len(inner):
            inner_count, i = inner[i], i + 1
        if o < len(outer):
            outer_count, o = outer[o], o + 1
        while not is_same_size(inner_count, outer_count):
            if o < len(outer) and (i == len(inner) or _is_smaller(outer_count, inner_count)):
                outer_count, o = outer_count * outer[o], o + 1
            elif i < len(inner):
                inner_count, i = inner_count * inner[i], i + 1
            elif o < len(outer):
                outer_count, o = outer_count * outer[o], o + 1
            else:
                break
        result += _regroup(indices[first_o:o], outer[first_o:o], inner[first_i:i])
    return tuple(result)


def _is_smaller(a: Size, b: Size) -> bool:
    return isinstance(a, int) and (not isinstance(b, int) or a < b)


def _regroup(indices: Sequence[UOp], outer: Sequence[Size], inner: Sequence[Size]) -> list[UOp]:
    kept = [n for n, size in enumerate(outer) if not (isinstance(size, int) and size == 1)]
    wanted = [n for n, size in enumerate(inner) if not (isinstance(size, int) and size == 1)]
    result = [ZERO] * len(inner)
    if len(kept) == 1 and len(wanted) == 1:
        result[wanted[0]] = indices[kept[0]]
        return result
    if not wanted:
        return result
    flat = flat_offset([indices[n] for n in kept], tuple(outer[n] for n in kept))
    stride: Size = 1
    for n in reversed(wanted):
        position = flat // stride
        result[n] = simplify(position if n == wanted[0] else position % inner[n])
        stride = inner[n] * stride
    return result


def _expand(node: UOp, indices: Indices) -> tuple[Indices, UOp]:
    source = node.src[0].shape
    position = tuple(
        index if is_same_size(old, new) else ZERO
        for index, old, new in zip(indices, source, node.shape, strict=True)
    )
    return position, TRUE


def _permute(node: UOp, indices: Indices) -> tuple[Indices, UOp]:
    position = [ZERO] * len(indices)
    for index, axis in zip(indices, node.arg, strict=True):
        position[axis] = index
    return tuple(position), TRUE


def _pad(node: UOp, indices: Indices) -> tuple[Indices, UOp]:
    source = node.src[0].shape
    rank = len(source)
    valid = TRUE
    position: list[UOp] = []
    for axis, index in enumerate(indices):
        before, after = node.src[1 + axis], node.src[1 + rank + axis]
        inside = simplify(index - before)
        if not (before.op is Op.CONST and before.arg == 0):
            valid = valid & simplify(inside >= 0)
        if not (after.op is Op.CONST and after.arg == 0):
            valid = valid & simplify(inside < size_node(source[axis]))
        position.append(inside)
    return tuple(position), valid


def _shrink(node: UOp, indices: Indices) -> tuple[Indices, UOp]:
    begins = node.src[1 : 1 + len(indices)]
    return tuple(simplify(i + begin) for i, begin in zip(indices, begins, strict=True)), TRUE


def _flip(node: UOp, indices: Indices) -> tuple[Indices, UOp]:
    position = list(indices)
    for axis in node.arg:
        position[axis] = simplify(size_node(node.shape[axis]) - 1 - position[axis])
    return tuple(position), TRUE


def _window(node: UOp, indices: Indices) -> tuple[Indices, UOp]:
    position = list(indices[:-1])
    axis = node.arg.axis
    start = position[axis] * node.arg.stride
    position[axis] = simplify(start + indices[-1] * node.arg.dilation)
    return tuple(position), TRUE


_POSITIONS: dict[Op, Callable[[UOp, Indices], tuple[Indices, UOp]]] = {
    Op.RESHAPE: _reshape,
    Op.EXPAND: _expand,
    Op.PERMUTE: _permute,
    Op.PAD: _pad,
    Op.SHRINK: _shrink,
    Op.FLIP: _flip,
    Op.WINDOW: _window,
}


def elements_of(shape: Shape) -> int:
    """How many elements a shape has at most."""
    count = product(shape)
    if isinstance(count, int):
        return count
    return int(bounds(count)[1])
