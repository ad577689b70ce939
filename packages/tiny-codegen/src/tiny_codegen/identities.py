"""The neutral element of each op that a REDUCE may use."""

from __future__ import annotations

from tiny_ir import DType, Op


def identity_of(op: Op, dtype: DType) -> bool | int | float:
    """The value that changes nothing when `op` combines it with another.

    -0.0 is the identity of float addition: 0.0 would turn a sum of -0.0 into 0.0.
    """
    if op is Op.ADD:
        return -0.0 if dtype.is_float else 0
    if op is Op.MUL:
        return 1
    if op is Op.AND:
        return True if dtype.is_bool else -1
    if op in (Op.OR, Op.XOR):
        return 0
    return dtype.minimum if op is Op.MAX else dtype.maximum
