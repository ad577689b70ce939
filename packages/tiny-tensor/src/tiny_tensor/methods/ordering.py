"""Keys in order: the permutation that sorts rows of unsigned integers, stably.

Short rows count for each key how many stand before it. Long rows are sorted digit by digit, lowest
digit first: what was counted before says where the keys of each digit start, and each key takes the
next place of its digit.
"""

from __future__ import annotations

from collections.abc import Sequence

from tiny_ir import Op, UOp, const, dtypes, make
from tiny_tensor.broadcast import broadcast
from tiny_tensor.methods.positions import position_dtype
from tiny_tensor.methods.scan import at_step, scan
from tiny_tensor.methods.triangles import counting

COUNTED_LENGTH = 256
"""Up to this length n the n * n comparisons, made many at a time, cost less than the passes."""
COUNTED_PAIRS = 1 << 20
"""So many comparisons in all cost less than launching the passes."""
DIGIT_BITS = 8
"""The counters of a digit, and a line of memory for each, fit the first cache.

Measured for 1M words: 2.7 ns a word and pass; 11 bits take 4.4 ns and save one of four passes.
"""
DIGITS = 1 << DIGIT_BITS
KEY_BITS = 32
"""The lower bits of a word of 64; the rest holds a position."""

_WORDS = {1: dtypes.uint8, 2: dtypes.uint16, 4: dtypes.uint32, 8: dtypes.uint64}


def ordered_key(node: UOp, *, descending: bool) -> UOp:
    """An unsigned integer for each element, which has the order of the elements.

    NaN is above every number, and -0 equals 0.
    """
    dtype = node.dtype
    if dtype.is_bool:
        key = node.cast(dtypes.uint8)
    else:
        word = _WORDS[dtype.nbytes]
        sign = const(word, 1 << (dtype.bits - 1))
        if dtype.is_float:
            bits = node.eq(0).where(0.0, node).bitcast(word)
            is_negative = bits >= sign
            # More negative floats have greater bits.
            key = is_negative.where(~bits, bits ^ sign)
            key = node.ne(node).where(word.largest, key)
        else:
            key = node if dtype.is_unsigned else node.bitcast(word) ^ sign
    return ~key if descending else key


def order_of_rows(keys: UOp) -> UOp:
    """The positions of the keys of each row, in ascending order of the keys: (rows, n).

    They are int32, or int64 where they do not fit.

    Args:
        keys: unsigned integers, (rows, n).
    """
    rows, length = keys.shape
    assert isinstance(rows, int)
    assert isinstance(length, int)
    if length <= COUNTED_LENGTH or rows * length**2 <= COUNTED_PAIRS:
        return _scattered(_positions(keys), _ranks_by_counting(keys))
    if keys.dtype.nbytes < 8 and length <= 1 << (64 - KEY_BITS):
        return _sorted_packed(keys)
    return _sorted_pairs(keys)


def _positions(keys: UOp) -> UOp:
    """0, 1, 2, ... in each row."""
    rows, length = keys.shape
    assert isinstance(length, int)
    along = counting(length).cast(position_dtype(length)).reshape((1, length))
    return broadcast(along, (rows, length))


def _ranks_by_counting(keys: UOp) -> UOp:
    """How many keys of its row stand before each key in order."""
    rows, length = keys.shape
    assert isinstance(length, int)
    shape = (rows, length, length)
    mine = broadcast(keys.reshape((rows, length, 1)), shape)
    other = broadcast(keys.reshape((rows, 1, length)), shape)
    here = broadcast(counting(length).reshape((1, length, 1)), shape)
    there = broadcast(counting(length).reshape((1, 1, length)), shape)
    # Of equal keys the one that stands first comes first.
    before = make(Op.WHERE, None, (there < here, other <= mine, other < mine))
    return before.cast(dtypes.int32).reduce(Op.ADD, (2,))


def _scattered(values: UOp, places: UOp) -> UOp:
    """The values of each row at their places in it."""
    rows = values.shape[0]
    assert isinstance(rows, int)
    numbers = broadcast(counting(rows).reshape((rows, 1)), values.shape)
    base = broadcast(const(values.dtype, 0), values.shape)
    return make(Op.SCATTER, None, (base, values, numbers, places))


def _sorted_packed(keys: UOp) -> UOp:
    """Sort words that hold a key and, in their upper bits, the position it came from.

    Every pass drops the digit it has sorted by, so all of them are one and the same kernel.
    """
    wide = dtypes.uint64
    words = keys.cast(wide) | (_positions(keys).cast(wide) << const(wide, KEY_BITS))
    words = make(Op.CONTIGUOUS, None, (words,))
    passes = -(-keys.dtype.bits // DIGIT_BITS)
    for starts in _starts_of_digits(words, passes):
        (words,) = _in_order_of_digit(words, starts, ())
    return (words >> const(wide, KEY_BITS - passes * DIGIT_BITS)).cast(dtypes.int32)


def _sorted_pairs(keys: UOp) -> UOp:
    """Sort keys that fill a word, and beside them the positions they came from."""
    keys = make(Op.CONTIGUOUS, None, (keys,))
    positions = _positions(keys)
    for starts in _starts_of_digits(keys, -(-keys.dtype.bits // DIGIT_BITS)):
        keys, positions = _in_order_of_digit(keys, starts, (positions,))
    return positions


def _digit(words: UOp, number: int) -> UOp:
    """A digit of each word, counted from the lowest."""
    shifted = words >> const(words.dtype, number * DIGIT_BITS)
    return (shifted & const(words.dtype, DIGITS - 1)).cast(dtypes.int32)


def _starts_of_digits(words: UOp, digits: int) -> list[UOp]:
    """For each of the lowest digits: how many words of a row have a smaller one, (rows, DIGITS)."""
    rows, length = words.shape
    assert isinstance(rows, int)
    columns = words.permute((1, 0))
    assert isinstance(length, int)
    kept = dtypes.uint32 if length <= dtypes.uint32.maximum else dtypes.uint64
    row, one = _numbers_of(rows), broadcast(const(kept, 1), (rows,))

    def count(step: UOp, counts: tuple[UOp, ...]) -> tuple[Sequence[UOp], Sequence[UOp]]:
        word = at_step(columns, step)
        following = [
            make(Op.SCATTER, None, (counted, one, row, _digit(word, number)), Op.ADD)
            for number, counted in enumerate(counts)
        ]
        return following, ()

    none = broadcast(const(kept, 0), (rows, DIGITS))
    counts, _ = scan(length, [none] * digits, count)
    return [_sums_before(counted) for counted in counts]


def _sums_before(counts: UOp) -> UOp:
    """For each element of a row the sum of those before it."""
    columns = counts.permute((1, 0))

    def add(step: UOp, sums: tuple[UOp, ...]) -> tuple[Sequence[UOp], Sequence[UOp]]:
        return [sums[0] + at_step(columns, step)], sums

    zero = broadcast(const(counts.dtype, 0), counts.shape[:1])
    _, (before,) = scan(counts.shape[1], [zero], add)
    return before.permute((1, 0))


def _in_order_of_digit(words: UOp, starts: UOp, beside: Sequence[UOp]) -> tuple[UOp, ...]:
    """The words in the order of their lowest digit, without it, and what stands beside them.

    Words with one digit keep their order: each takes the place at which the digit's words start,
    and moves that by one.
    """
    rows, length = words.shape
    assert isinstance(rows, int)
    assert isinstance(length, int)
    row = _numbers_of(rows)
    columns = [node.permute((1, 0)) for node in (words, *beside)]

    def place(step: UOp, states: tuple[UOp, ...]) -> tuple[Sequence[UOp], Sequence[UOp]]:
        word, *others = [at_step(column, step) for column in columns]
        counters, *placed = states
        digit = _digit(word, 0)
        free = make(Op.INDEX, None, (counters, row, digit))
        moved = make(Op.SCATTER, None, (counters, free + 1, row, digit))
        # Each place is in the row: saying so saves a check.
        at = free.minimum(length - 1).cast(position_dtype(length))
        values = (word >> const(word.dtype, DIGIT_BITS), *others)
        stored = [
            make(Op.SCATTER, None, (old, value, row, at))
            for old, value in zip(placed, values, strict=True)
        ]
        return [moved, *stored], ()

    empty = [broadcast(const(node.dtype, 0), node.shape) for node in (words, *beside)]
    (_, *sorted_), _ = scan(length, [starts, *empty], place)
    return tuple(sorted_)


def _numbers_of(rows: int) -> UOp:
    return counting(rows).cast(position_dtype(rows))
