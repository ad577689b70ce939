"""Turn a Program into textual LLVM IR: wide values are vectors, accumulators are SSA values.

The text needs no passes: loops are structured, REGISTERs become phis here, nothing is on the stack,
and no flag lets LLVM contract or reassociate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tiny_ir import DType, Op, UOp, bounds, dtypes
from tiny_plugin import Program, Source, Target, boundary
from tiny_renderers.listing import (
    Access,
    access_of,
    lanes_of,
    registers_of_loops,
    scratch_offsets,
    unsupported_node,
    without_constant,
)
from tiny_renderers.llvm_values import LlvmValues

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
    counter: str
    counter_line: int


class _Function(LlvmValues):
    """The text of one function, line by line."""

    def __init__(self, program: Program, target: Target) -> None:
        super().__init__(program, target)
        self.registers: dict[UOp, str] = {}
        self.loops: list[_Loop] = []
        self.block = "entry"
        self.labels = 0
        self.written, self.carried = registers_of_loops(program.uops)
        self.aligned: dict[UOp, str] = {}

    def text(self, target: Target) -> str:
        """The whole module."""
        self._enter()
        self.walk()
        if self.aligned:
            self._end_streams(target)
        declared = "".join(f"\ndeclare {line}" for line in self.declarations)
        width = max(target.vector_nbytes, default=0) * _BITS_PER_BYTE
        prefer = f' "prefer-vector-width"="{width}"' if width else ""
        body = "\n".join(self.lines)
        return (
            f"define void @{self.program.name}(ptr %arguments, i64 %chunk, i64 %worker) #0 {{\n"
            f"entry:\n{body}\n  ret void\n}}\n{declared}\n"
            f"\nattributes #0 = {{ nounwind{prefer} }}\n"
            + ("!0 = !{i32 1}\n" if self.aligned else "")
        )

    def _label(self, name: str) -> None:
        self.lines.append(f"{name}:")
        self.block = name

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
        self._enter_streams()

    def _enter_streams(self) -> None:
        """Ask whether memory that is written past the caches begins at a multiple of a register.

        That of the engine does; what somebody else owns may not, and is then written as ever.
        """
        for node in self.program.uops:
            if node.op is Op.STORE and node.arg is not None and node.arg.is_streamed:
                access = access_of(node.src[0])
                mask = access.lanes * access.storage.dtype.nbytes - 1
                if access.storage not in self.aligned:
                    place = self.bind(f"ptrtoint ptr {self.value(access.storage)} to i64")
                    rest = self.bind(f"and i64 {place}, {mask}")
                    self.aligned[access.storage] = self.bind(f"icmp eq i64 {rest}, 0")

    def _end_streams(self, target: Target) -> None:
        """Let nobody see what is written later before what was written past the caches."""
        if target.arch.startswith("x86-64"):
            self.line(self.call("x86.sse.sfence", "void", []))
        else:
            self.line("fence release")

    def _argument(self, position: int, name: str, kind: str) -> str:
        address = self.bind(f"getelementptr i64, ptr %arguments, i64 {position}")
        if not name:
            return self.bind(f"load {kind}, ptr {address}")
        self.line(f"{name} = load {kind}, ptr {address}")
        return name

    def _narrowed(self, value: str, dtype: DType) -> str:
        return (
            value
            if dtype.bits == 64
            else self.bind(f"trunc i64 {value} to {self.words.type_of(dtype)}")
        )

    def _enter_scratch(self, position: int) -> None:
        offsets = scratch_offsets(self.program)
        if not offsets:
            return
        base = self._argument(position, "%scratch", "ptr")
        skipped = self.bind(f"mul i64 %worker, {self.program.scratch_nbytes}")
        for node, offset in offsets.items():
            start = self.bind(f"add i64 {skipped}, {offset}")
            self.values[node] = self.bind(f"getelementptr i8, ptr {base}, i64 {start}")

    # Loops

    def open_loop(self, node: UOp) -> None:
        """Begin a block with phis: a counter, and every REGISTER that the loop writes."""
        size = node.src[0]
        tested_first = not (size.op is Op.CONST and size.arg > 0)
        kind = self.words.type_of(node.dtype)
        bound = self.operand(size, 0)
        number = self.labels
        self.labels += 1
        entered_from = self.block
        self.line(f"br label %loop{number}")
        self._label(f"loop{number}")
        counter = f"%r{number}"
        loop = _Loop(node, number, tested_first, {}, counter, len(self.lines))
        self.line(f"{counter} = phi {kind} [ 0, %{entered_from} ]")
        for register in self.carried[node] if not tested_first else self.written[node]:
            before = self.registers.get(register)
            if before is None:
                continue
            name = self.fresh("%v")
            loop.phis[register] = (len(self.lines), name)
            kind_of_register = self.words.type_of(register.dtype, lanes_of(register))
            self.line(f"{name} = phi {kind_of_register} [ {before}, %{entered_from} ]")
            self.registers[register] = name
        self.values[node] = self._opaque(kind, counter)
        if tested_first:
            more = self.bind(f"icmp {_less(node.dtype)} {kind} {counter}, {bound}")
            self.line(f"br i1 {more}, label %body{number}, label %done{number}")
            self._label(f"body{number}")
        self.loops.append(loop)
        self.derived.append({})

    def close_loop(self, node: UOp) -> None:
        """Close the innermost loop and give its phis what they carry."""
        loop = self.loops.pop()
        self.derived.pop()
        number, kind, counter = loop.number, self.words.type_of(node.dtype), loop.counter
        following = self.bind(f"add nuw nsw {kind} {counter}, 1")
        self.lines[loop.counter_line] += f", [ {following}, %{self.block} ]"
        for register, (line, name) in loop.phis.items():
            self.lines[line] += f", [ {self.registers[register]}, %{self.block} ]"
            if loop.tested_first:
                self.registers[register] = name
        if loop.tested_first:
            # What a turn alone wrote has no value where there may have been no turn.
            for register in set(self.written[node]) - set(loop.phis):
                self.registers.pop(register, None)
            self.line(f"br label %loop{number}")
        else:
            bound = self.operand(node.src[0], 0)
            more = self.bind(f"icmp {_less(node.dtype)} {kind} {following}, {bound}")
            self.line(f"br i1 {more}, label %loop{number}, label %done{number}")
        self._label(f"done{number}")

    def _opaque(self, kind: str, counter: str) -> str:
        """A counter whose steps LLVM does not know of: `llvm.expect`, which becomes no instruction.

        Its loop strength reduction would take most of the time that a deep nest takes to compile
        (115 of 133 ms for a convolution), to find what the addresses here say already.
        """
        return self.bind(self.call(f"expect.{kind}", kind, [(kind, counter), (kind, "0")]))

    # Memory

    def _offset(self, offset: UOp, lanes: int) -> str:
        """The offset, or one a lane, after its type."""
        dtype, value = offset.dtype, self.operand(offset, lanes)
        if dtype.bits == 64 or offset.op is Op.CONST:
            return self.typed(dtypes.int64, lanes, value)
        if not lanes:
            # Of what is never negative the upper half of a register is zero already.
            extended = "zext" if bounds(offset)[0] >= 0 else "sext"
            value = self.shared(f"{extended} {self.words.type_of(dtype)} {value} to i64")
            return self.typed(dtypes.int64, 0, value)
        if dtype.is_unsigned:  # an address extends a lane by its sign
            value = self.converted(value, dtype, dtypes.int64, lanes)
            return self.typed(dtypes.int64, lanes, value)
        return self.typed(dtype, lanes, value)

    def _address(self, access: Access) -> str:
        """The address, or one a lane; a constant that is added last is the access's own."""
        base = self.value(access.storage)
        if access.lanes and not access.contiguous:
            return self._place(access, base, self._offset(access.offset, access.lanes))
        offset, constant = without_constant(access.offset)
        place = self._place(access, base, self._offset(offset, 0))
        return self._place(access, place, f"i64 {constant}") if constant else place

    def _place(self, access: Access, base: str, offset: str) -> str:
        element = self.words.memory_type_of(access.storage.dtype)
        return self.shared(f"getelementptr {element}, ptr {base}, {offset}")

    def load(self, node: UOp) -> None:
        """Write a load; what a gate shuts out is never read."""
        self.values[node] = self._loaded(node)

    def _loaded(self, node: UOp) -> str:
        access = access_of(node.src[0])
        dtype, gate = node.dtype, node.src[2] if len(node.src) > 2 else None
        if access.lanes and (gate is not None or not access.contiguous):
            return self._from_memory(self._masked_load(access, node), dtype, access.lanes)
        if gate is None:
            address = self._address(access)
        else:
            # Element 0 is always there to be read, so no branch is needed.
            chosen = self._offset(access.offset, 0)
            offset = self.bind(f"select i1 {self.operand(gate, 0)}, {chosen}, i64 0")
            address = self._place(access, self.value(access.storage), f"i64 {offset}")
        kind = self.words.memory_type_of(dtype, access.lanes)
        read = self.bind(f"load {kind}, ptr {address}, align {dtype.nbytes}")
        value = self._from_memory(read, dtype, access.lanes)
        if gate is None:
            return value
        otherwise = self.typed(dtype, 0, self.operand(node.src[1], 0))
        condition = self.operand(gate, 0)
        return self.bind(f"select i1 {condition}, {self.typed(dtype, 0, value)}, {otherwise}")

    def _masked_load(self, access: Access, node: UOp) -> str:
        lanes, kind = access.lanes, self.words.memory_type_of(node.dtype, access.lanes)
        name = self.words.suffix_of(dtypes.uint8 if node.dtype.is_bool else node.dtype, lanes)
        address = self._address(access)
        otherwise = "poison"
        if len(node.src) > 2:
            otherwise = self._to_memory(self.operand(node.src[1], lanes), node.dtype, lanes)
        given = [
            (self.words.type_of(dtypes.bool_, lanes), self._mask(node.src[2:], lanes)),
            (kind, otherwise),
        ]
        if access.contiguous:
            return self.bind(
                self._masked(f"masked.load.{name}.p0", kind, [("ptr", address)], node.dtype, given)
            )
        name = f"masked.gather.{name}.v{lanes}p0"
        pointers = [(f"<{lanes} x ptr>", address)]
        return self.bind(self._masked(name, kind, pointers, node.dtype, given))

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
        return self.operand(gates[0], lanes) if gates else "splat (i1 true)"

    def store(self, node: UOp) -> None:
        """Write a store; behind a branch where it has a gate."""
        target, value = node.src[0], node.src[1]
        gate = node.src[2] if len(node.src) > 2 else None
        access = access_of(target)
        dtype, lanes = access.storage.dtype, access.lanes
        if lanes and (gate is not None or not access.contiguous):
            self._masked_store(access, value, node.src[2:])
            return
        stored = self._to_memory(self.operand(value, lanes), dtype, lanes)
        address = self._address(access)
        kind = self.words.memory_type_of(dtype, lanes)
        line = f"store {kind} {stored}, ptr {address}, align {dtype.nbytes}"
        if node.arg is not None and node.arg.is_streamed and lanes:
            nbytes = lanes * dtype.nbytes
            aligned = f"store {kind} {stored}, ptr {address}, align {nbytes}, !nontemporal !0"
            self._branch(self.aligned[access.storage], aligned, line)
        elif gate is None:
            self.line(line)
        else:
            self._branch(self.operand(gate, 0), line)

    def _branch(self, condition: str, line: str, otherwise: str = "") -> None:
        """Run a line where a bool is true, and another one where it is not."""
        number = self.labels
        self.labels += 1
        other = f"else{number}" if otherwise else f"after{number}"
        self.line(f"br i1 {condition}, label %write{number}, label %{other}")
        self._label(f"write{number}")
        self.line(line)
        self.line(f"br label %after{number}")
        if otherwise:
            self._label(other)
            self.line(otherwise)
            self.line(f"br label %after{number}")
        self._label(f"after{number}")

    def prefetch(self, node: UOp) -> None:
        """Write a prefetch for writing, into all caches."""
        kinds = [("ptr", self._address(access_of(node.src[0])))]
        kinds += [("i32", "1"), ("i32", "3"), ("i32", "1")]
        self.line(self.call("prefetch.p0", "void", kinds))

    def load_register(self, node: UOp, register: UOp) -> None:
        """Take the value that the REGISTER has here."""
        self.values[node] = self.registers.get(register, "poison")

    def store_register(self, node: UOp, register: UOp) -> None:
        """Let the REGISTER have another value from here on."""
        lanes = lanes_of(register)
        stored = self.operand(node.src[1], lanes)
        if len(node.src) > 2:
            mask = self.typed(dtypes.bool_, lanes, self.operand(node.src[2], lanes))
            kind = self.words.type_of(register.dtype, lanes)
            kept = self.registers.get(register, "poison")
            stored = self.bind(f"select {mask}, {kind} {stored}, {kind} {kept}")
        self.registers[register] = stored

    def _masked_store(self, access: Access, value: UOp, gates: Sequence[UOp]) -> None:
        dtype, lanes = access.storage.dtype, access.lanes
        kind = self.words.memory_type_of(dtype, lanes)
        name = self.words.suffix_of(dtypes.uint8 if dtype.is_bool else dtype, lanes)
        stored = self._to_memory(self.operand(value, lanes), dtype, lanes)
        address = self._address(access)
        mask = [(self.words.type_of(dtypes.bool_, lanes), self._mask(gates, lanes))]
        if access.contiguous:
            leading = [(kind, stored), ("ptr", address)]
            self.line(self._masked(f"masked.store.{name}.p0", "void", leading, dtype, mask))
            return
        # Lanes are stored from the first to the last, so that of equal offsets the last one wins.
        leading = [(kind, stored), (f"<{lanes} x ptr>", address)]
        name = f"masked.scatter.{name}.v{lanes}p0"
        self.line(self._masked(name, "void", leading, dtype, mask))

    def _from_memory(self, value: str, dtype: DType, lanes: int) -> str:
        return self.converted(value, dtypes.uint8, dtype, lanes) if dtype.is_bool else value

    def _to_memory(self, value: str, dtype: DType, lanes: int) -> str:
        return self.converted(value, dtype, dtypes.uint8, lanes) if dtype.is_bool else value


def _less(dtype: DType) -> str:
    return "ult" if dtype.is_unsigned else "slt"
