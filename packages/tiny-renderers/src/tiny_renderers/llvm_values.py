"""Write the values of a Program as LLVM instructions: ops, conversions, lanes."""

from __future__ import annotations

from collections.abc import Sequence

from tiny_ir import DType, Op, UOp, VerificationError, dtypes
from tiny_plugin import Program, Target
from tiny_renderers.listing import (
    lanes_of,
    reduction_halves,
    unsupported,
    unsupported_node,
    value_of,
)
from tiny_renderers.llvm_words import Words
from tiny_renderers.walk import Walk


class LlvmValues(Walk):
    """The part of a function that neither loops nor looks at memory.

    Attributes:
        words: what LLVM calls the types and ops of the target.
        declarations: the intrinsics called so far.
        derived: for each open loop, and for what is outside, what instructions that users share
            are called.
    """

    language = "llvm"

    def __init__(self, program: Program, target: Target) -> None:
        super().__init__(program)
        self.words = Words(target)
        self.declarations: dict[str, None] = {}
        self.derived: list[dict[str, str]] = [{}]

    def typed(self, dtype: DType, lanes: int, value: str) -> str:
        """A value after its type."""
        return f"{self.words.type_of(dtype, lanes)} {value}"

    # Lines and operands

    def line(self, text: str) -> None:
        self.lines.append("  " + text)

    def bind(self, instruction: str) -> str:
        name = self.fresh("%v")
        self.line(f"{name} = {instruction}")
        return name

    def shared(self, instruction: str) -> str:
        """The name of an instruction that is written once in a loop and those around it."""
        for known in self.derived:
            if instruction in known:
                return known[instruction]
        name = self.derived[-1][instruction] = self.bind(instruction)
        return name

    def call(self, name: str, result: str, arguments: Sequence[tuple[str, str]]) -> str:
        """A call of an intrinsic, which is declared at the end."""
        kinds = ", ".join(kind for kind, _ in arguments)
        self.declarations[f"{result} @llvm.{name}({kinds})"] = None
        given = ", ".join(f"{kind} {value}" for kind, value in arguments)
        return f"call {result} @llvm.{name}({given})"

    def operand(self, node: UOp, lanes: int) -> str:
        """The value of a node, without its type; a single element is repeated where lanes > 0."""
        node = value_of(node)
        own = lanes_of(node)
        if node.op is Op.CONST:
            value = self.words.constant_of(node.dtype, node.arg)
            return f"splat ({self.words.type_of(node.dtype)} {value})" if lanes else value
        if node.op is Op.IOTA:
            element = self.words.type_of(node.dtype)
            return "<" + ", ".join(f"{element} {i}" for i in range(own)) + ">"
        value = self.value(node)
        return self._splat(value, node.dtype, lanes) if lanes and not own else value

    def _splat(self, value: str, dtype: DType, lanes: int) -> str:
        kind, element = self.words.type_of(dtype, lanes), self.words.type_of(dtype)
        one = self.shared(f"insertelement {kind} poison, {element} {value}, i64 0")
        mask = f"<{lanes} x i32> zeroinitializer"
        return self.shared(f"shufflevector {kind} {one}, {kind} poison, {mask}")

    # Nodes

    def elementwise(self, node: UOp) -> None:
        """Write an instruction, or an intrinsic."""
        self.values[node] = self._elementwise(node)

    def _elementwise(self, node: UOp) -> str:
        lanes = lanes_of(node)
        op, dtype, first = node.op, node.dtype, node.src[0].dtype
        if op is Op.CAST:
            return self.converted(self.operand(node.src[0], lanes), first, dtype, lanes)
        if op is Op.BITCAST:
            return self._bitcast(self.operand(node.src[0], lanes), first, dtype, lanes)
        operands = [self.operand(source, lanes) for source in node.src]
        if op is Op.WHERE:
            condition, x, y = operands
            kind = self.words.type_of(dtype, lanes)
            mask = self.words.type_of(dtypes.bool_, lanes)
            return self.bind(f"select {mask} {condition}, {kind} {x}, {kind} {y}")
        value = self._computed(op, first, lanes, operands)
        if value is None:
            raise unsupported_node("llvm", node)
        return value

    def _computed(self, op: Op, dtype: DType, lanes: int, operands: Sequence[str]) -> str | None:
        """The value of an op on operands of one dtype; None where there is no instruction."""
        kind = self.words.type_of(dtype, lanes)
        comparison = self.words.comparison_of(op, dtype)
        if comparison is not None:
            return self.bind(f"{comparison} {kind} {operands[0]}, {operands[1]}")
        word = self.words.binary_of(op, dtype)
        if word is not None:
            return self.bind(f"{word} {kind} {operands[0]}, {operands[1]}")
        intrinsic = self.words.intrinsic_of(op, dtype)
        if intrinsic is not None:
            name = f"{intrinsic}.{self.words.suffix_of(dtype, lanes)}"
            return self.bind(self.call(name, kind, [(kind, operand) for operand in operands]))
        if op is Op.NEG:
            return self._negative(operands[0], dtype, kind)
        if dtype.is_int and op in (Op.TRUNC, Op.FLOOR, Op.CEIL, Op.ROUND):
            return operands[0]
        if dtype.is_int and op is Op.FMA:
            product = self.bind(f"mul {kind} {operands[0]}, {operands[1]}")
            return self.bind(f"add {kind} {product}, {operands[2]}")
        return None

    def _negative(self, operand: str, dtype: DType, kind: str) -> str | None:
        if self.words.is_float(dtype):
            return self.bind(f"fneg {kind} {operand}")
        if dtype.is_bool:
            return operand
        zero = "zeroinitializer" if kind.startswith("<") else "0"
        return self.bind(f"sub {kind} {zero}, {operand}") if dtype.is_int else None

    def converted(self, value: str, source: DType, target: DType, lanes: int) -> str:
        kind = self.words.type_of(source, lanes)
        if target.is_bool and not source.is_bool:
            word = self.words.comparison_of(Op.CMPNE, source)
            zero = "zeroinitializer" if lanes else self.words.constant_of(source, 0)
            if word is not None:
                return self.bind(f"{word} {kind} {value}, {zero}")
        if {source, target} == {dtypes.float16, dtypes.float32}:
            return self._of_halves(value, source, target, lanes)
        word = self.words.conversion_of(source, target)
        if word is None:
            raise unsupported("llvm", Op.CAST, (source,), target)
        return (
            self.bind(f"{word} {kind} {value} to {self.words.type_of(target, lanes)}")
            if word
            else value
        )

    def _of_halves(self, value: str, source: DType, target: DType, lanes: int) -> str:
        """A conversion between half and single precision; halves may be bits here."""
        half = f"<{lanes} x half>" if lanes else "half"
        first, last = self.words.type_of(source, lanes), self.words.type_of(target, lanes)
        if source is dtypes.float16:
            value = value if first == half else self.bind(f"bitcast {first} {value} to {half}")
            return self.bind(f"fpext {half} {value} to {last}")
        value = self.bind(f"fptrunc {first} {value} to {half}")
        return value if last == half else self.bind(f"bitcast {half} {value} to {last}")

    def _bitcast(self, value: str, source: DType, target: DType, lanes: int) -> str:
        if source.is_bool or target.is_bool:
            # The bits of a bool are those of the byte 0 or 1; any other byte is true.
            return self.converted(value, source if source.is_bool else dtypes.uint8, target, lanes)
        kind, wanted = self.words.type_of(source, lanes), self.words.type_of(target, lanes)
        return value if kind == wanted else self.bind(f"bitcast {kind} {value} to {wanted}")

    # Wide values

    def arrange(self, node: UOp) -> None:
        """Write inserts, shuffles and extracts."""
        source = node.src[0]
        match node.op:
            case Op.SPLAT:
                value = self.operand(source, lanes_of(node))
            case Op.STACK:
                value = self._stack(node)
            case Op.EXTRACT:
                wide = self.operand(source, 0)
                value = self.lanes_at(wide, source.dtype, lanes_of(source), node.arg, 1)
            case _:
                value = self._shuffle(node)
        self.values[node] = value

    def _stack(self, node: UOp) -> str:
        lanes, kind = lanes_of(node), self.words.type_of(node.dtype, lanes_of(node))
        element = self.words.type_of(node.dtype)
        constants = [
            self.words.constant_of(source.dtype, source.arg) if source.op is Op.CONST else None
            for source in node.src
        ]
        start = ", ".join(f"{element} {value or 'poison'}" for value in constants)
        value = f"<{start}>" if any(constants) else "poison"
        for lane in range(lanes):
            if constants[lane] is None:
                one = self.operand(node.src[lane], 0)
                value = self.bind(f"insertelement {kind} {value}, {element} {one}, i64 {lane}")
        return value

    def _shuffle(self, node: UOp) -> str:
        x = node.src[0]
        y = node.src[-1]
        lanes, dtype = lanes_of(x), node.dtype
        first, second = self.operand(x, 0), self.operand(y, 0)
        if lanes_of(y) != lanes:
            raise VerificationError(
                f"SHUFFLE takes lanes of values with {lanes} and {lanes_of(y)} lanes.",
                why="both sources of SHUFFLE are equally wide.",
                fix="make the shorter one as wide with a SHUFFLE of its own.",
            )
        return self._shuffled(first, second, dtype, lanes, node.arg)

    def _shuffled(self, x: str, y: str, dtype: DType, lanes: int, positions: Sequence[int]) -> str:
        kind = self.words.type_of(dtype, lanes)
        mask = ", ".join(f"i32 {position}" for position in positions)
        return self.bind(f"shufflevector {kind} {x}, {kind} {y}, <{len(positions)} x i32> <{mask}>")

    def reduce(self, node: UOp) -> None:
        """Write the tree of halves."""
        (source,) = node.src
        op, dtype, lanes = node.arg.op, node.dtype, lanes_of(source)
        value = self.operand(source, 0)
        aside: list[str] = []
        width = lanes
        for half, is_odd in reduction_halves(lanes):
            if is_odd:
                aside.append(self.lanes_at(value, dtype, width, width - 1, 1))
            low = self.lanes_at(value, dtype, width, 0, half)
            high = self.lanes_at(value, dtype, width, half, half)
            value = self._combined(node, op, dtype, half if half > 1 else 0, low, high)
            width = half
        if lanes == 1:
            value = self.lanes_at(value, dtype, lanes, 0, 1)
        for rest in reversed(aside):
            value = self._combined(node, op, dtype, 0, value, rest)
        self.values[node] = value

    def lanes_at(self, value: str, dtype: DType, width: int, first: int, count: int) -> str:
        """Some lanes in a row; a single element where it is one."""
        if count == 1:
            return self.bind(
                f"extractelement {self.words.type_of(dtype, width)} {value}, i64 {first}"
            )
        return self._shuffled(value, "poison", dtype, width, range(first, first + count))

    def _combined(self, node: UOp, op: Op, dtype: DType, lanes: int, x: str, y: str) -> str:
        value = self._computed(op, dtype, lanes, (x, y))
        if value is None:
            raise unsupported_node("llvm", node)
        return value
