"""Gradients of computed positions: what was gathered is scattered back, and the other way round."""

from __future__ import annotations

from tiny_ir import GradientError, Op, Shape, UOp, const, dtypes, make, product
from tiny_tensor.gradient.rule import Pairs, spread, zeros


def gather(node: UOp, g: UOp) -> Pairs:
    """Every position that was read gets the sum of its readers; those outside were not read."""
    table, *positions = node.src
    wide = dtypes.sum_dtype(g.dtype)
    value = g.cast(wide)
    total = make(Op.SCATTER, None, (zeros(table.shape, value), value, *positions), Op.ADD)
    return ((table, total.cast(g.dtype)),)


def scatter(node: UOp, g: UOp) -> Pairs:
    """Divide the gradient of a place between what stood there and what came in."""
    match node.arg:
        case None:
            return _overwriting(node, g)
        case Op.ADD:
            base, value, *positions = node.src
            return (base, g), (value, g.index(*positions))
        case Op.MAX | Op.MIN:
            return _extreme(node, g)
        case Op.MUL:
            return _product(node, g)
    raise GradientError(
        f"cannot differentiate a scatter by {node.arg.name}.",
        why="only writes, sums, products and extremes of floats have gradients.",
        fix="detach() it.",
    )


def _overwriting(node: UOp, g: UOp) -> Pairs:
    """The last value that was written to a place gets its gradient."""
    base, value, *positions = node.src
    shape = _positions_shape(positions)
    count = product(shape)
    if not isinstance(count, int):
        raise GradientError(
            f"cannot differentiate a scatter at {count} positions.",
            why="which of them is last at its place must be known when the graph is built.",
            fix="use positions whose number is not symbolic.",
        )
    places = base.shape[: len(positions)]
    order = make(Op.IOTA, dtypes.weakint, (), count).cast(dtypes.int32).reshape(shape)
    nobody = spread(const(dtypes.int32, -1), places)
    last = make(Op.SCATTER, None, (nobody, order, *positions))
    rest = base.shape[len(positions) :]
    is_last = _at_all(last.index(*positions).eq(order), rest)
    is_kept = _at_all(last < 0, rest)
    nothing = const(g.dtype, 0)
    return (
        (base, is_kept.where(g, nothing)),
        (value, is_last.where(g.index(*positions), nothing)),
    )


def _extreme(node: UOp, g: UOp) -> Pairs:
    """All that is as extreme as the result of its place gets equal parts."""
    base, value, *positions = node.src
    wide = dtypes.sum_dtype(g.dtype)
    one, none = const(wide, 1), const(wide, 0)
    is_base = base.eq(node)
    is_value = value.eq(node.index(*positions))
    sources = (is_base.where(one, none), is_value.where(one, none), *positions)
    count = make(Op.SCATTER, None, sources, Op.ADD)
    part = (g.cast(wide) / count).cast(g.dtype)
    nothing = const(g.dtype, 0)
    return (
        (base, is_base.where(part, nothing)),
        (value, is_value.where(part.index(*positions), nothing)),
    )


def _product(node: UOp, g: UOp) -> Pairs:
    """Each factor gets the product of the others at its place, which is right for zeros too."""
    base, value, *positions = node.src
    one, none = const(g.dtype, 1), const(g.dtype, 0)
    is_zero_base, is_zero_value = base.eq(0), value.eq(0)
    factors = (is_zero_base.where(one, base), is_zero_value.where(one, value), *positions)
    total = make(Op.SCATTER, None, factors, Op.MUL)
    marks = (is_zero_base.where(one, none), is_zero_value.where(one, none), *positions)
    zero_factors = make(Op.SCATTER, None, marks, Op.ADD)

    def others(factor: UOp, is_zero: UOp, total: UOp, zero_factors: UOp) -> UOp:
        only_zero = is_zero & zero_factors.eq(1)
        rest = is_zero.where(one, factor)
        return zero_factors.eq(0).where(total / rest, only_zero.where(total, none))

    at_value = others(value, is_zero_value, total.index(*positions), zero_factors.index(*positions))
    return (
        (base, g * others(base, is_zero_base, total, zero_factors)),
        (value, g.index(*positions) * at_value),
    )


def _positions_shape(positions: list[UOp]) -> Shape:
    shape: Shape = ()
    for position in positions:
        shape = position.shape or shape
    return shape


def _at_all(node: UOp, rest: Shape) -> UOp:
    """A value for each position, at all elements that one position holds."""
    if not rest:
        return node
    return node.reshape((*node.shape, *(1 for _ in rest))).expand((*node.shape, *rest))
