"""What every renderer asks of a Program's linear list: storage, accesses, loops, order of sums."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tiny_ir import DType, Op, UnsupportedError, UOp, VerificationError, bounds, dtypes
from tiny_plugin import Program, Target

SCRATCH_ALIGNMENT = 64
"""Bytes at whose multiples each SCRATCH begins: one cache line, one AVX-512 register."""


@dataclass(frozen=True, slots=True)
class Access:
    """What one INDEX addresses.

    Args:
        storage: the PARAM or SCRATCH.
        offset: the node of the offset, in elements.
        lanes: how many elements; 0 for a single one.
        contiguous: the elements follow one scalar offset; else there is an offset per lane.
    """

    storage: UOp
    offset: UOp
    lanes: int
    contiguous: bool


def computed_floats(target: Target) -> frozenset[DType]:
    """The float types that are numbers to the target's compiler; all others are bits to it.

    As bits they are loaded, stored, chosen and reread only, and keep every NaN.
    """
    halves = [dtypes.float16] if target.float_facts(dtypes.float16) is not None else []
    return frozenset((dtypes.float32, dtypes.float64, *halves))


def lanes_of(node: UOp) -> int:
    """How many lanes a value has; 0 where it is a single element."""
    if not node.shape:
        return 0
    (lanes,) = node.shape if len(node.shape) == 1 else (None,)
    if not isinstance(lanes, int):
        raise UnsupportedError(
            f"a value of shape {node.shape} in a program",
            why="a wide value has one axis of fixed size.",
            fix="split it into values with one axis.",
        )
    return lanes


def value_of(node: UOp) -> UOp:
    """The node that holds a value or memory: AFTER only says what happened before."""
    while node.op is Op.AFTER:
        node = node.src[0]
    return node


def access_of(index: UOp) -> Access:
    """Read an INDEX that LOAD or STORE goes through."""
    storage = value_of(index.src[0])
    if index.op is not Op.INDEX or len(index.src) != 2:
        raise VerificationError(
            f"{index!r} is not an address.",
            why="LOAD and STORE go through INDEX(storage, offset), with the gate on themselves.",
            fix="lower validity to gates before rendering.",
        )
    offset = index.src[1]
    if index.arg is not None:
        return Access(storage, offset, int(index.arg), True)
    return Access(storage, offset, lanes_of(offset), False)


def without_constant(offset: UOp) -> tuple[UOp, int]:
    """Split an offset into a part that varies and a constant, where their sum never wraps.

    Example:
        >>> from tiny_ir import VariableArg, make
        >>> row = make(Op.VARIABLE, dtypes.int32, (), VariableArg("row", 0, 9))
        >>> without_constant(row + 4) == (row, 4)
        True
    """
    if offset.op is not Op.ADD or offset.src[1].op is not Op.CONST:
        return offset, 0
    varying, constant = offset.src[0], int(offset.src[1].arg)
    low, high = bounds(varying)
    if low + constant < offset.dtype.minimum or high + constant > offset.dtype.maximum:
        return offset, 0
    return varying, constant


Registers = dict[UOp, tuple[UOp, ...]]


def registers_of_loops(uops: Iterable[UOp]) -> tuple[Registers, Registers]:
    """For each RANGE the registers it writes, and those that carry a value from turn to turn.

    A register that a turn writes before it reads it carries nothing.
    """
    written: dict[UOp, dict[UOp, None]] = {}
    carried: dict[UOp, dict[UOp, None]] = {}
    open_loops: list[UOp] = []
    for node in uops:
        if node.op is Op.RANGE:
            open_loops.append(node)
            written[node], carried[node] = {}, {}
        elif node.op is Op.END:
            for _ in closed_ranges(node, open_loops):
                open_loops.pop()
        elif node.op in (Op.LOAD, Op.STORE) and value_of(node.src[0]).op is Op.REGISTER:
            register = value_of(node.src[0])
            reads = node.op is Op.LOAD or len(node.src) > 2
            for loop in open_loops:
                if reads and register not in written[loop]:
                    carried[loop][register] = None
                if node.op is Op.STORE:
                    written[loop][register] = None
    both = {
        loop: tuple(register for register in carried[loop] if register in written[loop])
        for loop in carried
    }
    return {loop: tuple(registers) for loop, registers in written.items()}, both


def closed_ranges(end: UOp, open_loops: list[UOp]) -> list[UOp]:
    """The RANGEs that an END closes, innermost first; they must be the innermost open loops."""
    ranges = [source for source in end.src if source.op is Op.RANGE]
    innermost = open_loops[len(open_loops) - len(ranges) :]
    if len(ranges) > len(open_loops) or set(innermost) != set(ranges):
        closed, still_open = ([r.arg.number for r in some] for some in (ranges, open_loops))
        raise VerificationError(
            f"END closes loops {closed} while {still_open} are open.",
            why="a loop ends after all loops inside it.",
            fix="order the list so that loops nest.",
        )
    return innermost[::-1]


def scratch_offsets(program: Program) -> dict[UOp, int]:
    """Where each SCRATCH of one worker begins, in bytes; ordered by number, each on a cache line.

    Raises:
        VerificationError: the Program's scratch_nbytes is too small for its SCRATCH nodes.
    """
    nodes = {node for node in program.uops if node.op is Op.SCRATCH}
    offsets: dict[UOp, int] = {}
    end = 0
    for node in sorted(nodes, key=lambda node: node.arg.number):
        offsets[node] = end
        nbytes = node.arg.elements * node.dtype.nbytes
        end += -(-nbytes // SCRATCH_ALIGNMENT) * SCRATCH_ALIGNMENT
    if end > program.scratch_nbytes or program.scratch_nbytes % SCRATCH_ALIGNMENT:
        raise VerificationError(
            f"program {program.name!r} declares {program.scratch_nbytes} bytes of scratch.",
            why=f"its SCRATCH nodes need {end}, in multiples of {SCRATCH_ALIGNMENT}.",
            fix="set scratch_nbytes to the sum of their sizes, each rounded up.",
        )
    return offsets


def reduction_halves(lanes: int) -> Iterator[tuple[int, bool]]:
    """The order in which the lanes of one value are combined: the same in every renderer.

    An odd last lane is set aside. The upper half is combined onto the lower half, and so on until
    one is left; then come the lanes set aside, the latest first.

    Yields:
        For each step the size of a half, and whether a last lane was set aside before.

    Example:
        >>> list(reduction_halves(8)), list(reduction_halves(6))
        ([(4, False), (2, False), (1, False)], [(3, False), (1, True)])
    """
    while lanes > 1:
        yield lanes // 2, bool(lanes % 2)
        lanes //= 2


def unsupported_node(language: str, node: UOp) -> UnsupportedError:
    """The error for a node that has no spelling in a language."""
    return unsupported(language, node.op, [source.dtype for source in node.src], node.dtype)


def unsupported(language: str, op: Op, sources: Sequence[DType], target: DType) -> UnsupportedError:
    """The error for an op that has no spelling in a language."""
    names = ", ".join(dtype.name for dtype in sources)
    return UnsupportedError(
        f"{op.name} of ({names}) to {target.name} has no spelling in {language}.",
        why="the program was lowered for a Target that claims it, or not lowered at all.",
        fix="take the pair out of the Target's supported set, so that it is decomposed before.",
    )
