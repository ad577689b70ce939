"""SINH, COSH and TANH: exponentials, and polynomials near zero."""

from __future__ import annotations

from typing import NamedTuple

from tiny_codegen.program.math import coefficients
from tiny_codegen.program.math.exponential import limits_of, near_zero, reduced_exponential
from tiny_codegen.program.math.float_bits import (
    absolute,
    at_most,
    bits,
    power_of_two,
    with_sign,
)
from tiny_codegen.program.math.polynomial import multiply_add, polynomial
from tiny_ir import UOp
from tiny_plugin import Target


class Halves(NamedTuple):
    """exp(x) / 2 as power + power * tail, and exp(-x) / 2."""

    power: UOp
    tail: UOp
    inverse: UOp


def hyperbolic_sine(x: UOp, target: Target | None) -> UOp:
    """sinh(x), at most 1.3 ulp from exact."""
    size = absolute(x)
    square = size * size
    curve = polynomial(coefficients.SINH, square, target)
    small = multiply_add(size * square, curve, size, target)
    power, tail, inverse = _halves(size, target)
    large = _doubled(power, multiply_add(power, tail, -inverse, target))
    return with_sign((size > 1.0).where(large, small), bits(x))


def hyperbolic_cosine(x: UOp, target: Target | None) -> UOp:
    """cosh(x), at most 1.3 ulp from exact."""
    power, tail, inverse = _halves(absolute(x), target)
    return _doubled(power, multiply_add(power, tail, inverse, target))


def _halves(size: UOp, target: Target | None) -> Halves:
    """Both exponentials, a quarter of them where exp(x) / 2 is still finite and exp(x) is not."""
    dtype = size.dtype
    limited = at_most(size, limits_of(dtype).highest + 0.6)
    r, shifted = reduced_exponential(limited, target)
    tail = near_zero(r, target)
    power = power_of_two(shifted - (dtype.bias + 2), dtype)
    inverse = 0.0625 / multiply_add(power, tail, power, target)
    return Halves(power, tail, inverse)


def _doubled(power: UOp, rest: UOp) -> UOp:
    return (power + rest) * 2.0


def hyperbolic_tangent(x: UOp, target: Target | None) -> UOp:
    """tanh(x), at most 1.4 ulp from exact.

    Near zero a polynomial; above, 1 - 2 / (exp(2 x) + 1), which is 1 where exp no longer matters.
    """
    dtype = x.dtype
    size = absolute(x)
    square = size * size
    curve = polynomial(coefficients.TANH, square, target)
    small = multiply_add(size * square, curve, size, target)
    # From here on the result rounds to 1.
    limited = at_most(size, 0.35 * (dtype.mantissa_bits + 3))
    r, shifted = reduced_exponential(limited + limited, target)
    factor = power_of_two(shifted - dtype.bias, dtype)
    exponential = multiply_add(factor, near_zero(r, target), factor, target)
    large = 1.0 - 2.0 / (exponential + 1.0)
    return with_sign((size < 0.625).where(small, large), bits(x))
