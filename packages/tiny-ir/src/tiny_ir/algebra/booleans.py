"""Laws of bools and of choices; conjunctions of comparisons keep only what still decides."""

from __future__ import annotations

from math import inf

from tiny_ir.algebra.order import order_of
from tiny_ir.bounds import bounds
from tiny_ir.dtypes import bool_, weakint
from tiny_ir.op import Op
from tiny_ir.pattern import anything, boolean, constant, integer, is_boolean, node
from tiny_ir.rule import Rule, law, rule
from tiny_ir.uop import UOp, const, make

p, q, r = boolean("p"), boolean("q"), boolean("r")
x, y, z = anything("x"), anything("y"), anything("z")
i, j = integer("i"), integer("j")

LAWS = (
    law(p & p, p, "and of a bool with itself"),
    law(p & True, p, "and with true"),
    law(p & False, False, "and with false"),
    law(p | p, p, "or of a bool with itself"),
    law(p | False, p, "or with false"),
    law(p | True, True, "or with true"),
    law(p ^ False, p, "exclusive or with false"),
    law(p ^ p, False, "exclusive or of a bool with itself"),
    law((p ^ True) ^ True, p, "two negations of a bool cancel"),
    law(p & (p ^ True), False, "a bool and its negation"),
    law(p | (p ^ True), True, "a bool or its negation"),
    law(p & (p | q), p, "and absorbs or"),
    law(p | (p & q), p, "or absorbs and"),
    law(p & ((p ^ True) | q), p & q, "and drops the negation in an or"),
    law(p | ((p ^ True) & q), p | q, "or drops the negation in an and"),
    law((p & q) & q, p & q, "the same conjunct twice"),
    law((p | q) | q, p | q, "the same disjunct twice"),
    law((p & q) | (p & r), p & (q | r), "or shares a conjunct"),
    law(p.eq(True), p, "equal to true"),
    law(p.eq(False), p ^ True, "equal to false"),
    law(p.ne(True), p ^ True, "different from true"),
    law(p.ne(False), p, "different from false"),
    law(p.eq(p), True, "a bool equals itself"),
    law(p.ne(p), False, "a bool does not differ from itself"),
    law(p < p, False, "a bool is not below itself"),
    law(p <= p, True, "a bool is at most itself"),
    law(p.minimum(q), p & q, "the smaller of two bools"),
    law(p.maximum(q), p | q, "the larger of two bools"),
    law(p < q, (p ^ True) & q, "one bool below another"),
    law(p <= q, (p ^ True) | q, "one bool at most another"),
    law(x.eq(y) ^ True, x.ne(y), "not equal"),
    law(x.ne(y) ^ True, x.eq(y), "not different"),
    law((i < j) ^ True, j <= i, "not below"),
    law((i <= j) ^ True, j < i, "not at most"),
    law(p.where(True, False), p, "choosing true or false"),
    law(p.where(False, True), p ^ True, "choosing false or true"),
    law(p.where(q, False), p & q, "choosing a bool or false"),
    law(p.where(True, q), p | q, "choosing true or a bool"),
    law(p.where(False, q), (p ^ True) & q, "choosing false or a bool"),
    law(p.where(q, True), (p ^ True) | q, "choosing a bool or true"),
    law(p.where(x, x), x, "choosing between equals"),
    law((p ^ True).where(x, y), p.where(y, x), "choosing by a negation"),
    law(p.where(p.where(x, y), z), p.where(x, z), "choosing again where true"),
    law(p.where(x, p.where(y, z)), p.where(x, z), "choosing again where false"),
    law(p.where(q.where(x, y), y), (p & q).where(x, y), "choosing twice for one value"),
    law(p.where(x, q.where(x, y)), (p | q).where(x, y), "choosing one value twice"),
)


@rule(node(Op.WHERE, boolean("p"), x, y, name="root"))
def condition_is_decided(root: UOp, p: UOp, x: UOp, y: UOp) -> UOp | None:
    low, high = bounds(p)
    if low != high:
        return None
    result = x if low else y
    if result.shape == root.shape:
        return result
    return None


@rule(
    node(
        (Op.AND, Op.OR, Op.XOR, Op.CMPLT, Op.CMPLE, Op.CMPEQ, Op.CMPNE), name="root", of=is_boolean
    )
)
def truth_is_decided_by_bounds(root: UOp) -> UOp | None:
    low, high = bounds(root)
    return const(bool_, bool(low)) if low == high and root.shape == () else None


@rule(
    node(
        (Op.CMPEQ, Op.CMPNE, Op.CMPLT, Op.CMPLE),
        node(Op.CAST, boolean("p")),
        constant("a"),
        name="root",
    )
)
def comparison_of_a_cast_bool_is_the_bool(root: UOp, p: UOp, a: UOp) -> UOp | None:
    return _of_two_values(root, p, _compared(root.op, 0, a.arg), _compared(root.op, 1, a.arg))


@rule(node((Op.CMPLT, Op.CMPLE), constant("a"), node(Op.CAST, boolean("p")), name="root"))
def comparison_with_a_cast_bool_is_the_bool(root: UOp, p: UOp, a: UOp) -> UOp | None:
    return _of_two_values(root, p, _compared(root.op, a.arg, 0), _compared(root.op, a.arg, 1))


def _compared(op: Op, a: int | float, b: int | float) -> bool:
    match op:
        case Op.CMPLT:
            return a < b
        case Op.CMPLE:
            return a <= b
        case Op.CMPEQ:
            return a == b
        case _:
            return a != b


def _of_two_values(root: UOp, p: UOp, when_false: bool, when_true: bool) -> UOp | None:
    """The bool that is one value where p is false and another where it is true."""
    if when_false == when_true:
        return const(bool_, when_true) if root.shape == () else None
    return p if when_true else p.alu(Op.XOR, True)


# Conjunctions -------------------------------------------------------------------------------------


def conjuncts(condition: UOp, most: float = inf) -> list[UOp]:
    """The conditions that must all hold, in the order in which they stand.

    Args:
        condition: a bool node.
        most: stop when more than so many are found.
    """
    found: list[UOp] = []
    stack = [condition]
    while stack and len(found) <= most:
        node = stack.pop()
        if node.op is Op.AND and node.dtype is bool_:
            stack += node.src
        else:
            found.append(node)
    return found[::-1]


_LONGEST_CONJUNCTION = 32


@rule(node(Op.AND, p, q, name="root"))
def conjunction_has_one_form(root: UOp, p: UOp, q: UOp) -> UOp | None:
    """In order, each once, and of comparisons of one sum with constants only the strictest."""
    parts = conjuncts(root, _LONGEST_CONJUNCTION)
    if len(parts) > _LONGEST_CONJUNCTION or any(part.op is Op.CONST for part in parts):
        return None  # a constant of one lane beside wide bools stands last, by another rule
    kept = dict.fromkeys(parts)
    for part in parts:
        if part.op is Op.XOR and part.src[0] in kept and part.src[1].op is Op.CONST:
            return const(bool_, False) if root.shape == () else None
    limits: dict[UOp, list[UOp]] = {}
    for part in kept:
        value = _compared_with_a_constant(part)
        if value is not None:
            limits.setdefault(value, []).append(part)
    for value, group in limits.items():
        if len(group) > 1:
            stricter = _strictest(value, group)
            if stricter is None:
                return const(bool_, False) if root.shape == () else None
            for part in group:
                del kept[part]
            kept.update(dict.fromkeys(stricter))
    # A constant stays only beside lanes: false is false in each, but it is one element.
    ordered = sorted(kept, key=lambda part: (part.op is Op.CONST, order_of(part)))
    result = ordered[0]
    for part in ordered[1:]:
        result = make(Op.AND, None, (result, part))
    return result if result.shape == root.shape and result is not root else None


def _compared_with_a_constant(part: UOp) -> UOp | None:
    """The index that a conjunct compares with a constant."""
    if part.op not in (Op.CMPLT, Op.CMPEQ):
        return None
    x, y = part.src
    if x.dtype is not weakint:
        return None
    if y.op is Op.CONST:
        return x
    return y if x.op is Op.CONST else None


def _strictest(value: UOp, group: list[UOp]) -> list[UOp] | None:
    """The fewest comparisons of `value` that say the same; None where none can hold."""
    low, high = bounds(value)
    least, most = low, high
    for part in group:
        x, y = part.src
        if part.op is Op.CMPEQ:
            least, most = max(least, y.arg), min(most, y.arg)
        elif y.op is Op.CONST:
            most = min(most, y.arg - 1)
        else:
            least = max(least, x.arg + 1)
    if least > most:
        return None
    if least == most:
        return [make(Op.CMPEQ, None, (value, const(weakint, int(least))))]
    result = []
    if least > low:
        result.append(make(Op.CMPLT, None, (const(weakint, int(least) - 1), value)))
    if most < high:
        result.append(make(Op.CMPLT, None, (value, const(weakint, int(most) + 1))))
    return result


BOOLEAN_RULES: tuple[Rule, ...] = (
    *LAWS,
    condition_is_decided,
    truth_is_decided_by_bounds,
    comparison_of_a_cast_bool_is_the_bool,
    comparison_with_a_cast_bool_is_the_bool,
    conjunction_has_one_form,
)
