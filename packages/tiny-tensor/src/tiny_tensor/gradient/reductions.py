"""Gradients of reductions: sums, products and extremes along axes."""

from __future__ import annotations

from tiny_ir import GradientError, Op, UOp, const, dtypes, product
from tiny_tensor.gradient.products import products_of_others
from tiny_tensor.gradient.rule import Pairs, sum_over, with_ones


def reduction(node: UOp, g: UOp) -> Pairs:
    """Share the gradient of a reduced element among those it was made of."""
    match node.arg.op:
        case Op.ADD:
            return _sum(node, g)
        case Op.MUL:
            return _product(node, g)
        case Op.MAX | Op.MIN:
            return _extreme(node, g)
    raise GradientError(
        f"cannot differentiate a reduction by {node.arg.op.name}.",
        why="only sums, products and extremes of floats have gradients.",
        fix="detach() it.",
    )


def _returned(node: UOp, value: UOp) -> UOp:
    """A value for each reduced element, at all places that it was made of."""
    source = node.src[0]
    return value.reshape(with_ones(source.shape, node.arg.axes)).expand(source.shape)


def _sum(node: UOp, g: UOp) -> Pairs:
    return ((node.src[0], _returned(node, g)),)


def _extreme(node: UOp, g: UOp) -> Pairs:
    """All elements that are the extreme get equal parts; NaN is no less and no more than any."""
    x = node.src[0]
    extreme = _returned(node, node)
    is_less = x < extreme if node.arg.op is Op.MAX else extreme < x
    wide = dtypes.sum_dtype(x.dtype)
    count = sum_over(is_less.where(const(wide, 0), const(wide, 1)), node.arg.axes)
    part = (g.cast(wide) / count).cast(g.dtype)
    return ((x, is_less.where(const(g.dtype, 0), _returned(node, part))),)


def _product(node: UOp, g: UOp) -> Pairs:
    """Each element gets the product of all others, which is right for zeros too."""
    x, axes = node.src[0], node.arg.axes
    kept = [axis for axis in range(len(x.shape)) if axis not in axes]
    order = (*kept, *axes)
    sorted_x = x.permute(order)
    shape = (*node.shape, product(tuple(x.shape[axis] for axis in axes)))
    others = products_of_others(sorted_x.reshape(shape)).reshape(sorted_x.shape)
    back = others.permute([order.index(axis) for axis in range(len(order))])
    return ((x, _returned(node, g) * back),)
