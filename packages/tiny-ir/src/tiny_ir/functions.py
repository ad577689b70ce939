"""The functions of Python floats made total: every argument has a result, as IEEE 754 and C say."""

from __future__ import annotations

import math
import struct
from fractions import Fraction
from math import copysign, inf, isfinite, nan
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_WHOLE = 2.0**52  # from here on a Python float has no fraction
_FLOAT64 = struct.Struct("<d")


def _nan_outside(function: Callable[[float], float]) -> Callable[[float], float]:
    """Give NaN where the argument is outside the function's domain."""

    def total(x: float) -> float:
        try:
            return function(x)
        except ValueError:
            return nan

    return total


def _growing(function: Callable[[float], float]) -> Callable[[float], float]:
    """Give infinity where the result is too large; such a function keeps or loses the sign."""
    keeps_sign = function is math.sinh

    def total(x: float) -> float:
        try:
            return function(x)
        except OverflowError:
            return copysign(inf, x) if keeps_sign else inf

    return total


def _logarithm(function: Callable[[float], float], pole: float) -> Callable[[float], float]:
    """Give -infinity at the pole and NaN below it."""

    def total(x: float) -> float:
        if x <= pole:
            return -inf if x == pole else nan
        return function(x)

    return total


sqrt = _nan_outside(math.sqrt)
exp = _growing(math.exp)
exp2 = _growing(math.exp2)
expm1 = _growing(math.expm1)
log = _logarithm(math.log, 0.0)
log2 = _logarithm(math.log2, 0.0)
log1p = _logarithm(math.log1p, -1.0)
sin = _nan_outside(math.sin)
cos = _nan_outside(math.cos)
tan = _nan_outside(math.tan)
asin = _nan_outside(math.asin)
acos = _nan_outside(math.acos)
atan = math.atan
sinh = _growing(math.sinh)
cosh = _growing(math.cosh)
tanh = math.tanh
erf = math.erf


def _to_whole(function: Callable[[float], int]) -> Callable[[float], float]:
    """Round to a whole number and keep the sign, also that of zero; NaN and infinity stay."""

    def total(x: float) -> float:
        return copysign(float(function(x)), x) if abs(x) < _WHOLE else x

    return total


trunc = _to_whole(int)
floor = _to_whole(math.floor)
ceil = _to_whole(math.ceil)
half_even = _to_whole(round)


def divide(a: float, b: float) -> float:
    """Divide; by zero gives infinity, and 0/0 gives NaN."""
    if b:
        return a / b
    if a != a or not a:
        return nan
    return copysign(inf, a) * copysign(1.0, b)


def maximum(a: float, b: float) -> float:
    """Give the larger; NaN wins, and 0 is larger than -0 (IEEE 754-2019 maximum)."""
    if a > b:
        return a
    if b > a:
        return b
    if a == b:
        return b if copysign(1.0, a) < 0 else a
    return nan


def minimum(a: float, b: float) -> float:
    """Give the smaller; NaN wins, and -0 is smaller than 0 (IEEE 754-2019 minimum)."""
    if a < b:
        return a
    if b < a:
        return b
    if a == b:
        return a if copysign(1.0, a) < 0 else b
    return nan


def power(a: float, b: float) -> float:
    """Raise to a power as C does; 0 to a negative power is infinite."""
    try:
        return math.pow(a, b)
    except OverflowError:
        return -inf if a < 0 and b % 2 == 1 else inf
    except ValueError:
        if a:
            return nan
        return copysign(inf, a) if b % 2 == 1 else inf


def multiply_add(a: float, b: float, c: float) -> float:
    """Give a * b + c of doubles, rounded once."""
    if not (isfinite(a) and isfinite(b)):
        return a * b + c
    if not isfinite(c):
        return c  # the product may be too large for a double, but it is not infinite
    if not (a and b):
        return a * b + c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if not exact:
        return 0.0
    try:
        # Division of integers rounds to nearest even, once.
        return exact.numerator / exact.denominator
    except OverflowError:
        return inf if exact > 0 else -inf


def multiply_add_to_odd(a: float, b: float, c: float) -> float:
    """Give a * b + c so that rounding it to a narrower type rounds once.

    The product of two numbers of a type narrower than float64 is exact. The error of the sum is
    known exactly, and moves the sum to its odd neighbour.

    Args:
        a: like b and c, a value of float32 or a narrower type.

    Source:
        S. Boldo, G. Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms
        using rounding to odd", IEEE Transactions on Computers 57(4), 2008.
    """
    product = a * b
    total = product + c
    part = total - product
    error = (product - (total - part)) + (c - part)
    # NaN and infinity have no error: the comparison is false for NaN.
    if (error > 0.0 or error < 0.0) and not _FLOAT64.pack(total)[0] & 1:
        return math.nextafter(total, inf if error > 0.0 else -inf)
    return total
