"""Gradients of functions: each is the gradient of the result times the derivative.

Narrow floats are differentiated in float32: a derivative such as 1 - tanh(x)^2 has few digits left
when its parts are rounded to bfloat16.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from tiny_ir import Op, UOp, const, dtypes, make
from tiny_tensor.gradient.rule import GradientRule, Pairs

Derivative: TypeAlias = Callable[[UOp, UOp], UOp]
"""From x and f(x) to f'(x)."""


def _scaled(derivative: Derivative) -> GradientRule:
    def rule(node: UOp, g: UOp) -> Pairs:
        (x,) = node.src
        wide, g = _widened(node, g)
        return ((x, (g * derivative(wide.src[0], wide)).cast(x.dtype)),)

    return rule


def _widened(node: UOp, g: UOp) -> tuple[UOp, UOp]:
    """The same function of the same values in at least float32."""
    if node.dtype.nbytes >= dtypes.float32.nbytes:
        return node, g
    sources = tuple(source.cast(dtypes.float32) for source in node.src)
    return make(node.op, None, sources), g.cast(dtypes.float32)


def _one_minus_square(x: UOp) -> UOp:
    return (1 - x) * (1 + x)


def square_root(node: UOp, g: UOp) -> Pairs:
    """dx / (2 sqrt(x))."""
    wide, g = _widened(node, g)
    return ((node.src[0], (g / (wide * 2)).cast(node.dtype)),)


def quotient(node: UOp, g: UOp) -> Pairs:
    """d(x / y) = (dx - (x / y) dy) / y."""
    wide, g = _widened(node, g)
    _, y = wide.src
    part = g / y
    return (node.src[0], part.cast(node.dtype)), (node.src[1], (-part * wide).cast(node.dtype))


def power(node: UOp, g: UOp) -> Pairs:
    """d(x ** y) = y x ** (y - 1) dx + x ** y log(x) dy.

    Where y is 0 nothing depends on x, and where x is 0 and y is not negative nothing depends on y.
    """
    wide, g = _widened(node, g)
    x, y = wide.src
    slope = y * x.alu(Op.POW, y - 1)
    to_base = y.eq(0).where(const(g.dtype, 0), g * slope)
    growth = wide * x.alu(Op.LOG)
    is_flat = x.eq(0) & (y >= 0)
    to_exponent = is_flat.where(const(g.dtype, 0), g * growth)
    return (node.src[0], to_base.cast(node.dtype)), (node.src[1], to_exponent.cast(node.dtype))


FUNCTION_GRADIENTS: Mapping[Op, GradientRule] = MappingProxyType(
    {
        Op.SQRT: square_root,
        Op.FDIV: quotient,
        Op.POW: power,
        Op.EXP: _scaled(lambda x, f: f),
        Op.EXP2: _scaled(lambda x, f: f * math.log(2)),
        Op.EXPM1: _scaled(lambda x, f: x.alu(Op.EXP)),
        Op.LOG: _scaled(lambda x, f: 1 / x),
        Op.LOG2: _scaled(lambda x, f: 1 / (x * math.log(2))),
        Op.LOG1P: _scaled(lambda x, f: 1 / (x + 1)),
        Op.SIN: _scaled(lambda x, f: x.alu(Op.COS)),
        Op.COS: _scaled(lambda x, f: -x.alu(Op.SIN)),
        Op.TAN: _scaled(lambda x, f: f * f + 1),
        Op.ASIN: _scaled(lambda x, f: 1 / _one_minus_square(x).alu(Op.SQRT)),
        Op.ACOS: _scaled(lambda x, f: -1 / _one_minus_square(x).alu(Op.SQRT)),
        Op.ATAN: _scaled(lambda x, f: 1 / (x * x + 1)),
        Op.SINH: _scaled(lambda x, f: x.alu(Op.COSH)),
        Op.COSH: _scaled(lambda x, f: x.alu(Op.SINH)),
        Op.TANH: _scaled(lambda x, f: _one_minus_square(f)),
        Op.ERF: _scaled(lambda x, f: (-x * x).alu(Op.EXP) * (2 / math.sqrt(math.pi))),
    }
)
