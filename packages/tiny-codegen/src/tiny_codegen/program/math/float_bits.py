"""Take floats apart into sign, exponent and fraction, and put them together."""

from __future__ import annotations

from typing import NamedTuple

from tiny_ir import DType, UOp, dtypes


def word_of(dtype: DType) -> DType:
    """The signed integer as wide as a float."""
    return {2: dtypes.int16, 4: dtypes.int32, 8: dtypes.int64}[dtype.nbytes]


def unsigned_word_of(dtype: DType) -> DType:
    """The unsigned integer as wide as a float."""
    return {1: dtypes.uint8, 2: dtypes.uint16, 4: dtypes.uint32, 8: dtypes.uint64}[dtype.nbytes]


def bits(x: UOp) -> UOp:
    """The bits of a float as a signed integer."""
    return x.bitcast(word_of(x.dtype))


def sign_bit(dtype: DType) -> int:
    """The integer whose only bit is the sign of the float."""
    return -(1 << (dtype.bits - 1))


def absolute(x: UOp) -> UOp:
    """The float without its sign."""
    return (bits(x) & ~sign_bit(x.dtype)).bitcast(x.dtype)


def with_sign(size: UOp, signs: UOp) -> UOp:
    """Flip the sign of a float where the integer has its highest bit set."""
    return (bits(size) ^ (signs & sign_bit(size.dtype))).bitcast(size.dtype)


def at_least(x: UOp, low: float) -> UOp:
    """The larger of both; NaN stays."""
    return (x < low).where(low, x)


def at_most(x: UOp, high: float) -> UOp:
    """The smaller of both; NaN stays."""
    return (x > high).where(high, x)


def nearest_shift(dtype: DType) -> float:
    """The number that rounds what is added to it to a whole number, which its low bits then hold.

    Its low bits themselves hold twice the bias of the exponent.
    """
    return 1.5 * 2.0**dtype.mantissa_bits + 2 * dtype.bias


def power_of_two(exponent: UOp, dtype: DType) -> UOp:
    """2**exponent where the low bits of the integer hold the exponent plus the bias.

    The bits above those of an exponent are shifted out.
    """
    return (exponent << dtype.mantissa_bits).bitcast(dtype)


def scaled(x: UOp, shifted: UOp) -> UOp:
    """x * 2**n where the low bits of `shifted` hold n plus twice the bias.

    Two factors, each a normal number, reach every float: the first product is exact, the second
    one overflows, underflows and rounds to a denormal as it should, once.
    """
    half = shifted >> 1
    return x * power_of_two(half, x.dtype) * power_of_two(shifted - half, x.dtype)


class Parts(NamedTuple):
    """x = fraction * 2**exponent, with the fraction between the square roots of 1/2 and 2."""

    fraction: UOp
    exponent: UOp


def parts_of(x: UOp) -> Parts:
    """Take a positive finite float apart, denormals too.

    Returns:
        Both parts as floats; for other numbers something arbitrary.
    """
    dtype = x.dtype
    digits = dtype.mantissa_bits
    is_denormal = x < dtype.smallest_normal
    normal = is_denormal.where(x * 2.0**digits, x)
    one = dtype.bias << digits
    lowest = one - round((1 - 0.5**0.5) * 2 ** (digits + 1))  # the bits of the root of 1/2
    shifted = bits(normal) + (one - lowest)
    fraction = ((shifted & ((1 << digits) - 1)) + lowest).bitcast(dtype)
    # The exponent under the leading bit of 2**digits is a float at once: no conversion.
    large = (shifted >> digits | ((dtype.bias + digits) << digits)).bitcast(dtype)
    offset = float((1 << digits) + dtype.bias)
    exponent = large - is_denormal.where(offset + digits, x.const_like(offset))
    return Parts(fraction, exponent)
