"""Numbers that are given at launch: they enter no key of a graph."""

from __future__ import annotations

from tiny_ir import Op, UOp, VariableArg, const, dtypes, make

HIGHEST = (1 << 63) - 1
"""Of a launch value: they are signed 64-bit integers."""


def bound(name: str, value: int, minimum: int = 0, maximum: int = HIGHEST) -> UOp:
    """A variable with the number it is bound to."""
    variable = make(Op.VARIABLE, dtypes.weakint, (), VariableArg(name, minimum, maximum))
    return make(Op.BIND, None, (variable, const(dtypes.weakint, value)))
