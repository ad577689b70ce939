"""Laws that hold for every float: NaN, infinities and both zeros; nothing is reassociated.

There is no `x + 0`, which turns -0 into +0; no `x * 0`, `x - x` or `x / x`, which NaN and infinity
contradict; and no `(x + a) + b`, which would round differently.
"""

from __future__ import annotations

from math import frexp, inf

from tiny_ir.dtypes import DType
from tiny_ir.op import Op
from tiny_ir.pattern import anything, constant, floating, is_floating, literal, node
from tiny_ir.rule import Rule, law, rule
from tiny_ir.uop import UOp, const, make


def has_signed_zero(dtype: DType) -> bool:
    """Whether -0 is a value; it is not in the fnuz types."""
    return dtype.is_float and not dtype.is_fnuz


x, y = floating("x"), floating("y")
u, v = anything("u", has_signed_zero), anything("v", has_signed_zero)
c, d = constant("c", is_floating), constant("d", has_signed_zero)
_WHOLE = (Op.TRUNC, Op.FLOOR, Op.CEIL, Op.ROUND)

LAWS = (
    law(x * 1.0, x, "a float times one"),
    law(x / 1.0, x, "a float divided by one"),
    law(x + literal(-0.0), x, "a float plus negative zero"),
    law(x - literal(0.0), x, "a float minus positive zero"),
    law(node(Op.NEG, -x), x, "two negations of a float cancel"),
    law(x * -1.0, -x, "a float times minus one"),
    law(x / -1.0, -x, "a float divided by minus one"),
    law(x + (-y), x - y, "adding a negated float"),
    law(x - (-y), x + y, "subtracting a negated float"),
    law((-x) * (-y), x * y, "a product of negated floats"),
    law((-u) / (-v), u / v, "a quotient of negated floats"),
    law((-x) * c, x * (-c), "a negated float times a constant"),
    law((-u) / d, u / (-d), "a negated float divided by a constant"),
    law(x.maximum(x), x, "the larger of a float and itself"),
    law(x.minimum(x), x, "the smaller of a float and itself"),
    law(x.maximum(-inf), x, "the larger of a float and negative infinity"),
    law(x.minimum(inf), x, "the smaller of a float and infinity"),
    law(x < x, False, "a float is not below itself"),
)


@rule(node(Op.FDIV, x, c, name="root"))
def division_by_a_power_of_two_is_a_product(root: UOp, x: UOp, c: UOp) -> UOp | None:
    """Both round the same real number, if the reciprocal is a normal number of the dtype."""
    value = c.arg
    if value in (0.0, inf, -inf) or value != value or abs(frexp(value)[0]) != 0.5:
        return None
    reciprocal = 1.0 / value
    dtype = root.dtype
    if not dtype.smallest_normal <= abs(reciprocal) <= dtype.largest:
        return None
    return make(Op.MUL, None, (x, const(dtype, reciprocal)))


@rule(node(_WHOLE, node(_WHOLE, x, name="y"), name="root"))
def whole_numbers_stay(root: UOp, y: UOp) -> UOp | None:
    return y


@rule(node(_WHOLE, node(Op.CAST, anything("x"), name="y")))
def cast_integers_are_whole(x: UOp, y: UOp) -> UOp | None:
    """Each rounding of an integer to a float is whole, or infinite."""
    return None if x.dtype.is_float else y


FLOAT_RULES: tuple[Rule, ...] = (
    *LAWS,
    division_by_a_power_of_two_is_a_product,
    whole_numbers_stay,
    cast_integers_are_whole,
)
