"""Narrow floats are computed in float32 and rounded after each op; what lacks storage is bits.

before   ADD(a, b)                                      bfloat16
after    BITCAST(round to nearest even in uint32 of ADD(float32 of a, float32 of b))

A target that supports CAST from a narrow float converts between it and float32, both ways and
rounded to nearest even, denormals too. One that stores it loads and stores it; for others its bits
are loaded and stored.
"""

from __future__ import annotations

from tiny_codegen.program.capabilities import has_float64, is_total, lacks
from tiny_codegen.program.float_formats import (
    NARROW,
    narrowed,
    odd_float32_of_float64,
    odd_float32_of_integer,
    widened,
)
from tiny_codegen.program.math.float_bits import unsigned_word_of
from tiny_ir import (
    ELEMENTWISE,
    DType,
    Op,
    RuleSet,
    UOp,
    anything,
    bits_of,
    bounds,
    const,
    dtypes,
    make,
    node,
    rule,
)
from tiny_plugin import Target

a, b, c, x = anything("a"), anything("b"), anything("c"), anything("x")


def is_narrow(dtype: DType) -> bool:
    """Whether a float is narrower than float32."""
    return dtype in NARROW


_COMPARISONS = (Op.CMPLT, Op.CMPLE, Op.CMPEQ, Op.CMPNE)
_NOT_COMPUTED = {Op.CAST, Op.BITCAST, Op.WHERE, Op.FMA, Op.THREEFRY, *_COMPARISONS}
_COMPUTED = tuple(op for op in Op if op in ELEMENTWISE and op not in _NOT_COMPUTED)
_GROWING = frozenset((Op.EXP, Op.EXP2, Op.EXPM1, Op.SINH, Op.COSH, Op.POW))


# What is computed -------------------------------------------------------------------------------


@rule(node(_COMPUTED, name="root", of=is_narrow))
def narrow_floats_are_computed_wide(root: UOp, target: Target | None) -> UOp | None:
    """Rounding to float32 and then to a type of at most 11 digits is rounding once.

    Source:
        S. Figueroa, "When is double rounding innocuous?", SIGNUM Newsletter 30(3), 1995.
    """
    if not lacks(target, root.op, root.dtype):
        return None
    wide = _wide_enough(root.op, root.dtype, target)
    return make(root.op, None, tuple(source.cast(wide) for source in root.src)).cast(root.dtype)


def _wide_enough(op: Op, dtype: DType, target: Target | None) -> DType:
    """float64 for functions that would leave float32 where a type of one byte still saturates."""
    needs_more = op in _GROWING and dtype.nbytes == 1
    return dtypes.float64 if needs_more and has_float64(target) else dtypes.float32


@rule(node(Op.FMA, a, b, c, name="root", of=is_narrow))
def narrow_multiply_add_rounds_once(
    root: UOp, a: UOp, b: UOp, c: UOp, target: Target | None
) -> UOp | None:
    """The product is exact in float64; the error of the sum, too, makes its last bit odd."""
    if not lacks(target, Op.FMA, root.dtype):
        return None
    if not has_float64(target):
        wide = [source.cast(dtypes.float32) for source in (a, b, c)]
        return make(Op.FMA, None, tuple(wide)).cast(root.dtype)
    product = a.cast(dtypes.float64) * b.cast(dtypes.float64)
    other = c.cast(dtypes.float64)
    total = product + other
    part = total - product
    error = (product - (total - part)) + (other - part)
    code = total.bitcast(dtypes.int64)
    away = ((error > 0.0) ^ (total < 0.0)).where(code + 1, code - 1)
    is_odd_wanted = ((error > 0.0) | (error < 0.0)) & (code & 1).eq(0)
    return is_odd_wanted.where(away, code).bitcast(dtypes.float64).cast(root.dtype)


@rule(node(_COMPARISONS, a, b, name="root"))
def narrow_floats_are_compared_wide(root: UOp, a: UOp, b: UOp, target: Target | None) -> UOp | None:
    if not is_narrow(a.dtype) or not lacks(target, root.op, a.dtype):
        return None
    return a.cast(dtypes.float32).alu(root.op, b.cast(dtypes.float32))


@rule(node(Op.WHERE, c, a, b, name="root", of=is_narrow))
def narrow_floats_are_chosen_as_bits(
    root: UOp, c: UOp, a: UOp, b: UOp, target: Target | None
) -> UOp | None:
    if not lacks(target, Op.WHERE, root.dtype):
        return None
    word = unsigned_word_of(root.dtype)
    return c.where(a.bitcast(word), b.bitcast(word)).bitcast(root.dtype)


@rule(node(Op.REDUCE, x, name="root", of=is_narrow))
def narrow_lanes_are_combined_wide(root: UOp, x: UOp, target: Target | None) -> UOp | None:
    if not lacks(target, root.arg.op, root.dtype):
        return None
    wide = make(Op.REDUCE, None, (x.cast(dtypes.float32),), root.arg)
    return wide.cast(root.dtype)


# How they are converted -------------------------------------------------------------------------


@rule(node(Op.CAST, x, name="root"))
def conversion_passes_through_float32(root: UOp, x: UOp, target: Target | None) -> UOp | None:
    if is_narrow(x.dtype):
        if x.op is Op.CONST and root.dtype.is_float:
            return const(root.dtype, x.arg)
        if root.dtype is not dtypes.float32:
            return x.cast(dtypes.float32).cast(root.dtype)
        if lacks(target, Op.CAST, x.dtype):
            return widened(_bits(x), x.dtype)
        return None
    if not is_narrow(root.dtype) or is_total(target):
        return None
    if x.dtype is dtypes.float64:
        return odd_float32_of_float64(x).cast(root.dtype)
    if x.dtype is not dtypes.float32:
        return odd_float32_of_integer(x).cast(root.dtype)
    if lacks(target, Op.CAST, root.dtype):
        return narrowed(x, root.dtype).bitcast(root.dtype)
    return None


@rule(node(Op.BITCAST, node(Op.BITCAST, x), name="root"))
def bits_are_read_once(root: UOp, x: UOp) -> UOp:
    return x.bitcast(root.dtype)


@rule(node(Op.BITCAST, node(Op.CONST, name="x"), name="root"))
def bits_of_constants_are_known(root: UOp, x: UOp) -> UOp | None:
    return const(root.dtype, bits_of(x.dtype, x.arg)) if root.dtype.is_int else None


@rule(node(Op.CAST, node(Op.CAST, x), name="root"))
def what_fits_is_not_cut_off(root: UOp, x: UOp) -> UOp | None:
    through = root.src[0].dtype
    if not (x.dtype is root.dtype and x.dtype.is_int and through.is_int):
        return None
    low, high = bounds(x)
    return x if through.minimum <= low and high <= through.maximum else None


def _bits(x: UOp) -> UOp:
    return x.bitcast(unsigned_word_of(x.dtype))


# How they are stored ----------------------------------------------------------------------------


@rule(node(Op.LOAD, name="root", of=is_narrow))
def narrow_floats_are_loaded_as_bits(root: UOp, target: Target | None) -> UOp | None:
    if target is None or target.stores(root.dtype):
        return None
    place = _as_bits(root.src[0])
    alternative = [_bits(root.src[1]), root.src[2]] if len(root.src) > 1 else []
    return make(Op.LOAD, None, (place, *alternative)).bitcast(root.dtype)


@rule(node(Op.STORE, name="root"))
def narrow_floats_are_stored_as_bits(root: UOp, target: Target | None) -> UOp | None:
    place, value, *gate = root.src
    if not is_narrow(place.dtype) or target is None or target.stores(place.dtype):
        return None
    return make(Op.STORE, None, (_as_bits(place), _bits(value), *gate))


def _as_bits(place: UOp) -> UOp:
    """The same place in memory, as holding unsigned integers."""
    if place.op in (Op.INDEX, Op.AFTER):
        return make(place.op, None, (_as_bits(place.src[0]), *place.src[1:]), place.arg)
    return make(place.op, unsigned_word_of(place.dtype), place.src, place.arg)


DECOMPOSE_DTYPES = RuleSet(
    (
        narrow_floats_are_computed_wide,
        narrow_multiply_add_rounds_once,
        narrow_floats_are_compared_wide,
        narrow_floats_are_chosen_as_bits,
        narrow_lanes_are_combined_wide,
        conversion_passes_through_float32,
        bits_are_read_once,
        bits_of_constants_are_known,
        what_fits_is_not_cut_off,
        narrow_floats_are_loaded_as_bits,
        narrow_floats_are_stored_as_bits,
    )
)
