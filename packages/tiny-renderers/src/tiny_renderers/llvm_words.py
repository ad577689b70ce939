"""The words of LLVM IR: types, constants and instruction names for dtypes and ops."""

from __future__ import annotations

import struct

from tiny_ir import DType, Op, UnsupportedError, bits_of, dtypes
from tiny_plugin import Target
from tiny_renderers.listing import computed_floats

_FLOATS = {dtypes.float16: "half", dtypes.float32: "float", dtypes.float64: "double"}

_FLOAT_BINARY = {Op.ADD: "fadd", Op.SUB: "fsub", Op.MUL: "fmul", Op.FDIV: "fdiv"}
_INTEGER_BINARY = {
    Op.ADD: "add",
    Op.SUB: "sub",
    Op.MUL: "mul",
    Op.AND: "and",
    Op.OR: "or",
    Op.XOR: "xor",
    Op.SHL: "shl",
}
_SIGNED_BINARY = {Op.CDIV: "sdiv", Op.CMOD: "srem", Op.SHR: "ashr"}
_UNSIGNED_BINARY = {Op.CDIV: "udiv", Op.CMOD: "urem", Op.SHR: "lshr"}
# bool has one bit: a sum is 0 only where both are 0, a difference where both are equal.
_BOOL_BINARY = {
    Op.ADD: "or",
    Op.MUL: "and",
    Op.SUB: "xor",
    Op.MAX: "or",
    Op.MIN: "and",
    Op.AND: "and",
    Op.OR: "or",
    Op.XOR: "xor",
}
_FLOAT_INTRINSICS = {
    Op.SQRT: "sqrt",
    Op.TRUNC: "trunc",
    Op.FLOOR: "floor",
    Op.CEIL: "ceil",
    Op.ROUND: "roundeven",
    Op.MAX: "maximum",
    Op.MIN: "minimum",
    Op.FMA: "fma",
}
_SIGNED_INTRINSICS = {Op.MAX: "smax", Op.MIN: "smin"}
_UNSIGNED_INTRINSICS = {Op.MAX: "umax", Op.MIN: "umin"}
_FLOAT_COMPARISONS = {Op.CMPLT: "olt", Op.CMPLE: "ole", Op.CMPEQ: "oeq", Op.CMPNE: "une"}
_SIGNED_COMPARISONS = {Op.CMPLT: "slt", Op.CMPLE: "sle", Op.CMPEQ: "eq", Op.CMPNE: "ne"}
_UNSIGNED_COMPARISONS = {Op.CMPLT: "ult", Op.CMPLE: "ule", Op.CMPEQ: "eq", Op.CMPNE: "ne"}


class Words:
    """What LLVM calls the types and ops of one target.

    Args:
        target: decides in which float types LLVM computes.
    """

    def __init__(self, target: Target) -> None:
        self._floats = computed_floats(target)

    def is_float(self, dtype: DType) -> bool:
        """Whether LLVM computes in this type; the other float types are bits to it."""
        return dtype in self._floats

    def type_of(self, dtype: DType, lanes: int = 0) -> str:
        """The LLVM type of a value in a register.

        Example:
            >>> words = Words(Target("cpu"))
            >>> words.type_of(dtypes.float32, 8), words.type_of(dtypes.bool_)
            ('<8 x float>', 'i1')
        """
        if dtype.is_weak or dtype.kind == "void":
            raise UnsupportedError(
                f"{dtype.name} is not a type of LLVM.",
                why="weak types have no size.",
                fix="narrow indices to int32 or int64 before rendering.",
            )
        element = _FLOATS[dtype] if dtype in self._floats else f"i{dtype.bits}"
        return f"<{lanes} x {element}>" if lanes else element

    def memory_type_of(self, dtype: DType, lanes: int = 0) -> str:
        """The LLVM type of a value in memory: bool takes a byte."""
        return self.type_of(dtypes.uint8 if dtype.is_bool else dtype, lanes)

    def suffix_of(self, dtype: DType, lanes: int = 0) -> str:
        """How names of intrinsics spell a type.

        Example:
            >>> words = Words(Target("cpu"))
            >>> words.suffix_of(dtypes.float32, 8), words.suffix_of(dtypes.uint8)
            ('v8f32', 'i8')
        """
        element = f"{'f' if dtype in self._floats else 'i'}{dtype.bits}"
        return f"v{lanes}{element}" if lanes else element

    def constant_of(self, dtype: DType, value: bool | int | float) -> str:
        """A value as LLVM spells it; floats by their bits.

        Example:
            >>> words = Words(Target("cpu"))
            >>> words.constant_of(dtypes.float32, 1.5), words.constant_of(dtypes.uint8, 255)
            ('0x3FF8000000000000', '-1')
        """
        if dtype.is_bool:
            return "true" if value else "false"
        if dtype is dtypes.float32 or dtype is dtypes.float64:
            # A float32 is spelled as the double of equal value.
            double = struct.unpack("<Q", struct.pack("<d", value))[0]
            return f"0x{double:016X}"
        bits = bits_of(dtype, value)
        if dtype in self._floats:
            return f"0xH{bits:04X}"
        return str(bits - (bits >> (dtype.bits - 1) << dtype.bits))

    def binary_of(self, op: Op, dtype: DType) -> str | None:
        """The instruction that computes a binary op; None where there is none."""
        if self.is_float(dtype):
            return _FLOAT_BINARY.get(op)
        if dtype.is_bool:
            return _BOOL_BINARY.get(op)
        if dtype.is_float:
            return None
        signed = _UNSIGNED_BINARY if dtype.is_unsigned else _SIGNED_BINARY
        return _INTEGER_BINARY.get(op) or signed.get(op)

    def intrinsic_of(self, op: Op, dtype: DType) -> str | None:
        """The intrinsic that computes an op; None where there is none."""
        if self.is_float(dtype):
            return _FLOAT_INTRINSICS.get(op)
        if not dtype.is_int:
            return None
        return (_UNSIGNED_INTRINSICS if dtype.is_unsigned else _SIGNED_INTRINSICS).get(op)

    def comparison_of(self, op: Op, dtype: DType) -> str | None:
        """Instruction and predicate of a comparison; None where there is none."""
        if self.is_float(dtype):
            predicates, word = _FLOAT_COMPARISONS, "fcmp"
        elif dtype.is_float:
            return None
        else:
            signed = dtype.is_int and not dtype.is_unsigned
            predicates, word = _SIGNED_COMPARISONS if signed else _UNSIGNED_COMPARISONS, "icmp"
        return f"{word} {predicates[op]}" if op in predicates else None

    def conversion_of(self, source: DType, target: DType) -> str | None:
        """The instruction that converts values; "" where nothing changes, None where there is none.

        Values are in the range of the target: stages before have seen to it. Conversion to bool
        is a comparison and has no instruction of its own.
        """
        if self.is_float(source) and self.is_float(target):
            if source.nbytes == target.nbytes:
                return "" if source is target else None
            return "fpext" if source.nbytes < target.nbytes else "fptrunc"
        if self.is_float(target) and not source.is_float:
            return "sitofp" if source.is_int and not source.is_unsigned else "uitofp"
        if self.is_float(source) and target.is_int:
            return "fptoui" if target.is_unsigned else "fptosi"
        if source.is_float or target.is_float:
            return None
        if source.bits == target.bits:
            return ""
        if source.bits > target.bits:
            return "trunc"
        return "sext" if source.is_int and not source.is_unsigned else "zext"
