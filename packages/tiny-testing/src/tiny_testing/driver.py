"""Asks z3 whether a law holds for all values at once; without z3 nothing is known.

z3 is an extra, so it is imported where it is needed.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping
from enum import Enum
from typing import Any

from tiny_ir import DType, Law, Op, Pattern, const
from tiny_ir.op_table import COMPARISONS

_MILLISECONDS = 2000
_WIDEST = 16  # bits: what holds for 8 and 16 bits holds the same way for more


class Verdict(Enum):
    """What the solver says."""

    TRUE = "true"
    FALSE = "false"
    UNKNOWN = "unknown"


def has_solver() -> bool:
    """Whether z3 is installed."""
    return importlib.util.find_spec("z3") is not None


def verdict_of(
    law: Law, of: Mapping[str, DType], of_pattern: Mapping[int, DType]
) -> tuple[Verdict, str]:
    """Ask whether both sides are equal for all values of these dtypes.

    Returns:
        The verdict, and the values that refute the law or "".
    """
    is_narrow = all(
        (not dtype.is_float) and (dtype.is_weak or dtype.bits <= _WIDEST) for dtype in of.values()
    )
    if not is_narrow or not has_solver():
        return Verdict.UNKNOWN, ""
    z3 = importlib.import_module("z3")
    translator = _Translator(z3, of, of_pattern)
    left, right = translator.term(law.left), translator.term(law.right)
    if left is None or right is None:
        return Verdict.UNKNOWN, ""
    solver = z3.Solver()
    solver.set("timeout", _MILLISECONDS)
    solver.add(left != right)
    answer = solver.check()
    if answer == z3.sat:
        return Verdict.FALSE, str(solver.model())
    return (Verdict.TRUE if answer == z3.unsat else Verdict.UNKNOWN), ""


class _Translator:
    """Writes a side of a law in z3: fixed widths as bit vectors, weakint as Int, bool as Bool."""

    def __init__(self, z3: Any, of: Mapping[str, DType], of_pattern: Mapping[int, DType]) -> None:
        self.z3 = z3
        self.of_pattern = of_pattern
        self.variables = {name: self._variable(name, dtype) for name, dtype in of.items()}

    def _variable(self, name: str, dtype: DType) -> Any:
        if dtype.is_bool:
            return self.z3.Bool(name)
        return self.z3.Int(name) if dtype.is_weak else self.z3.BitVec(name, dtype.bits)

    def term(self, pattern: Pattern) -> Any:
        """The z3 term of a pattern, None where there is none."""
        dtype = self.of_pattern[id(pattern)]
        if pattern.literal is not None:
            value = const(dtype, pattern.literal).arg
            if dtype.is_bool:
                return self.z3.BoolVal(value)
            if dtype.is_weak:
                return self.z3.IntVal(value)
            return self.z3.BitVecVal(value, dtype.bits)
        if pattern.src is None:
            return self.variables[pattern.name or ""]
        (op,) = pattern.ops or ()
        sources = [self.term(source) for source in pattern.src]
        if any(source is None for source in sources):
            return None
        return self._applied(op, self.of_pattern[id(pattern.src[-1])], sources)

    def _applied(self, op: Op, dtype: DType, sources: list[Any]) -> Any:
        z3 = self.z3
        if op is Op.WHERE:
            return z3.If(*sources)
        if op in COMPARISONS:
            return self._compared(op, dtype, *sources)
        if dtype.is_bool:
            logical = {Op.AND: z3.And, Op.OR: z3.Or, Op.XOR: z3.Xor, Op.MUL: z3.And}
            logical |= {Op.MIN: z3.And, Op.MAX: z3.Or}
            return logical[op](*sources) if op in logical else None
        match op:
            case Op.NEG:
                return -sources[0]
            case Op.ADD:
                return sources[0] + sources[1]
            case Op.SUB:
                return sources[0] - sources[1]
            case Op.MUL:
                return sources[0] * sources[1]
            case Op.MAX | Op.MIN:
                a, b = sources
                is_less = self._compared(Op.CMPLT, dtype, a, b)
                return z3.If(is_less, b, a) if op is Op.MAX else z3.If(is_less, a, b)
            case Op.FLOORDIV | Op.FLOORMOD | Op.CDIV | Op.CMOD:
                return self._divided(op, dtype, *sources)
        if dtype.is_weak:
            return None
        return self._bits(op, dtype, *sources)

    def _compared(self, op: Op, dtype: DType, a: Any, b: Any) -> Any:
        z3 = self.z3
        if op is Op.CMPEQ:
            return a == b
        if op is Op.CMPNE:
            return a != b
        if dtype.is_bool:
            return z3.And(z3.Not(a), b) if op is Op.CMPLT else z3.Or(z3.Not(a), b)
        if dtype.is_unsigned:
            return z3.ULT(a, b) if op is Op.CMPLT else z3.ULE(a, b)
        return a < b if op is Op.CMPLT else a <= b

    def _divided(self, op: Op, dtype: DType, a: Any, b: Any) -> Any:
        z3 = self.z3
        if dtype.is_unsigned:
            quotient, rest = z3.UDiv(a, b), z3.URem(a, b)
        elif dtype.is_weak:
            quotient = z3.If(b > 0, a / b, (-a) / (-b))  # the divisor of z3's Int is positive here
            rest = a - b * quotient
            if op in (Op.CDIV, Op.CMOD):
                up = z3.And(rest != 0, (a < 0) != (b < 0))
                quotient = z3.If(up, quotient + 1, quotient)
                rest = a - b * quotient
        else:
            quotient, rest = a / b, z3.SRem(a, b)
            if op in (Op.FLOORDIV, Op.FLOORMOD):
                down = z3.And(rest != 0, (rest < 0) != (b < 0))
                quotient = z3.If(down, quotient - 1, quotient)
                rest = z3.If(down, rest + b, rest)
        result = quotient if op in (Op.FLOORDIV, Op.CDIV) else rest
        return z3.If(b == 0, 0, result)

    def _bits(self, op: Op, dtype: DType, a: Any, b: Any) -> Any:
        z3 = self.z3
        match op:
            case Op.AND:
                return a & b
            case Op.OR:
                return a | b
            case Op.XOR:
                return a ^ b
            case Op.SHL:
                return z3.If(z3.ULT(b, dtype.bits), a << b, 0)
            case Op.SHR if dtype.is_unsigned:
                return z3.If(z3.ULT(b, dtype.bits), z3.LShR(a, b), 0)
            case Op.SHR:
                return z3.If(z3.ULT(b, dtype.bits), a >> b, a >> (dtype.bits - 1))
        return None
