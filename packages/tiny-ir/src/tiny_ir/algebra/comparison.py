"""Comparisons of index sums: decided where bounds prove them, else as short as they get."""

from __future__ import annotations

from math import gcd

from tiny_ir.algebra.linear import Terms, collect, interval, is_bounded, lower_bound, written
from tiny_ir.algebra.order import order_of
from tiny_ir.dtypes import bool_, weakint
from tiny_ir.op import Op
from tiny_ir.uop import UOp, const, make

_MOST_PARTS = 8
"""How many common divisors of the factors are tried."""


def is_below(terms: Terms, limit: int) -> UOp:
    """Return the comparison `sum of terms < limit`.

    Terms that are subtracted move to the right side, so that nothing is negated.
    """
    while True:
        decided = _decided_below(terms, limit)
        if decided is not None:
            return decided
        shorter = _shorter(terms, limit)
        if shorter is None:
            break
        terms, limit = shorter
    left = {term: factor for term, factor in terms.items() if factor > 0}
    right = {term: -factor for term, factor in terms.items() if factor < 0}
    if not left:
        return make(Op.CMPLT, None, (const(weakint, -limit), written(right, 0)))
    return make(Op.CMPLT, None, (written(left, 0), written(right, limit)))


def _decided_below(terms: Terms, limit: int) -> UOp | None:
    low, high = interval(terms)
    if high < limit:
        return const(bool_, True)
    if low >= limit:
        return const(bool_, False)
    if len(terms) > 1:
        if lower_bound(terms, -limit) >= 0:
            return const(bool_, False)
        if lower_bound(_negated(terms), limit - 1) >= 0:
            return const(bool_, True)
    return None


def _negated(terms: Terms) -> Terms:
    return {term: -factor for term, factor in terms.items()}


def _shorter(terms: Terms, limit: int) -> tuple[Terms, int] | None:
    """One step to a shorter comparison with the same truth, or None."""
    common = gcd(*terms.values())
    if common > 1:
        return {term: factor // common for term, factor in terms.items()}, -(-limit // common)
    for part in _parts(terms):
        # part * q + rest < limit: where the rest decides nothing, q < ceil((limit - rest) / part)
        rest = {term: factor for term, factor in terms.items() if factor % part}
        low, high = interval(rest)
        if is_bounded(low, high) and (limit - low) // -part == (limit - high) // -part:
            divided = {term: factor // part for term, factor in terms.items() if term not in rest}
            return divided, -int((limit - low) // -part)
    return _without_division(terms, limit)


def _parts(terms: Terms) -> list[int]:
    """Numbers that divide some of the factors, the largest first."""
    found: set[int] = set()
    for factor in terms.values():
        size = abs(factor)
        found |= {gcd(size, part) for part in found}
        found.add(size)
        if len(found) > _MOST_PARTS:
            break
    found.discard(1)
    return sorted(found, reverse=True)


def _without_division(terms: Terms, limit: int) -> tuple[Terms, int] | None:
    """x + y // k < c  is  x * k + y < c * k;   x - y // k < c  is  x * k - y < (c - 1) * k + 1."""
    for term, factor in terms.items():
        if term.op is not Op.FLOORDIV or abs(factor) != 1:
            continue
        step = term.src[1]
        if step.op is not Op.CONST or step.arg <= 0:
            continue
        size = step.arg
        rest = {other: amount * size for other, amount in terms.items() if other is not term}
        rest, offset = collect(term.src[0], factor, rest)
        most = limit * size if factor > 0 else (limit - 1) * size + 1
        return rest, most - offset
    return None


def is_equal(terms: Terms, value: int) -> UOp:
    """Return the comparison `sum of terms == value`."""
    low, high = interval(terms)
    if not low <= value <= high:
        return const(bool_, False)
    if low == high:
        return const(bool_, True)
    if len(terms) > 1 and (
        lower_bound(terms, -value - 1) >= 0 or lower_bound(_negated(terms), value - 1) >= 0
    ):
        return const(bool_, False)
    common = gcd(*terms.values())
    if value % common:
        return const(bool_, False)
    if common > 1:
        terms = {term: factor // common for term, factor in terms.items()}
        value //= common
    if _is_impossible(terms, value):
        return const(bool_, False)
    if terms[min(terms, key=order_of)] < 0:
        terms, value = _negated(terms), -value
    left = {term: factor for term, factor in terms.items() if factor > 0}
    right = {term: -factor for term, factor in terms.items() if factor < 0}
    return make(Op.CMPEQ, None, (written(left, 0), written(right, value)))


def _is_impossible(terms: Terms, value: int) -> bool:
    """Whether the small terms cannot give what the value is modulo the factor of the others."""
    for part in _parts(terms):
        rest = {term: factor for term, factor in terms.items() if factor % part}
        low, high = interval(rest)
        if not is_bounded(low, high):
            continue
        nearest = low + (value - low) % part
        if nearest > high:
            return True
    return False


def difference(x: UOp, y: UOp) -> tuple[Terms, int]:
    """x - y as a sum."""
    terms, constant = collect(x)
    terms, more = collect(y, -1, terms)
    return terms, constant + more


def is_never_below(x: UOp, y: UOp) -> bool:
    """Whether x >= y is proven."""
    return lower_bound(*difference(x, y)) >= 0
