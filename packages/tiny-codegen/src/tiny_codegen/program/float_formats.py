"""Narrow floats as bits in integers: to float32, and from it by rounding to nearest even once."""

from __future__ import annotations

from tiny_codegen.program.math.float_bits import bits, unsigned_word_of
from tiny_ir import DType, UOp, const, dtypes

NARROW = frozenset(
    (
        dtypes.float8_e4m3,
        dtypes.float8_e5m2,
        dtypes.float8_e4m3fnuz,
        dtypes.float8_e5m2fnuz,
        dtypes.float16,
        dtypes.bfloat16,
    )
)
_WORD = dtypes.uint32
_WIDE = dtypes.float32
_WIDE_DIGITS = dtypes.float32.mantissa_bits
_WIDE_INFINITY = 0x7F800000
_WIDE_NAN = 0x7FC00000
_WIDE_SIZE = 0x7FFFFFFF


def widened(code: UOp, dtype: DType) -> UOp:
    """The float32 that the bits of a narrow float stand for; exact.

    Args:
        code: the bits, an unsigned integer as wide as `dtype`.
        dtype: a narrow float.
    """
    word = code.cast(_WORD)
    if dtype is dtypes.bfloat16:
        return (word << 16).bitcast(_WIDE)
    sign_bit = 1 << (dtype.bits - 1)
    size = word & (sign_bit - 1)
    shifted = size << (_WIDE_DIGITS - dtype.mantissa_bits)
    normal = shifted + ((dtypes.float32.bias - dtype.bias) << _WIDE_DIGITS)
    count = size.bitcast(dtypes.int32).cast(_WIDE)
    denormal = (count * float(dtype.smallest)).bitcast(_WORD)
    result = (size < (1 << dtype.mantissa_bits)).where(denormal, normal)
    if dtype.has_infinity:
        top = ((1 << dtype.exponent_bits) - 1) << dtype.mantissa_bits
        result = (size >= top).where(shifted | _WIDE_INFINITY, result)
    result = result | ((word & sign_bit) << (32 - dtype.bits))
    if dtype.is_fnuz:
        result = word.eq(sign_bit).where(_WIDE_NAN, result)
    elif not dtype.has_infinity:
        result = size.eq(sign_bit - 1).where(_WIDE_NAN, result)
    return result.bitcast(_WIDE)


def narrowed(x: UOp, dtype: DType) -> UOp:
    """The bits of the narrow float nearest to a float32; of two, the even one.

    What is too large becomes infinite; in the types of one byte, the largest number. Every NaN
    becomes the one that the op table computes.

    Args:
        x: a float32.
        dtype: a narrow float.

    Returns:
        An unsigned integer as wide as `dtype`.
    """
    word = x.bitcast(_WORD)
    size = word & _WIDE_SIZE
    is_nan = size > _WIDE_INFINITY
    dropped = _WIDE_DIGITS - dtype.mantissa_bits
    rounded = (size + ((size >> dropped) & 1) + ((1 << (dropped - 1)) - 1)) >> dropped
    sign = (word >> (32 - dtype.bits)) & (1 << (dtype.bits - 1))
    if dtype is dtypes.bfloat16:
        return is_nan.where(_nan_of(dtype), rounded | sign).cast(dtypes.uint16)
    normal = rounded - ((dtypes.float32.bias - dtype.bias) << dtype.mantissa_bits)
    # Added to this, a number is rounded where the last digit of the denormals stands.
    large = const(_WIDE, 2.0**_WIDE_DIGITS * float(dtype.smallest))
    denormal = (size.bitcast(_WIDE) + large).bitcast(_WORD) - large.bitcast(_WORD)
    result = (size < _bits_of(float(dtype.smallest_normal))).where(denormal, normal)
    result = _limited(result, size, dtype)
    signed = result | sign
    if dtype.is_fnuz:
        signed = result.eq(0).where(0, signed)
    return is_nan.where(_nan_of(dtype), signed).cast(unsigned_word_of(dtype))


def _limited(code: UOp, size: UOp, dtype: DType) -> UOp:
    infinity = ((1 << dtype.exponent_bits) - 1) << dtype.mantissa_bits
    if dtype.nbytes == 2:
        return (code > infinity).where(infinity, code)
    largest = (1 << (dtype.bits - 1)) - 1
    if dtype.has_infinity:
        limited = (code >= infinity).where(infinity - 1, code)
        return size.eq(_WIDE_INFINITY).where(infinity, limited)
    if not dtype.is_fnuz:
        largest -= 1
    return (code > largest).where(largest, code)


def _nan_of(dtype: DType) -> int:
    if dtype.is_fnuz:
        return 1 << (dtype.bits - 1)
    if not dtype.has_infinity:
        return (1 << (dtype.bits - 1)) - 1
    top = ((1 << dtype.exponent_bits) - 1) << dtype.mantissa_bits
    return top | 1 << (dtype.mantissa_bits - 1)


def _bits_of(power_of_two: float) -> int:
    exponent = int(power_of_two.hex().split("p")[1])
    return (exponent + dtypes.float32.bias) << _WIDE_DIGITS


# Rounding to odd --------------------------------------------------------------------------------
# A number that is rounded to odd with two digits to spare, and then to nearest, is rounded once.
# Source: S. Boldo, G. Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms
# using rounding to odd", IEEE Transactions on Computers 57(4), 2008.


def odd_float32_of_float64(x: UOp) -> UOp:
    """The float32 next to a float64 whose last bit is one, where the float64 is no float32."""
    near = x.cast(_WIDE)
    back = near.cast(dtypes.float64)
    code = bits(near)
    is_odd_wanted = back.ne(x) & (code & 1).eq(0)
    too_large = (bits(back) & dtypes.int64.maximum) > (bits(x) & dtypes.int64.maximum)
    step = too_large.where(code - 1, code + 1)
    return is_odd_wanted.where(step, code).bitcast(_WIDE)


def odd_float32_of_integer(x: UOp) -> UOp:
    """A float32 with the upper 12 digits of an integer or more, the last set if any are lost."""
    dtype = x.dtype
    if dtype.is_bool or dtype.bits <= 16:
        return x.cast(_WIDE)
    unsigned = dtypes.uint64 if dtype.bits == 64 else dtypes.uint32
    size = x if dtype.is_unsigned else (x < 0).where(0 - x, x).bitcast(unsigned)
    shift = size.const_like(0)
    scale = const(_WIDE, 1.0)
    for start, count in ((24, 12), (36, 24), (48, 36), (60, 40)):
        if start < dtype.bits:
            is_above = size >= (1 << start)
            shift = is_above.where(count, shift)
            scale = is_above.where(2.0**count, scale)
    kept = size >> shift
    lost = (kept << shift).ne(size)
    digits = lost.where(kept | 1, kept)
    result = digits.cast(dtypes.int32).cast(_WIDE) * scale
    return result if dtype.is_unsigned else (x < 0).where(-result, result)
