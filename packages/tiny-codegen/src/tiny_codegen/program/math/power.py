"""POW of floats: the exponential of the exponent times the logarithm, with digits to spare."""

from __future__ import annotations

from math import inf, nan

from tiny_codegen.program.capabilities import has_float64
from tiny_codegen.program.math import coefficients
from tiny_codegen.program.math.double_word import (
    Words,
    constant_words,
    exact_product,
    exact_sum_ordered,
    product,
)
from tiny_codegen.program.math.exponential import LOG2_E
from tiny_codegen.program.math.float_bits import (
    absolute,
    at_least,
    at_most,
    bits,
    nearest_shift,
    parts_of,
    scaled,
    with_sign,
)
from tiny_codegen.program.math.polynomial import multiply_add, polynomial
from tiny_ir import Op, UOp, dtypes
from tiny_plugin import Target

_LOG_2 = 0.6931471805599453
_LOG2_E_LOW = 2.0355273740931033e-17  # what a double loses of log2(e)
_TWO_THIRDS, _TWO_THIRDS_LOW = 2 / 3, 3.700743415417188e-17


def power(x: UOp, y: UOp, target: Target | None) -> UOp:
    """x ** y, at most 0.51 ulp from exact in float32 and 1.3 ulp in float64.

    float32 is computed in float64 where the target has it; else in two words, at most 1.3 ulp.
    """
    if x.dtype is dtypes.float32 and has_float64(target):
        x, y = x.cast(dtypes.float64), y.cast(dtypes.float64)
        return _with_specials(x, y, _of_float32(absolute(x), y, target)).cast(dtypes.float32)
    return _with_specials(x, y, _of_two_words(absolute(x), y, target))


def _with_specials(x: UOp, y: UOp, size: UOp) -> UOp:
    """The power of x, where `size` is that of its absolute value.

    The sign is that of x where y is odd; other negative numbers have powers only for whole y.
    """
    is_whole = y.alu(Op.FLOOR).eq(y)
    half = y * 0.5
    is_odd = is_whole & half.alu(Op.FLOOR).ne(half)
    result = with_sign(size, is_odd.where(bits(x), bits(x).const_like(0)))
    is_finite_negative = (x < 0.0) & (x > -inf)
    result = (is_finite_negative & (is_whole ^ True)).where(nan, result)
    is_unit = absolute(x).eq(1.0) & absolute(y).eq(inf)
    return (y.eq(0.0) | x.eq(1.0) | is_unit).where(1.0, result)


def _limited_log(size: UOp, log: UOp) -> UOp:
    """The logarithm, also of infinity, NaN and zero."""
    return size.eq(0.0).where(-inf, (size < inf).where(log, size))


def _of_float32(size: UOp, y: UOp, target: Target | None) -> UOp:
    """The power of numbers that are float32, in float64: 2**-34 from exact, relatively."""
    fraction, exponent = parts_of(size)
    s = (fraction - 1.0) / (fraction + 1.0)
    curve = polynomial(coefficients.LOG2_RATIO_SHORT, s * s, target)
    log = _limited_log(size, multiply_add(s, curve, exponent, target))
    goal = at_most(at_least(y * log, -300.0), 300.0)
    shift = nearest_shift(size.dtype)
    shifted = goal + shift
    f = goal - (shifted - shift)
    return scaled(polynomial(coefficients.EXP2_SHORT, f, target), bits(shifted))


def _of_two_words(size: UOp, y: UOp, target: Target | None) -> UOp:
    dtype = size.dtype
    log = _log2_in_two_words(size, target)
    goal, error = exact_product(y, log.high, target)
    low = multiply_add(y, log.low, error, target)
    lowest, highest = -float(dtype.bias + dtype.mantissa_bits + 1), float(dtype.bias + 2)
    low = ((goal > lowest) & (goal < highest)).where(low, 0.0)
    goal = at_most(at_least(goal, lowest), highest)
    shift = nearest_shift(dtype)
    shifted = goal + shift
    f = goal - (shifted - shift)
    curve = polynomial(coefficients.EXP2, f, target)
    # The low word is so small that its effect is that of a factor.
    rest = low * _LOG_2 * multiply_add(f, curve, 1.0, target)
    return scaled(multiply_add(f, curve, rest, target) + 1.0, bits(shifted))


def _log2_in_two_words(size: UOp, target: Target | None) -> Words:
    """log2 with 12 digits more than a float: the first two terms of the series in two words."""
    fraction, exponent = parts_of(size)
    s = _ratio(fraction, target)
    square = product(s, s, target)
    tail = polynomial(coefficients.LOG_RATIO_TAIL, square.high, target)
    cubic = product(square, constant_words(size, _TWO_THIRDS, _TWO_THIRDS_LOW), target)
    rest = multiply_add(square.high * square.high, tail, cubic.low, target)
    curved = product(s, exact_sum_ordered(cubic.high, rest), target)
    high, lost = exact_sum_ordered(s.high * 2.0, curved.high)
    low = multiply_add(s.low, 2.0, lost + curved.low, target)
    scaled_log = product(Words(high, low), constant_words(size, LOG2_E, _LOG2_E_LOW), target)
    total, lost = exact_sum_ordered(exponent, scaled_log.high)
    total, low = exact_sum_ordered(total, lost + scaled_log.low)
    is_ordinary = size.ne(0.0) & (size < inf)
    return Words(_limited_log(size, total), is_ordinary.where(low, 0.0))


def _ratio(fraction: UOp, target: Target | None) -> Words:
    """(fraction - 1) / (fraction + 1)."""
    upper = fraction - 1.0
    lower, lower_low = exact_sum_ordered(fraction.const_like(1.0), fraction)
    inverse = 1.0 / lower
    high = upper * inverse
    near, error = exact_product(high, lower, target)
    missing = multiply_add(high, -lower_low, (upper - near) - error, target)
    return Words(high, missing * inverse)
