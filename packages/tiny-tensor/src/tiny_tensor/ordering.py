"""Keys in order: the permutation that sorts rows of unsigned integers, stably.

Short rows count for each key how many stand before it. Long rows are sorted digit by digit, lowest
digit first: a scan counts the keys of each digit so far, which says where a key goes.
"""

from __future__ import annotations

from collections.abc import Sequence

from tiny_ir import Op, UOp, const, dtypes, make
from tiny_tensor.broadcast import broadcast
from tiny_tensor.scan import at_step, scan
from tiny_tensor.triangles import counting

COUNTED_LENGTH = 1024
"""Up to this length n the n * n comparisons, made many at a time, cost less than the passes."""
DIGIT_BITS = 4
"""One counter for each value of a digit fits the registers; more digits mean more passes."""

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
    """The positions of the keys of each row, in ascending order of the keys: int32, (rows, n).

    Args:
        keys: unsigned integers, (rows, n).
    """
    length = keys.shape[1]
    assert isinstance(length, int)
    if length <= COUNTED_LENGTH:
        return _scattered(_positions(keys), _ranks_by_counting(keys))
    if keys.dtype.nbytes < 8:
        return _sorted_packed(keys)
    return _sorted_pairs(keys)


def _positions(keys: UOp) -> UOp:
    """0, 1, 2, ... in each row."""
    rows, length = keys.shape
    assert isinstance(length, int)
    return broadcast(counting(length).cast(dtypes.int32).reshape((1, length)), (rows, length))


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
    """Sort words that hold a key and, in their upper half, the position it came from."""
    wide = dtypes.uint64
    half = const(wide, 32)
    words = keys.cast(wide) | (_positions(keys).cast(wide) << half)
    upper = const(wide, 0xFFFFFFFF00000000)
    lower = const(wide, 0xFFFFFFFF)
    for _ in range(keys.dtype.bits // DIGIT_BITS):
        places = _places_by_digit(words)
        # The key loses the digit, so that every pass is one and the same kernel.
        rest = (words & upper) | ((words & lower) >> const(wide, DIGIT_BITS))
        words = _scattered(rest, places)
    return (words >> half).cast(dtypes.int32)


def _sorted_pairs(keys: UOp) -> UOp:
    """Sort keys that fill a word, and beside them the positions they came from."""
    positions = _positions(keys)
    for _ in range(keys.dtype.bits // DIGIT_BITS):
        places = _places_by_digit(keys)
        positions = _scattered(positions, places)
        keys = _scattered(keys >> const(keys.dtype, DIGIT_BITS), places)
    return positions


def _places_by_digit(words: UOp) -> UOp:
    """Where each word goes when rows are sorted, stably, by the lowest digit: int32, (rows, n)."""
    rows, length = words.shape
    count = 1 << DIGIT_BITS
    digits = (words & const(words.dtype, count - 1)).cast(dtypes.int32)
    columns = digits.permute((1, 0))
    zero = broadcast(const(dtypes.int32, 0), (rows,))

    def body(step: UOp, counters: tuple[UOp, ...]) -> tuple[Sequence[UOp], Sequence[UOp]]:
        digit = at_step(columns, step)
        following = [
            counter + digit.eq(value).cast(dtypes.int32) for value, counter in enumerate(counters)
        ]
        return following, [_chosen(digit, counters)]

    totals, (ranks,) = scan(length, [zero] * count, body)
    starts = [zero]
    for total in totals[:-1]:
        starts.append(starts[-1] + total)
    wide = [broadcast(start.reshape((rows, 1)), (rows, length)) for start in starts]
    return ranks.permute((1, 0)) + _chosen(digits, wide)


def _chosen(digit: UOp, values: Sequence[UOp]) -> UOp:
    """The value that a digit numbers, found by its bits from the highest down."""
    if len(values) == 1:
        return values[0]
    middle = len(values) // 2
    is_upper = (digit & const(digit.dtype, middle)).ne(0)
    low, high = _chosen(digit, values[:middle]), _chosen(digit, values[middle:])
    return is_upper.where(high, low)
