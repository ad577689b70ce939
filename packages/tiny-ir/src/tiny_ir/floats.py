"""Turn Python numbers into the values of an element type, and values into bits and bytes."""

from __future__ import annotations

import struct
from math import copysign, frexp, inf, ldexp, nan
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from tiny_ir import dtypes
from tiny_ir.dtypes import DTYPES, DType
from tiny_ir.errors import DTypeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

Scalar: TypeAlias = "bool | int | float"

_FLOAT16 = struct.Struct("<e")
_FLOAT32 = struct.Struct("<f")
_FLOAT64 = struct.Struct("<d")
_UINT64 = struct.Struct("<Q")
_FRACTION_BITS = 52  # of a Python float
_FRACTION = (1 << _FRACTION_BITS) - 1


# Rounding ---------------------------------------------------------------------------------------


def _round_through(packer: struct.Struct) -> Callable[[float], float]:
    """Round by packing: `struct` rounds to nearest even, once, and refuses what overflows."""
    pack, unpack = packer.pack, packer.unpack

    def rounded(x: float) -> float:
        try:
            value: float = unpack(pack(x))[0]
        except OverflowError:
            return copysign(inf, x)
        return value if value == value else nan

    return rounded


def _round_by_adding(dtype: DType) -> Callable[[float], float]:
    """Round by adding a number so large that one unit of its last bit is the wanted step.

    The addition of doubles rounds to nearest even, so the sum is rounded exactly once.
    Types of one byte saturate: only an infinite argument may become infinite.
    """
    lowest_exponent = 1 - dtype.bias
    largest = float(dtype.largest)
    step = ldexp(1.0, frexp(largest)[1] - 1 - dtype.mantissa_bits)
    limit = largest + step / 2  # at the limit a tie goes to the even side, which is too large
    shift = _FRACTION_BITS - dtype.mantissa_bits
    overflow = largest if dtype.nbytes == 1 else inf
    infinity = inf if dtype.has_infinity else largest
    has_negative_zero = not dtype.is_fnuz

    def rounded(x: float) -> float:
        size = abs(x)
        if not size < limit:
            if x != x:
                return nan
            return copysign(infinity if size == inf else overflow, x)
        exponent = frexp(size)[1] - 1
        # 1.5 keeps the sum inside one binade, where the step is one and the same.
        large = ldexp(1.5, (exponent if exponent > lowest_exponent else lowest_exponent) + shift)
        size = (size + large) - large
        return copysign(size, x) if size or has_negative_zero else 0.0

    return rounded


def _round_float64(x: float) -> float:
    return x if x == x else nan


def _rounder(dtype: DType) -> Callable[[float], float]:
    if dtype is dtypes.float16:
        return _round_through(_FLOAT16)
    if dtype is dtypes.float32:
        return _round_through(_FLOAT32)
    if dtype is dtypes.float64 or dtype is dtypes.weakfloat:
        return _round_float64
    return _round_by_adding(dtype)


_ROUNDERS: Mapping[DType, Callable[[float], float]] = MappingProxyType(
    {dtype: _rounder(dtype) for dtype in DTYPES.values() if dtype.is_float}
)


def rounder(dtype: DType) -> Callable[[float], float]:
    """Return the function that rounds a Python float to a float type.

    It rounds to nearest even, once. What is too large becomes infinite; in the types of one byte
    it becomes the largest value instead, and infinity stays where the type has it. Every NaN
    becomes the one NaN.

    Args:
        dtype: a float type.

    Raises:
        DTypeError: the type is not a float.

    Example:
        >>> rounder(dtypes.bfloat16)(0.1), rounder(dtypes.float8_e4m3)(500.0)
        (0.10009765625, 448.0)
    """
    found = _ROUNDERS.get(dtype)
    if found is None:
        raise DTypeError(
            f"cannot round to {dtype.name}.",
            why="only float types round; integers wrap.",
            fix="use wrapper(dtype), or a float dtype.",
        )
    return found


def round_to(dtype: DType, x: float) -> float:
    """Round a Python float to a float type.

    Example:
        >>> round_to(dtypes.float16, 1e6), round_to(dtypes.float8_e5m2, 1e6)
        (inf, 57344.0)
    """
    return rounder(dtype)(x)


def _round_to_odd(n: int) -> float:
    """Turn an integer into a double that rounds to any narrower type as the integer itself would.

    Bits that do not fit into a double are kept as one sticky last bit.

    Source:
        S. Boldo, G. Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms
        using rounding to odd", IEEE Transactions on Computers 57(4), 2008.
    """
    size = abs(n)
    dropped = size.bit_length() - (_FRACTION_BITS + 1)
    if dropped <= 0:
        return float(n)
    if dropped > 1023 - _FRACTION_BITS:
        return _signed(dtypes.float64.largest, n)
    kept = size >> dropped
    if kept << dropped != size:
        kept |= 1
    return _signed(ldexp(float(kept), dropped), n)


def _signed(size: float, n: int) -> float:
    return size if n >= 0 else -size


def _float64_of_int(n: int) -> float:
    try:
        return float(n)
    except OverflowError:
        return _signed(inf, n)


def int_rounder(dtype: DType) -> Callable[[int], float]:
    """Return the function that rounds an integer of any size to a float type, once.

    Example:
        >>> int_rounder(dtypes.float32)(2**24 + 1), int_rounder(dtypes.float16)(10**400)
        (16777216.0, inf)
    """
    rounded = rounder(dtype)
    if rounded is _round_float64:
        return _float64_of_int
    return lambda n: rounded(_round_to_odd(n))


# Wrapping ---------------------------------------------------------------------------------------


def _wrapper(dtype: DType) -> Callable[[int], int]:
    if dtype.is_bool:
        return bool
    if dtype.is_weak:
        return int
    mask = (1 << dtype.bits) - 1
    if dtype.is_unsigned:
        return mask.__and__
    sign = 1 << (dtype.bits - 1)

    def wrapped(n: int) -> int:
        return n if -sign <= n < sign else ((n & mask) ^ sign) - sign

    return wrapped


_WRAPPERS: Mapping[DType, Callable[[int], int]] = MappingProxyType(
    {dtype: _wrapper(dtype) for dtype in DTYPES.values() if dtype.is_int or dtype.is_bool}
)


def wrapper(dtype: DType) -> Callable[[int], int]:
    """Return the function that wraps a Python int to the width of an integer type.

    For bool it says whether the number is not zero; weakint does not wrap.

    Raises:
        DTypeError: the type is not an integer or bool.

    Example:
        >>> wrapper(dtypes.int8)(200), wrapper(dtypes.uint8)(-1)
        (-56, 255)
    """
    found = _WRAPPERS.get(dtype)
    if found is None:
        raise DTypeError(
            f"cannot wrap to {dtype.name}.",
            why="only integers and bool wrap; floats round.",
            fix="use rounder(dtype), or an integer dtype.",
        )
    return found


def wrap(dtype: DType, n: int) -> int:
    """Wrap a Python int to the width of an integer type.

    Example:
        >>> wrap(dtypes.int16, 40000)
        -25536
    """
    return wrapper(dtype)(n)


# Bits -------------------------------------------------------------------------------------------


def _nan_to_bits(dtype: DType, x: float) -> int:
    """Bits of a NaN. The payload survives, so that a bitcast there and back changes nothing."""
    if dtype.is_fnuz:
        return 1 << (dtype.bits - 1)
    bits: int = _UINT64.unpack(_FLOAT64.pack(x))[0]
    sign = bits >> 63 << (dtype.bits - 1)
    exponent = ((1 << dtype.exponent_bits) - 1) << dtype.mantissa_bits
    if not dtype.has_infinity:
        return sign | exponent | ((1 << dtype.mantissa_bits) - 1)
    payload = (bits & _FRACTION) >> (_FRACTION_BITS - dtype.mantissa_bits)
    return sign | exponent | (payload or 1 << (dtype.mantissa_bits - 1))


def _nan_from_bits(dtype: DType, bits: int) -> float:
    sign = bits >> (dtype.bits - 1) << 63
    payload = (bits & ((1 << dtype.mantissa_bits) - 1)) << (_FRACTION_BITS - dtype.mantissa_bits)
    if not dtype.has_infinity:
        payload = 1 << (_FRACTION_BITS - 1)
    exponent = 0x7FF << _FRACTION_BITS
    value: float = _FLOAT64.unpack(_UINT64.pack(sign | exponent | payload))[0]
    return value if not dtype.is_fnuz else nan


def _float_encoder(dtype: DType) -> Callable[[float], int]:
    rounded = rounder(dtype)
    lowest_exponent, bias, mantissa_bits = 1 - dtype.bias, dtype.bias, dtype.mantissa_bits
    sign_bit = 1 << (dtype.bits - 1)
    infinity = ((1 << dtype.exponent_bits) - 1) << mantissa_bits
    implicit = 1 << mantissa_bits

    def encode(x: float) -> int:
        if x != x:
            return _nan_to_bits(dtype, x)
        value = rounded(x)
        sign = sign_bit if copysign(1.0, value) < 0 else 0
        size = abs(value)
        if size == inf:
            return sign | infinity
        exponent = max(frexp(size)[1] - 1, lowest_exponent)
        fraction = int(ldexp(size, mantissa_bits - exponent))
        # A fraction below the implicit bit is subnormal: its stored exponent is zero.
        stored = exponent + bias if fraction >= implicit else 0
        return sign | stored << mantissa_bits | (fraction & (implicit - 1))

    return encode


def _float_decoder(dtype: DType) -> Callable[[int], float]:
    mantissa_bits, bias = dtype.mantissa_bits, dtype.bias
    sign_bit = 1 << (dtype.bits - 1)
    implicit = 1 << mantissa_bits
    top = (1 << dtype.exponent_bits) - 1
    first_nan = (top << mantissa_bits) + (1 if dtype.has_infinity else implicit - 1)

    def decode(bits: int) -> float:
        size = bits & (sign_bit - 1)
        if dtype.is_fnuz:
            if bits == sign_bit:
                return nan
        elif size >= first_nan:
            return _nan_from_bits(dtype, bits)
        exponent, fraction = size >> mantissa_bits, size & (implicit - 1)
        if exponent == top and dtype.has_infinity:
            value = inf
        elif exponent:
            value = ldexp(float(fraction | implicit), exponent - bias - mantissa_bits)
        else:
            value = ldexp(float(fraction), 1 - bias - mantissa_bits)
        return -value if bits & sign_bit else value

    return decode


def _struct_encoder(dtype: DType, packer: struct.Struct) -> Callable[[float], int]:
    pack, rounded, from_bytes = packer.pack, rounder(dtype), int.from_bytes

    def encode(x: float) -> int:
        if x != x:
            return _nan_to_bits(dtype, x)
        return from_bytes(pack(rounded(x)), "little")

    return encode


def _struct_decoder(dtype: DType, packer: struct.Struct) -> Callable[[int], float]:
    unpack, nbytes = packer.unpack, dtype.nbytes

    def decode(bits: int) -> float:
        value: float = unpack(bits.to_bytes(nbytes, "little"))[0]
        return value if value == value else _nan_from_bits(dtype, bits)

    return decode


def _encoder(dtype: DType) -> Callable[[Scalar], int]:
    if dtype.is_bool:
        return lambda value: int(value != 0)
    if dtype.is_int:
        mask = (1 << dtype.bits) - 1
        return lambda value: int(value) & mask
    if dtype.format:
        return _struct_encoder(dtype, struct.Struct("<" + dtype.format))
    return _float_encoder(dtype)


def _decoder(dtype: DType) -> Callable[[int], Scalar]:
    if dtype.is_float:
        if dtype.format:
            return _struct_decoder(dtype, struct.Struct("<" + dtype.format))
        return _float_decoder(dtype)
    return _wrapper(dtype)


_STORED = tuple(dtype for dtype in DTYPES.values() if dtype.nbytes)
_ENCODERS: Mapping[DType, Callable[[Scalar], int]] = MappingProxyType(
    {dtype: _encoder(dtype) for dtype in _STORED}
)
_DECODERS: Mapping[DType, Callable[[int], Scalar]] = MappingProxyType(
    {dtype: _decoder(dtype) for dtype in _STORED}
)


def _no_bits(dtype: DType) -> DTypeError:
    return DTypeError(
        f"{dtype.name} has no bits.",
        why="weak types and void are never stored in memory.",
        fix="cast to a type that has a size, such as int32 or float32.",
    )


def encoder(dtype: DType) -> Callable[[Scalar], int]:
    """Return the function from a value to its bits; it rounds or wraps first.

    Raises:
        DTypeError: the type has no bits.

    Example:
        >>> hex(encoder(dtypes.float16)(1.0))
        '0x3c00'
    """
    found = _ENCODERS.get(dtype)
    if found is None:
        raise _no_bits(dtype)
    return found


def decoder(dtype: DType) -> Callable[[int], Scalar]:
    """Return the function from bits to the value they stand for.

    Raises:
        DTypeError: the type has no bits.

    Example:
        >>> decoder(dtypes.float8_e5m2)(0x7B)
        57344.0
    """
    found = _DECODERS.get(dtype)
    if found is None:
        raise _no_bits(dtype)
    return found


def bits_of(dtype: DType, value: Scalar) -> int:
    """Give the bits of one value.

    Example:
        >>> bits_of(dtypes.int8, -1), hex(bits_of(dtypes.bfloat16, 1.0))
        (255, '0x3f80')
    """
    return encoder(dtype)(value)


def value_of(dtype: DType, bits: int) -> Scalar:
    """Give the value that bits stand for.

    Example:
        >>> value_of(dtypes.int8, 255), value_of(dtypes.float8_e4m3, 0x7E)
        (-1, 448.0)
    """
    return decoder(dtype)(bits)


# Bytes ------------------------------------------------------------------------------------------


def pack_values(dtype: DType, values: Iterable[Scalar]) -> bytes:
    """Lay values out in memory, little end first; values are rounded or wrapped.

    Example:
        >>> pack_values(dtypes.int16, [1, -1]).hex()
        '0100ffff'
    """
    encode, nbytes = encoder(dtype), dtype.nbytes
    return b"".join([encode(value).to_bytes(nbytes, "little") for value in values])


def unpack_values(dtype: DType, data: bytes | bytearray | memoryview) -> list[Scalar]:
    """Read all values from memory, little end first.

    Example:
        >>> unpack_values(dtypes.float16, bytes([0, 0x3C, 0, 0xC0]))
        [1.0, -2.0]
    """
    decode, nbytes = decoder(dtype), dtype.nbytes
    data = bytes(data)
    if nbytes == 1:
        table = [decode(bits) for bits in range(256)]
        return [table[byte] for byte in data]
    if dtype.is_int or dtype is dtypes.float64:
        return list(struct.unpack(f"<{len(data) // nbytes}{dtype.format}", data))
    words = struct.unpack(f"<{len(data) // nbytes}{'H' if nbytes == 2 else 'I'}", data)
    return [decode(bits) for bits in words]


def value_in(dtype: DType, value: Scalar) -> Scalar:
    """Turn a Python number into a value of the type, as a constant of that type would be.

    Floats are rounded, integers wrap, a float given for an integer type is truncated.

    Example:
        >>> value_in(dtypes.uint8, 300), value_in(dtypes.float16, 1), value_in(dtypes.bool_, 3)
        (44, 1.0, True)
    """
    if dtype.is_float:
        return rounder(dtype)(value) if isinstance(value, float) else int_rounder(dtype)(value)
    if isinstance(value, float):
        return value != 0 if dtype.is_bool else wrapper(dtype)(truncated(value, dtype))
    return wrapper(dtype)(int(value))


_INT64_MINIMUM, _INT64_MAXIMUM = -(2**63), 2**63 - 1


def truncated(x: float, dtype: DType) -> int:
    """Cut a float to an integer that fits into int64 (uint64 reaches up to its own maximum).

    NaN becomes 0 and what does not fit becomes the nearest integer that does.

    Example:
        >>> truncated(-2.9, dtypes.int8), truncated(inf, dtypes.int8) == 2**63 - 1
        (-2, True)
    """
    if x != x:
        return 0
    highest = 2**64 - 1 if dtype is dtypes.uint64 else _INT64_MAXIMUM
    if x >= highest:
        return highest
    return int(x) if x > _INT64_MINIMUM else _INT64_MINIMUM


__all__ = [
    "Scalar",
    "bits_of",
    "decoder",
    "encoder",
    "int_rounder",
    "pack_values",
    "round_to",
    "rounder",
    "truncated",
    "unpack_values",
    "value_in",
    "value_of",
    "wrap",
    "wrapper",
]
