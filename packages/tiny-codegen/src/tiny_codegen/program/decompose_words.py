"""Integers of 64 bits become pairs of uint32 where a target has none.

before   ADD(a, b)                                                 uint64
after    OR(SHL(CAST(high), 32), CAST(low)), with low and high in additions and a carry of uint32

This form is what every value of 64 bits has after it: two words joined. What uses the value takes
the words out again, so that nothing of 64 bits is left in a kernel. Memory holds twice as many
words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from tiny_codegen.program import word_pairs
from tiny_codegen.program.word_pairs import Pair
from tiny_ir import (
    DType,
    Op,
    RegisterArg,
    RuleSet,
    UOp,
    anything,
    bounds,
    const,
    dtypes,
    make,
    node,
    rule,
)
from tiny_plugin import Target

_WORD = dtypes.uint32
_LONG = dtypes.uint64
_WORD_BITS = 32

a, b, c, x = anything("a"), anything("b"), anything("c"), anything("x")


def is_long(dtype: DType) -> bool:
    """Whether an integer has 64 bits."""
    return dtype is dtypes.int64 or dtype is dtypes.uint64


def lacks_long(target: Target | None) -> bool:
    """Whether a target has no integers of 64 bits."""
    return target is not None and not target.supports(Op.ADD, _LONG)


# The joined form --------------------------------------------------------------------------------


def joined(pair: Pair, dtype: DType) -> UOp:
    """One value of 64 bits, of two words."""
    high = pair.high.cast(_LONG) << _WORD_BITS
    # A cast, not a bitcast: bounds are known through it.
    return (high | pair.low.cast(_LONG)).cast(dtype)


def words_of(value: UOp) -> Pair | None:
    """The words of a value that is joined, a constant, or wider than what it was cast from."""
    while value.op in (Op.CAST, Op.BITCAST) and is_long(value.src[0].dtype):
        value = value.src[0]
    if value.op is Op.CONST:
        return word_pairs.pair_of_constant(value.arg)
    if value.op is Op.CAST and value.src[0].dtype.bits <= _WORD_BITS:
        return _words_of_cast(value.src[0])
    if value.op is Op.OR and value.src[0].op is Op.SHL and _is_upper(value.src[0]):
        low = value.src[1]
        if low.op is Op.CAST and low.src[0].dtype is _WORD:
            return Pair(low.src[0], value.src[0].src[0].src[0])
    if value.op is Op.SHL and _is_upper(value):
        return Pair(const(_WORD, 0), value.src[0].src[0])
    return None


def _words_of_cast(source: UOp) -> Pair | None:
    if source.dtype.is_float:
        return None
    low = source.cast(_WORD)
    if source.dtype.is_bool or source.dtype.is_unsigned:
        return Pair(low, const(_WORD, 0))
    return Pair(low, (source.cast(dtypes.int32) >> 31).bitcast(_WORD))


def _is_upper(shifted: UOp) -> bool:
    word, count = shifted.src
    is_word = word.op is Op.CAST and word.src[0].dtype is _WORD
    return is_word and count.op is Op.CONST and count.arg == _WORD_BITS


def _pairs_of(values: tuple[UOp, ...]) -> list[Pair] | None:
    pairs = [words_of(value) for value in values]
    known = [pair for pair in pairs if pair is not None]
    return known if len(known) == len(pairs) else None


# Arithmetic -------------------------------------------------------------------------------------

Arithmetic: TypeAlias = "Callable[[Pair, Pair, bool], Pair]"


def _quotient(a: Pair, b: Pair, signed: bool) -> Pair:
    sizes = [word_pairs.magnitude(side) if signed else side for side in (a, b)]
    result, _ = word_pairs.divide(*sizes)
    if signed:
        result = word_pairs.with_sign(result, word_pairs.sign_of(a) ^ word_pairs.sign_of(b))
    return _zero_by_zero(b, result)


def _remainder(a: Pair, b: Pair, signed: bool) -> Pair:
    sizes = [word_pairs.magnitude(side) if signed else side for side in (a, b)]
    _, result = word_pairs.divide(*sizes)
    if signed:
        result = word_pairs.with_sign(result, word_pairs.sign_of(a))
    return _zero_by_zero(b, result)


def _zero_by_zero(divisor: Pair, result: Pair) -> Pair:
    zero = word_pairs.pair_of_constant(0)
    return word_pairs.choose(word_pairs.equal(divisor, zero), zero, result)


_ARITHMETIC: Mapping[Op, Arithmetic] = MappingProxyType(
    {
        Op.ADD: lambda a, b, signed: word_pairs.add(a, b),
        Op.SUB: lambda a, b, signed: word_pairs.subtract(a, b),
        Op.MUL: lambda a, b, signed: word_pairs.multiply(a, b),
        Op.AND: lambda a, b, signed: word_pairs.bitwise(Op.AND, a, b),
        Op.OR: lambda a, b, signed: word_pairs.bitwise(Op.OR, a, b),
        Op.XOR: lambda a, b, signed: word_pairs.bitwise(Op.XOR, a, b),
        Op.SHL: lambda a, b, signed: word_pairs.shift_left(a, b.low & 63),
        Op.SHR: lambda a, b, signed: word_pairs.shift_right(a, b.low & 63, signed=signed),
        Op.CDIV: _quotient,
        Op.CMOD: _remainder,
    }
)


@rule(node(tuple(_ARITHMETIC), a, b, name="root", of=is_long))
def long_arithmetic_is_done_in_words(
    root: UOp, a: UOp, b: UOp, target: Target | None
) -> UOp | None:
    if not lacks_long(target) or words_of(root) is not None:
        return None
    if root.op in (Op.CDIV, Op.CMOD):
        short = _short_division(root)
        if short is not None:
            return short
    pairs = _pairs_of((a, b))
    if pairs is None:
        return None
    first, second = pairs
    signed = not root.dtype.is_unsigned
    return joined(_ARITHMETIC[root.op](first, second, signed), root.dtype)


def _short_division(root: UOp) -> UOp | None:
    """Numbers that fit into a word divide as words."""
    if any(not 0 <= bounds(source)[0] <= bounds(source)[1] < 1 << 32 for source in root.src):
        return None
    numerator, divisor = (source.cast(_WORD) for source in root.src)
    return numerator.alu(root.op, divisor).cast(root.dtype)


@rule(node(Op.NEG, a, name="root", of=is_long))
def long_negation_is_done_in_words(root: UOp, a: UOp, target: Target | None) -> UOp | None:
    pair = words_of(a) if lacks_long(target) else None
    return None if pair is None else joined(word_pairs.negate(pair), root.dtype)


@rule(node((Op.MAX, Op.MIN), a, b, name="root", of=is_long))
def long_extremes_compare_and_choose(
    root: UOp, a: UOp, b: UOp, target: Target | None
) -> UOp | None:
    if not lacks_long(target):
        return None
    return (a < b).where(b, a) if root.op is Op.MAX else (b < a).where(b, a)


@rule(node((Op.CMPLT, Op.CMPLE, Op.CMPEQ, Op.CMPNE), a, b, name="root"))
def long_numbers_are_compared_in_words(
    root: UOp, a: UOp, b: UOp, target: Target | None
) -> UOp | None:
    if not is_long(a.dtype) or not lacks_long(target):
        return None
    pairs = _pairs_of((a, b))
    if pairs is None:
        return None
    first, second = pairs
    signed = not a.dtype.is_unsigned
    match root.op:
        case Op.CMPLT:
            return word_pairs.less(first, second, signed=signed)
        case Op.CMPLE:
            return word_pairs.less(second, first, signed=signed) ^ True
        case Op.CMPEQ:
            return word_pairs.equal(first, second)
        case _:
            return word_pairs.equal(first, second) ^ True


@rule(node(Op.WHERE, c, a, b, name="root", of=is_long))
def long_numbers_are_chosen_in_words(
    root: UOp, c: UOp, a: UOp, b: UOp, target: Target | None
) -> UOp | None:
    pairs = _pairs_of((a, b)) if lacks_long(target) else None
    return None if pairs is None else joined(word_pairs.choose(c, *pairs), root.dtype)


# Conversions ------------------------------------------------------------------------------------


@rule(node(Op.CAST, x, name="root"))
def long_numbers_are_cast_in_words(root: UOp, x: UOp, target: Target | None) -> UOp | None:
    if not lacks_long(target):
        return None
    if is_long(root.dtype):
        if x.dtype.is_float:
            return _of_float(x, root.dtype)
        pair = words_of(x) if is_long(x.dtype) else None
        return None if pair is None else joined(pair, root.dtype)
    if not is_long(x.dtype):
        return None
    pair = words_of(x)
    if pair is None:
        return None
    if root.dtype.is_bool:
        return (pair.low | pair.high).ne(0)
    if root.dtype.is_float:
        return _to_float(x, pair, root.dtype)
    return pair.low.bitcast(root.dtype) if root.dtype.bits == 32 else pair.low.cast(root.dtype)


def _of_float(x: UOp, dtype: DType) -> UOp:
    """A float that is known to fit: its upper and its lower word are floats too."""
    whole = x.alu(Op.TRUNC)
    size = (whole < 0.0).where(-whole, whole)
    upper = (size * 0.5**32).alu(Op.FLOOR)
    pair = Pair((size - upper * 2.0**32).cast(_WORD), upper.cast(_WORD))
    sign = (whole < 0.0).where(const(_WORD, -1), const(_WORD, 0))
    return joined(word_pairs.with_sign(pair, sign), dtype)


def _to_float(x: UOp, pair: Pair, dtype: DType) -> UOp | None:
    """Shift the number into one word, keep in its last bit whether bits were lost, and scale it.

    With two digits more than the float has, converting the word rounds once. float64 holds the
    product of the upper word and the sum is rounded once.
    """
    signed = not x.dtype.is_unsigned
    if dtype is dtypes.float64:
        high = pair.high.bitcast(dtypes.int32) if signed else pair.high
        return high.cast(dtype) * 2.0**32 + pair.low.cast(dtype)
    if dtype is not dtypes.float32:
        return None
    size = word_pairs.magnitude(pair) if signed else pair
    count, scale = const(_WORD, 0), const(dtype, 1.0)
    for start, bits in ((32, 6), (38, 12), (44, 18), (50, 24), (56, 30), (62, 32)):
        is_above = size.high >= 1 << (start - 32)
        count = is_above.where(bits, count)
        scale = is_above.where(2.0**bits, scale)
    kept = word_pairs.shift_right(size, count, signed=False)
    back = word_pairs.shift_left(kept, count)
    lost = (word_pairs.equal(back, size) ^ True).cast(_WORD)
    result = (kept.low | lost).cast(dtype) * scale
    return word_pairs.sign_of(pair).ne(0).where(-result, result) if signed else result


# Lanes and memory -------------------------------------------------------------------------------

_MOVING = (Op.STACK, Op.EXTRACT, Op.SHUFFLE, Op.SPLAT)


@rule(node(_MOVING, name="root", of=is_long))
def long_lanes_move_in_words(root: UOp, target: Target | None) -> UOp | None:
    pairs = _pairs_of(root.src) if lacks_long(target) else None
    if pairs is None:
        return None
    low, high = (make(root.op, None, tuple(pair[at] for pair in pairs), root.arg) for at in (0, 1))
    return joined(Pair(low, high), root.dtype)


@rule(node(Op.REDUCE, x, name="root", of=is_long))
def long_lanes_are_combined_one_by_one(root: UOp, x: UOp, target: Target | None) -> UOp | None:
    if not lacks_long(target) or len(x.shape) != 1 or not isinstance(x.shape[0], int):
        return None
    lanes = [make(Op.EXTRACT, None, (x,), lane) for lane in range(x.shape[0])]
    result = lanes[0]
    for lane in lanes[1:]:
        result = result.alu(root.arg.op, lane)
    return result


@rule(node(Op.LOAD, name="root", of=is_long))
def long_numbers_are_loaded_in_words(root: UOp, target: Target | None) -> UOp | None:
    if not lacks_long(target):
        return None
    others = _pairs_of(root.src[1:2])
    if others is None:
        return None
    gate = root.src[2:]
    place = root.src[0]
    if place.op is Op.INDEX and place.arg is not None:
        return _contiguous_load(root, others, gate)
    halves = [
        make(Op.LOAD, None, (part, *(other[at] for other in others), *gate))
        for at, part in enumerate(_halves_of(place))
    ]
    return joined(Pair(*halves), root.dtype)


def _contiguous_load(root: UOp, others: list[Pair], gate: tuple[UOp, ...]) -> UOp:
    place, lanes = root.src[0], root.src[0].arg
    wide = _words_at(place, lanes)
    alternative = tuple(_interleaved(other, lanes) for other in others)
    both = make(Op.LOAD, None, (wide, *alternative, *(_twice(g, lanes) for g in gate)))
    low, high = (make(Op.SHUFFLE, None, (both,), tuple(range(at, 2 * lanes, 2))) for at in (0, 1))
    return joined(Pair(low, high), root.dtype)


@rule(node(Op.STORE, name="root"))
def long_numbers_are_stored_in_words(root: UOp, target: Target | None) -> UOp | None:
    place, value, *gate = root.src
    pair = words_of(value) if is_long(place.dtype) and lacks_long(target) else None
    if pair is None:
        return None
    if place.op is Op.INDEX and place.arg is not None:
        lanes = place.arg
        both = _interleaved(pair, lanes)
        gates = (_twice(g, lanes) for g in gate)
        return make(Op.STORE, None, (_words_at(place, lanes), both, *gates))
    low, high = _halves_of(place)
    first = make(Op.STORE, None, (low, pair.low, *gate))
    return make(Op.STORE, None, (_after(high, first), pair.high, *gate))


def _halves_of(place: UOp) -> tuple[UOp, UOp]:
    """Where the low and the high word of an element are."""
    if place.op is Op.INDEX:
        storage, offset, *valid = place.src
        words = _as_words(storage)
        twice = offset * 2
        low, high = (
            make(Op.INDEX, None, (words, position, *valid)) for position in (twice, twice + 1)
        )
        return low, high
    return _as_register(place, high=False), _as_register(place, high=True)


def _words_at(place: UOp, lanes: int) -> UOp:
    storage, offset = place.src[:2]
    return make(Op.INDEX, None, (_as_words(storage), offset * 2), 2 * lanes)


def _as_words(storage: UOp) -> UOp:
    """The same memory, as holding twice as many words."""
    if storage.op is Op.AFTER:
        return make(Op.AFTER, None, (_as_words(storage.src[0]), *storage.src[1:]))
    argument = storage.arg._replace(elements=storage.arg.elements * 2)
    return make(storage.op, _WORD, (), argument)


def _as_register(place: UOp, *, high: bool) -> UOp:
    """A REGISTER for one of the words; those of high words count below zero."""
    if place.op is Op.AFTER:
        register = _as_register(place.src[0], high=high)
        return make(Op.AFTER, None, (register, *place.src[1:]))
    number, lanes = place.arg
    return make(Op.REGISTER, _WORD, (), RegisterArg(~number if high else number, lanes))


def _after(place: UOp, effect: UOp) -> UOp:
    if place.op is Op.INDEX:
        storage = place.src[0].after(effect)
        return make(Op.INDEX, None, (storage, *place.src[1:]), place.arg)
    return place.after(effect)


def _interleaved(pair: Pair, lanes: int) -> UOp:
    """Low and high words in turn, as memory holds them."""
    low, high = (word if word.shape else make(Op.SPLAT, None, (word,), lanes) for word in pair)
    order = tuple(lane + half * lanes for lane in range(lanes) for half in (0, 1))
    return make(Op.SHUFFLE, None, (low, high), order)


def _twice(gate: UOp, lanes: int) -> UOp:
    """A gate a lane becomes one a word."""
    if not gate.shape:
        return gate
    return make(Op.SHUFFLE, None, (gate,), tuple(lane // 2 for lane in range(2 * lanes)))


DECOMPOSE_WORDS = RuleSet(
    (
        long_arithmetic_is_done_in_words,
        long_negation_is_done_in_words,
        long_extremes_compare_and_choose,
        long_numbers_are_compared_in_words,
        long_numbers_are_chosen_in_words,
        long_numbers_are_cast_in_words,
        long_lanes_move_in_words,
        long_lanes_are_combined_one_by_one,
        long_numbers_are_loaded_in_words,
        long_numbers_are_stored_in_words,
    )
)
