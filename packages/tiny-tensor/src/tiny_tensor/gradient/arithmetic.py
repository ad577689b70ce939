"""Gradients of arithmetic: sums, products and choices hand theirs to their sources."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tiny_ir import Op, UOp, const
from tiny_tensor.gradient.rule import GradientRule, Pairs


def nothing(node: UOp, g: UOp) -> Pairs:
    """The op is flat almost everywhere, or cuts the way on purpose."""
    return ()


def negation(node: UOp, g: UOp) -> Pairs:
    """d(-x) = -dx."""
    return ((node.src[0], -g),)


def addition(node: UOp, g: UOp) -> Pairs:
    """d(x + y) = dx + dy."""
    x, y = node.src
    return (x, g), (y, g)


def subtraction(node: UOp, g: UOp) -> Pairs:
    """d(x - y) = dx - dy."""
    x, y = node.src
    return (x, g), (y, -g)


def multiplication(node: UOp, g: UOp) -> Pairs:
    """d(x * y) = y dx + x dy."""
    x, y = node.src
    return (x, g * y), (y, g * x)


def fused_multiplication(node: UOp, g: UOp) -> Pairs:
    """d(x * y + z) = y dx + x dy + dz."""
    x, y, z = node.src
    return (x, g * y), (y, g * x), (z, g)


def maximum(node: UOp, g: UOp) -> Pairs:
    """The larger side gets everything, equal sides get half each."""
    x, y = node.src
    return (x, _share(x < y, x.eq(y), g)), (y, _share(y < x, x.eq(y), g))


def minimum(node: UOp, g: UOp) -> Pairs:
    """The smaller side gets everything, equal sides get half each."""
    x, y = node.src
    return (x, _share(y < x, x.eq(y), g)), (y, _share(x < y, x.eq(y), g))


def _share(is_loser: UOp, is_tie: UOp, g: UOp) -> UOp:
    """NaN neither loses nor ties, so that it gets everything."""
    return is_loser.where(const(g.dtype, 0), is_tie.where(g * 0.5, g))


def choice(node: UOp, g: UOp) -> Pairs:
    """The gradient goes where the value came from."""
    condition, x, y = node.src
    return (x, condition.where(g, 0)), (y, condition.where(0, g))


def cast(node: UOp, g: UOp) -> Pairs:
    """Between floats a cast is the identity, up to rounding."""
    return ((node.src[0], g.cast(node.src[0].dtype)),)


ARITHMETIC_GRADIENTS: Mapping[Op, GradientRule] = MappingProxyType(
    {
        Op.NEG: negation,
        Op.ADD: addition,
        Op.SUB: subtraction,
        Op.MUL: multiplication,
        Op.FMA: fused_multiplication,
        Op.MAX: maximum,
        Op.MIN: minimum,
        Op.WHERE: choice,
        Op.CAST: cast,
        Op.BITCAST: nothing,
        Op.TRUNC: nothing,
        Op.FLOOR: nothing,
        Op.CEIL: nothing,
        Op.ROUND: nothing,
    }
)
