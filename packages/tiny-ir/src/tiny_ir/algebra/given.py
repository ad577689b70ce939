"""Simplify what is used only where a condition holds: an offset under its gate.

before   INDEX(x, (i + 3) // 4 * 4 + (i + 3) % 4, i < 1)
after    INDEX(x, 3, i < 1)
"""

from __future__ import annotations

from math import inf

from tiny_ir.algebra.booleans import conjuncts
from tiny_ir.algebra.linear import Terms, collect, interval, is_bounded, written
from tiny_ir.algebra.order import order_of
from tiny_ir.arguments import VariableArg
from tiny_ir.bounds import Number
from tiny_ir.dtypes import bool_, weakint
from tiny_ir.graph import substitute
from tiny_ir.op import Op
from tiny_ir.pattern import node
from tiny_ir.rewrite import rewrite
from tiny_ir.rule import Rule, RuleSet, rule
from tiny_ir.toposort import toposort
from tiny_ir.uop import UOp, const, make


def simplify_given(value: UOp, condition: UOp, rules: RuleSet) -> UOp:
    """Return a shorter node that is equal to `value` wherever `condition` is true.

    Args:
        value: an index, or a bool made of comparisons.
        condition: a bool; its parts that compare an index with a constant are used.
        rules: what simplifies.
    """
    best = value
    for limited, low, high in _limits(condition):
        shorter = _with_limit(best, limited, low, high, rules)
        if shorter is not best and _is_shorter(shorter, best):
            best = shorter
    return best


def without_implied(condition: UOp, rules: RuleSet) -> UOp:
    """Drop the parts of a conjunction that the other parts imply."""
    parts = conjuncts(condition)
    kept = list(parts)
    for part in parts:
        others = [other for other in kept if other is not part]
        if not others:
            continue
        under = simplify_given(part, conjunction(others), rules)
        if under.op is Op.CONST:
            if not under.arg:
                return const(bool_, False) if condition.shape == () else condition
            kept = others
    result = conjunction(kept)
    return result if result.shape == condition.shape else condition


def conjunction(parts: list[UOp]) -> UOp:
    """All of the conditions, in order."""
    total, *others = sorted(parts, key=order_of)
    for part in others:
        total = make(Op.AND, None, (total, part))
    return total


def _limits(condition: UOp) -> list[tuple[UOp, Number, Number]]:
    """For each index that is compared with constants: the bounds that the condition gives it."""
    found: dict[UOp, tuple[Number, Number]] = {}
    for part in conjuncts(condition):
        if part.op not in (Op.CMPLT, Op.CMPEQ) or part.src[0].dtype is not weakint:
            continue
        x, y = part.src
        index = x if y.op is Op.CONST else y
        low, high = found.get(index, (-inf, inf))
        if y.op is Op.CONST:
            high = min(high, y.arg - (part.op is Op.CMPLT))
            low = max(low, y.arg) if part.op is Op.CMPEQ else low
        elif x.op is Op.CONST:
            low = max(low, x.arg + (part.op is Op.CMPLT))
            high = min(high, x.arg) if part.op is Op.CMPEQ else high
        else:
            continue
        found[index] = low, high
    return [(index, low, high) for index, (low, high) in found.items()]


def _with_limit(value: UOp, limited: UOp, low: Number, high: Number, rules: RuleSet) -> UOp:
    """Put a variable with the tighter bounds in the place of one term, simplify, put it back."""
    terms, constant = collect(limited)
    least, most = interval(terms, constant)
    low, high = max(low, least), min(high, most)
    if low > high or (low, high) == (least, most) or not is_bounded(low, high):
        return value
    here = set(toposort((value,)))
    term = next((t for t, factor in terms.items() if factor == 1 and t in here), None)
    if term is None:
        return value
    # limited = term + rest + constant, so term = limited - rest - constant
    rest: Terms = {other: -factor for other, factor in terms.items() if other is not term}
    # A read is carried out wherever its own gate holds, so it keeps the offset and gate it has.
    kept = {at: at for at in here if at.op in (Op.INDEX, Op.LOAD)}
    if low == high:
        one = {**kept, term: written(rest, int(low) - constant)}
        return rewrite(substitute(value, one), rules)
    bounded = make(Op.VARIABLE, weakint, (), VariableArg("limited", int(low), int(high)))
    stand_in = written({**rest, bounded: 1}, -constant)
    simplified = rewrite(substitute(value, {**kept, term: stand_in}), rules)
    return rewrite(substitute(simplified, {bounded: limited}), rules)


def _is_shorter(a: UOp, b: UOp) -> bool:
    return len(toposort((a,))) < len(toposort((b,)))


def gated_rules(rules: RuleSet) -> tuple[Rule, ...]:
    """The rules that simplify what stands under a gate, by the rules given."""

    @rule(node(Op.INDEX, name="read"))
    def offset_is_simplified_under_its_gate(read: UOp) -> UOp | None:
        if len(read.src) != 3 or read.src[2].dtype is not bool_:
            return None
        storage, offset, gate = read.src
        shorter_gate = without_implied(gate, rules)
        shorter = simplify_given(offset, shorter_gate, rules)
        if shorter is offset and shorter_gate is gate:
            return None
        return make(Op.INDEX, read.dtype, (storage, shorter, shorter_gate), read.arg)

    @rule(node(Op.AND, name="condition"))
    def implied_condition_is_dropped(condition: UOp) -> UOp | None:
        if condition.dtype is not bool_:
            return None
        shorter = without_implied(condition, rules)
        return shorter if shorter is not condition and _is_shorter(shorter, condition) else None

    return (offset_is_simplified_under_its_gate, implied_condition_is_dropped)
