"""What the decompositions ask of a Target."""

from __future__ import annotations

from tiny_ir import DType, Op, dtypes
from tiny_plugin import Target

TOTAL = "total"
"""The feature of a target whose ops follow the op table for all operands.

Machines leave open what a shift by more than the width gives, what a division by zero does, and
which integer a float becomes that does not fit. An interpreter that follows the op table does not.
"""


def is_total(target: Target | None) -> bool:
    """Whether every op the target supports follows the op table for all operands."""
    return target is not None and TOTAL in target.features


def lacks(target: Target | None, op: Op, dtype: DType) -> bool:
    """Whether an op must be decomposed; without a target, all are."""
    return target is None or not target.supports(op, dtype)


def has_float64(target: Target | None) -> bool:
    """Whether arithmetic may be done in float64."""
    return target is None or target.supports(Op.ADD, dtypes.float64)
