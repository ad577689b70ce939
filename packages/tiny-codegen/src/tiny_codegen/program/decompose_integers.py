"""Spell integer operations in those that machines have, for operands for which they are defined.

before   FLOORDIV(a, 4), FLOORMOD(a, b), SHL(x, n), POW(x, 3), THREEFRY(c, k)
after    SHR(a, 2), CMOD(a, WHERE(b is 0 or -1, 1, b)) and its correction,
         WHERE(n < 32, SHL(x, n & 31), 0), MUL(x, MUL(x, x)), rounds of words of 32 bits

Bounds decide much: what is proven not negative divides by shifts and masks, a divisor that is
proven not to be zero needs no guard. After it machines define every shift, quotient and remainder.
"""

from __future__ import annotations

from tiny_codegen.program.capabilities import is_total, lacks
from tiny_codegen.program.integer_power import power
from tiny_codegen.program.threefry import threefry_of_words
from tiny_ir import DType, Op, RuleSet, UOp, anything, bounds, dtypes, node, rule
from tiny_plugin import Target

a, b = anything("a"), anything("b")


def is_machine_integer(dtype: DType) -> bool:
    """Whether values have a width at which they wrap."""
    return dtype.is_int and not dtype.is_weak


# Flooring division ------------------------------------------------------------------------------


@rule(node(Op.FLOORDIV, a, b, name="root", of=is_machine_integer))
def floor_division_truncates_and_corrects(
    root: UOp, a: UOp, b: UOp, target: Target | None
) -> UOp | None:
    if not lacks(target, Op.FLOORDIV, root.dtype):
        return None
    shift = _power_of_two(b)
    if shift is not None:
        return a >> shift
    quotient = a.alu(Op.CDIV, b)
    if bounds(a)[0] >= 0 and bounds(b)[0] >= 0:
        return quotient
    return _is_too_large(a, b).where(quotient - 1, quotient)


@rule(node(Op.FLOORMOD, a, b, name="root", of=is_machine_integer))
def floor_remainder_truncates_and_corrects(
    root: UOp, a: UOp, b: UOp, target: Target | None
) -> UOp | None:
    if not lacks(target, Op.FLOORMOD, root.dtype):
        return None
    shift = _power_of_two(b)
    if shift is not None:
        return a & ((1 << shift) - 1)
    remainder = a.alu(Op.CMOD, b)
    if bounds(a)[0] >= 0 and bounds(b)[0] >= 0:
        return remainder
    return _is_too_large(a, b).where(remainder + b, remainder)


def _is_too_large(a: UOp, b: UOp) -> UOp:
    """Whether the truncated quotient is above the floored one: the remainder has the wrong sign."""
    remainder = a.alu(Op.CMOD, b)
    low, high = bounds(b)
    if low >= 0:
        return remainder < 0
    if high <= 0:
        return remainder > 0
    return ((remainder ^ b) < 0) & remainder.ne(0)


def _power_of_two(b: UOp) -> int | None:
    """The exponent, where b is a positive constant power of two."""
    if b.op is not Op.CONST or b.arg <= 0 or b.arg & (b.arg - 1):
        return None
    exponent: int = b.arg.bit_length() - 1
    return exponent


# Truncating division ----------------------------------------------------------------------------


@rule(node(Op.CDIV, a, b, name="root", of=is_machine_integer))
def division_is_defined_and_fast(root: UOp, a: UOp, b: UOp, target: Target | None) -> UOp | None:
    if _divides_otherwise(target, root):
        return None
    special = _special_divisor(a, b)
    if special is None:
        return _fast_quotient(a, b, target)
    # A divisor of 0 or -1 is replaced by 1; then a * b is the quotient that the op table says.
    return special.where(a * b, a.alu(Op.CDIV, special.where(1, b)))


@rule(node(Op.CMOD, a, b, name="root", of=is_machine_integer))
def remainder_is_defined_and_fast(root: UOp, a: UOp, b: UOp, target: Target | None) -> UOp | None:
    if _divides_otherwise(target, root):
        return None
    special = _special_divisor(a, b)
    if special is not None:
        # Modulo 1 is 0, which the op table says for 0 and -1 too.
        return a.alu(Op.CMOD, special.where(1, b))
    shift = _power_of_two(b)
    if shift is not None and bounds(a)[0] >= 0:
        return a & ((1 << shift) - 1)
    quotient = _fast_quotient(a, b, target)
    return None if quotient is None else a - quotient * b


def _divides_otherwise(target: Target | None, root: UOp) -> bool:
    """Whether the op is left as it is: the target follows the op table, or has no such integers."""
    return is_total(target) or (target is not None and lacks(target, root.op, root.dtype))


def _special_divisor(a: UOp, b: UOp) -> UOp | None:
    """Whether b is one of the divisors that machines do not divide by; None if it never is."""
    if b.op is Op.WHERE and b.src[1].op is Op.CONST and b.src[0] is _is_special(a, b.src[2]):
        return None
    return _is_special(a, b)


def _is_special(a: UOp, b: UOp) -> UOp | None:
    (lowest, _), (low, high) = bounds(a), bounds(b)
    may_be_zero = low <= 0 <= high
    may_overflow = low <= -1 <= high and lowest == a.dtype.minimum
    if may_be_zero and may_overflow:
        return b.eq(0) | b.eq(-1)
    if may_be_zero:
        return b.eq(0)
    return b.eq(-1) if may_overflow else None


def _fast_quotient(a: UOp, b: UOp, target: Target | None) -> UOp | None:
    """The quotient by a shift, a product, or a division of floats; None for the machine's own."""
    if b.op is Op.CONST:
        if bounds(a)[0] < 0:
            return None
        shift = _power_of_two(b)
        return a >> shift if shift is not None else _by_reciprocal(a, b)
    if target is not None and (a.shape or b.shape):
        return _by_float_division(a, b, target)
    return None


def _by_reciprocal(a: UOp, b: UOp) -> UOp | None:
    """Multiply by 2**shift / b rounded up, and shift: where the product fits into the dtype.

    Source:
        T. Granlund, P. L. Montgomery, "Division by invariant integers using multiplication",
        PLDI 1994: it is exact where excess * largest numerator < 2**shift.
    """
    largest, divisor = bounds(a)[1], int(b.arg)
    if divisor <= 0:
        return None
    for shift in range(1, a.dtype.bits):
        factor = -(-(1 << shift) // divisor)
        if largest * factor > a.dtype.maximum:
            return None
        if (factor * divisor - (1 << shift)) * largest < 1 << shift:
            return (a * factor) >> shift
    return None


def _by_float_division(a: UOp, b: UOp, target: Target) -> UOp | None:
    """Divide lanes as floats: vectors of integers do not divide on any machine of ours.

    A quotient that is no whole number is at least 1 / b away from one. Seen relatively, that is
    more than half of the last digit of a float with twice the digits: rounding never reaches it.
    """
    dtype = a.dtype
    wide = dtypes.float32 if dtype.bits <= 16 else dtypes.float64
    if dtype.bits > 32 or not target.vector_nbytes or lacks(target, Op.FDIV, wide):
        return None
    quotient = (a.cast(wide) / b.cast(wide)).alu(Op.TRUNC)
    # Adding this leaves the whole number in the low bits: no conversion that could be undefined.
    word = dtypes.int32 if wide is dtypes.float32 else dtypes.int64
    return (quotient + 1.5 * 2.0**wide.mantissa_bits).bitcast(word).cast(dtype)


# Shifts -----------------------------------------------------------------------------------------


@rule(node(Op.SHL, a, b, name="root", of=is_machine_integer))
def shift_left_counts_below_the_width(
    root: UOp, a: UOp, b: UOp, target: Target | None
) -> UOp | None:
    if is_total(target) or _is_in_range(b):
        return None
    return _is_below_width(b).where(a << (b & (a.dtype.bits - 1)), 0)


@rule(node(Op.SHR, a, b, name="root", of=is_machine_integer))
def shift_right_counts_below_the_width(
    root: UOp, a: UOp, b: UOp, target: Target | None
) -> UOp | None:
    if is_total(target) or _is_in_range(b):
        return None
    masked = b & (a.dtype.bits - 1)
    if a.dtype.is_unsigned:
        return _is_below_width(b).where(a >> masked, 0)
    return a >> _is_below_width(b).where(masked, a.dtype.bits - 1)


def _is_in_range(count: UOp) -> bool:
    low, high = bounds(count)
    return low >= 0 and high < count.dtype.bits


def _is_below_width(count: UOp) -> UOp:
    """Whether a count is in range; a negative one has high bits."""
    return (count & -count.dtype.bits).eq(0)


# Powers, random bits, what a target lacks -------------------------------------------------------


@rule(node(Op.POW, a, b, name="root", of=is_machine_integer))
def power_is_squares_and_products(root: UOp, a: UOp, b: UOp, target: Target | None) -> UOp | None:
    return power(a, b) if lacks(target, Op.POW, root.dtype) else None


@rule(node(Op.THREEFRY, a, b, name="root"))
def threefry_is_rounds_of_words(root: UOp, a: UOp, b: UOp, target: Target | None) -> UOp | None:
    return threefry_of_words(a, b) if lacks(target, Op.THREEFRY, root.dtype) else None


@rule(node((Op.MAX, Op.MIN), a, b, name="root", of=is_machine_integer))
def extremes_compare_and_choose(root: UOp, a: UOp, b: UOp, target: Target | None) -> UOp | None:
    if not lacks(target, root.op, root.dtype):
        return None
    return (a < b).where(b, a) if root.op is Op.MAX else (b < a).where(b, a)


@rule(node(Op.NEG, a, name="root", of=is_machine_integer))
def negation_subtracts_from_zero(root: UOp, a: UOp, target: Target | None) -> UOp | None:
    return root.const_like(0) - a if lacks(target, Op.NEG, root.dtype) else None


DECOMPOSE_INTEGERS = RuleSet(
    (
        floor_division_truncates_and_corrects,
        floor_remainder_truncates_and_corrects,
        division_is_defined_and_fast,
        remainder_is_defined_and_fast,
        shift_left_counts_below_the_width,
        shift_right_counts_below_the_width,
        power_is_squares_and_products,
        threefry_is_rounds_of_words,
        extremes_compare_and_choose,
        negation_subtracts_from_zero,
    )
)
