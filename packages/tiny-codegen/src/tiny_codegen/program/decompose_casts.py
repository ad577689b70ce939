"""Casts of floats to integers convert numbers that fit, and casts to bool are comparisons.

before   CAST(x: float32 -> int32)
after    CAST(WHERE(z is a number, z, 0)), where z is x without its fraction, modulo 2**32

The op table says: without the fraction, NaN is 0, what does not fit into int64 is the nearest
int64, and what is left wraps. Machines only convert what fits, each in its own way beyond that.
"""

from __future__ import annotations

from tiny_codegen.program.capabilities import is_total
from tiny_ir import DType, Op, RuleSet, UOp, anything, dtypes, make, node, rule
from tiny_plugin import Target

_WHOLE = frozenset((Op.TRUNC, Op.FLOOR, Op.CEIL, Op.ROUND))
_INT64_END = 2.0**63
_UINT64_END = 2.0**64
_UINT32_END = 2.0**32
_INT32_END = 2.0**31

x = anything("x")


@rule(node(Op.CAST, x, name="root", of=lambda dtype: dtype.is_bool))
def truth_is_not_zero(root: UOp, x: UOp, target: Target | None) -> UOp | None:
    return None if is_total(target) or x.dtype.is_bool else x.ne(0)


@rule(node(Op.CAST, x, name="root", of=lambda dtype: dtype.is_int and not dtype.is_weak))
def float_is_made_to_fit(root: UOp, x: UOp, target: Target | None) -> UOp | None:
    if is_total(target) or x.dtype not in (dtypes.float32, dtypes.float64) or _fits(root):
        return None
    if root.dtype is dtypes.uint64:
        return _to_uint64(x)
    if root.dtype is dtypes.int64:
        return _to_int64(x)
    return _to_narrow(x, root.dtype)


def _fits(cast: UOp) -> bool:
    """Whether the source was made to fit by one of the functions below; nothing else looks so."""
    chosen = cast.src[0]
    if chosen.op is not Op.WHERE or chosen.src[2] is not chosen.const_like(0.0):
        return False
    value = chosen.src[1]
    if cast.dtype is dtypes.int64:
        return chosen.src[0] is _is_in_int64(value)
    if cast.dtype is not dtypes.int32 or value.op is not Op.WHERE:
        return False
    low = value.src[2]
    return low.op is Op.SUB and value is _modulo_uint32(low.src[0])


def _to_int64(x: UOp) -> UOp:
    inside = make(Op.CAST, dtypes.int64, (_is_in_int64(x).where(x, 0.0),))
    above = (x >= _INT64_END).where(dtypes.int64.maximum, inside)
    return (x < -_INT64_END).where(dtypes.int64.minimum, above)


def _is_in_int64(x: UOp) -> UOp:
    return (x >= -_INT64_END) & (x < _INT64_END)


def _to_uint64(x: UOp) -> UOp:
    """The upper half of uint64 is converted without its highest bit."""
    is_upper = x >= _INT64_END
    lower = is_upper.where(x - _INT64_END, x)
    converted = _to_int64(lower).bitcast(dtypes.uint64)
    result = is_upper.where(converted ^ (1 << 63), converted)
    return (x >= _UINT64_END).where(dtypes.uint64.maximum, result)


def _to_narrow(x: UOp, dtype: DType) -> UOp:
    """Integers of up to 32 bits are the low bits of the int64."""
    whole = x if x.op in _WHOLE else x.alu(Op.TRUNC)
    value = _modulo_uint32(whole)
    # Infinities have become NaN too. The largest int64 has all bits set, the lowest none of these.
    converted = make(Op.CAST, dtypes.int32, (value.eq(value).where(value, 0.0),))
    result = (whole >= _INT64_END).where(-1, converted)
    if x.dtype is dtypes.float64:  # a float32 below int64 is a multiple of 2**32
        result = (whole < -_INT64_END).where(0, result)
    return result.bitcast(dtype) if dtype.bits == 32 else result.cast(dtype)


def _modulo_uint32(whole: UOp) -> UOp:
    """The number between -2**31 and 2**31 with the same low 32 bits; every step is exact."""
    low = whole - (whole * (1 / _UINT32_END)).alu(Op.ROUND) * _UINT32_END
    return (low >= _INT32_END).where(low - _UINT32_END, low)


DECOMPOSE_CASTS = RuleSet((truth_is_not_zero, float_is_made_to_fit))
