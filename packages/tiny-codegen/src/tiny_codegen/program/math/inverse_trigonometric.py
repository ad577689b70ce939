"""ASIN, ACOS and ATAN: polynomials near zero, and identities that lead there."""

from __future__ import annotations

from typing import NamedTuple

from tiny_codegen.program.math import coefficients
from tiny_codegen.program.math.double_word import exact_product, exact_sum_ordered
from tiny_codegen.program.math.float_bits import absolute, bits, with_sign
from tiny_codegen.program.math.polynomial import multiply_add, polynomial
from tiny_ir import DType, Op, UOp, dtypes
from tiny_plugin import Target


class Turns(NamedTuple):
    """pi/2 and pi/4 as sums of two floats."""

    half_pi: float
    half_pi_low: float
    quarter_pi: float
    quarter_pi_low: float


def turns_of(dtype: DType) -> Turns:
    """The angles in a dtype."""
    if dtype is dtypes.float64:
        high, low = 1.5707963267948966, 6.123233995736766e-17
    else:
        high, low = 1.5707963705062866, -4.371138828673793e-08
    return Turns(high, low, high / 2, low / 2)


def arc_sine(x: UOp, target: Target | None) -> UOp:
    """asin(x), at most 0.7 ulp from exact.

    Above 1/2 it is pi/2 - 2 asin(s) with s the root of (1 - x) / 2, whose rounding is made good.
    """
    size = absolute(x)
    is_large = size > 0.5
    half, root, root_low = _half_angle(size, target)
    square = is_large.where(half, size * size)
    curve = square * polynomial(coefficients.ASIN, square, target)
    small = multiply_add(size, curve, size, target)
    high, low, *_ = turns_of(x.dtype)
    rest = multiply_add(root, curve, root_low, target)
    start, lost = exact_sum_ordered(x.const_like(high), root * -2.0)
    large = start + multiply_add(rest, -2.0, lost + low, target)
    return with_sign(is_large.where(large, small), bits(x))


def arc_cosine(x: UOp, target: Target | None) -> UOp:
    """acos(x), at most 0.7 ulp from exact."""
    size = absolute(x)
    is_large = size > 0.5
    half, root, root_low = _half_angle(size, target)
    square = is_large.where(half, size * size)
    curve = square * polynomial(coefficients.ASIN, square, target)
    high, low, *_ = turns_of(x.dtype)
    # Up to 1/2: pi/2 - x - x * curve.
    start, lost = exact_sum_ordered(x.const_like(high), -x)
    small = start + multiply_add(x, -curve, lost + low, target)
    # Above: twice the angle whose sine is the root; from pi for negative x.
    rest = multiply_add(root, curve, root_low, target)
    near_zero = (root + rest) * 2.0
    start, lost = exact_sum_ordered(x.const_like(2.0 * high), root * -2.0)
    near_pi = start + multiply_add(rest, -2.0, lost + 2.0 * low, target)
    return is_large.where((x < 0.0).where(near_pi, near_zero), small)


def _half_angle(size: UOp, target: Target | None) -> tuple[UOp, UOp, UOp]:
    """(1 - size) / 2, its square root, and what the root lost by rounding."""
    half = multiply_add(size, -0.5, 0.5, target)
    root = half.alu(Op.SQRT)
    square, error = exact_product(root, root, target)
    missing = (half - square) - error
    low = missing * 0.5 / root
    return half, root, half.eq(0.0).where(0.0, low)


def arc_tangent(x: UOp, target: Target | None) -> UOp:
    """atan(x), at most 1.4 ulp from exact."""
    size = absolute(x)
    value = (_of_halves if x.dtype is dtypes.float64 else _of_inverse)(size, target)
    return with_sign(value, bits(x))


def _of_inverse(size: UOp, target: Target | None) -> UOp:
    """Above 1: pi/2 - atan(1 / x)."""
    is_large = size > 1.0
    t = is_large.where(1.0 / size, size)
    square = t * t
    rest = t * square * polynomial(coefficients.ATAN, square, target)
    high, low, *_ = turns_of(size.dtype)
    return is_large.where(high - (t + (rest - low)), t + rest)


def _of_halves(size: UOp, target: Target | None) -> UOp:
    """Above 1/2: pi/4 + atan((x - 1) / (x + 1)). From 2: pi/2 - atan(1 / x)."""
    is_middle = size > 0.5
    is_large = size > 2.0
    upper = is_large.where(-1.0, is_middle.where(size - 1.0, size))
    lower = is_large.where(size, is_middle.where(size + 1.0, 1.0))
    t = upper / lower
    square = t * t
    rest = t * square * polynomial(coefficients.ATAN_HALF, square, target)
    turns = turns_of(size.dtype)
    high = is_large.where(turns.half_pi, is_middle.where(turns.quarter_pi, size.const_like(0.0)))
    low = is_large.where(
        turns.half_pi_low, is_middle.where(turns.quarter_pi_low, size.const_like(0.0))
    )
    start, lost = exact_sum_ordered(high, t)
    return is_middle.where(start + (rest + (lost + low)), t + rest)
