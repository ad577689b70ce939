"""Spell functions of floats that a target lacks in arithmetic and operations on their bits.

before   EXP(x)                                        float32 or float64
after    2**n as bits, times a polynomial in what n * log(2) leaves of x

Every function is free of branches and right for all arguments: NaN, infinities, zeros of both
signs, denormals. Its docstring says how far from exact it may be; docs/reference/accuracy.md, made
by a script, says how far it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from tiny_codegen.program.capabilities import lacks
from tiny_codegen.program.math import exponential, logarithm, trigonometric
from tiny_ir import DType, Op, RuleSet, UOp, anything, dtypes, node, rule
from tiny_plugin import Target

Function: TypeAlias = Callable[[UOp, "Target | None"], UOp]

FUNCTIONS: Mapping[Op, Function] = MappingProxyType(
    {
        Op.EXP: exponential.exponential,
        Op.EXP2: exponential.exponential_of_two,
        Op.EXPM1: exponential.exponential_minus_one,
        Op.LOG: logarithm.logarithm,
        Op.LOG2: logarithm.logarithm_to_two,
        Op.LOG1P: logarithm.logarithm_of_one_plus,
        Op.SIN: trigonometric.sine,
        Op.COS: trigonometric.cosine,
        Op.TAN: trigonometric.tangent,
    }
)

x = anything("x")


def is_computed(dtype: DType) -> bool:
    """Whether functions are computed in this dtype; narrower floats are cast first."""
    return dtype is dtypes.float32 or dtype is dtypes.float64


@rule(node(tuple(FUNCTIONS), x, name="root", of=is_computed))
def function_is_polynomial(root: UOp, x: UOp, target: Target | None) -> UOp | None:
    return FUNCTIONS[root.op](x, target) if lacks(target, root.op, root.dtype) else None


DECOMPOSE_MATH = RuleSet((function_is_polynomial,))
