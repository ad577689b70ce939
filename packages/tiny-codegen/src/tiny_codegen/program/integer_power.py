"""Integers to a power, by squaring."""

from __future__ import annotations

from tiny_ir import Op, UOp, bounds


def power(base: UOp, exponent: UOp) -> UOp:
    """base ** exponent, wrapped; a negative power is the reciprocal without its fraction.

    Args:
        base: of an integer dtype with a width.
        exponent: of the same dtype. A constant costs as many products as it has digits.
    """
    if exponent.op is Op.CONST:
        return _constant_power(base, exponent.arg)
    low, high = bounds(exponent)
    value = _variable_power(base, exponent, int(high))
    return (exponent < 0).where(_reciprocal_power(base, exponent), value) if low < 0 else value


def _constant_power(base: UOp, exponent: int) -> UOp:
    if exponent < 0:
        return _reciprocal_power(base, base.const_like(exponent))
    result: UOp | None = None
    square = base
    while exponent:
        if exponent & 1:
            result = square if result is None else result * square
        exponent >>= 1
        if exponent:
            square = square * square
    # A power of zero is one, in the shape of the base.
    return result if result is not None else base & 0 | 1


def _variable_power(base: UOp, exponent: UOp, highest: int) -> UOp:
    """Powers of odd numbers repeat after 2**(bits - 2); those of even ones are 0 from `bits` on."""
    bits = base.dtype.bits
    digits = min(max(highest, 0).bit_length(), bits - 2)
    result = base.const_like(1)
    square = base
    for digit in range(digits):
        is_set = (exponent & (1 << digit)).ne(0)
        result = is_set.where(result * square, result)
        square = square * square
    if highest >= 1 << digits:
        is_nothing_left = (base & 1).eq(0) & (exponent >= bits)
        result = is_nothing_left.where(0, result)
    return result


def _reciprocal_power(base: UOp, exponent: UOp) -> UOp:
    """1 for 1, 1 or -1 for -1, and 0 for everything else, zero too."""
    sign = (exponent & 1).eq(0).where(1, base)
    is_unit = base.eq(1) if base.dtype.is_unsigned else base.eq(1) | base.eq(-1)
    return is_unit.where(sign, 0)
