"""Gradients of movement: every element goes back to where it came from."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tiny_ir import GradientError, Op, Size, UOp, dtypes, is_same_size
from tiny_tensor.gradient.rule import GradientRule, Pairs, sum_over


def reshape(node: UOp, g: UOp) -> Pairs:
    """The same elements under the old sizes."""
    return ((node.src[0], g.reshape(node.src[0].shape)),)


def expand(node: UOp, g: UOp) -> Pairs:
    """An element that stood at many places gets the sum of theirs."""
    x = node.src[0]
    grown = [
        axis
        for axis, (old, size) in enumerate(zip(x.shape, node.shape, strict=True))
        if not is_same_size(old, size)
    ]
    return ((x, sum_over(g, grown).reshape(x.shape)),)


def permute(node: UOp, g: UOp) -> Pairs:
    """The inverse order."""
    order = node.arg
    return ((node.src[0], g.permute([order.index(axis) for axis in range(len(order))])),)


def pad(node: UOp, g: UOp) -> Pairs:
    """What stands before and after depends on nothing."""
    x = node.src[0]
    before = [_size(source) for source in node.src[1 : 1 + len(x.shape)]]
    parts = [(begin, begin + size) for begin, size in zip(before, x.shape, strict=True)]
    return ((x, g.shrink(parts)),)


def shrink(node: UOp, g: UOp) -> Pairs:
    """What was cut away has no part in the result."""
    x = node.src[0]
    begins = [_size(source) for source in node.src[1 : 1 + len(x.shape)]]
    pairs = [
        (begin, size - begin - kept)
        for begin, kept, size in zip(begins, node.shape, x.shape, strict=True)
    ]
    return ((x, g.pad(pairs)),)


def flip(node: UOp, g: UOp) -> Pairs:
    """The same axes again."""
    return ((node.src[0], g.flip(node.arg)),)


def window(node: UOp, g: UOp) -> Pairs:
    """An element gets the sum of all windows it is in."""
    x = node.src[0]
    axis, _, stride, dilation = node.arg
    length = x.shape[axis]
    if not isinstance(length, int):
        raise GradientError(
            f"cannot differentiate windows over an axis of size {length}.",
            why="how often an element stands in a window must be known when the graph is built.",
            fix="slide windows over an axis whose size is a number.",
        )
    wide = g.cast(dtypes.sum_dtype(g.dtype))
    return ((x, wide.fold(axis, length, stride, dilation).cast(g.dtype)),)


def fold(node: UOp, g: UOp) -> Pairs:
    """Windows over the sum; those beyond the ones that were summed are left out."""
    x = node.src[0]
    axis, _, stride, dilation = node.arg
    size = x.shape[-1]
    assert isinstance(size, int), "a window has a number of elements"
    windows = g.window(axis, size, stride, dilation)
    return ((x, windows.shrink([(0, count) for count in x.shape])),)


def _size(node: UOp) -> Size:
    return int(node.arg) if node.op is Op.CONST else node


MOVEMENT_GRADIENTS: Mapping[Op, GradientRule] = MappingProxyType(
    {
        Op.RESHAPE: reshape,
        Op.EXPAND: expand,
        Op.PERMUTE: permute,
        Op.PAD: pad,
        Op.SHRINK: shrink,
        Op.FLIP: flip,
        Op.WINDOW: window,
        Op.FOLD: fold,
    }
)
