"""Index expressions as linear sums: factors of terms and a constant, and back again."""

from __future__ import annotations

from math import inf
from typing import TypeAlias

from tiny_ir.algebra.order import order_of
from tiny_ir.bounds import Bounds, Number, bounds
from tiny_ir.dtypes import weakint
from tiny_ir.op import Op
from tiny_ir.uop import UOp, const, make

Terms: TypeAlias = dict[UOp, int]
"""Factors by term. No factor is 0, and no term is a constant, a sum or a constant multiple."""

LONGEST_SUM = 64
"""Longer sums stay as they are: sorting them again at each node would take quadratic time."""


def collect(node: UOp, factor: int = 1, terms: Terms | None = None) -> tuple[Terms, int]:
    """Write `node` as factors of terms and a constant.

    Args:
        node: a weakint node.
        factor: what all of it is multiplied with.
        terms: added to, in place, where given.
    """
    if terms is None:
        terms = {}
    constant = 0
    stack = [(node, factor)]
    while stack:
        node, factor = stack.pop()
        op = node.op
        if op is Op.ADD:
            x, y = node.src
            stack.append((x, factor))
            stack.append((y, factor))
            continue
        if op is Op.MUL:
            x, y = node.src
            if y.op is Op.CONST:
                stack.append((x, factor * y.arg))
                continue
            if x.op is Op.CONST:
                stack.append((y, factor * x.arg))
                continue
        elif op is Op.CONST:
            constant += factor * node.arg
            continue
        elif op is Op.SUB:
            x, y = node.src
            stack.append((x, factor))
            stack.append((y, -factor))
            continue
        elif op is Op.NEG:
            stack.append((node.src[0], -factor))
            continue
        low, high = node._bounds or bounds(node)
        if low == high:  # as a RANGE of one step
            constant += factor * int(low)
            continue
        total = terms.get(node, 0) + factor
        if total:
            terms[node] = total
        else:
            terms.pop(node, None)
    return terms, constant


def is_short(node: UOp) -> bool:
    """Whether a sum has few enough terms to be written anew."""
    count = 0
    while node.op is Op.ADD or node.op is Op.SUB:
        node, other = node.src
        count += 1 if other.op is not Op.ADD and other.op is not Op.SUB else LONGEST_SUM // 4
        if count > LONGEST_SUM:
            return False
    return True


def written(terms: Terms, constant: int) -> UOp:
    """The one way to write a sum: terms in order, the constant last."""
    total: UOp | None = None
    for term in sorted(terms, key=order_of) if len(terms) > 1 else terms:
        part = scaled(term, terms[term])
        total = part if total is None else make(Op.ADD, None, (total, part))
    if total is None:
        return const(weakint, constant)
    return make(Op.ADD, None, (total, const(weakint, constant))) if constant else total


def scaled(term: UOp, factor: int) -> UOp:
    """A term times its factor."""
    return term if factor == 1 else make(Op.MUL, None, (term, const(weakint, factor)))


def interval(terms: Terms, constant: int = 0) -> Bounds:
    """The bounds of a sum, each term taken for itself."""
    low: Number = constant
    high: Number = constant
    for term, factor in terms.items():
        known = term._bounds
        least, most = bounds(term) if known is None else known
        if factor > 0:
            low += least * factor
            high += most * factor
        else:
            low += most * factor
            high += least * factor
    return low, high


def merged(terms: Terms, other: Terms, factor: int = 1) -> Terms:
    """Add `factor` times the other terms, in place."""
    for term, amount in other.items():
        total = terms.get(term, 0) + amount * factor
        if total:
            terms[term] = total
        else:
            terms.pop(term, None)
    return terms


def lower_bound(terms: Terms, constant: int) -> Number:
    """The lowest value that is proven for a sum, also where sizes are symbolic.

    A RANGE that counts to a symbolic size is at most the size less one, so that
    `n - 1 - RANGE(n)` is not below 0.
    """
    low = interval(terms, constant)[0]
    if low >= 0 or low != low:
        return low
    best = low
    for _ in range(4):  # sizes of sizes: each round removes one kind of range
        replaced = _ranges_at_their_ends(terms)
        if replaced is None:
            break
        terms, extra = replaced
        constant += extra
        best = max(best, interval(terms, constant)[0])
    return best


def _ranges_at_their_ends(terms: Terms) -> tuple[Terms, int] | None:
    """Let each subtracted RANGE of symbolic size, alone or in a product, have its highest value."""
    result: Terms = {}
    constant = 0
    changed = False
    for term, factor in terms.items():
        ends = _highest(term) if factor < 0 else None
        if ends is None:
            merged(result, {term: factor})
            continue
        changed = True
        merged(result, ends[0], factor)
        constant += ends[1] * factor
    return (result, constant) if changed else None


def _highest(term: UOp) -> tuple[Terms, int] | None:
    """A sum that a RANGE, or its product with what is not negative, does not exceed."""
    if term.op is Op.RANGE:
        size = term.src[0]
        if size.op is Op.CONST:
            return None
        terms, constant = collect(size)
        return terms, constant - 1
    if term.op is Op.MUL:
        for axis, other in (term.src, term.src[::-1]):
            if axis.op is Op.RANGE and bounds(other)[0] >= 0:
                terms, constant = collect(axis.src[0])
                products: Terms = {}
                for size, factor in terms.items():
                    merged(products, {product_of(size, other): factor})
                return merged(products, {other: constant - 1} if constant != 1 else {}), 0
    return None


def factors_of(term: UOp) -> list[UOp]:
    """The nodes whose product a term is."""
    found: list[UOp] = []
    stack = [term]
    while stack:
        node = stack.pop()
        if node.op is Op.MUL:
            stack += node.src
        else:
            found.append(node)
    return found


def product_of(x: UOp, y: UOp) -> UOp:
    """The product of two terms, its factors in order."""
    return product(factors_of(x) + factors_of(y))


def product(factors: list[UOp]) -> UOp:
    """The product of at least one node, in the one order that products have."""
    total, *others = sorted(factors, key=order_of)
    for factor in others:
        total = make(Op.MUL, None, (total, factor))
    return total


def is_bounded(low: Number, high: Number) -> bool:
    """Whether both ends are integers."""
    return low != -inf and high != inf
