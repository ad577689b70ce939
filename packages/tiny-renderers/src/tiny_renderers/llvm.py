"""Turn a Program into textual LLVM IR: wide values are vectors, accumulators are SSA values.

The text needs no passes: loops are structured, REGISTERs become phis here, nothing is on the stack,
and no flag lets LLVM contract or reassociate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tiny_ir import DType, Op, UOp, VerificationError, dtypes
from tiny_plugin import Program, Source, Target, boundary
from tiny_renderers.listing import (
    Access,
    access_of,
    lanes_of,
    reduction_halves,
    registers_of_loops,
    scratch_offsets,
    unsupported,
    unsupported_node,
    value_of,
)
from tiny_renderers.llvm_words import Words
from tiny_renderers.walk import Walk

_BITS_PER_BYTE = 8


@boundary
class LlvmRenderer:
    """Renders for CPUs: `void name(ptr arguments, i64 chunk, i64 worker)`.

    The arguments are 64-bit words: addresses of the buffers, the variables, then the address of
    all workers' scratch where the Program has any.

    Args:
        target: what to render for.
    """

    name = "llvm"
    language = "llvm"

    def __init__(self, target: Target) -> None:
        self.target = target

    def render(self, program: Program) -> Source:
        """Turn a Program into LLVM IR.

        Args:
            program: its uops are at program level, with no weak dtype.

        Raises:
            UnsupportedError: a node has no instruction; its Target claims too much.
            VerificationError: the list does not nest, or an access has no address.
        """
        text = _Function(program, self.target).text(self.target)
        return Source(text, self.language, program.name, program)


@dataclass(slots=True)
class _Loop:
    """An open loop: its labels, what its phis are called, and the lines that wait for values."""

    node: UOp
    number: int
    tested_first: bool
    phis: dict[UOp, tuple[int, str]]
    counter_line: int


class _Function(Walk):
    """The text of one function, line by line."""

    language = "llvm"

    def __init__(self, program: Program, target: Target) -> None:
        super().__init__(program)
        self.words = Words(target)
        self.registers: dict[UOp, str] = {}
        self.splats: list[dict[tuple[str, int], str]] = [{}]
        self.declarations: dict[str, None] = {}
        self.loops: list[_Loop] = []
        self.block = "entry"
        self.labels = 0
        self.written, self.carried = registers_of_loops(program.uops)

    def text(self, target: Target) -> str:
        """The whole module."""
        self._enter()
        self.walk()
        declared = "".join(f"\ndeclare {line}" for line in self.declarations)
        width = max(target.vector_nbytes, default=0) * _BITS_PER_BYTE
        prefer = f' "prefer-vector-width"="{width}"' if width else ""
        body = "\n".join(self.lines)
        return (
            f"define void @{self.program.name}(ptr %arguments, i64 %chunk, i64 %worker) #0 {{\n"
            f"entry:\n{body}\n  ret void\n}}\n{declared}\n"
            f"\nattributes #0 = {{ nounwind{prefer} }}\n"
        )

    def _of(self, dtype: DType, lanes: int, value: str) -> str:
        """A value after its type."""
        return f"{self.words.type_of(dtype, lanes)} {value}"

    # Lines and operands

    def _line(self, text: str) -> None:
        self.lines.append("  " + text)

    def _value(self, instruction: str) -> str:
        name = self.fresh("%v")
        self._line(f"{name} = {instruction}")
        return name

    def _label(self, name: str) -> None:
        self.lines.append(f"{name}:")
        self.block = name

    def _call(self, name: str, result: str, arguments: Sequence[tuple[str, str]]) -> str:
        """A call of an intrinsic, which is declared at the end."""
        kinds = ", ".join(kind for kind, _ in arguments)
        self.declarations[f"{result} @llvm.{name}({kinds})"] = None
        given = ", ".join(f"{kind} {value}" for kind, value in arguments)
        return f"call {result} @llvm.{name}({given})"

    def _operand(self, node: UOp, lanes: int) -> str:
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
        for known in self.splats:
            if (value, lanes) in known:
                return known[value, lanes]
        kind = self.words.type_of(dtype, lanes)
        one = self._value(
            f"insertelement {kind} poison, {self.words.type_of(dtype)} {value}, i64 0"
        )
        mask = f"<{lanes} x i32> zeroinitializer"
        splat = self._value(f"shufflevector {kind} {one}, {kind} poison, {mask}")
        self.splats[-1][value, lanes] = splat
        return splat

    # Arguments

    def _enter(self) -> None:
        """Load every argument that is used, before the first loop."""
        program = self.program
        buffers = len(program.arguments)
        positions = {variable.name: buffers + i for i, variable in enumerate(program.variables)}
        for node in dict.fromkeys(program.uops):
            if node.op is Op.PARAM:
                self.values[node] = self._argument(node.arg.slot, f"%data{node.arg.slot}", "ptr")
            elif node.op is Op.VARIABLE:
                value = self._argument(positions[node.arg.name], "", "i64")
                self.values[node] = self._narrowed(value, node.dtype)
            elif node.op is Op.SPECIAL:
                if node.arg != "grid0":
                    raise unsupported_node("llvm", node)
                self.values[node] = self._narrowed("%chunk", node.dtype)
        self._enter_scratch(buffers + len(program.variables))

    def _argument(self, position: int, name: str, kind: str) -> str:
        address = self._value(f"getelementptr i64, ptr %arguments, i64 {position}")
        if not name:
            return self._value(f"load {kind}, ptr {address}")
        self._line(f"{name} = load {kind}, ptr {address}")
        return name

    def _narrowed(self, value: str, dtype: DType) -> str:
        return (
            value
            if dtype.bits == 64
            else self._value(f"trunc i64 {value} to {self.words.type_of(dtype)}")
        )

    def _enter_scratch(self, position: int) -> None:
        offsets = scratch_offsets(self.program)
        if not offsets:
            return
        base = self._argument(position, "%scratch", "ptr")
        skipped = self._value(f"mul i64 %worker, {self.program.scratch_nbytes}")
        for node, offset in offsets.items():
            start = self._value(f"add i64 {skipped}, {offset}")
            self.values[node] = self._value(f"getelementptr i8, ptr {base}, i64 {start}")

    # Nodes

    def elementwise(self, node: UOp) -> None:
        """Write an instruction, or an intrinsic."""
        self.values[node] = self._elementwise(node)

    def _elementwise(self, node: UOp) -> str:
        lanes = lanes_of(node)
        op, dtype, first = node.op, node.dtype, node.src[0].dtype
        if op is Op.CAST:
            return self._cast(self._operand(node.src[0], lanes), first, dtype, lanes)
        if op is Op.BITCAST:
            return self._bitcast(self._operand(node.src[0], lanes), first, dtype, lanes)
        operands = [self._operand(source, lanes) for source in node.src]
        if op is Op.WHERE:
            condition, x, y = operands
            kind = self.words.type_of(dtype, lanes)
            mask = self.words.type_of(dtypes.bool_, lanes)
            return self._value(f"select {mask} {condition}, {kind} {x}, {kind} {y}")
        value = self._computed(op, first, lanes, operands)
        if value is None:
            raise unsupported_node("llvm", node)
        return value

    def _computed(self, op: Op, dtype: DType, lanes: int, operands: Sequence[str]) -> str | None:
        """The value of an op on operands of one dtype; None where there is no instruction."""
        kind = self.words.type_of(dtype, lanes)
        comparison = self.words.comparison_of(op, dtype)
        if comparison is not None:
            return self._value(f"{comparison} {kind} {operands[0]}, {operands[1]}")
        word = self.words.binary_of(op, dtype)
        if word is not None:
            return self._value(f"{word} {kind} {operands[0]}, {operands[1]}")
        intrinsic = self.words.intrinsic_of(op, dtype)
        if intrinsic is not None:
            name = f"{intrinsic}.{self.words.suffix_of(dtype, lanes)}"
            return self._value(self._call(name, kind, [(kind, operand) for operand in operands]))
        if op is Op.NEG:
            return self._negative(operands[0], dtype, kind)
        if dtype.is_int and op in (Op.TRUNC, Op.FLOOR, Op.CEIL, Op.ROUND):
            return operands[0]
        if dtype.is_int and op is Op.FMA:
            product = self._value(f"mul {kind} {operands[0]}, {operands[1]}")
            return self._value(f"add {kind} {product}, {operands[2]}")
        return None

    def _negative(self, operand: str, dtype: DType, kind: str) -> str | None:
        if self.words.is_float(dtype):
            return self._value(f"fneg {kind} {operand}")
        if dtype.is_bool:
            return operand
        zero = "zeroinitializer" if kind.startswith("<") else "0"
        return self._value(f"sub {kind} {zero}, {operand}") if dtype.is_int else None

    def _cast(self, value: str, source: DType, target: DType, lanes: int) -> str:
        kind = self.words.type_of(source, lanes)
        if target.is_bool and not source.is_bool:
            word = self.words.comparison_of(Op.CMPNE, source)
            zero = "zeroinitializer" if lanes else self.words.constant_of(source, 0)
            if word is not None:
                return self._value(f"{word} {kind} {value}, {zero}")
        word = self.words.conversion_of(source, target)
        if word is None:
            raise unsupported("llvm", Op.CAST, (source,), target)
        return (
            self._value(f"{word} {kind} {value} to {self.words.type_of(target, lanes)}")
            if word
            else value
        )

    def _bitcast(self, value: str, source: DType, target: DType, lanes: int) -> str:
        if source.is_bool or target.is_bool:
            # The bits of a bool are those of the byte 0 or 1; any other byte is true.
            return self._cast(value, source if source.is_bool else dtypes.uint8, target, lanes)
        kind, wanted = self.words.type_of(source, lanes), self.words.type_of(target, lanes)
        return value if kind == wanted else self._value(f"bitcast {kind} {value} to {wanted}")

    # Loops

    def open_loop(self, node: UOp) -> None:
        """Begin a block with phis: a counter, and every REGISTER that the loop writes."""
        size = node.src[0]
        tested_first = not (size.op is Op.CONST and size.arg > 0)
        kind = self.words.type_of(node.dtype)
        bound = self._operand(size, 0)
        number = self.labels
        self.labels += 1
        entered_from = self.block
        self._line(f"br label %loop{number}")
        self._label(f"loop{number}")
        loop = _Loop(node, number, tested_first, {}, len(self.lines))
        counter = f"%r{number}"
        self._line(f"{counter} = phi {kind} [ 0, %{entered_from} ]")
        self.values[node] = counter
        for register in self.carried[node] if not tested_first else self.written[node]:
            before = self.registers.get(register)
            if before is None:
                continue
            name = self.fresh("%v")
            loop.phis[register] = (len(self.lines), name)
            kind_of_register = self.words.type_of(register.dtype, lanes_of(register))
            self._line(f"{name} = phi {kind_of_register} [ {before}, %{entered_from} ]")
            self.registers[register] = name
        if tested_first:
            more = self._value(f"icmp {_less(node.dtype)} {kind} {counter}, {bound}")
            self._line(f"br i1 {more}, label %body{number}, label %done{number}")
            self._label(f"body{number}")
        self.loops.append(loop)
        self.splats.append({})

    def close_loop(self, node: UOp) -> None:
        """Close the innermost loop and give its phis what they carry."""
        loop = self.loops.pop()
        self.splats.pop()
        number, kind, counter = loop.number, self.words.type_of(node.dtype), self.values[node]
        following = self._value(f"add nuw nsw {kind} {counter}, 1")
        self.lines[loop.counter_line] += f", [ {following}, %{self.block} ]"
        for register, (line, name) in loop.phis.items():
            self.lines[line] += f", [ {self.registers[register]}, %{self.block} ]"
            if loop.tested_first:
                self.registers[register] = name
        if loop.tested_first:
            self._line(f"br label %loop{number}")
        else:
            bound = self._operand(node.src[0], 0)
            more = self._value(f"icmp {_less(node.dtype)} {kind} {following}, {bound}")
            self._line(f"br i1 {more}, label %loop{number}, label %done{number}")
        self._label(f"done{number}")

    # Memory

    def _offset(self, access: Access) -> tuple[DType, str]:
        """The offset, one or one a lane, and its type; an address extends it by its sign."""
        lanes = 0 if access.contiguous else access.lanes
        dtype = access.offset.dtype
        value = self._operand(access.offset, lanes)
        if not dtype.is_unsigned:
            return dtype, value
        return dtypes.int64, self._cast(value, dtype, dtypes.int64, lanes)

    def _address(self, access: Access, dtype: DType, offset: str) -> str:
        element = self.words.memory_type_of(access.storage.dtype)
        lanes = 0 if access.contiguous else access.lanes
        place = f"ptr {self.value(access.storage)}, {self._of(dtype, lanes, offset)}"
        return self._value(f"getelementptr {element}, {place}")

    def load(self, node: UOp) -> None:
        """Write a load; what a gate shuts out is never read."""
        self.values[node] = self._loaded(node)

    def _loaded(self, node: UOp) -> str:
        access = access_of(node.src[0])
        dtype, gate = node.dtype, node.src[2] if len(node.src) > 2 else None
        if access.lanes and (gate is not None or not access.contiguous):
            return self._from_memory(self._masked_load(access, node), dtype, access.lanes)
        kind_of_offset, offset = self._offset(access)
        if gate is not None:
            # Element 0 is always there to be read, so no branch is needed.
            chosen = self._of(kind_of_offset, 0, offset)
            zero = self._of(kind_of_offset, 0, "0")
            offset = self._value(f"select i1 {self._operand(gate, 0)}, {chosen}, {zero}")
        kind = self.words.memory_type_of(dtype, access.lanes)
        address = self._address(access, kind_of_offset, offset)
        read = self._value(f"load {kind}, ptr {address}, align {dtype.nbytes}")
        value = self._from_memory(read, dtype, access.lanes)
        if gate is None:
            return value
        otherwise = self._of(dtype, 0, self._operand(node.src[1], 0))
        condition = self._operand(gate, 0)
        return self._value(f"select i1 {condition}, {self._of(dtype, 0, value)}, {otherwise}")

    def _masked_load(self, access: Access, node: UOp) -> str:
        lanes, kind = access.lanes, self.words.memory_type_of(node.dtype, access.lanes)
        name = self.words.suffix_of(dtypes.uint8 if node.dtype.is_bool else node.dtype, lanes)
        address = self._address(access, *self._offset(access))
        otherwise = "poison"
        if len(node.src) > 2:
            otherwise = self._to_memory(self._operand(node.src[1], lanes), node.dtype, lanes)
        given = [
            (self.words.type_of(dtypes.bool_, lanes), self._mask(node.src[2:], lanes)),
            (kind, otherwise),
        ]
        if access.contiguous:
            return self._value(
                self._masked(f"masked.load.{name}.p0", kind, [("ptr", address)], node.dtype, given)
            )
        name = f"masked.gather.{name}.v{lanes}p0"
        pointers = [(f"<{lanes} x ptr>", address)]
        return self._value(self._masked(name, kind, pointers, node.dtype, given))

    def _masked(
        self,
        name: str,
        result: str,
        leading: list[tuple[str, str]],
        dtype: DType,
        rest: list[tuple[str, str]],
    ) -> str:
        """A call of a masked intrinsic, whose last leading argument is the aligned address."""
        kinds = ", ".join(kind for kind, _ in (*leading, *rest))
        self.declarations[f"{result} @llvm.{name}({kinds})"] = None
        kind, address = leading[-1]
        aligned = [*leading[:-1], (f"{kind} align {dtype.nbytes}", address), *rest]
        return f"call {result} @llvm.{name}({', '.join(f'{k} {v}' for k, v in aligned)})"

    def _mask(self, gates: Sequence[UOp], lanes: int) -> str:
        return self._operand(gates[0], lanes) if gates else "splat (i1 true)"

    def store(self, node: UOp) -> None:
        """Write a store; behind a branch where it has a gate."""
        target, value = node.src[0], node.src[1]
        gate = node.src[2] if len(node.src) > 2 else None
        access = access_of(target)
        dtype, lanes = access.storage.dtype, access.lanes
        if lanes and (gate is not None or not access.contiguous):
            self._masked_store(access, value, node.src[2:])
            return
        stored = self._to_memory(self._operand(value, lanes), dtype, lanes)
        address = self._address(access, *self._offset(access))
        kind = self.words.memory_type_of(dtype, lanes)
        line = f"store {kind} {stored}, ptr {address}, align {dtype.nbytes}"
        if gate is None:
            self._line(line)
            return
        number = self.labels
        self.labels += 1
        condition = self._operand(gate, 0)
        self._line(f"br i1 {condition}, label %write{number}, label %after{number}")
        self._label(f"write{number}")
        self._line(line)
        self._line(f"br label %after{number}")
        self._label(f"after{number}")

    def load_register(self, node: UOp, register: UOp) -> None:
        """Take the value that the REGISTER has here."""
        self.values[node] = self.registers.get(register, "poison")

    def store_register(self, node: UOp, register: UOp) -> None:
        """Let the REGISTER have another value from here on."""
        lanes = lanes_of(register)
        stored = self._operand(node.src[1], lanes)
        if len(node.src) > 2:
            mask = self._of(dtypes.bool_, lanes, self._operand(node.src[2], lanes))
            kind = self.words.type_of(register.dtype, lanes)
            kept = self.registers.get(register, "poison")
            stored = self._value(f"select {mask}, {kind} {stored}, {kind} {kept}")
        self.registers[register] = stored

    def _masked_store(self, access: Access, value: UOp, gates: Sequence[UOp]) -> None:
        dtype, lanes = access.storage.dtype, access.lanes
        kind = self.words.memory_type_of(dtype, lanes)
        name = self.words.suffix_of(dtypes.uint8 if dtype.is_bool else dtype, lanes)
        stored = self._to_memory(self._operand(value, lanes), dtype, lanes)
        address = self._address(access, *self._offset(access))
        mask = [(self.words.type_of(dtypes.bool_, lanes), self._mask(gates, lanes))]
        if access.contiguous:
            leading = [(kind, stored), ("ptr", address)]
            self._line(self._masked(f"masked.store.{name}.p0", "void", leading, dtype, mask))
            return
        # Lanes are stored from the first to the last, so that of equal offsets the last one wins.
        leading = [(kind, stored), (f"<{lanes} x ptr>", address)]
        name = f"masked.scatter.{name}.v{lanes}p0"
        self._line(self._masked(name, "void", leading, dtype, mask))

    def _from_memory(self, value: str, dtype: DType, lanes: int) -> str:
        return self._cast(value, dtypes.uint8, dtype, lanes) if dtype.is_bool else value

    def _to_memory(self, value: str, dtype: DType, lanes: int) -> str:
        return self._cast(value, dtype, dtypes.uint8, lanes) if dtype.is_bool else value

    # Wide values

    def arrange(self, node: UOp) -> None:
        """Write inserts, shuffles and extracts."""
        source = node.src[0]
        match node.op:
            case Op.SPLAT:
                value = self._operand(source, lanes_of(node))
            case Op.STACK:
                value = self._stack(node)
            case Op.EXTRACT:
                wide = self._operand(source, 0)
                value = self._lanes(wide, source.dtype, lanes_of(source), node.arg, 1)
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
                one = self._operand(node.src[lane], 0)
                value = self._value(f"insertelement {kind} {value}, {element} {one}, i64 {lane}")
        return value

    def _shuffle(self, node: UOp) -> str:
        x = node.src[0]
        y = node.src[-1]
        lanes, dtype = lanes_of(x), node.dtype
        first, second = self._operand(x, 0), self._operand(y, 0)
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
        return self._value(
            f"shufflevector {kind} {x}, {kind} {y}, <{len(positions)} x i32> <{mask}>"
        )

    def reduce(self, node: UOp) -> None:
        """Write the tree of halves."""
        (source,) = node.src
        op, dtype, lanes = node.arg.op, node.dtype, lanes_of(source)
        value = self._operand(source, 0)
        aside: list[str] = []
        width = lanes
        for half, is_odd in reduction_halves(lanes):
            if is_odd:
                aside.append(self._lanes(value, dtype, width, width - 1, 1))
            low = self._lanes(value, dtype, width, 0, half)
            high = self._lanes(value, dtype, width, half, half)
            value = self._combined(node, op, dtype, half if half > 1 else 0, low, high)
            width = half
        if lanes == 1:
            value = self._lanes(value, dtype, lanes, 0, 1)
        for rest in reversed(aside):
            value = self._combined(node, op, dtype, 0, value, rest)
        self.values[node] = value

    def _lanes(self, value: str, dtype: DType, width: int, first: int, count: int) -> str:
        """Some lanes in a row; a single element where it is one."""
        if count == 1:
            return self._value(
                f"extractelement {self.words.type_of(dtype, width)} {value}, i64 {first}"
            )
        return self._shuffled(value, "poison", dtype, width, range(first, first + count))

    def _combined(self, node: UOp, op: Op, dtype: DType, lanes: int, x: str, y: str) -> str:
        value = self._computed(op, dtype, lanes, (x, y))
        if value is None:
            raise unsupported_node("llvm", node)
        return value


def _less(dtype: DType) -> str:
    return "ult" if dtype.is_unsigned else "slt"
