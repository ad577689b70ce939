"""What few targets lack: rounding to whole numbers, extremes, negation, a * b + c rounded once."""

from __future__ import annotations

from math import inf

from tiny_codegen.program.capabilities import has_float64
from tiny_codegen.program.math.double_word import exact_product, exact_sum
from tiny_codegen.program.math.float_bits import absolute, bits, sign_bit, with_sign
from tiny_ir import Op, UOp, dtypes
from tiny_plugin import Target


def to_whole(x: UOp, op: Op) -> UOp:
    """TRUNC, FLOOR, CEIL or ROUND: adding and subtracting 2**digits rounds, the rest corrects.

    From that number on all floats are whole.
    """
    size = absolute(x)
    large = 2.0**x.dtype.mantissa_bits
    near = (size + large) - large
    if op is Op.TRUNC:
        near = (near > size).where(near - 1.0, near)
    signed = with_sign(near, bits(x))
    if op is Op.FLOOR:
        signed = (signed > x).where(signed - 1.0, signed)
    elif op is Op.CEIL:
        signed = with_sign(absolute((signed < x).where(signed + 1.0, signed)), bits(x))
    return (size < large).where(signed, x)


def extreme(a: UOp, b: UOp, op: Op) -> UOp:
    """MAX or MIN of floats: NaN stays, and -0 is below 0."""
    first, second = (a, b) if op is Op.MAX else (b, a)
    chosen = (first < second).where(b, a)
    both = bits(a).alu(Op.AND if op is Op.MAX else Op.OR, bits(b)).bitcast(a.dtype)
    ordered = a.eq(b).where(both, chosen)
    return (a.ne(a) | b.ne(b)).where(a + b, ordered)


def negative(x: UOp) -> UOp:
    """-x, also of zero and NaN."""
    return (bits(x) ^ sign_bit(x.dtype)).bitcast(x.dtype)


def multiply_add_once(a: UOp, b: UOp, c: UOp, target: Target | None) -> UOp:
    """a * b + c with one rounding.

    In float32 by float64, whose product is exact. In float64 the product is taken apart; it may
    neither overflow nor come near the smallest numbers.

    Source:
        S. Boldo, G. Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms
        using rounding to odd", IEEE Transactions on Computers 57(4), 2008.
    """
    if a.dtype is dtypes.float32 and has_float64(target):
        wide = [source.cast(dtypes.float64) for source in (a, b, c)]
        return _sum_to_odd(wide[0] * wide[1], wide[2]).cast(dtypes.float32)
    high, low = exact_product(a, b, target)
    upper, lower = exact_sum(c, low)
    total, error = exact_sum(high, upper)
    exact = total + _sum_to_odd(lower, error)
    plain = a * b + c
    # The plain sum has the right sign of zero, and the right infinity.
    is_sure = (absolute(exact) < inf) & exact.ne(0.0)
    is_infinite = absolute(c).eq(inf) & (absolute(a) < inf) & (absolute(b) < inf)
    return is_sure.where(exact, is_infinite.where(c, plain))


def _sum_to_odd(a: UOp, b: UOp) -> UOp:
    """a + b; where that is inexact, the neighbour whose last bit is one."""
    total, error = exact_sum(a, b)
    code = bits(total)
    away = ((error > 0.0) ^ (total < 0.0)).where(code + 1, code - 1)
    is_odd_wanted = ((error > 0.0) | (error < 0.0)) & (code & 1).eq(0)
    return is_odd_wanted.where(away, code).bitcast(total.dtype)
