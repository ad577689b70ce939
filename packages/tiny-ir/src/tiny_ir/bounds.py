"""Proven inclusive bounds of integer and bool nodes, kept with each node once found."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import TypeAlias

from tiny_ir.dtypes import DType
from tiny_ir.op import Op
from tiny_ir.uop import UOp

Number: TypeAlias = int | float
Bounds: TypeAlias = tuple[Number, Number]
"""The lowest and the highest value; -inf and inf where none is known. bools count as 0 and 1."""

_UNKNOWN: Bounds = (-inf, inf)
_EITHER: Bounds = (0, 1)
_TRUE: Bounds = (1, 1)
_FALSE: Bounds = (0, 0)
_ZERO: Bounds = (0, 0)
_LONGEST = 512  # bits; numbers that may be longer count as infinite
_HUGE = 1 << _LONGEST


def bounds(node: UOp) -> Bounds:
    """Return the lowest and the highest value that any element of `node` can have.

    Args:
        node: of an integer dtype or bool; other nodes are unknown.

    Returns:
        Inclusive bounds. Fixed-width integers that may wrap have the whole range of their dtype.

    Example:
        >>> from tiny_ir import AxisKind, Op, RangeArg, const, dtypes, make
        >>> i = make(Op.RANGE, None, (const(dtypes.weakint, 12),), RangeArg(0, AxisKind.LOOP))
        >>> bounds(i // 5 * 3 - 1)
        (-1, 5)
    """
    known = node._bounds
    if known is not None:
        return known
    stack = [node]
    while stack:
        top = stack[-1]
        if top._bounds is not None:
            stack.pop()
            continue
        transfer = _TRANSFERS.get(top.op)
        if transfer is None or top.dtype.is_float:
            top._bounds = _everything(top.dtype)
            continue
        missing = [source for source in top.src if source._bounds is None]
        if missing:
            stack += missing
        else:
            top._bounds = transfer(top)
    result = node._bounds
    assert result is not None
    return result


def is_true(node: UOp) -> bool:
    """Whether a bool node is proven true."""
    return bounds(node)[0] == 1


def is_false(node: UOp) -> bool:
    """Whether a bool node is proven false."""
    return bounds(node)[1] == 0


def _everything(dtype: DType) -> Bounds:
    if dtype.is_bool:
        return _EITHER
    if dtype.is_int:
        return dtype.minimum, dtype.maximum
    return _UNKNOWN


def _fitted(dtype: DType, low: Number, high: Number) -> Bounds:
    """The bounds, or all values of the dtype where the mathematical result may not fit."""
    if low >= dtype.minimum and high <= dtype.maximum:
        if dtype.is_weak:
            return _without_giants(low, high)
        return low, high
    return dtype.minimum, dtype.maximum


def _without_giants(low: Number, high: Number) -> Bounds:
    """Give up on numbers too long to meet infinity in one expression."""
    if low < -_HUGE:
        low = -inf
    elif low > _HUGE:
        low = _HUGE
    if high > _HUGE:
        high = inf
    elif high < -_HUGE:
        high = -_HUGE
    return low, high


Transfer: TypeAlias = Callable[[UOp], Bounds]


# Leaves -----------------------------------------------------------------------------------------


def _const(node: UOp) -> Bounds:
    value = int(node.arg)
    return _fitted(node.dtype, value, value)


def _variable(node: UOp) -> Bounds:
    return node.arg.minimum, node.arg.maximum


def _counted(node: UOp) -> Bounds:
    """0 up to the size; an axis of no elements has no values, and any bounds hold."""
    return 0, max(0, _bounds_of(node.src[0])[1] - 1)


def _iota(node: UOp) -> Bounds:
    return 0, max(0, node.arg - 1)


def _bounds_of(node: UOp) -> Bounds:
    known = node._bounds
    assert known is not None  # sources are bounded before their users
    return known


# Arithmetic -------------------------------------------------------------------------------------


def _times(a: Number, b: Number) -> Number:
    return a * b if a and b else 0


def _add(node: UOp) -> Bounds:
    (a, b), (c, d) = map(_bounds_of, node.src)
    return _fitted(node.dtype, a + c, b + d)


def _sub(node: UOp) -> Bounds:
    (a, b), (c, d) = map(_bounds_of, node.src)
    if node.src[0] is node.src[1]:
        return _ZERO
    return _fitted(node.dtype, a - d, b - c)


def _neg(node: UOp) -> Bounds:
    low, high = _bounds_of(node.src[0])
    return _fitted(node.dtype, -high, -low)


def _product(x: Bounds, y: Bounds) -> Bounds:
    corners = [_times(a, b) for a in x for b in y]
    return min(corners), max(corners)


def _mul(node: UOp) -> Bounds:
    x, y = node.src
    low, high = _product(_bounds_of(x), _bounds_of(y))
    return _fitted(node.dtype, max(low, 0) if x is y else low, high)


def _fma(node: UOp) -> Bounds:
    x, y, z = map(_bounds_of, node.src)
    low, high = _product(x, y)
    return _fitted(node.dtype, low + z[0], high + z[1])


def _divisors(y: Bounds) -> list[Number]:
    """The divisors at which a quotient can be extreme: the ends, and those next to zero."""
    low, high = y
    ends = {value for value in (low, high) if value}
    ends |= {value for value in (-1, 1) if low <= value <= high}
    return list(ends)


def _floor_quotient(a: Number, b: Number) -> Number:
    """a // b, the limit of it where one of the two is infinite."""
    if abs(b) == inf:
        return 0 if a == 0 or (a > 0) == (b > 0) else -1
    if abs(a) == inf:
        return a if b > 0 else -a
    return a // b


def _toward_zero(a: Number, b: Number) -> Number:
    quotient = _floor_quotient(abs(a), abs(b))
    return quotient if (a < 0) == (b < 0) else -quotient


def _quotient(node: UOp) -> Bounds:
    x, y = map(_bounds_of, node.src)
    divide = _floor_quotient if node.op is Op.FLOORDIV else _toward_zero
    results = [divide(a, b) for a in x for b in _divisors(y)]
    if y[0] <= 0 <= y[1]:
        results.append(0)  # what a division by zero gives
    if x[0] <= 0 <= x[1]:
        results.append(0)
    return _fitted(node.dtype, min(results), max(results))


def _floor_modulo(node: UOp) -> Bounds:
    (a, b), (c, d) = map(_bounds_of, node.src)
    if c == d and c and abs(a) != inf and abs(b) != inf and a // c == b // c:
        return a % c, b % c
    high = d - 1 if d > 0 else 0
    low = c + 1 if c < 0 else 0
    if a >= 0 and c >= 0:
        high = min(high, b)
    elif b <= 0 and d <= 0:
        low = max(low, a)
    return low, high


def _truncating_modulo(node: UOp) -> Bounds:
    (a, b), (c, d) = map(_bounds_of, node.src)
    if c == d and c and abs(a) != inf and abs(b) != inf and (a >= 0 or b <= 0):
        size = abs(c)
        if abs(a) // size == abs(b) // size:
            rest = [abs(v) % size for v in (a, b)]
            return (rest[0], rest[1]) if a >= 0 else (-rest[0], -rest[1])
    largest = max(abs(c), abs(d)) - 1
    low = max(a, -largest) if a < 0 else 0
    high = min(b, largest) if b > 0 else 0
    return min(low, 0), max(high, 0)


def _max(node: UOp) -> Bounds:
    (a, b), (c, d) = map(_bounds_of, node.src)
    return max(a, c), max(b, d)


def _min(node: UOp) -> Bounds:
    (a, b), (c, d) = map(_bounds_of, node.src)
    return min(a, c), min(b, d)


# Bits -------------------------------------------------------------------------------------------


def _all_ones(value: Number) -> Number:
    """The lowest number 2**n - 1 that is not below a number that is not negative."""
    return value if value == inf else (1 << int(value).bit_length()) - 1


def _and(node: UOp) -> Bounds:
    (a, b), (c, d) = map(_bounds_of, node.src)
    if node.dtype.is_bool:
        return min(a, c), min(b, d)
    if a >= 0 and c >= 0:
        return 0, min(b, d)
    if a >= 0:
        return 0, b
    if c >= 0:
        return 0, d
    return _fitted(node.dtype, -_all_ones(-min(a, c) - 1) - 1, max(b, d))


def _or(node: UOp) -> Bounds:
    (a, b), (c, d) = map(_bounds_of, node.src)
    if node.dtype.is_bool:
        return max(a, c), max(b, d)
    if a >= 0 and c >= 0:
        return max(a, c), _all_ones(max(b, d))
    high = -1 if b < 0 or d < 0 else _all_ones(max(b, d))
    return _fitted(node.dtype, min(a, c), high)


def _xor(node: UOp) -> Bounds:
    (a, b), (c, d) = map(_bounds_of, node.src)
    if node.dtype.is_bool:
        return (a ^ c, a ^ c) if a == b and c == d else _EITHER  # type: ignore[operator]
    high = _all_ones(max(b, d, -a - 1, -c - 1))
    return _fitted(node.dtype, 0 if a >= 0 and c >= 0 else -high - 1, high)


def _shift_left(node: UOp) -> Bounds:
    x, (least, most) = map(_bounds_of, node.src)
    bits = node.dtype.bits or _LONGEST
    if most >= _LONGEST or inf in (x[1], -x[0]):
        return _everything(node.dtype)
    counts = [int(count) for count in (max(least, 0), min(most, bits - 1))]
    results = [int(value) << count for value in x for count in counts if count >= 0]
    if least < 0 or most >= bits:
        results.append(0)
    return _fitted(node.dtype, min(results), max(results)) if results else _ZERO


def _shift_right(node: UOp) -> Bounds:
    (a, b), (least, most) = map(_bounds_of, node.src)
    bits = node.dtype.bits or inf
    if least < 0 or most >= bits or inf in (b, -a, most):
        return min(a, 0) if a < 0 else 0, max(b, -1) if b < 0 else b
    results = [int(value) >> int(count) for value in (a, b) for count in (least, most)]
    return min(results), max(results)


# Comparisons ------------------------------------------------------------------------------------


def _decided(is_true_always: bool, is_false_always: bool) -> Bounds:
    return _TRUE if is_true_always else _FALSE if is_false_always else _EITHER


def _comparison(node: UOp) -> Bounds:
    x, y = node.src
    if x.dtype.is_float:
        return _EITHER
    (a, b), (c, d) = _bounds_of(x), _bounds_of(y)
    same = x is y
    match node.op:
        case Op.CMPLT:
            return _decided(b < c, same or a >= d)
        case Op.CMPLE:
            return _decided(same or b <= c, a > d)
        case Op.CMPEQ:
            return _decided(same or a == b == c == d, b < c or d < a)
        case _:
            return _decided(b < c or d < a, same or a == b == c == d)


# Choices, conversions, movement -----------------------------------------------------------------


def _where(node: UOp) -> Bounds:
    condition, x, y = map(_bounds_of, node.src)
    if condition[0] == 1:
        return x
    if condition[1] == 0:
        return y
    return min(x[0], y[0]), max(x[1], y[1])


def _cast(node: UOp) -> Bounds:
    source, dtype = node.src[0], node.dtype
    low, high = _bounds_of(source)
    if dtype.is_float or source.dtype.is_float:
        return _everything(dtype)
    if dtype.is_bool:
        return _decided(low > 0 or high < 0, low == high == 0)
    return _fitted(dtype, low, high)


def _first(node: UOp) -> Bounds:
    return _bounds_of(node.src[0])


def _padded(node: UOp) -> Bounds:
    low, high = _bounds_of(node.src[0])
    return min(low, 0), max(high, 0)


def _union(node: UOp) -> Bounds:
    parts = [_bounds_of(source) for source in node.src]
    return min(part[0] for part in parts), max(part[1] for part in parts)


def _reduce(node: UOp) -> Bounds:
    """Sums grow with the number of terms, maxima do not, unless there may be no terms."""
    value, *ranges = node.src
    low, high = _bounds_of(value)
    fewest: Number = 1
    most: Number = 1
    sizes = [_bounds_of(axis.src[0]) for axis in ranges if axis.op is Op.RANGE]
    for axis in node.arg.axes:
        size = value.shape[axis]
        sizes.append((size, size) if isinstance(size, int) else bounds(size))
    for least, largest in sizes:
        fewest = _times(fewest, max(least, 0))
        most = _times(most, max(largest, 0))
    op = node.arg.op
    if len(sizes) != len(ranges) + len(node.arg.axes):
        return _everything(node.dtype)
    if op is Op.ADD:
        return _fitted(node.dtype, *_product((low, high), (fewest, most)))
    if op in (Op.MAX, Op.MIN, Op.AND, Op.OR) and fewest >= 1:
        return (low, high) if op in (Op.MAX, Op.MIN) or node.dtype.is_bool else _bitwise(node, op)
    return _everything(node.dtype)


def _bitwise(node: UOp, op: Op) -> Bounds:
    low, high = _bounds_of(node.src[0])
    if low < 0:
        return _everything(node.dtype)
    return (0, high) if op is Op.AND else (low, _all_ones(high))


_TRANSFERS: dict[Op, Transfer] = {
    Op.CONST: _const,
    Op.VARIABLE: _variable,
    Op.BIND: _first,
    Op.RANGE: _counted,
    Op.SPECIAL: _counted,
    Op.IOTA: _iota,
    Op.ADD: _add,
    Op.SUB: _sub,
    Op.NEG: _neg,
    Op.MUL: _mul,
    Op.FMA: _fma,
    Op.FLOORDIV: _quotient,
    Op.CDIV: _quotient,
    Op.FLOORMOD: _floor_modulo,
    Op.CMOD: _truncating_modulo,
    Op.MAX: _max,
    Op.MIN: _min,
    Op.AND: _and,
    Op.OR: _or,
    Op.XOR: _xor,
    Op.SHL: _shift_left,
    Op.SHR: _shift_right,
    Op.CMPLT: _comparison,
    Op.CMPLE: _comparison,
    Op.CMPEQ: _comparison,
    Op.CMPNE: _comparison,
    Op.WHERE: _where,
    Op.CAST: _cast,
    Op.TRUNC: _first,
    Op.FLOOR: _first,
    Op.CEIL: _first,
    Op.ROUND: _first,
    Op.RESHAPE: _first,
    Op.EXPAND: _first,
    Op.PERMUTE: _first,
    Op.SHRINK: _first,
    Op.FLIP: _first,
    Op.WINDOW: _first,
    Op.PAD: _padded,
    Op.CONTIGUOUS: _first,
    Op.CONTIGUOUS_BACKWARD: _first,
    Op.DETACH: _first,
    Op.CUSTOM: _first,
    Op.COPY: _first,
    Op.SPLAT: _first,
    Op.EXTRACT: _first,
    Op.STACK: _union,
    Op.SHUFFLE: _union,
    Op.REDUCE: _reduce,
}
