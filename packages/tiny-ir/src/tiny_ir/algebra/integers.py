"""Laws of integers that wrap at their own width; they hold for mathematical integers too."""

from __future__ import annotations

from tiny_ir.bounds import bounds
from tiny_ir.op import Op
from tiny_ir.pattern import constant, integer, is_integer, is_wrapping, node, wrapping
from tiny_ir.rule import Rule, law, rule
from tiny_ir.uop import UOp, const, make

# Sums and products of weakint have a form of their own, in index.py.
x, y = wrapping("x"), wrapping("y")
a, b = constant("a", is_wrapping), constant("b", is_wrapping)
i, j, m, n = integer("i"), integer("j"), constant("m", is_integer), constant("n", is_integer)


def _has_all_bits(a: UOp) -> bool:
    dtype = a.dtype
    return bool(a.arg == (dtype.maximum if dtype.is_unsigned else -1))


SUMS = (
    law(x + 0, x, "adding zero"),
    law(x - 0, x, "subtracting zero"),
    law(x - x, 0, "subtracting a number from itself"),
    law(0 - x, -x, "subtracting from zero"),
    law(node(Op.NEG, -x), x, "two negations cancel"),
    law(x + (-y), x - y, "adding a negative"),
    law(x - (-y), x + y, "subtracting a negative"),
    law((x + a) + b, x + (a + b), "constants of a sum are one constant"),
    law((x - a) + b, x + (b - a), "constants of a difference and a sum are one constant"),
    law((x + a) - b, x + (a - b), "constants of a sum and a difference are one constant"),
    law((a - x) + b, (a + b) - x, "constants around a difference are one constant"),
    law((x + y) - y, x, "adding and subtracting a number"),
    law((x - y) + y, x, "subtracting and adding a number"),
)
PRODUCTS = (
    law(x * 0, 0, "multiplying by zero"),
    law(x * 1, x, "multiplying by one"),
    law(x * -1, -x, "multiplying by minus one"),
    law((x * a) * b, x * (a * b), "constants of a product are one constant"),
    law((-x) * (-y), x * y, "a product of negatives"),
    law((-x) * a, x * (-a), "a constant times a negative"),
)
QUOTIENTS = (
    law(x // 1, x, "dividing by one"),
    law(node(Op.CDIV, x, 1), x, "dividing by one toward zero"),
    law(x % 1, 0, "modulo one"),
    law(node(Op.CMOD, x, 1), 0, "truncated modulo one"),
    law(x // 0, 0, "dividing by zero"),
    law(node(Op.CDIV, x, 0), 0, "dividing by zero toward zero"),
    law(x % 0, 0, "modulo zero"),
    law(node(Op.CMOD, x, 0), 0, "truncated modulo zero"),
)
BITS = (
    law(x & x, x, "and of a number with itself"),
    law(x | x, x, "or of a number with itself"),
    law(x ^ x, 0, "exclusive or of a number with itself"),
    law(x & 0, 0, "and with no bits"),
    law(x | 0, x, "or with no bits"),
    law(x ^ 0, x, "exclusive or with no bits"),
    law(x & a, x, "and with all bits", when=_has_all_bits),
    law(x | a, a, "or with all bits", when=_has_all_bits),
    law((x & a) & b, x & (a & b), "constants of an and are one constant"),
    law((x | a) | b, x | (a | b), "constants of an or are one constant"),
    law((x ^ a) ^ b, x ^ (a ^ b), "constants of an exclusive or are one constant"),
    law(x << 0, x, "shifting left by nothing"),
    law(x >> 0, x, "shifting right by nothing"),
)
CHOICES = (
    law(i.maximum(i), i, "the larger of a number and itself"),
    law(i.minimum(i), i, "the smaller of a number and itself"),
    law((i.maximum(m)).maximum(n), i.maximum(m.maximum(n)), "constants of a maximum are one"),
    law((i.minimum(m)).minimum(n), i.minimum(m.minimum(n)), "constants of a minimum are one"),
    law((i.maximum(j)).maximum(j), i.maximum(j), "the same maximum twice"),
    law((i.minimum(j)).minimum(j), i.minimum(j), "the same minimum twice"),
)


def _in_shape_of(root: UOp, result: UOp) -> UOp | None:
    return result if result.shape == root.shape else None


@rule(node((Op.MAX, Op.MIN), x, y, name="root"))
def choice_is_decided_by_bounds(root: UOp, x: UOp, y: UOp) -> UOp | None:
    (a, b), (c, d) = bounds(x), bounds(y)
    if a >= d:
        return _in_shape_of(root, x if root.op is Op.MAX else y)
    if c >= b:
        return _in_shape_of(root, y if root.op is Op.MAX else x)
    return None


@rule(node((Op.FLOORDIV, Op.CDIV, Op.FLOORMOD, Op.CMOD), x, y, name="root"))
def small_numerator_is_the_remainder(root: UOp, x: UOp, y: UOp) -> UOp | None:
    """x // y is 0 and x % y is x where 0 <= x < y."""
    (a, b), c = bounds(x), bounds(y)[0]
    if a < 0 or b >= c:
        return None
    if root.op is Op.FLOORDIV or root.op is Op.CDIV:
        return _in_shape_of(root, const(root.dtype, 0))
    return _in_shape_of(root, x)


@rule(node(Op.AND, x, a, name="root"))
def mask_keeps_small_numbers(root: UOp, x: UOp, a: UOp) -> UOp | None:
    """x & (2 ** n - 1) is x where 0 <= x < 2 ** n."""
    mask = a.arg
    low, high = bounds(x)
    if mask > 0 and not mask & (mask + 1) and low >= 0 and high <= mask:
        return _in_shape_of(root, x)
    return None


@rule(node((Op.SHL, Op.SHR), node((Op.SHL, Op.SHR), x, a, name="y"), b, name="root"))
def shifts_in_one_direction_are_one_shift(root: UOp, x: UOp, y: UOp, a: UOp, b: UOp) -> UOp | None:
    bits = root.dtype.bits
    if root.op is not y.op or not (0 <= a.arg and 0 <= b.arg and a.arg + b.arg < bits):
        return None
    return make(root.op, None, (x, const(a.dtype, a.arg + b.arg)))


@rule(node(Op.SUB, x, a, name="root"))
def subtracting_a_constant_is_adding_its_negative(root: UOp, x: UOp, a: UOp) -> UOp | None:
    """For signed numbers, so that constants meet; the lowest number has no negative."""
    if root.dtype.is_unsigned or a.arg == root.dtype.minimum:
        return None
    return make(Op.ADD, None, (x, const(a.dtype, -a.arg)))


@rule(node((Op.TRUNC, Op.FLOOR, Op.CEIL, Op.ROUND), i))
def integers_are_whole(i: UOp) -> UOp | None:
    return i


INTEGER_RULES: tuple[Rule, ...] = (
    *SUMS,
    *PRODUCTS,
    *QUOTIENTS,
    *BITS,
    *CHOICES,
    choice_is_decided_by_bounds,
    small_numerator_is_the_remainder,
    mask_keeps_small_numbers,
    shifts_in_one_direction_are_one_shift,
    subtracting_a_constant_is_adding_its_negative,
    integers_are_whole,
)
