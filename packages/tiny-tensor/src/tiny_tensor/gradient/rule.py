"""What a gradient rule is, and the few steps that many rules share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from tiny_ir import Op, Shape, Size, UOp, const, dtypes, is_same_shape

Pairs: TypeAlias = Iterable[tuple[UOp, UOp]]
"""Nodes below the one that is differentiated, each with the gradient that reaches it from there."""

GradientRule: TypeAlias = Callable[[UOp, UOp], Pairs]
"""From a node and the gradient of the root with respect to it, to the pairs of its sources.

The gradient has the node's shape and dtype. Those of sources may have shape () where they are equal
everywhere, and the node's shape where a source of shape () was spread: `fitted` deals with both.
"""


def sum_over(node: UOp, axes: Sequence[int]) -> UOp:
    """Add along axes, in at least float32."""
    if not axes:
        return node
    wide = dtypes.sum_dtype(node.dtype)
    return node.cast(wide).reduce(Op.ADD, axes).cast(node.dtype)


def spread(node: UOp, shape: Shape) -> UOp:
    """One element at every place of a shape."""
    return node.reshape((1,) * len(shape)).expand(shape)


def zeros(shape: Shape, like: UOp) -> UOp:
    """Zeros in the dtype of a node."""
    return spread(const(like.dtype, 0), shape)


def fitted(gradient: UOp, source: UOp) -> UOp:
    """A gradient in the shape of the node that it belongs to."""
    if is_same_shape(gradient.shape, source.shape):
        return gradient.reshape(source.shape)  # a size may be a number here and a node there
    if not source.shape:
        return sum_over(gradient, range(len(gradient.shape)))
    return spread(gradient, source.shape)


def with_ones(shape: Shape, axes: Sequence[int]) -> tuple[Size, ...]:
    """A shape in which some axes have size 1."""
    return tuple(1 if axis in axes else size for axis, size in enumerate(shape))
