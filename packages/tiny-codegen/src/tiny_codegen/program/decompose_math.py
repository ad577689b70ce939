"""Spell functions of floats that a target lacks in arithmetic and operations on their bits.

before   EXP(x)                                        float32 or float64
after    2**n as bits, times a polynomial in what n * log(2) leaves of x

Every function is free of branches and right for all arguments: NaN, infinities, zeros of both
signs, denormals. Its docstring says how far from exact it may be; docs/judges/accuracy.md, made
by a script, says how far it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from tiny_codegen.program.capabilities import lacks
from tiny_codegen.program.math import (
    error_function,
    exponential,
    hyperbolic,
    inverse_trigonometric,
    logarithm,
    rounding,
    trigonometric,
)
from tiny_codegen.program.math.polynomial import has_multiply_add
from tiny_codegen.program.math.power import power
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
        Op.ASIN: inverse_trigonometric.arc_sine,
        Op.ACOS: inverse_trigonometric.arc_cosine,
        Op.ATAN: inverse_trigonometric.arc_tangent,
        Op.SINH: hyperbolic.hyperbolic_sine,
        Op.COSH: hyperbolic.hyperbolic_cosine,
        Op.TANH: hyperbolic.hyperbolic_tangent,
        Op.ERF: error_function.error_function,
    }
)

x, y, z = anything("x"), anything("y"), anything("z")


def is_computed(dtype: DType) -> bool:
    """Whether functions are computed in this dtype; narrower floats are cast first."""
    return dtype is dtypes.float32 or dtype is dtypes.float64


@rule(node(tuple(FUNCTIONS), x, name="root", of=is_computed))
def function_is_polynomial(root: UOp, x: UOp, target: Target | None) -> UOp | None:
    return FUNCTIONS[root.op](x, target) if lacks(target, root.op, root.dtype) else None


@rule(node(Op.POW, x, y, name="root", of=is_computed))
def power_is_exponential_of_logarithm(
    root: UOp, x: UOp, y: UOp, target: Target | None
) -> UOp | None:
    return power(x, y, target) if lacks(target, Op.POW, root.dtype) else None


@rule(node((Op.TRUNC, Op.FLOOR, Op.CEIL, Op.ROUND), x, name="root", of=is_computed))
def rounding_adds_a_large_number(root: UOp, x: UOp, target: Target | None) -> UOp | None:
    return rounding.to_whole(x, root.op) if lacks(target, root.op, root.dtype) else None


@rule(node((Op.MAX, Op.MIN), x, y, name="root", of=is_computed))
def extreme_of_floats_is_chosen(root: UOp, x: UOp, y: UOp, target: Target | None) -> UOp | None:
    return rounding.extreme(x, y, root.op) if lacks(target, root.op, root.dtype) else None


@rule(node(Op.NEG, x, name="root", of=is_computed))
def negation_flips_the_sign(root: UOp, x: UOp, target: Target | None) -> UOp | None:
    return rounding.negative(x) if lacks(target, Op.NEG, root.dtype) else None


@rule(node(Op.FMA, x, y, z, name="root", of=is_computed))
def multiply_add_is_taken_apart(
    root: UOp, x: UOp, y: UOp, z: UOp, target: Target | None
) -> UOp | None:
    if not lacks(target, Op.FMA, root.dtype) or has_multiply_add(root.dtype, target):
        return None
    return rounding.multiply_add_once(x, y, z, target)


DECOMPOSE_MATH = RuleSet(
    (
        function_is_polynomial,
        power_is_exponential_of_logarithm,
        rounding_adds_a_large_number,
        extreme_of_floats_is_chosen,
        negation_flips_the_sign,
        multiply_add_is_taken_apart,
    )
)
