"""Casts of floats to integers convert numbers that fit, and casts to bool are comparisons.

before   CAST(x: float32 -> int32)
after    CAST(WHERE(z is inside int32, z, 0)), where z is x without its fraction, modulo 2**32

The op table says: without the fraction, NaN is 0, what does not fit into int64 is the nearest
int64, and what is left wraps. Machines only convert what fits, each in its own way beyond that.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tiny_codegen.program.capabilities import is_total
from tiny_ir import DType, Op, RuleSet, UOp, anything, dtypes, make, node, rule
from tiny_plugin import Target

_WHOLE = frozenset((Op.TRUNC, Op.FLOOR, Op.CEIL, Op.ROUND))
_INT64_END = 2.0**63
_UINT64_END = 2.0**64
_UINT32_END = 2.0**32
_INT32_END = 2.0**31
_ENDS: Mapping[DType, float] = MappingProxyType(
    {dtypes.int32: _INT32_END, dtypes.int64: _INT64_END}
)

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
    """Whether the source is a number inside the integer or zero, as it is made to be below."""
    chosen = cast.src[0]
    if chosen.op is not Op.WHERE or cast.dtype not in _ENDS:
        return False
    condition, value, other = chosen.src
    return other is value.const_like(0.0) and condition is _is_inside(value, cast.dtype)


def _is_inside(x: UOp, dtype: DType) -> UOp:
    end = _ENDS[dtype]
    return (x >= -end) & (x < end)


def _converted(x: UOp, dtype: DType) -> UOp:
    """The integer that x is; 0 for NaN and for what does not fit."""
    return make(Op.CAST, dtype, (_is_inside(x, dtype).where(x, 0.0),))


def _to_int64(x: UOp) -> UOp:
    above = (x >= _INT64_END).where(dtypes.int64.maximum, _converted(x, dtypes.int64))
    return (x < -_INT64_END).where(dtypes.int64.minimum, above)


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
    # Of the largest int64 all low bits are set, of the lowest one none.
    converted = _converted(_modulo_uint32(whole), dtypes.int32)
    result = (whole >= _INT64_END).where(-1, converted)
    if x.dtype is dtypes.float64:  # a float32 below int64 is a multiple of 2**32
        result = (whole < -_INT64_END).where(0, result)
    return result.bitcast(dtype) if dtype.bits == 32 else result.cast(dtype)


def _modulo_uint32(whole: UOp) -> UOp:
    """The number between -2**31 and 2**31 with the same low 32 bits; every step is exact."""
    low = whole - (whole * (1 / _UINT32_END)).alu(Op.ROUND) * _UINT32_END
    return (low >= _INT32_END).where(low - _UINT32_END, low)


DECOMPOSE_CASTS = RuleSet((truth_is_not_zero, float_is_made_to_fit))
