"""Index algebra: every weakint expression in one short form.

    sums         i * 4 + j + 3: terms in order, no subtraction, the constant last
    divisions    (i * 4 + j) // 4 is i where 0 <= j < 4; negative constants come out
    comparisons  only "<" and equality, without what bounds decide

Weakint is a mathematical integer, so all of it holds for negative numbers too.
"""

from __future__ import annotations

from tiny_ir.algebra.comparison import difference, is_below, is_equal, is_never_below
from tiny_ir.algebra.division import as_node, quotient, remainder, symbolic_division
from tiny_ir.algebra.linear import (
    Terms,
    collect,
    is_short,
    merged,
    product_of,
)
from tiny_ir.algebra.order import order_of
from tiny_ir.bounds import bounds
from tiny_ir.dtypes import bool_, weakint
from tiny_ir.op import Op
from tiny_ir.pattern import index, is_index, node
from tiny_ir.rule import Rule, rule
from tiny_ir.uop import UOp, const, make

x, y = index("x"), index("y")
_DIVISIONS = (Op.FLOORDIV, Op.FLOORMOD)
_COMPOUND = (Op.ADD, Op.SUB, Op.NEG, Op.MUL, Op.CONST)


def with_shape_of(like: UOp, result: UOp) -> UOp | None:
    """The result in the shape of the node that it replaces; None where it cannot have it.

    Wide index values stand in lowered kernels only, where one value is splatted over the lanes.
    """
    if result.shape == like.shape:
        return result if result is not like else None
    if result.shape == () and len(like.shape) == 1 and isinstance(like.shape[0], int):
        return make(Op.SPLAT, None, (result,), like.shape[0])
    return None


@rule(node((Op.ADD, Op.SUB, Op.NEG), name="total", of=is_index))
def sum_has_one_form(total: UOp) -> UOp | None:
    if total.op is Op.ADD:
        first, last = total.src
        if _goes_last(first, last):
            return None
    if not is_short(total):
        return None
    return with_shape_of(total, as_node(collect(total)))


def _goes_last(first: UOp, last: UOp) -> bool:
    """Whether a sum is in its form already, seen from its last two terms."""
    if first.op is Op.CONST or first.op is Op.SUB or first.op is Op.NEG:
        return False
    if last.op is Op.CONST:
        if first.op is Op.ADD and first.src[1].op is Op.CONST:
            return False
        return bool(last.arg != 0)
    if last.op is Op.ADD or last.op is Op.SUB or last.op is Op.NEG:
        return False
    before = first.src[1] if first.op is Op.ADD else first
    if before.op is Op.CONST:
        return False
    if before.op is Op.MUL and before.src[1].op is Op.CONST:
        before = before.src[0]
    if last.op is Op.MUL and last.src[1].op is Op.CONST:
        last = last.src[0]
    if last.op in _DIVISIONS or before.op in _DIVISIONS or _is_fixed(before) or _is_fixed(last):
        return False
    return order_of(before) < order_of(last)


def _is_fixed(node: UOp) -> bool:
    low, high = node._bounds or bounds(node)
    return low == high


@rule(node(Op.MUL, x, y, name="total"))
def product_has_one_form(total: UOp, x: UOp, y: UOp) -> UOp | None:
    if y.op is Op.CONST:
        if x.op not in _COMPOUND and y.arg not in (0, 1) and not _is_fixed(x):
            return None
        return with_shape_of(total, as_node(collect(total)))
    if not (is_short(x) and is_short(y)):
        return None
    left, right = collect(x), collect(y)
    if len(right[0]) + (right[1] != 0) > 1:
        left, right = right, left
    if len(right[0]) + (right[1] != 0) > 1:
        return None
    return with_shape_of(total, as_node(_distributed(left, right)))


def _distributed(total: tuple[Terms, int], factor: tuple[Terms, int]) -> tuple[Terms, int]:
    """(a + b) * n is a * n + b * n, so that divisions by n see what they divide."""
    terms, constant = total
    if not factor[0]:
        times = factor[1]
        return {term: amount * times for term, amount in terms.items() if times}, constant * times
    ((unit, times),) = factor[0].items()
    result: Terms = {}
    for term, amount in terms.items():
        merged(result, {product_of(term, unit): amount * times})
    return (merged(result, {unit: constant * times}) if constant else result), 0


@rule(node((Op.FLOORDIV, Op.FLOORMOD), x, y, name="division"))
def division_has_one_form(division: UOp, x: UOp, y: UOp) -> UOp | None:
    if y.op is not Op.CONST:
        found = symbolic_division(x, y)
        if found is None:
            return None
        return with_shape_of(division, as_node(found[division.op is Op.FLOORMOD]))
    divisor = y.arg
    if not divisor:
        return with_shape_of(division, const(weakint, 0))
    if not is_short(x):
        return None
    terms, constant = collect(x, 1 if divisor > 0 else -1)
    if division.op is Op.FLOORDIV:
        return with_shape_of(division, as_node(quotient(terms, constant, abs(divisor))))
    result, rest = remainder(terms, constant, abs(divisor))
    if divisor < 0:
        result, rest = {term: -factor for term, factor in result.items()}, -rest
    return with_shape_of(division, as_node((result, rest)))


@rule(node((Op.CDIV, Op.CMOD), x, y, name="division"))
def truncating_division_of_the_positive_is_floor_division(
    division: UOp, x: UOp, y: UOp
) -> UOp | None:
    if bounds(x)[0] < 0 or bounds(y)[0] < 0:
        return None
    return make(Op.FLOORDIV if division.op is Op.CDIV else Op.FLOORMOD, None, (x, y))


@rule(node((Op.CMPLT, Op.CMPLE), x, y, name="comparison"))
def comparison_has_one_form(comparison: UOp, x: UOp, y: UOp) -> UOp | None:
    if not (is_short(x) and is_short(y)):
        return None
    terms, constant = difference(x, y)
    limit = -constant + (comparison.op is Op.CMPLE)
    return with_shape_of(comparison, is_below(terms, limit))


@rule(node((Op.CMPEQ, Op.CMPNE), x, y, name="comparison"))
def equality_has_one_form(comparison: UOp, x: UOp, y: UOp) -> UOp | None:
    if not (is_short(x) and is_short(y)):
        return None
    terms, constant = difference(x, y)
    if not terms:
        same = const(bool_, (constant == 0) is (comparison.op is Op.CMPEQ))
        return with_shape_of(comparison, same)
    equal = is_equal(terms, -constant)
    if comparison.op is Op.CMPNE:
        if equal.op is Op.CONST:
            equal = const(bool_, not equal.arg)
        else:
            equal = make(Op.CMPNE, None, equal.src)
    return with_shape_of(comparison, equal)


@rule(node((Op.MAX, Op.MIN), x, y, name="choice"))
def larger_is_known(choice: UOp, x: UOp, y: UOp) -> UOp | None:
    if is_never_below(x, y):
        return with_shape_of(choice, x if choice.op is Op.MAX else y)
    if is_never_below(y, x):
        return with_shape_of(choice, y if choice.op is Op.MAX else x)
    return None


INDEX_RULES: tuple[Rule, ...] = (
    sum_has_one_form,
    product_has_one_form,
    division_has_one_form,
    truncating_division_of_the_positive_is_floor_division,
    comparison_has_one_form,
    equality_has_one_form,
    larger_is_known,
)
