"""The words of C: types, constants and expressions for dtypes and ops.

Integers are computed without undefined behaviour: in unsigned arithmetic of at least 32 bits, then
converted back to their own width, so that C's promotion to int never shows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tiny_ir import DType, Op, UnsupportedError, bits_of, dtypes
from tiny_plugin import Target
from tiny_renderers.listing import computed_floats

TYPES = {
    dtypes.bool_: "typedef _Bool bool_;",
    dtypes.int8: "typedef __INT8_TYPE__ int8;",
    dtypes.uint8: "typedef __UINT8_TYPE__ uint8;",
    dtypes.int16: "typedef __INT16_TYPE__ int16;",
    dtypes.uint16: "typedef __UINT16_TYPE__ uint16;",
    dtypes.int32: "typedef __INT32_TYPE__ int32;",
    dtypes.uint32: "typedef __UINT32_TYPE__ uint32;",
    dtypes.int64: "typedef __INT64_TYPE__ int64;",
    dtypes.uint64: "typedef __UINT64_TYPE__ uint64;",
    dtypes.float8_e4m3: "typedef __UINT8_TYPE__ float8_e4m3;",
    dtypes.float8_e5m2: "typedef __UINT8_TYPE__ float8_e5m2;",
    dtypes.float8_e4m3fnuz: "typedef __UINT8_TYPE__ float8_e4m3fnuz;",
    dtypes.float8_e5m2fnuz: "typedef __UINT8_TYPE__ float8_e5m2fnuz;",
    dtypes.float16: "typedef __UINT16_TYPE__ float16;",
    dtypes.bfloat16: "typedef __UINT16_TYPE__ bfloat16;",
    dtypes.float32: "typedef float float32;",
    dtypes.float64: "typedef double float64;",
}
"""The definition of each type. The float types that C lacks are bits to it."""

HALF = "typedef _Float16 float16;"
"""The definition of float16 where the target computes in it."""

# How the names of builtin functions end; halves go through float, in which they are exact.
_ENDING = {dtypes.float16: "f", dtypes.float32: "f", dtypes.float64: ""}
_INFIX = {Op.ADD: "+", Op.SUB: "-", Op.MUL: "*", Op.AND: "&", Op.OR: "|", Op.XOR: "^"}
_COMPARISONS = {Op.CMPLT: "<", Op.CMPLE: "<=", Op.CMPEQ: "==", Op.CMPNE: "!="}
_BUILTINS = {
    Op.SQRT: "sqrt",
    Op.TRUNC: "trunc",
    Op.FLOOR: "floor",
    Op.CEIL: "ceil",
    # In the rounding mode that every thread begins with; it is one instruction, roundeven is not.
    Op.ROUND: "rint",
}
# bool has one bit: a sum is 0 only where both are 0, a difference where both are equal.
_BOOL_INFIX = {Op.ADD: "|", Op.MUL: "&", Op.SUB: "^", Op.MAX: "|", Op.MIN: "&"} | {
    Op.AND: "&",
    Op.OR: "|",
    Op.XOR: "^",
}


def type_of(dtype: DType) -> str:
    """The C type of a value.

    Example:
        >>> type_of(dtypes.float32), type_of(dtypes.bool_)
        ('float32', 'bool_')
    """
    if dtype not in TYPES:
        raise UnsupportedError(
            f"{dtype.name} is not a type of C.",
            why="weak types have no size.",
            fix="narrow indices to int32 or int64 before rendering.",
        )
    return "bool_" if dtype.is_bool else dtype.name


def memory_dtype_of(dtype: DType) -> DType:
    """What lies in memory: a bool is a byte there."""
    return dtypes.uint8 if dtype.is_bool else dtype


def _of_bools(op: Op, operands: Sequence[str]) -> str | None:
    if op is Op.NEG:
        return operands[0]
    infix = _BOOL_INFIX.get(op)
    return f"{operands[0]} {infix} {operands[1]}" if infix else None


def _of_integers(op: Op, dtype: DType, operands: Sequence[str]) -> str | None:
    kind = type_of(dtype)
    unsigned = "uint64" if dtype.nbytes == 8 else "uint32"
    a, b = operands[0], operands[-1]
    match op:
        case Op.ADD | Op.SUB | Op.MUL | Op.AND | Op.OR | Op.XOR:
            return f"({kind})(({unsigned}){a} {_INFIX[op]} ({unsigned}){b})"
        case Op.FMA:
            product = f"({unsigned}){a} * ({unsigned}){operands[1]}"
            return f"({kind})({product} + ({unsigned}){b})"
        case Op.NEG:
            return f"({kind})(0 - ({unsigned}){a})"
        case Op.CDIV:
            return f"({kind})({a} / {b})"
        case Op.CMOD:
            return f"({kind})({a} % {b})"
        case Op.SHL:
            return f"({kind})(({unsigned}){a} << {b})"
        case Op.SHR:
            return f"({kind})({a} >> {b})"
        case Op.MAX:
            return f"{a} > {b} ? {a} : {b}"
        case Op.MIN:
            return f"{a} < {b} ? {a} : {b}"
        case Op.TRUNC | Op.FLOOR | Op.CEIL | Op.ROUND:
            return a
        case _:
            return None


def extreme_name(op: Op, dtype: DType) -> str:
    """The name of the function for the larger or smaller of two floats."""
    return f"{'maximum' if op is Op.MAX else 'minimum'}_{dtype.name}"


def extreme_definition(op: Op, dtype: DType) -> str:
    """MAX or MIN of IEEE 754-2019: NaN wins, and -0 is less than 0."""
    kind, name = type_of(dtype), extreme_name(op, dtype)
    less, first = ("<", "b : a") if op is Op.MAX else (">", "a : b")
    negative = f"__builtin_signbit{_ENDING[dtype]}(a)"
    return (
        f"static inline {kind} {name}({kind} a, {kind} b) {{\n"
        f"    if (a == b) return {negative} ? {first};\n"
        f"    return b {less} a ? a : a {less} b ? b : ({kind})(a + b);\n}}\n"
    )


def conversion_name(source: DType, target: DType) -> str:
    """The name of the function that converts between half and single precision."""
    return f"{target.name}_of_{source.name}"


def conversion_definition(source: DType, target: DType) -> str:
    """A conversion by the instructions of F16C, which round to nearest even."""
    head = f"static inline {type_of(target)} {conversion_name(source, target)}"
    if source is dtypes.float16:
        return (
            f"{head}(float16 x) {{\n"
            "    typedef short halves __attribute__((vector_size(16)));\n"
            "    return __builtin_ia32_vcvtph2ps((halves){(short)x})[0];\n}\n"
        )
    return (
        f"{head}(float32 x) {{\n"
        "    typedef float singles __attribute__((vector_size(16)));\n"
        "    return (float16)__builtin_ia32_vcvtps2ph((singles){x}, 0)[0];\n}\n"
    )


class Words:
    """What C calls the constants and ops of one target.

    Args:
        target: decides in which float types C computes.
    """

    def __init__(self, target: Target) -> None:
        self.computed = computed_floats(target)

    def definition_of(self, dtype: DType) -> str:
        """The typedef that a dtype needs."""
        return HALF if dtype is dtypes.float16 and dtype in self.computed else TYPES[dtype]

    def constant_of(self, dtype: DType, value: bool | int | float) -> str:
        """A value as C spells it, of exactly its type.

        Example:
            >>> words = Words(Target("cpu"))
            >>> words.constant_of(dtypes.float32, 1.5), words.constant_of(dtypes.int8, -1)
            ('0x1.8000000000000p+0f', '((int8)-1)')
        """
        if dtype not in self.computed:
            # The lowest int64 has no literal of its own.
            number = int(value) if not dtype.is_float else bits_of(dtype, value)
            suffix = "LL" if number >= 2**31 or number < -(2**31) else ""
            suffix = "ULL" if number >= 2**63 else suffix
            text = f"(-{2**63 - 1}LL - 1)" if number == -(2**63) else f"{number}{suffix}"
            return f"(({type_of(dtype)}){text})"
        ending = _ENDING[dtype]
        if math.isnan(value):
            text = f'__builtin_nan{ending}("")'
        elif math.isinf(value):
            text = f"{'-' if value < 0 else ''}__builtin_inf{ending}()"
        else:
            text = f"{float(value).hex()}{ending}"
        return f"((float16){text})" if dtype is dtypes.float16 else text

    def expression_of(
        self, op: Op, dtype: DType, source: DType, operands: Sequence[str]
    ) -> str | None:
        """The expression for an elementwise op; None where C has none.

        Args:
            op: what to compute; not BITCAST.
            dtype: of the result.
            source: of the first operand.
            operands: names or constants; each may be spelled twice.
        """
        if op is Op.CAST:
            return self._cast(dtype, source, operands[0])
        if op is Op.WHERE:
            return f"{operands[0]} ? {operands[1]} : {operands[2]}"
        if source.is_float:
            return self._of_floats(op, source, operands) if source in self.computed else None
        if op in _COMPARISONS:
            return f"{operands[0]} {_COMPARISONS[op]} {operands[1]}"
        return _of_bools(op, operands) if source.is_bool else _of_integers(op, source, operands)

    def converts_halves(self, source: DType, target: DType) -> bool:
        """Whether a conversion is from or to halves, which are bits in C."""
        is_pair = {source, target} == {dtypes.float16, dtypes.float32}
        return is_pair and dtypes.float16 not in self.computed

    def _of_floats(self, op: Op, dtype: DType, operands: Sequence[str]) -> str | None:
        kind = type_of(dtype)
        if op in _COMPARISONS:
            return f"{operands[0]} {_COMPARISONS[op]} {operands[1]}"
        if op in (Op.ADD, Op.SUB, Op.MUL):
            return f"({kind})({operands[0]} {_INFIX[op]} {operands[1]})"
        if op is Op.FDIV:
            return f"({kind})({operands[0]} / {operands[1]})"
        if op is Op.NEG:
            return f"-({operands[0]})"
        if op in _BUILTINS:
            return f"({kind})__builtin_{_BUILTINS[op]}{_ENDING[dtype]}({operands[0]})"
        if op is Op.FMA and dtype is not dtypes.float16:
            return f"__builtin_fma{_ENDING[dtype]}({', '.join(operands)})"
        if op in (Op.MAX, Op.MIN):
            return f"{extreme_name(op, dtype)}({operands[0]}, {operands[1]})"
        return None

    def _cast(self, dtype: DType, source: DType, operand: str) -> str | None:
        if source is dtype:
            return operand
        if self.converts_halves(source, dtype):
            return f"{conversion_name(source, dtype)}({operand})"
        for one in (source, dtype):
            if one.is_float and one not in self.computed:
                return None
        if dtype.is_bool:
            return f"{operand} != 0"
        return f"({type_of(dtype)}){operand}"
