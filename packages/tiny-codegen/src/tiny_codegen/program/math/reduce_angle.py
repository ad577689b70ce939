"""Subtract multiples of pi/2 from an angle of any size, and say which quarter turn is left.

Angles of moderate size: pi/2 in three floats, subtracted one after the other (Cody and Waite).
Larger ones: the fraction is cut off the product with a window of the bits of 2/pi (Payne and
Hanek), in integers. Targets without multiply-adds take the second way for all above pi/4.

Source:
    W. J. Cody, W. Waite, "Software Manual for the Elementary Functions", 1980.
    M. H. Payne, R. N. Hanek, "Radian reduction for trigonometric functions", SIGNUM Newsletter
    18(1), 1983.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from tiny_codegen.program.math.double_word import exact_product, exact_sum, exact_sum_ordered
from tiny_codegen.program.math.float_bits import bits, unsigned_word_of, word_of
from tiny_codegen.program.math.polynomial import has_multiply_add, multiply_add
from tiny_ir import DType, UOp, dtypes
from tiny_plugin import Target

TWO_OVER_PI = 0.6366197723675814
QUARTER_PI = 0.7853981633974483


class Angle(NamedTuple):
    """The angle that is left, between -pi/4 and pi/4 and a little more, and the quarter turns."""

    rest: UOp
    """What is left, rounded."""
    low: UOp
    """What rounding lost, less than the last digit of `rest`."""
    quarter: UOp
    """Whose two lowest bits say which quarter turn it is: a signed integer as wide as the float."""


class Facts(NamedTuple):
    """How angles of one dtype are reduced.

    Args:
        limit: the largest angle for the first way. Up to here the rounded number of quarter turns
            is off by so little that the rest stays within the interval of the polynomials.
        half_pi: pi/2 as a sum of three floats, largest first.
        window_words: how many words of 2/pi the largest float needs.
    """

    limit: float
    half_pi: tuple[float, float, float]
    window_words: int


_FLOAT32 = Facts(65536.0, (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15), 7)
_FLOAT64 = Facts(2.0**28, (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33), 19)

# The first 1280 binary digits of 2/pi after the point.
_DIGITS = """
    A2F9836E4E441529FC2757D1F534DDC0DB6295993C439041FE5163ABDEBBC561B7246E3A424DD2E0
    06492EEA09D1921CFE1DEB1CB129A73EE88235F52EBB4484E99C7026B45F7E413991D639835339F4
    9C845F8BBDF9283B1FF897FFDE05980FEF2F118B5A0A6D1F6D367ECF27CB09B74F463F669E5FEA2D
    7527BAC7EBE5F17B3D0739F78A5292EA6BFB5FB11F8D5D0856033046FC7B6BABF0CFBC209AF4361D
"""


def facts_of(dtype: DType) -> Facts:
    """How angles of a dtype are reduced."""
    return _FLOAT64 if dtype is dtypes.float64 else _FLOAT32


def reduced_angle(size: UOp, target: Target | None, *, twice: bool = False) -> Angle:
    """Reduce an angle that is not negative.

    Args:
        size: the angle, a float32 or float64. The rest is NaN for NaN, anything for infinity.
        target: decides which way moderate angles take.
        twice: whether `low` is needed; without it, it is zero.

    Returns:
        The rest, at most 1 ulp from exact; together with `low`, far less than that.
    """
    large = _of_window(size, target)
    if has_multiply_add(size.dtype, target):
        moderate = (_by_subtraction_twice if twice else _by_subtraction)(size, target)
        is_large = size > facts_of(size.dtype).limit
    else:
        moderate = Angle(size, size.const_like(0.0), large.quarter.const_like(0))
        is_large = size > QUARTER_PI
    return Angle(
        is_large.where(large.rest, moderate.rest),
        is_large.where(large.low, moderate.low) if twice else size.const_like(0.0),
        is_large.where(large.quarter, moderate.quarter),
    )


def _turns(size: UOp, target: Target | None) -> tuple[UOp, UOp]:
    """The nearest number of quarter turns, as a float, and in the low bits of an integer."""
    shift = 1.5 * 2.0**size.dtype.mantissa_bits
    shifted = multiply_add(size, TWO_OVER_PI, shift, target)
    return shifted - shift, bits(shifted)


def _by_subtraction(size: UOp, target: Target | None) -> Angle:
    """The first difference is exact; the others are each rounded to half of their last digit."""
    turns, quarter = _turns(size, target)
    rest = size
    for part in facts_of(size.dtype).half_pi:
        rest = multiply_add(turns, -part, rest, target)
    return Angle(rest, size.const_like(0.0), quarter)


def _by_subtraction_twice(size: UOp, target: Target | None) -> Angle:
    first, second, third = facts_of(size.dtype).half_pi
    turns, quarter = _turns(size, target)
    start = multiply_add(turns, -first, size, target)
    product, product_error = exact_product(turns, turns.const_like(-second), target)
    rest, error = exact_sum(start, product)
    low = multiply_add(turns, -third, error + product_error, target)
    return Angle(*exact_sum_ordered(rest, low), quarter)


# Payne and Hanek --------------------------------------------------------------------------------


def _of_window(size: UOp, target: Target | None) -> Angle:
    """Multiply the fraction of the float by those digits of 2/pi that do not give whole turns.

    With e the exponent, digits of weight 2**-k with k < e - 1 give multiples of four quarter turns.
    Of the product only what is left modulo four is kept: two digits of quarter turns, and twice as
    many digits of their fraction as the float has.
    """
    dtype = size.dtype
    word = unsigned_word_of(dtype)
    width, digits = word.bits, dtype.mantissa_bits
    raw = size.bitcast(word)
    fraction = raw & ((1 << digits) - 1) | (1 << digits)
    # One word of zeros stands before the digits, so that no angle above pi/4 starts before them.
    offset = (raw >> digits) - (dtype.bias + digits + 2 - width)
    words = [0, *_words(width, facts_of(dtype).window_words)]
    chosen = _four_words([raw.const_like(value) for value in words], offset >> _log2(width))
    count = offset & (width - 1)
    window = [
        (high << count) | ((low >> 1) >> (width - 1 - count)) for high, low in pairwise(chosen)
    ]
    multiply = _product_float64 if dtype is dtypes.float64 else _product_float32
    high, low = multiply(fraction, window)
    quarter = (high + (1 << (width - 3))) >> (width - 2)
    turn_high = (high << 2) | (low >> (width - 2))
    rest = _as_angle(turn_high, low << 2, dtype, target)
    return Angle(*rest, quarter.bitcast(bits(size).dtype))


def _log2(power: int) -> int:
    return power.bit_length() - 1


def _words(width: int, count: int) -> list[int]:
    digits = "".join(_DIGITS.split())
    step = width // 4
    return [int(digits[at * step : (at + 1) * step], 16) for at in range(count)]


def _four_words(words: list[UOp], index: UOp) -> list[UOp]:
    """Four words from position `index` on: shifts by the powers of two that it is made of."""
    for step in (16, 8, 4, 2, 1):
        if step > len(words) - 4:
            continue
        is_set = (index & step).ne(0)
        words = [
            is_set.where(words[at + step], words[at]) if at + step < len(words) else words[at]
            for at in range(4 + step - 1)
        ]
    return words


def _product_float32(fraction: UOp, window: list[UOp]) -> tuple[UOp, UOp]:
    """The upper 64 of the lower 96 bits of 24 bits times 96 bits, as two words."""
    wide = fraction.cast(dtypes.uint64)
    high, middle, low = window
    below = (wide * low.cast(dtypes.uint64)) >> 32
    sums = wide * middle.cast(dtypes.uint64) + below
    return fraction * high + (sums >> 32).cast(dtypes.uint32), sums.cast(dtypes.uint32)


def _product_float64(fraction: UOp, window: list[UOp]) -> tuple[UOp, UOp]:
    """The upper 128 of the lower 192 bits of 53 bits times 192 bits, as two words.

    Everything is cut into 32 bits, whose products fit into a word.
    """
    half = (1 << 32) - 1
    upper, lower = fraction >> 32, fraction & half
    limbs = [part for word in window for part in (word >> 32, word & half)]
    carried = (lower * limbs[5]) >> 32
    columns: list[UOp] = []
    for at in range(4, -1, -1):
        products = [lower * limbs[at], upper * limbs[at + 1]]
        column = carried + (products[0] & half) + (products[1] & half)
        columns.append(column & half)
        carried = (column >> 32) + (products[0] >> 32) + (products[1] >> 32)
    return (columns[4] << 32) | columns[3], (columns[2] << 32) | columns[1]


def _as_angle(high: UOp, low: UOp, dtype: DType, target: Target | None) -> tuple[UOp, UOp]:
    """A signed fraction of a quarter turn in two words of integer, as an angle in two floats."""
    width, digits = high.dtype.bits, dtype.mantissa_bits + 1
    dropped = width - digits
    word = word_of(dtype)
    # Integers that are floats without rounding. Where the first two nearly cancel, their sum is
    # exact, and what the third lost is nothing beside it.
    coarse, fine, finest = (
        part.bitcast(word).cast(dtype)
        for part in (high & -(1 << dropped), high & ((1 << dropped) - 1), low >> dropped)
    )
    turn, error = exact_sum_ordered(coarse, fine)
    turn, turn_low = exact_sum_ordered(turn, multiply_add(finest, 0.5**digits, error, target))
    first, second, _ = facts_of(dtype).half_pi
    scale = 0.5**width
    angle, error = exact_product(turn, turn.const_like(first * scale), target)
    error = multiply_add(turn, second * scale, error, target)
    error = multiply_add(turn_low, first * scale, error, target)
    return exact_sum_ordered(angle, error)
