"""Unevaluated sums of two floats: arithmetic with twice the digits.

Source:
    T. J. Dekker, "A floating-point technique for extending the available precision", Numerische
    Mathematik 18, 1971; D. E. Knuth, "The Art of Computer Programming", volume 2, section 4.2.2.
"""

from __future__ import annotations

from typing import NamedTuple

from tiny_codegen.program.math.float_bits import bits
from tiny_codegen.program.math.polynomial import has_multiply_add, multiply_add
from tiny_ir import Op, UOp, dtypes, make
from tiny_plugin import Target


class Words(NamedTuple):
    """high + low, where low is at most half of the last digit of high."""

    high: UOp
    low: UOp


def exact_sum(a: UOp, b: UOp) -> Words:
    """a + b without error."""
    total = a + b
    part = total - a
    return Words(total, (a - (total - part)) + (b - part))


def exact_sum_ordered(a: UOp, b: UOp) -> Words:
    """a + b without error, where a is zero or its exponent is not below that of b."""
    total = a + b
    return Words(total, b - (total - a))


def exact_product(a: UOp, b: UOp, target: Target | None) -> Words:
    """a * b without error, unless the error is below the smallest float."""
    product = a * b
    if has_multiply_add(a.dtype, target):
        return Words(product, make(Op.FMA, None, (a, b, -product)))
    (a_high, a_low), (b_high, b_low) = halves(a), halves(b)
    error = a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)
    return Words(product, error)


def halves(a: UOp) -> Words:
    """A float as the sum of two whose products are exact: by rounding its bits in the middle."""
    dropped = (a.dtype.mantissa_bits + 2) // 2
    high = ((bits(a) + (1 << (dropped - 1))) & -(1 << dropped)).bitcast(a.dtype)
    return Words(high, a - high)


def constant_words(like: UOp, high: float, low: float) -> Words:
    """A number given by a double and what that lost, in two floats of the dtype of `like`."""
    if like.dtype is dtypes.float64:
        return Words(like.const_like(high), like.const_like(low))
    upper = like.const_like(high)
    return Words(upper, like.const_like(high - upper.arg))


def product(a: Words, b: Words, target: Target | None) -> Words:
    """a * b; the product of the low words is left away."""
    high, error = exact_product(a.high, b.high, target)
    error = multiply_add(a.high, b.low, error, target)
    error = multiply_add(a.low, b.high, error, target)
    return exact_sum_ordered(high, error)
