"""Floor division and modulo of index sums: what divides comes out, what is too small goes.

Both are taken apart in the same way. A divisor of the divisor, `part`, splits the sum into what it
divides and a rest; if the rest is proven to stay inside one period of `part`, it cannot change the
quotient, and both sides can be divided by `part`.

Source of the identities: R. Graham, D. Knuth, O. Patashnik, "Concrete Mathematics", chapter 3.
"""

from __future__ import annotations

from math import gcd

from tiny_ir.algebra.linear import (
    Terms,
    collect,
    factors_of,
    interval,
    is_bounded,
    lower_bound,
    merged,
    product,
    written,
)
from tiny_ir.algebra.order import order_of
from tiny_ir.bounds import bounds
from tiny_ir.dtypes import weakint
from tiny_ir.op import Op
from tiny_ir.uop import UOp, const, make

_MOST_PARTS = 12
"""How many divisors of the divisor are tried."""
_DIVISIONS = frozenset((Op.FLOORDIV, Op.FLOORMOD))


def quotient(terms: Terms, constant: int, divisor: int) -> tuple[Terms, int]:
    """Return the sum // divisor, as a sum.

    Args:
        terms: factors by term; not changed.
        constant: added to the terms.
        divisor: above 0.
    """
    whole: Terms = {}
    rest: Terms = {}
    for term, factor in terms.items():
        # The rest has the sign of the factor: 15 - x stays one subtraction.
        times = factor // divisor if factor > 0 else -(-factor // divisor)
        left = factor - times * divisor
        if times:
            whole[term] = times
        if left:
            rest[term] = left
    added, constant = divmod(constant, divisor)
    more, extra = _small_quotient(rest, constant, divisor)
    return merged(whole, more), added + extra


def _small_quotient(rest: Terms, constant: int, divisor: int) -> tuple[Terms, int]:
    """As `quotient`, when no factor and not the constant reaches the divisor."""
    low, high = interval(rest, constant)
    if is_bounded(low, high) and low // divisor == high // divisor:
        return {}, int(low // divisor)
    for part in _parts(rest, divisor):
        divided, steps, _ = _split(rest, constant, part)
        if divided is not None:
            return quotient(divided, steps, divisor // part)
    inner = _inner_division(rest)
    if inner is not None:
        numerator, step = inner.src[0], inner.src[1].arg
        others = {term: factor * step for term, factor in rest.items() if term is not inner}
        sign = rest[inner]
        others, more = collect(numerator, sign, others)
        if sign < 0:
            more += step - 1
        return quotient(others, constant * step + more, divisor * step)
    period = _modulo_inside(rest, constant, divisor)
    if period is not None:
        term, times = period
        factor = rest[term]
        others = {other: amount for other, amount in rest.items() if other is not term}
        others, more = collect(term.src[0], factor, others)
        return remainder(*quotient(others, constant + more, divisor), times)
    if _is_mostly_negative(rest):
        # (c - x) // k = -((x + k - 1 - c) // k)
        flipped = {term: -factor for term, factor in rest.items()}
        return {_divided(flipped, divisor - 1 - constant, divisor): -1}, 0
    return {_divided(rest, constant, divisor): 1}, 0


def remainder(terms: Terms, constant: int, divisor: int) -> tuple[Terms, int]:
    """Return the sum % divisor, as a sum.

    Args:
        terms: factors by term; not changed.
        constant: added to the terms.
        divisor: above 0.
    """
    rest: Terms = {}
    stack = list(terms.items())
    constant %= divisor
    while stack:
        term, factor = stack.pop()
        left = factor % divisor if factor > 0 else -(-factor % divisor)
        if not left:
            continue
        if term.op is Op.FLOORMOD and _is_multiple(term.src[1], left, divisor):
            inner, more = collect(term.src[0], left)
            stack += inner.items()
            constant = (constant + more) % divisor
            continue
        merged(rest, {term: left})
    if any(abs(factor) >= divisor for factor in rest.values()):
        return remainder(rest, constant, divisor)
    low, high = interval(rest, constant)
    if is_bounded(low, high) and low // divisor == high // divisor:
        return rest, constant - int(low // divisor) * divisor
    for part in _parts(rest, divisor):
        divided, steps, small = _split(rest, constant, part)
        if divided is None:
            continue
        periods, extra = remainder(divided, steps, divisor // part)
        offset = constant % part - _steps_of(small, constant, part) * part
        total = merged(dict(small), periods, part)
        return total, extra * part + offset
    if _is_mostly_negative(rest):
        # (c - x) % k = k - 1 - (x + k - 1 - c) % k
        flipped = {term: -factor for term, factor in rest.items()}
        return {_modulo(flipped, divisor - 1 - constant, divisor): -1}, divisor - 1
    return {_modulo(rest, constant, divisor): 1}, 0


def _parts(rest: Terms, divisor: int) -> list[int]:
    """Divisors of the divisor that divide some of the factors, the largest first."""
    found: set[int] = set()
    for factor in rest.values():
        common = gcd(factor, divisor)
        if common > 1:
            found |= {gcd(common, part) for part in found}
            found.add(common)
            if len(found) > _MOST_PARTS:
                break
    found.discard(1)
    return sorted(found, reverse=True)


def _split(rest: Terms, constant: int, part: int) -> tuple[Terms | None, int, Terms]:
    """Divide by `part` what it divides, if the remaining terms stay inside one period of it."""
    small = {term: factor for term, factor in rest.items() if factor % part}
    offset = constant % part
    low, high = interval(small, offset)
    if not is_bounded(low, high) or low // part != high // part:
        return None, 0, small
    divided = {term: factor // part for term, factor in rest.items() if not factor % part}
    return divided, constant // part + int(low // part), small


def _steps_of(small: Terms, constant: int, part: int) -> int:
    """How many whole periods of `part` the small terms are away from the first."""
    return int(interval(small, constant % part)[0] // part)


def _inner_division(rest: Terms) -> UOp | None:
    """A division that stands in the sum once.

    x + y // a is (x * a + y) // a, and x - y // a is (x * a - y + a - 1) // a.
    """
    for term, factor in rest.items():
        if term.op is Op.FLOORDIV and (factor == 1 or factor == -1):
            step = term.src[1]
            if step.op is Op.CONST and step.arg > 0:
                return term
    return None


def _modulo_inside(rest: Terms, constant: int, divisor: int) -> tuple[UOp, int] | None:
    """A term y % m whose period is a multiple of the divisor, with what is added inside it."""
    for term, factor in rest.items():
        if term.op is not Op.FLOORMOD or factor < 0:
            continue
        if not _is_multiple(term.src[1], factor, divisor):
            continue
        low, high = interval(rest, constant)
        period = factor * term.src[1].arg
        if low >= 0 and high < period:
            return term, period // divisor
    return None


def _is_multiple(modulus: UOp, factor: int, divisor: int) -> bool:
    return modulus.op is Op.CONST and modulus.arg > 0 and not modulus.arg * factor % divisor


def _is_mostly_negative(rest: Terms) -> bool:
    """Whether a sum is better read from the other end, so that x and -x divide in one way."""
    negative = sum(factor < 0 for factor in rest.values())
    if negative * 2 != len(rest):
        return negative * 2 > len(rest)
    return rest[min(rest, key=order_of)] < 0


def _divided(rest: Terms, constant: int, divisor: int) -> UOp:
    return make(Op.FLOORDIV, None, (written(rest, constant), const(weakint, divisor)))


def _modulo(rest: Terms, constant: int, divisor: int) -> UOp:
    return make(Op.FLOORMOD, None, (written(rest, constant), const(weakint, divisor)))


# Sums with quotients and remainders of one number -------------------------------------------------


def joined(terms: Terms, constant: int) -> tuple[Terms, int]:
    """Put quotients and remainders of one number together again, where a sum holds both.

    (y // a) * a + y % a              is y
    (y // a % b) * a + y % a          is y % (a * b)
    """
    while len(terms) > 1:
        found = _joined_once(terms)
        if found is None:
            break
        terms, more = found
        constant += more
    return terms, constant


def _joined_once(terms: Terms) -> tuple[Terms, int] | None:
    for term, factor in terms.items():
        if term.op is not Op.FLOORMOD:
            continue
        modulus = term.src[1]
        if modulus.op is not Op.CONST or modulus.arg <= 0:
            continue
        step = factor * modulus.arg
        if not any(other % step == 0 for other in terms.values()):
            continue
        numerator, offset = collect(term.src[0])
        higher, more = quotient(numerator, offset, modulus.arg)
        found = _with_quotient(terms, term, (numerator, offset), (higher, more))
        if found is None:
            found = _with_higher_digit(terms, term, (numerator, offset), (higher, more))
        if found is not None:
            return found
    return None


def _with_quotient(
    terms: Terms, term: UOp, number: tuple[Terms, int], higher: tuple[Terms, int]
) -> tuple[Terms, int] | None:
    """Replace y % a by y - (y // a) * a, if the quotient then cancels."""
    factor = terms[term]
    step = factor * term.src[1].arg
    for part, amount in higher[0].items():
        if part.op in _DIVISIONS and terms.get(part) != amount * step:
            return None
    result = dict(terms)
    del result[term]
    merged(result, number[0], factor)
    merged(result, higher[0], -step)
    if _divisions(result) >= _divisions(terms):
        return None
    return result, number[1] * factor - higher[1] * step


def _with_higher_digit(
    terms: Terms, term: UOp, number: tuple[Terms, int], higher: tuple[Terms, int]
) -> tuple[Terms, int] | None:
    """Replace y % a + (y // a % b) * a by y % (a * b)."""
    factor = terms[term]
    step = factor * term.src[1].arg
    for other, amount in terms.items():
        if amount != step or other.op is not Op.FLOORMOD or other is term:
            continue
        if other.src[1].op is not Op.CONST or other.src[1].arg <= 0:
            continue
        if remainder(*higher, other.src[1].arg) != ({other: 1}, 0):
            continue
        result = dict(terms)
        del result[term], result[other]
        periods, more = remainder(*number, term.src[1].arg * other.src[1].arg)
        merged(result, periods, factor)
        if _divisions(result) < _divisions(terms):
            return result, more * factor
    return None


def _divisions(terms: Terms) -> int:
    return sum(term.op in _DIVISIONS for term in terms)


# Symbolic divisors --------------------------------------------------------------------------------


def symbolic_division(
    numerator: UOp, divisor: UOp
) -> tuple[tuple[Terms, int], tuple[Terms, int]] | None:
    """Return (quotient, remainder) of a division by a node that is proven above 0, or None.

    `(a * n + b) // n` is a where 0 <= b < n; `lower_bound` proves it also for ranges up to n.
    """
    if bounds(divisor)[0] <= 0:
        return None
    terms, constant = collect(numerator)
    by, offset = collect(divisor)
    whole: Terms = {}
    rest = terms
    steps = 0
    if len(by) == 1 and not offset:
        ((unit, times),) = by.items()
        whole, steps, rest = _with_factor(terms, factors_of(unit), times)
    if lower_bound(rest, constant) < 0:
        return None
    room = merged(dict(by), rest, -1)
    if lower_bound(room, offset - constant - 1) < 0:
        return None
    return (whole, steps), (rest, constant)


def _with_factor(terms: Terms, unit: list[UOp], times: int) -> tuple[Terms, int, Terms]:
    """Divide the terms that are multiples of `unit` and `times`: (divided, its constant, rest)."""
    whole: Terms = {}
    rest: Terms = {}
    steps = 0
    for term, factor in terms.items():
        left = _without(factors_of(term), unit) if factor % times == 0 else None
        if left is None:
            rest[term] = factor
        elif left:
            merged(whole, {product(left): factor // times})
        else:
            steps += factor // times
    return whole, steps, rest


def _without(factors: list[UOp], unit: list[UOp]) -> list[UOp] | None:
    left = list(factors)
    for factor in unit:
        if factor not in left:
            return None
        left.remove(factor)
    return left


def as_node(total: tuple[Terms, int]) -> UOp:
    """Write a sum, its quotients and remainders joined."""
    return written(*joined(*total))
