"""Remainders and whole quotients of floats, from operations that round once."""

from __future__ import annotations

import math

from tiny_ir import Op, UOp, const, dtypes, make


def truncated_modulo(a: UOp, b: UOp) -> UOp:
    """The remainder of a / b with the sign of `a`: exact while the quotient is below 2**53.

    A quotient that was rounded up by division gives a remainder of the wrong sign; one more
    divisor cures that.
    """
    wide = dtypes.float64
    x, y = a.cast(wide), b.cast(wide)
    quotient = make(Op.FDIV, None, (x, y)).alu(Op.TRUNC)
    rest = make(Op.FMA, None, (quotient.alu(Op.NEG), y, x))
    size = _magnitude(y)
    rest = (_magnitude(rest) >= size).where(rest - _signed(size, rest), rest)
    wrong = ((rest < 0) & (x > 0)) | ((rest > 0) & (x < 0))
    rest = wrong.where(rest + _signed(size, x), rest)
    # Nothing is taken away where the divisor is infinite and the dividend is not.
    unchanged = size.eq(math.inf) & (_magnitude(x) < math.inf)
    rest = unchanged.where(x, rest)
    # A remainder of 0 keeps the sign of the dividend.
    return rest.eq(0).where(_signed(_zero(rest), x), rest).cast(a.dtype)


def float_modulo(a: UOp, b: UOp) -> UOp:
    """The remainder of a / b with the sign of `b`, as Python's `%` gives it."""
    rest = truncated_modulo(a, b)
    other_sign = ((rest < 0) & (b > 0)) | ((rest > 0) & (b < 0))
    signed_zero = _signed(_zero(b), b)
    return rest.eq(0).where(signed_zero, other_sign.where(rest + b, rest))


def float_quotient(a: UOp, b: UOp) -> UOp:
    """The largest whole number that is at most a / b, as Python's `//` gives it.

    Source:
        `float_divmod` of CPython: what is left after the remainder divides without a rest, but
        for the rounding of the division, so that the nearest whole number is the quotient.
    """
    if a.dtype.nbytes < dtypes.float32.nbytes:
        return float_quotient(a.cast(dtypes.float32), b.cast(dtypes.float32)).cast(a.dtype)
    quotient = make(Op.FDIV, None, (a, b))
    whole = make(Op.FDIV, None, (a - float_modulo(a, b), b))
    below = whole.alu(Op.FLOOR)
    nearest = ((whole - below) > 0.5).where(below + 1, below)
    by_infinity = _magnitude(b).eq(math.inf) & (_magnitude(a) < math.inf)
    differ = ((a < 0) & (b > 0)) | ((a > 0) & (b < 0))
    zero = _signed(_zero(a), quotient)
    whole = by_infinity.where(differ.where(const(a.dtype, -1), zero), nearest)
    whole = whole.eq(0).where(zero, whole)
    return b.eq(0).where(quotient, whole)


def _magnitude(x: UOp) -> UOp:
    return x.maximum(x.alu(Op.NEG))


def _zero(x: UOp) -> UOp:
    return const(x.dtype, 0.0)


def _signed(size: UOp, sign: UOp) -> UOp:
    """`size` with the sign of another number, of which -0 is negative.

    1 / -0 is minus infinity.
    """
    below = (sign < 0) | (make(Op.FDIV, None, (const(sign.dtype, 1), sign)) < 0)
    return below.where(size.alu(Op.NEG), size)
