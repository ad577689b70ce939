"""SIN, COS and TAN: reduce the angle to a quarter turn, then a polynomial for sine or cosine."""

from __future__ import annotations

from math import inf, nan

from tiny_codegen.program.math import coefficients
from tiny_codegen.program.math.double_word import exact_sum_ordered
from tiny_codegen.program.math.float_bits import absolute, bits, with_sign
from tiny_codegen.program.math.polynomial import has_multiply_add, multiply_add, polynomial
from tiny_codegen.program.math.reduce_angle import reduced_angle
from tiny_ir import Op, UOp, make
from tiny_plugin import Target


def sine(x: UOp, target: Target | None) -> UOp:
    """sin(x), at most 1.6 ulp from exact for angles of any size."""
    size = absolute(x)
    rest, _, quarter = reduced_angle(size, target)
    value = _quarter_sine(rest, quarter, target)
    signs = (quarter << (x.dtype.bits - 2)) ^ bits(x)
    return _nan_for_infinity(size, with_sign(value, signs))


def cosine(x: UOp, target: Target | None) -> UOp:
    """cos(x), at most 1.6 ulp from exact for angles of any size."""
    size = absolute(x)
    rest, _, quarter = reduced_angle(size, target)
    quarter = quarter + 1
    value = _quarter_sine(rest, quarter, target)
    return _nan_for_infinity(size, with_sign(value, quarter << (x.dtype.bits - 2)))


def tangent(x: UOp, target: Target | None) -> UOp:
    """tan(x), at most 1.3 ulp from exact for angles of any size."""
    size = absolute(x)
    rest, low, quarter = reduced_angle(size, target, twice=True)
    square = rest * rest
    curve = polynomial(coefficients.TAN, square, target) * square
    # tan(r + low) is tan(r) + low * (1 + tan(r)**2).
    slope = multiply_add(square, 1.0, 1.0, target)
    tangent_low = multiply_add(curve, rest, low * slope, target)
    high, tail = exact_sum_ordered(rest, tangent_low)
    quotient = -1.0 / high
    residue = _residue(quotient, high, tail, target)
    inverse = multiply_add(quotient, residue, quotient, target)
    is_odd = (quarter & 1).ne(0)
    value = is_odd.where(inverse, high)
    return _nan_for_infinity(size, with_sign(value, bits(x)))


def _residue(quotient: UOp, high: UOp, tail: UOp, target: Target | None) -> UOp:
    """1 + quotient * (high + tail): by how much -1 / high misses -1 / (high + tail), relatively."""
    if has_multiply_add(high.dtype, target):
        residue = make(Op.FMA, None, (quotient, high, high.const_like(1.0)))
        return make(Op.FMA, None, (quotient, tail, residue))
    return quotient * tail


def _quarter_sine(rest: UOp, quarter: UOp, target: Target | None) -> UOp:
    """The sine of the rest in even quarters, its cosine in odd ones; without the quarters' sign."""
    square = rest * rest
    sine_curve = polynomial(coefficients.SIN, square, target)
    sine_value = multiply_add(rest * square, sine_curve, rest, target)
    cosine_curve = polynomial(coefficients.COS, square, target)
    half = square * 0.5
    start = 1.0 - half
    lost = (1.0 - start) - half
    cosine_value = start + multiply_add(square * square, cosine_curve, lost, target)
    return (quarter & 1).ne(0).where(cosine_value, sine_value)


def _nan_for_infinity(size: UOp, value: UOp) -> UOp:
    return (size < inf).where(value, nan)
