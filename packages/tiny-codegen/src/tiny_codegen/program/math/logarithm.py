"""LOG, LOG2 and LOG1P: the exponent of the float, and a polynomial in its fraction."""

from __future__ import annotations

from math import inf, nan

from tiny_codegen.program.math import coefficients
from tiny_codegen.program.math.double_word import exact_product, exact_sum
from tiny_codegen.program.math.exponential import LOG2_E, limits_of
from tiny_codegen.program.math.float_bits import absolute, parts_of
from tiny_codegen.program.math.polynomial import has_multiply_add, multiply_add, polynomial
from tiny_ir import UOp, dtypes
from tiny_plugin import Target

_LOG2_E_LOWER_FLOAT32 = 1.925963033500011e-08  # log2(e) minus its float32
_LOG2_E_LOWER_FLOAT64 = 2.0355273740931033e-17  # log2(e) minus its float64


def logarithm(x: UOp, target: Target | None) -> UOp:
    """log(x), at most 0.9 ulp from exact."""
    fraction, exponent = parts_of(x)
    zero = x.const_like(0.0)
    result = _of_parts(fraction - 1.0, exponent, zero, target)
    return _with_specials(x, x, result)


def logarithm_of_one_plus(x: UOp, target: Target | None) -> UOp:
    """log(1 + x), at most 0.9 ulp from exact."""
    total, rest = exact_sum(x.const_like(1.0), x)
    fraction, exponent = parts_of(total)
    is_near_one = exponent.eq(0.0)
    f = is_near_one.where(x, fraction - 1.0)
    correction = is_near_one.where(0.0, rest / total)
    result = _of_parts(f, exponent, correction, target)
    result = _with_specials(x + 1.0, x, result)
    return (absolute(x) < 0.5 ** (x.dtype.mantissa_bits + 2)).where(x, result)


def logarithm_to_two(x: UOp, target: Target | None) -> UOp:
    """log2(x), at most 1.0 ulp from exact; 1.1 ulp in float32 without multiply-adds."""
    fraction, exponent = parts_of(x)
    f = fraction - 1.0
    if x.dtype is dtypes.float64:
        result = _log2_of_parts_float64(f, exponent, target)
    else:
        curve = polynomial(coefficients.LOG2, f, target)
        rest = f * multiply_add(f, curve, _LOG2_E_LOWER_FLOAT32, target)
        result = exponent + _plus_product(rest, f, LOG2_E, target)
    return _with_specials(x, x, result)


def _plus_product(rest: UOp, a: UOp, b: float, target: Target | None) -> UOp:
    """a * b + rest, rounded once, or nearly so."""
    if has_multiply_add(a.dtype, target):
        return multiply_add(a, b, rest, target)
    product, error = exact_product(a, a.const_like(b), target)
    return product + (error + rest)


def _of_parts(f: UOp, exponent: UOp, correction: UOp, target: Target | None) -> UOp:
    """log(1 + f) + exponent * log(2) + correction, summed from the smallest part up."""
    limits = limits_of(f.dtype)
    square = f * f
    if f.dtype is dtypes.float64:
        rest = _rest_of_ratio(f, square, target)
    else:
        rest = square * f * polynomial(coefficients.LOG, f, target)
    rest = multiply_add(exponent, limits.log2_lower, rest + correction, target)
    rest = multiply_add(square, -0.5, rest, target)
    return multiply_add(exponent, limits.log2_upper, f + rest, target)


def _rest_of_ratio(f: UOp, square: UOp, target: Target | None) -> UOp:
    """log(1 + f) - f + f**2 / 2, by s = f / (2 + f).

    Source:
        The scheme of log in fdlibm (Sun Microsystems, 1993): log(1 + f) = f - (h - s * (h + R))
        with h = f * f / 2 and R a polynomial in s * s.
    """
    s = f / (f + 2.0)
    z = s * s
    return s * multiply_add(square, 0.5, z * polynomial(coefficients.LOG_RATIO, z, target), target)


def _log2_of_parts_float64(f: UOp, exponent: UOp, target: Target | None) -> UOp:
    """log2 of 1 + f, plus the exponent, with the logarithm in two words before it is scaled."""
    square = f * f
    rest = _rest_of_ratio(f, square, target)
    high = multiply_add(square, -0.5, f, target)
    low = multiply_add(square, -0.5, f - high, target) + rest
    product, error = exact_product(high, high.const_like(LOG2_E), target)
    error = multiply_add(low, LOG2_E, error, target)
    error = multiply_add(high, _LOG2_E_LOWER_FLOAT64, error, target)
    total, lost = exact_sum(exponent, product)
    return total + (lost + error)


def _with_specials(x: UOp, x_if_large: UOp, result: UOp) -> UOp:
    """Logarithms of infinity, of zero, of negative numbers and of NaN, where x is one of them."""
    result = (x < inf).where(result, x_if_large)
    result = x.eq(0.0).where(-inf, result)
    return (x < 0.0).where(nan, result)
