"""Integers of 64 bits as pairs of words of 32 bits: their arithmetic, in the ops of uint32."""

from __future__ import annotations

from typing import NamedTuple

from tiny_ir import Op, UOp, const, dtypes

_WORD = dtypes.uint32
_HALF = 0xFFFF


class Pair(NamedTuple):
    """low + high * 2**32, both uint32."""

    low: UOp
    high: UOp


def pair_of_constant(value: int) -> Pair:
    """The words of a number, modulo 2**64."""
    return Pair(const(_WORD, value), const(_WORD, value >> 32))


def add(a: Pair, b: Pair) -> Pair:
    """a + b."""
    low = a.low + b.low
    return Pair(low, a.high + b.high + (low < a.low).cast(_WORD))


def subtract(a: Pair, b: Pair) -> Pair:
    """a - b."""
    borrow = (a.low < b.low).cast(_WORD)
    return Pair(a.low - b.low, a.high - b.high - borrow)


def negate(a: Pair) -> Pair:
    """-a."""
    return subtract(pair_of_constant(0), a)


def multiply(a: Pair, b: Pair) -> Pair:
    """a * b, modulo 2**64."""
    across = a.low * b.high + a.high * b.low
    return Pair(a.low * b.low, _upper_product(a.low, b.low) + across)


def _upper_product(a: UOp, b: UOp) -> UOp:
    """The upper word of a product of words, from products of half words."""
    a_low, a_high, b_low, b_high = a & _HALF, a >> 16, b & _HALF, b >> 16
    first, second = a_low * b_high, a_high * b_low
    middle = (a_low * b_low >> 16) + (first & _HALF) + (second & _HALF)
    return a_high * b_high + (first >> 16) + (second >> 16) + (middle >> 16)


def bitwise(op: Op, a: Pair, b: Pair) -> Pair:
    """AND, OR or XOR, word by word."""
    return Pair(a.low.alu(op, b.low), a.high.alu(op, b.high))


def choose(condition: UOp, a: Pair, b: Pair) -> Pair:
    """a where the condition holds, else b."""
    return Pair(condition.where(a.low, b.low), condition.where(a.high, b.high))


def equal(a: Pair, b: Pair) -> UOp:
    """Whether all bits are equal."""
    return a.low.eq(b.low) & a.high.eq(b.high)


def less(a: Pair, b: Pair, *, signed: bool) -> UOp:
    """Whether a < b."""
    upper = [word.bitcast(dtypes.int32) if signed else word for word in (a.high, b.high)]
    return (upper[0] < upper[1]) | (a.high.eq(b.high) & (a.low < b.low))


def shift_left(a: Pair, count: UOp) -> Pair:
    """a << count for a count from 0 to 63."""
    small = count & 31
    moved = a.low << small
    carried = (a.low >> 1) >> (31 - small)
    is_word = (count & 32).ne(0)
    high = is_word.where(moved, (a.high << small) | carried)
    return Pair(is_word.where(0, moved), high)


def shift_right(a: Pair, count: UOp, *, signed: bool) -> Pair:
    """a >> count for a count from 0 to 63; signed ones copy their sign."""
    small = count & 31
    is_word = (count & 32).ne(0)
    carried = (a.high << 1) << (31 - small)
    low = (a.low >> small) | carried
    if not signed:
        moved = a.high >> small
        return Pair(is_word.where(moved, low), is_word.where(0, moved))
    upper = a.high.bitcast(dtypes.int32)
    moved = (upper >> small.bitcast(dtypes.int32)).bitcast(_WORD)
    return Pair(is_word.where(moved, low), is_word.where(sign_of(a), moved))


def sign_of(a: Pair) -> UOp:
    """A word of the sign bit alone."""
    return (a.high.bitcast(dtypes.int32) >> 31).bitcast(_WORD)


def magnitude(a: Pair) -> Pair:
    """The absolute value of a signed number, as an unsigned one."""
    sign = sign_of(a)
    return with_sign(a, sign)


def with_sign(a: Pair, sign: UOp) -> Pair:
    """a, negated where the word is all ones; it is zero elsewhere."""
    signs = Pair(sign, sign)
    return subtract(bitwise(Op.XOR, a, signs), signs)


def divide(a: Pair, b: Pair) -> tuple[Pair, Pair]:
    """Quotient and remainder of unsigned numbers, b not zero: a long division, bit by bit."""
    zero = pair_of_constant(0)
    rest = zero
    quotient: list[UOp] = []
    for word in (a.high, a.low):
        digits = word.const_like(0)
        for bit in range(31, -1, -1):
            is_beyond = rest.high >= 1 << 31
            next_bit = (word >> bit) & 1
            rest = Pair(rest.low << 1 | next_bit, rest.high << 1 | rest.low >> 31)
            fits = is_beyond | (less(rest, b, signed=False) ^ True)
            rest = choose(fits, subtract(rest, b), rest)
            digits = digits | fits.cast(_WORD) << bit
        quotient.append(digits)
    return Pair(quotient[1], quotient[0]), rest
