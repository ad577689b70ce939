"""Say what the null device can do: what a plausible wide CPU can, so that programs look real."""

from __future__ import annotations

from tiny_ir import DType, Op, dtypes
from tiny_plugin import FloatFacts, Space, Target, pairs

_CACHES = (32 << 10, 1 << 20, 32 << 20)
_CORES = 8
_COMPARISONS = (Op.CMPLT, Op.CMPLE, Op.CMPEQ, Op.CMPNE)
_ANY_DTYPE = (*_COMPARISONS, Op.WHERE, Op.BITCAST, Op.CAST)
_LOGIC = (Op.AND, Op.OR, Op.XOR)
_INTEGER_OPS = (Op.ADD, Op.SUB, Op.MUL, Op.NEG, Op.CDIV, Op.CMOD, Op.MAX, Op.MIN, Op.SHL, Op.SHR)
_FLOAT_OPS = (Op.ADD, Op.SUB, Op.MUL, Op.NEG, Op.FDIV, Op.SQRT, Op.MAX, Op.MIN, Op.FMA) + (
    Op.TRUNC,
    Op.FLOOR,
    Op.CEIL,
    Op.ROUND,
)


def null_target() -> Target:
    """The Target "null": 64-byte vectors, 32 registers, three caches, eight cores.

    Example:
        >>> null_target().lanes(dtypes.float32)
        16
    """
    stored = tuple(dtype for dtype in dtypes.DTYPES.values() if dtype.nbytes)
    integers = tuple(dtype for dtype in stored if dtype.is_int)
    floats: tuple[DType, ...] = (dtypes.float32, dtypes.float64)
    return Target(
        name="null",
        arch="wide",
        form="wide",
        supported=pairs((*_ANY_DTYPE, *_LOGIC, *_INTEGER_OPS), integers)
        | pairs((*_ANY_DTYPE, *_FLOAT_OPS), floats)
        | pairs((*_ANY_DTYPE, *_LOGIC), [dtypes.bool_]),
        storage=frozenset(stored),
        floats=tuple(FloatFacts(dtype, fma=True) for dtype in floats),
        vector_nbytes=(64, 32, 16),
        vector_registers=32,
        cache_nbytes=_CACHES,
        cores=_CORES,
        spaces=(Space("global"), Space("scratch")),
        grid_limits=(2**31 - 1,),
    )
