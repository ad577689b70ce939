"""Polynomials as nodes, with multiply-adds where the target has them."""

from __future__ import annotations

from typing import NamedTuple

from tiny_ir import DType, Op, UOp, dtypes, make
from tiny_plugin import Target


class Coefficients(NamedTuple):
    """One polynomial for each dtype that functions are computed in; lowest power first."""

    float32: tuple[float, ...]
    float64: tuple[float, ...]

    def of(self, dtype: DType) -> tuple[float, ...]:
        """The coefficients for a dtype."""
        return self.float64 if dtype is dtypes.float64 else self.float32


def multiply_add(a: UOp, b: UOp | float, c: UOp | float, target: Target | None) -> UOp:
    """a * b + c, rounded once where the target has such an instruction, else twice.

    Only for places whose error bound holds both ways.
    """
    b = b if isinstance(b, UOp) else a.const_like(b)
    c = c if isinstance(c, UOp) else a.const_like(c)
    if has_multiply_add(a.dtype, target):
        return make(Op.FMA, None, (a, b, c))
    return a * b + c


def has_multiply_add(dtype: DType, target: Target | None) -> bool:
    """Whether a multiply-add with one rounding costs one instruction."""
    return target is None or target.has_fma(dtype)


def polynomial(coefficients: Coefficients, x: UOp, target: Target | None) -> UOp:
    """The value of a polynomial at x, by Horner's rule."""
    *lower, highest = coefficients.of(x.dtype)
    value = x.const_like(highest)
    for coefficient in reversed(lower):
        value = multiply_add(value, x, coefficient, target)
    return value
