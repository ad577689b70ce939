"""EXP, EXP2 and EXPM1: a polynomial near zero, times a power of two."""

from __future__ import annotations

from typing import NamedTuple

from tiny_codegen.program.math import coefficients
from tiny_codegen.program.math.float_bits import (
    absolute,
    at_least,
    at_most,
    bits,
    nearest_shift,
    power_of_two,
    scaled,
)
from tiny_codegen.program.math.polynomial import multiply_add, polynomial
from tiny_ir import DType, UOp, dtypes
from tiny_plugin import Target

LOG2_E = 1.4426950408889634


class Limits(NamedTuple):
    """Arguments beyond which exp is 0 and infinite; log(2) in two parts, both positive.

    The upper part is so short that its product with the exponent of any float is exact.
    """

    lowest: float
    highest: float
    log2_upper: float
    log2_lower: float


_FLOAT32 = Limits(-104.0, 89.0, 0.693145751953125, 1.428606765330187e-06)
_FLOAT64 = Limits(-746.0, 710.0, 0.6931471803691238, 1.9082149292705877e-10)


def limits_of(dtype: DType) -> Limits:
    """The limits of exp in a dtype."""
    return _FLOAT64 if dtype is dtypes.float64 else _FLOAT32


class Reduced(NamedTuple):
    """exp(x) = exp(r) * 2**n, where the low bits of `shifted` hold n plus twice the bias."""

    r: UOp
    shifted: UOp


def reduced_exponential(x: UOp, target: Target | None) -> Reduced:
    """Divide exp(x) into a power of two and exp of a number near zero; x is within the limits."""
    limits = limits_of(x.dtype)
    shift = nearest_shift(x.dtype)
    shifted = multiply_add(x, LOG2_E, shift, target)
    n = shifted - shift
    r = multiply_add(n, -limits.log2_upper, x, target)
    r = multiply_add(n, -limits.log2_lower, r, target)
    return Reduced(r, bits(shifted))


def exponential(x: UOp, target: Target | None) -> UOp:
    """exp(x), at most 1.02 ulp from exact."""
    limits = limits_of(x.dtype)
    x = at_most(at_least(x, limits.lowest), limits.highest)
    r, shifted = reduced_exponential(x, target)
    return scaled(near_zero(r, target) + 1.0, shifted)


def near_zero(r: UOp, target: Target | None) -> UOp:
    """exp(r) - 1 for a reduced argument."""
    return multiply_add(r * r, polynomial(coefficients.EXP, r, target), r, target)


def exponential_of_two(x: UOp, target: Target | None) -> UOp:
    """2**x, at most 0.9 ulp from exact; 1.1 ulp without multiply-adds."""
    dtype = x.dtype
    lowest = -float(dtype.bias + dtype.mantissa_bits + 1)
    x = at_most(at_least(x, lowest), float(dtype.bias + 2))
    shift = nearest_shift(dtype)
    shifted = x + shift
    f = x - (shifted - shift)
    factor = multiply_add(f, polynomial(coefficients.EXP2, f, target), 1.0, target)
    return scaled(factor, bits(shifted))


def exponential_minus_one(x: UOp, target: Target | None) -> UOp:
    """exp(x) - 1, at most 1.4 ulp from exact."""
    dtype = x.dtype
    limited = at_most(at_least(x, -float(dtype.mantissa_bits)), limits_of(dtype).highest)
    r, shifted = reduced_exponential(limited, target)
    # Half of the result first: the power of two alone would be infinite for the largest ones.
    half = power_of_two(shifted - (dtype.bias + 1), dtype)
    curved = r * r * polynomial(coefficients.EXPM1, r, target)
    # What is straight first: where it nearly cancels, it does so without an error.
    straight = multiply_add(half, r, half - 0.5, target)
    result = multiply_add(half, curved, straight, target) * 2.0
    # Below this the result is x, whose last bit half of it would lose in a denormal.
    return (absolute(x) < 0.5 ** (dtype.mantissa_bits + 2)).where(x, result)
