"""The device "stack": Programs become instructions of a small stack machine, which runs them.

An instruction is a word, a fact, and the places on the stack where its operands lie:

    CONST x         put x on the stack
    REGISTER        put the address of a new accumulator there
    INDEX           put an address there: a memory and a position
    LOAD            put what is at an address there; if a third operand is false, the second
    STORE           write the second operand to an address, unless a third one is false
    RANGE block     run a block as often as the operand says; it finds its turn on the stack
    ADD, MUL, ...   put what the op makes of its operands there; the fact is their dtypes
"""

import json
import time
from collections.abc import Sequence
from typing import Any

from tiny_ir import Op, UOp, dtypes, meaning
from tiny_plugin import Binary, FloatFacts, Mark, Memory, Program, Target, Variable, pairs

TINY_API = (1, 0)
INTEGERS = [dtype for dtype in dtypes.DTYPES.values() if dtype.is_int and not dtype.is_weak]
FLOATS = [dtypes.float32, dtypes.float64]
VALUES = [*INTEGERS, *FLOATS, dtypes.bool_]
TARGET = Target(
    "stack",
    supported=pairs([Op.ADD, Op.SUB, Op.MUL], [*INTEGERS, *FLOATS])
    | pairs([Op.FDIV, Op.SQRT], FLOATS)
    | pairs([Op.CDIV, Op.CMOD, Op.SHL, Op.SHR], INTEGERS)
    | pairs([Op.AND, Op.OR, Op.XOR], [*INTEGERS, dtypes.bool_])
    | pairs([Op.CMPLT, Op.CMPLE, Op.CMPEQ, Op.CMPNE, Op.WHERE, Op.CAST, Op.BITCAST], VALUES),
    storage=frozenset(VALUES),
    floats=tuple(FloatFacts(dtype) for dtype in FLOATS),
)


class StackAssembler:
    """Writes an instruction for each node. What it puts on the stack stays until its loop turns."""

    name = format = "stack"

    def assemble(self, program: Program) -> Binary:
        """Write a Program. When it begins, its arguments and variables lie on the stack."""
        given = [*program.arguments, *program.variables]
        height = len(given)
        places: dict[UOp, int] = {}
        blocks: list[list[object]] = [[]]
        for node in program.uops:
            match node.op:
                case Op.PARAM:
                    places[node] = node.arg.slot
                case Op.VARIABLE:
                    places[node] = given.index(Variable(*node.arg))
                case Op.AFTER:
                    places[node] = places[node.src[0]]
                case Op.END:
                    for loop in [source for source in node.src if source.op is Op.RANGE]:
                        height = min(height, places[loop])
                        blocks.pop()
                case op if op is not Op.SINK:
                    types = [node.dtype.name, *(source.dtype.name for source in node.src)]
                    fact = {Op.CONST: node.arg, Op.RANGE: []}.get(op, types)
                    blocks[-1].append([op.name, fact, [places[source] for source in node.src]])
                    if op is Op.RANGE:
                        blocks.append(fact)
                    if op is not Op.STORE:
                        places[node] = height
                        height += 1
        data = json.dumps(blocks[0]).encode()
        return Binary(data, self.format, program.name, program.launch_facts())


def run(code: list[Any], stack: list[Any]) -> None:
    for word, fact, places in code:
        operands = [stack[place] for place in places]
        match word:
            case "CONST":
                stack.append(fact)
            case "REGISTER":
                stack.append(([0], 0))
            case "INDEX":
                stack.append((operands[0].cast(dtypes.DTYPES[fact[0]].format), operands[1]))
            case "LOAD":
                (memory, position), other, gate = (*operands, None, True)[:3]
                stack.append(memory[position] if gate else other)
            case "STORE":
                (memory, position), value, gate = (*operands, True)[:3]
                if gate:
                    memory[position] = value
            case "RANGE":
                for turn in range(*operands):
                    run(fact, [*stack, turn])
            case _:
                function = meaning(Op[word], *(dtypes.DTYPES[name] for name in fact))
                stack.append(function(*operands))


class StackRuntime:
    """Runs instructions at once, so there is nothing to wait for. Memory is a bytearray."""

    name = compiler = "stack"
    renderer = ""  # an assembler needs no text
    target = TARGET

    def allocate(self, nbytes: int) -> Memory:
        return Memory(self.name, bytearray(nbytes), nbytes)

    def free(self, memory: Memory) -> None:
        """Python frees what nobody holds."""

    def copy_in(self, memory: Memory, data: Any, after: Sequence[Mark] = ()) -> Mark:
        bytes_of(memory)[: len(data)] = data
        return Mark(self.name, 0)

    def copy_out(self, memory: Memory, data: Any, after: Sequence[Mark] = ()) -> Mark:
        data[:] = bytes_of(memory)[: len(data)]
        return Mark(self.name, 0)

    def load(self, binary: Binary) -> object:
        return json.loads(binary.data)

    def launch(
        self,
        executable: Any,
        memories: Sequence[Memory],
        values: Sequence[int] = (),
        after: Sequence[Mark] = (),
    ) -> Mark:
        run(executable, [*map(bytes_of, memories), *values])
        return Mark(self.name, 0)

    def wait(self, mark: Mark) -> None:
        """What was started has finished."""

    def clock(self) -> float:
        return time.perf_counter()


def bytes_of(memory: Memory) -> memoryview:
    assert isinstance(memory.handle, bytearray)
    return memoryview(memory.handle)[memory.offset : memory.offset + memory.nbytes]


def runtime(ordinal: int) -> StackRuntime:
    return StackRuntime()


def compiler(target: Target) -> StackAssembler:
    return StackAssembler()
