"""Computes graphs of whole arrays, one element at a time, by the meaning of each op."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any, TypeAlias

import numpy as np

from tiny_ir import MOVEMENT, OP_TABLE, DType, Op, UOp, meaning, toposort

Values: TypeAlias = "np.ndarray[Any, np.dtype[np.object_]]"
"""Python bools, ints and floats under a shape."""

_SEEN_THROUGH = (Op.CONTIGUOUS, Op.DETACH, Op.CONTIGUOUS_BACKWARD, Op.COPY)


def array_of(values: object, shape: tuple[int, ...]) -> Values:
    """An array of Python values."""
    filled = np.empty(shape, object)
    filled[...] = (
        values if not isinstance(values, list) else np.array(values, object).reshape(shape)
    )
    return filled


def graph_values(root: UOp, memory: Mapping[UOp, Values]) -> Values:
    """Compute a graph of elementwise ops, movement, reductions, gathers and scatters.

    Args:
        root: its sizes are numbers, and it reads no version of memory but the first.
        memory: what each PARAM holds.

    Returns:
        An array of the shape of `root`. Sums are made in row-major order.

    Example:
        >>> from tiny_ir import ParamArg, dtypes, make
        >>> x = make(Op.PARAM, dtypes.int8, (), ParamArg(0, 3, "cpu"))
        >>> graph_values((x * 100).flip((0,)), {x: array_of([1, 2, 3], (3,))}).tolist()
        [44, -56, 100]
    """
    done: dict[UOp, Values] = dict(memory)
    with np.errstate(all="ignore"):
        for node in toposort((root,)):
            if node not in done:
                done[node] = _computed(node, [done[source] for source in node.src])
    return done[root]


def _computed(node: UOp, sources: list[Values]) -> Values:
    op = node.op
    if op is Op.CONST:
        return array_of(node.arg, ())
    if op is Op.IOTA:
        return array_of(list(range(node.arg)), (node.arg,))
    if OP_TABLE[op].is_elementwise:
        function = meaning(op, node.dtype, node.src[0].dtype)
        return array_of(np.frompyfunc(function, len(sources), 1)(*sources), _sizes(node))
    if op in MOVEMENT:
        return _moved(node, sources[0])
    if op is Op.REDUCE:
        return _reduced(node, sources[0])
    if op is Op.INDEX:
        return _gathered(node, sources)
    if op is Op.SCATTER:
        return _scattered(node, sources)
    assert op in _SEEN_THROUGH, f"{node!r} has no value of its own"
    return sources[0]


def _sizes(node: UOp) -> tuple[int, ...]:
    assert all(isinstance(size, int) for size in node.shape), "sizes are numbers here"
    return tuple(int(size) for size in node.shape)  # type: ignore[arg-type]  # asserted above


def _zero(dtype: DType) -> object:
    return 0.0 if dtype.is_float else False if dtype.is_bool else 0


def _moved(node: UOp, x: Values) -> Values:
    rank = x.ndim
    numbers = [int(size.arg) for size in node.src[1:]]
    match node.op:
        case Op.RESHAPE:
            return x.reshape(_sizes(node))
        case Op.EXPAND:
            return np.broadcast_to(x, _sizes(node))
        case Op.PERMUTE:
            return x.transpose(node.arg)
        case Op.FLIP:
            return np.flip(x, node.arg)
        case Op.SHRINK:
            ends = [
                begin + size for begin, size in zip(numbers[:rank], numbers[rank:], strict=True)
            ]
            return x[tuple(map(slice, numbers[:rank], ends))]
        case Op.PAD:
            padded = array_of(_zero(node.dtype), _sizes(node))
            padded[tuple(map(_part, numbers[:rank], x.shape))] = x
            return padded
        case _:
            axis, size, stride, dilation = node.arg
            reach = dilation * (size - 1) + 1
            windows = np.lib.stride_tricks.sliding_window_view(x, reach, axis)
            taken = [slice(None)] * windows.ndim
            taken[axis], taken[-1] = slice(None, None, stride), slice(None, None, dilation)
            return windows[tuple(taken)]


def _part(begin: int, size: int) -> slice:
    return slice(begin, begin + size)


def _reduced(node: UOp, x: Values) -> Values:
    combine = meaning(node.arg.op, node.dtype, node.dtype)
    axes = node.arg.axes
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    terms = x.transpose((*kept, *sorted(axes))).reshape((*_sizes(node), -1))
    assert terms.shape[-1], "what no terms give is not asked for here"
    result = array_of(None, _sizes(node))
    for at in np.ndindex(result.shape):
        result[at] = reduce(combine, terms[at])
    return result


def _positions(node: UOp, sources: list[Values]) -> tuple[tuple[int, ...], Callable[..., Any]]:
    """The shape of the positions, and a function that gives one of them; None outside."""
    shape = np.broadcast_shapes(*(source.shape for source in sources))
    spread = [np.broadcast_to(source, shape) for source in sources]

    def position(at: tuple[int, ...]) -> tuple[int, ...] | None:
        found = tuple(int(source[at]) for source in spread)
        sizes = _sizes(node.src[0])
        inside = all(0 <= p < size for p, size in zip(found, sizes, strict=False))
        return found if inside else None

    return shape, position


def _gathered(node: UOp, sources: list[Values]) -> Values:
    shape, position = _positions(node, sources[1:])
    result = array_of(_zero(node.dtype), _sizes(node))
    for at in np.ndindex(shape):
        found = position(at)
        if found is not None:
            result[at] = sources[0][found]
    return result


def _scattered(node: UOp, sources: list[Values]) -> Values:
    base, value, *positions = sources
    shape, position = _positions(node, positions)
    result = array_of(base, base.shape)
    combine = None
    if node.arg is not None:
        combine = np.frompyfunc(meaning(node.arg, node.dtype, node.dtype), 2, 1)
    for at in np.ndindex(shape):
        found = position(at)
        if found is not None:
            result[found] = value[at] if combine is None else combine(result[found], value[at])
    return result
