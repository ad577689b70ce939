"""Say what the reference backend can do: every op on every dtype, one element at a time."""

from __future__ import annotations

from tiny_ir import ELEMENTWISE, DType, Op, dtypes, has_meaning
from tiny_plugin import FloatFacts, Space, Target

_ANY_SOURCE = (Op.CAST, Op.BITCAST)


def python_target() -> Target:
    """The Target "python".

    Example:
        >>> python_target().supports(Op.ERF, dtypes.bfloat16)
        True
    """
    stored = [dtype for dtype in dtypes.DTYPES.values() if dtype.nbytes]
    return Target(
        name="python",
        arch="reference",
        form="scalar",
        supported=frozenset(
            (op, dtype) for op in ELEMENTWISE for dtype in stored if _has(op, dtype)
        ),
        storage=frozenset(stored),
        floats=tuple(FloatFacts(dtype, fma=True) for dtype in stored if dtype.is_float),
        spaces=(Space("global"), Space("scratch")),
        grid_limits=(2**31 - 1,),
        features=("total",),  # what machines leave open follows the op table too
    )


def _has(op: Op, dtype: DType) -> bool:
    if op is Op.THREEFRY:
        return dtype is dtypes.uint64
    return op in _ANY_SOURCE or has_meaning(op, dtype)
