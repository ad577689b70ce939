"""Reductions over an axis that only a comparison looks at become arithmetic.

before   REDUCE(WHERE(CMPEQ(r, at), INDEX(table, r), 0), r; ADD),
         where at is CAST(INDEX(picks, i), weakint)
after    WHERE(inside, INDEX(table, at, inside), 0),
         where inside is AND(CMPLT(-1, at), CMPLT(at, 8)), and at is CAST(INDEX(picks, i), weakint)

before   REDUCE(WHERE(CMPLT(r, i), n, 0), r; ADD)
after    MUL(n, CAST(i, int32))

The first is a one-hot row times a table, which is a load; the second counts what is below.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite

from tiny_codegen.loops.accesses import stride
from tiny_ir import (
    DType,
    Op,
    RuleSet,
    UOp,
    bounds,
    conjuncts,
    const,
    dtypes,
    make,
    node,
    rebuild,
    rule,
    simplify,
    substitute,
    toposort,
)

_UNCHANGED = (Op.MAX, Op.MIN, Op.AND, Op.OR)


@rule(node(Op.REDUCE, name="reduce"))
def reduce_over_unused_axis_is_arithmetic(reduce: UOp) -> UOp | None:
    """A value that is the same at every step is combined with itself `n` times."""
    value, *axes = reduce.src
    below = set(toposort((value,)))
    for axis in axes:
        if axis in below or axis.op is not Op.RANGE:
            continue
        if reduce.arg.op in _UNCHANGED:
            return _over_the_rest(value, reduce, axis)
        if reduce.arg.op is Op.ADD and _is_exact(axis.src[0], value.dtype):
            return _over_the_rest(value * axis.src[0].cast(value.dtype), reduce, axis)
    return None


@rule(node(Op.REDUCE, name="reduce"))
def sum_of_one_chosen_term_is_that_term(reduce: UOp) -> UOp | None:
    """At most one step is chosen by an equality: take its term, if the step exists."""
    return _for_a_choice(reduce, _equal_step)


@rule(node(Op.REDUCE, name="reduce"))
def sum_of_equal_terms_below_a_bound_is_their_number(reduce: UOp) -> UOp | None:
    """Steps are chosen by one inequality, and all have one term: count them."""
    return _for_a_choice(reduce, _counted_steps)


@rule(node(Op.REDUCE, name="reduce"))
def reduction_of_reductions_is_one(reduce: UOp) -> UOp | None:
    """Walk nested reductions of one op as one; a choice around the inner one goes inside."""
    value, *axes = reduce.src
    if _is_same_reduction(value, reduce):
        return value.src[0].reduce(reduce.arg.op, ranges=(*axes, *value.src[1:]))
    if reduce.arg.op is Op.ADD and value.op is Op.WHERE:
        condition, inner, other = value.src
        if _is_same_reduction(inner, reduce) and other.op is Op.CONST and other.arg == 0:
            term = condition.where(inner.src[0], 0)
            return term.reduce(Op.ADD, ranges=(*axes, *inner.src[1:]))
    return None


def _is_same_reduction(value: UOp, reduce: UOp) -> bool:
    return value.op is Op.REDUCE and value.arg == reduce.arg and len(value.src) > 1


COLLAPSE_REDUCE = RuleSet(
    (
        reduction_of_reductions_is_one,
        reduce_over_unused_axis_is_arithmetic,
        sum_of_one_chosen_term_is_that_term,
        sum_of_equal_terms_below_a_bound_is_their_number,
    )
)

_Collapse = Callable[[UOp, UOp, UOp, list[UOp]], "UOp | None"]


def _for_a_choice(reduce: UOp, collapse: _Collapse) -> UOp | None:
    """Try to collapse REDUCE(WHERE(condition, term, 0), ...; ADD) along each of its axes."""
    value, *axes = reduce.src
    if reduce.arg.op is not Op.ADD or value.op is not Op.WHERE:
        return None
    condition, term, other = value.src
    if other.op is not Op.CONST or other.arg != 0:
        return None
    parts = list(conjuncts(condition))
    for axis in axes:
        for part in parts:
            rest = [other for other in parts if other is not part]
            collapsed = collapse(axis, part, term, rest)
            if collapsed is not None:
                return _over_the_rest(collapsed, reduce, axis)
    return None


def _equal_step(axis: UOp, part: UOp, term: UOp, rest: list[UOp]) -> UOp | None:
    if part.op is not Op.CMPEQ:
        return None
    difference = _difference(part)
    if difference is None:
        return None
    factor = stride(difference, axis)
    if factor not in (1, -1):
        return None
    at_zero = substitute(difference, {axis: const(dtypes.weakint, 0)})
    step = simplify(at_zero * -factor)
    inside = simplify(step >= 0) & simplify(step < axis.src[0])
    for condition in rest:
        inside = inside & substitute(condition, {axis: step})
    chosen = _guarded(substitute(term, {axis: step}), inside)
    return inside.where(chosen, 0)


def _counted_steps(axis: UOp, part: UOp, term: UOp, rest: list[UOp]) -> UOp | None:
    if part.op not in (Op.CMPLT, Op.CMPLE):
        return None
    if any(axis in toposort((other,)) for other in (term, *rest)):
        return None
    difference = _difference(part)
    if difference is None:
        return None
    factor = stride(difference, axis)
    if factor not in (1, -1):
        return None
    size = axis.src[0]
    at_zero = substitute(difference, {axis: const(dtypes.weakint, 0)})
    # axis + at_zero < 0 holds for the first -at_zero steps; <= for one more.
    strict = 0 if part.op is Op.CMPLT else 1
    if factor == 1:
        count = (at_zero * -1 + strict).maximum(0).minimum(size)
    else:
        count = size - (at_zero + 1 - strict).maximum(0).minimum(size)
    if not _is_exact(size, term.dtype):
        return None
    count = simplify(count)
    total = term * count.cast(term.dtype)
    if term.dtype.is_float and not _is_finite(term):
        total = (count > 0).where(total, 0)  # no times infinity is NaN, but no terms are 0
    for condition in rest:
        total = condition.where(total, 0)
    return total


def _is_exact(count: UOp, dtype: DType) -> bool:
    """Whether a dtype holds every number up to a count; integers hold it modulo their size."""
    return not dtype.is_float or bounds(count)[1] <= 1 / dtype.epsilon


def _is_finite(term: UOp) -> bool:
    return term.op is Op.CONST and isfinite(term.arg)


def _difference(comparison: UOp) -> UOp | None:
    """Left minus right of an integer comparison as a mathematical integer."""
    a, b = comparison.src
    if a.dtype is dtypes.weakint and b.dtype is dtypes.weakint:
        return simplify(a - b)
    if not a.dtype.is_int:
        return None
    left, right = _widened(a), _widened(b)
    return None if left is None or right is None else simplify(left - right)


def _widened(value: UOp) -> UOp | None:
    """The mathematical integer of a fixed-width value that did not wrap."""
    if value.op is Op.CAST and value.src[0].dtype is dtypes.weakint:
        low, high = bounds(value.src[0])
        fits = value.dtype.minimum <= low and high <= value.dtype.maximum
        return value.src[0] if fits else None
    if value.op is Op.CONST:
        return const(dtypes.weakint, value.arg)
    if bounds(value)[1] > dtypes.int64.maximum:
        return None  # it will be computed in int64
    return value.cast(dtypes.weakint)


def _guarded(term: UOp, valid: UOp) -> UOp:
    """The term with every load guarded, so that a step that does not exist reads nothing."""
    done: dict[UOp, UOp] = {}
    inside = set(toposort((valid,)))
    for at in toposort((term,)):
        src = tuple([done[source] for source in at.src])
        current = at if src == at.src else rebuild(at, src)
        if at.op is Op.INDEX and at not in inside:
            gate = src[2] & valid if len(src) == 3 else valid
            current = make(Op.INDEX, None, (*src[:2], gate), at.arg)
        done[at] = current
    return done[term]


def _over_the_rest(value: UOp, reduce: UOp, axis: UOp) -> UOp:
    others = [source for source in reduce.src[1:] if source is not axis]
    return value.reduce(reduce.arg.op, ranges=others)
