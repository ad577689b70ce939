"""Remainders and whole quotients of floats, exact whatever the size of the quotient."""

from __future__ import annotations

import math

from tiny_ir import DType, Op, UOp, const, dtypes, make

_QUOTIENT_BITS = 51
"""What one division is trusted with: its quotient is off by less than 1/4, of 53 bits kept."""
_SIGNIFICAND_BITS = 52
_EXPONENT_BIAS = 1023
_WHOLE_BIAS = _EXPONENT_BIAS + _SIGNIFICAND_BITS
"""The biased exponent of a float64 whose last bit counts 1: IEEE 754, binary64."""
_NORMAL_MINIMUM = 2.0**-1022
_LARGEST = dtypes.float64.largest
_SQUARINGS = 5
"""A power of two becomes 2**(32 a + b); the largest between two float64 is 2097, so a < 66."""


def truncated_modulo(a: UOp, b: UOp) -> UOp:
    """The remainder of a / b with the sign of `a`, as IEEE 754 and C's `fmod` have it: exact."""
    wide = dtypes.float64
    x, y = _magnitude(a.cast(wide)), _magnitude(b.cast(wide))
    rest = _of_doubles(x, y) if a.dtype is wide else _of_narrow(x, y, a.dtype)
    return is_negative(a).where(-rest, rest).cast(a.dtype)


def float_modulo(a: UOp, b: UOp) -> UOp:
    """The remainder of a / b with the sign of `b`, as Python's `%` gives it."""
    if a.dtype.nbytes < dtypes.float32.nbytes:
        return float_modulo(a.cast(dtypes.float32), b.cast(dtypes.float32)).cast(a.dtype)
    rest = truncated_modulo(a, b)
    # A zero of the other sign, with the slope of the remainder: -0 + 0 is 0.
    zero = is_negative(b).where(-(-rest + 0.0), rest + 0.0)
    return rest.eq(0).where(zero, _has_other_sign(rest, b).where(rest + b, rest))


def float_quotient(a: UOp, b: UOp) -> UOp:
    """The largest whole number that is at most a / b, as Python's `//` gives it.

    Source:
        `float_divmod` of CPython: what is left after the remainder divides without a rest, but
        for the rounding of the division, so that the nearest whole number is the quotient.
    """
    if a.dtype.nbytes < dtypes.float32.nbytes:
        return float_quotient(a.cast(dtypes.float32), b.cast(dtypes.float32)).cast(a.dtype)
    quotient = make(Op.FDIV, None, (a, b))
    rest = truncated_modulo(a, b)
    whole = make(Op.FDIV, None, (a - rest, b))
    whole = _has_other_sign(rest, b).where(whole - 1, whole)
    below = whole.alu(Op.FLOOR)
    nearest = ((whole - below) > 0.5).where(below + 1, below)
    zero = const(a.dtype, 0.0)
    nearest = whole.eq(0).where(is_negative(quotient).where(-zero, zero), nearest)
    return b.eq(0).where(quotient, nearest)


def is_negative(x: UOp) -> UOp:
    """Whether the sign of a float is set: -0 is negative."""
    return x.cast(dtypes.float64).bitcast(dtypes.int64) < 0


def _magnitude(x: UOp) -> UOp:
    return is_negative(x).where(-x, x)


def _has_other_sign(rest: UOp, b: UOp) -> UOp:
    return ((rest < 0) & (b > 0)) | ((rest > 0) & (b < 0))


def _of_narrow(x: UOp, y: UOp, dtype: DType) -> UOp:
    """x mod y of what a narrower dtype holds: divide by the largest multiple first, in float64.

    Each difference is exact: it has no bit below those of x and y, and is smaller than both.
    """
    largest, smallest = math.frexp(dtype.largest)[1], math.frexp(dtype.smallest)[1]
    steps = -(-(largest - smallest + 1) // _QUOTIENT_BITS)
    rest = x
    finite = y.eq(math.inf).where(1.0, y)
    for step in reversed(range(steps)):
        divisor = finite * 2.0 ** (_QUOTIENT_BITS * step)
        quotient = make(Op.FDIV, None, (rest, divisor)).alu(Op.TRUNC)
        rest = make(Op.FMA, None, (-quotient, divisor, rest))
    rest = (rest < 0).where(rest + finite, rest)  # a quotient was rounded up
    return (x < y).where(x, rest)


def _of_doubles(x: UOp, y: UOp) -> UOp:
    """x mod y in float64, by modular powers: 2**n of its up to 2097 bits takes few divisions.

    With x = p * 2**(k + n) and y = m * 2**k, whole p and m below 2**53, the remainder is
    p * 2**n mod m, times 2**k.
    """
    p, exponent = _parts(x)
    m, k = _parts(y)
    n = (exponent - k).maximum(0)
    high = _remainder(_power_of_two(n >> _SQUARINGS), m)
    low = _remainder(p * _power_of_two(n & (2**_SQUARINGS - 1)), m)
    for _ in range(_SQUARINGS):
        high = _product_modulo(high, high, m)
    # 2**k may be below the smallest number: two factors, of which neither is.
    half = k >> 1
    rest = _product_modulo(high, low, m) * _power_of_two(half) * _power_of_two(k - half)
    valid = (x < math.inf) & (y > 0)
    rest = valid.where(rest, math.nan) + _slope_of_remainder(x, y)
    return (x < y).where(x, rest)


def _slope_of_remainder(x: UOp, y: UOp) -> UOp:
    """Zero, with the slopes that a remainder has: 1, and minus the quotient."""
    quotient = make(Op.FDIV, None, (x, y)).alu(Op.TRUNC).minimum(_LARGEST)
    dx, dy = (z - make(Op.DETACH, None, (z,)) for z in (x, y))
    return dx - dy * make(Op.DETACH, None, (quotient,))


def _parts(x: UOp) -> tuple[UOp, UOp]:
    """A positive float64 as a whole number in [2**52, 2**53) and the exponent of its last bit."""
    tiny = x < _NORMAL_MINIMUM
    bits = tiny.where(x * 2.0**_SIGNIFICAND_BITS, x).bitcast(dtypes.int64)
    exponent = (bits >> _SIGNIFICAND_BITS) - _WHOLE_BIAS
    whole = (bits & (2**_SIGNIFICAND_BITS - 1)) | (_WHOLE_BIAS << _SIGNIFICAND_BITS)
    return whole.bitcast(dtypes.float64), tiny.where(exponent - _SIGNIFICAND_BITS, exponent)


def _power_of_two(exponent: UOp) -> UOp:
    """2 to a small power, as float64."""
    return ((exponent + _EXPONENT_BIAS) << _SIGNIFICAND_BITS).bitcast(dtypes.float64)


def _remainder(x: UOp, m: UOp) -> UOp:
    """x mod m, both positive, where the quotient is known to be small."""
    quotient = make(Op.FDIV, None, (x, m)).alu(Op.TRUNC)
    rest = make(Op.FMA, None, (-quotient, m, x))
    return (rest < 0).where(rest + m, rest)


def _product_modulo(x: UOp, y: UOp, m: UOp) -> UOp:
    """x * y mod m of whole numbers, x and y below m, and m in [2**52, 2**53).

    The product is a rounded number and an error of at most 2**52; neither sum leaves (-m, m).
    """
    product = x * y
    error = make(Op.FMA, None, (x, y, -product))
    rest = _remainder(product, m)
    rest = (error > 0).where(rest - m, rest) + error
    return (rest < 0).where(rest + m, rest)
