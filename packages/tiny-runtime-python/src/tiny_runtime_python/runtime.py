"""Run Binaries that are Python text: the oracle of every other backend."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product

from tiny_ir import ArgumentError, Op, RunError, TinyError, UOp, meaning, toposort
from tiny_plugin import Binary, Mark, Memory, Program, boundary, record
from tiny_runtime_python.compiler import function_of
from tiny_runtime_python.driver import ArgumentBuffer, Driver
from tiny_runtime_python.target import python_target


@record(frozen=True, slots=True)
class Kernel:
    """A loaded Binary: its function and what a launch must bring."""

    function: Callable[..., None]
    program: Program


@boundary
class PythonRuntime:
    """Runs kernels in this interpreter; every call has finished when it returns.

    Args:
        ordinal: which of the equal devices this is.
        driver: the memory.
    """

    name = "python"
    renderer = "python"
    compiler = "python"

    def __init__(self, ordinal: int = 0, driver: Driver | None = None) -> None:
        self.ordinal = ordinal
        self.target = python_target()
        self._driver = driver or Driver()
        self._number = 0
        self._launches = 0
        self._nbytes = 0

    def allocate(self, nbytes: int) -> Memory:
        """A block of bytes with arbitrary content."""
        if nbytes < 0:
            raise ArgumentError(
                f"cannot allocate {nbytes} bytes.",
                why="a block has no negative size.",
                fix="ask for 0 bytes or more.",
            )
        self._nbytes += nbytes
        return Memory(self.name, self._driver.allocate(nbytes), nbytes)

    def free(self, memory: Memory) -> None:
        """Give back a block that `allocate` returned."""
        block = memory.handle
        assert isinstance(block, bytearray), "memory of this runtime is a bytearray"
        self._driver.free(block)
        self._nbytes -= memory.nbytes

    def copy_in(
        self, memory: Memory, data: bytes | bytearray | memoryview, after: Sequence[Mark] = ()
    ) -> Mark:
        """Copy host bytes to the start of `memory`."""
        given = memoryview(data).cast("B")
        _check_room("copy_in", len(given), memory)
        self._driver.view(memory)[: len(given)] = given
        return self._mark()

    def copy_out(
        self, memory: Memory, data: bytearray | memoryview, after: Sequence[Mark] = ()
    ) -> Mark:
        """Copy the start of `memory` into host bytes, as many as `data` holds."""
        wanted = memoryview(data).cast("B")
        _check_room("copy_out", len(wanted), memory)
        wanted[:] = self._driver.view(memory)[: len(wanted)]
        return self._mark()

    def load(self, binary: Binary) -> object:
        """Make a Binary ready to launch."""
        return Kernel(function_of(binary.data.decode(), binary.entry), binary.program)

    def launch(
        self,
        executable: object,
        memories: Sequence[Memory],
        values: Sequence[int] = (),
        after: Sequence[Mark] = (),
    ) -> Mark:
        """Run a kernel, one grid position after the other.

        Raises:
            ArgumentError: there are too few or too many memories or values, or a value is out of
                its bounds.
            RunError: the kernel reads or writes outside its buffers, or what it may not.
        """
        assert isinstance(executable, Kernel), "executables of this runtime are Kernels"
        program = executable.program
        _check_launch(program, memories, values)
        rows = zip(program.arguments, memories, strict=True)
        buffers = [
            ArgumentBuffer(
                self._driver.view(memory), argument, f"argument {i} of kernel {program.name!r}"
            )
            for i, (argument, memory) in enumerate(rows)
        ]
        for position in _positions(program, values):
            _run(executable, (*buffers, *values, *position))
        self._launches += 1
        return self._mark()

    def wait(self, mark: Mark) -> None:
        """Return at once: what was started has finished."""

    def clock(self) -> float:
        """Seconds, for differences only."""
        return self._driver.clock()

    def statistics(self) -> Mapping[str, int]:
        """Bytes allocated now, and launches so far."""
        return {"allocated_nbytes": self._nbytes, "launches": self._launches}

    def _mark(self) -> Mark:
        self._number += 1
        return Mark(self.name, self._number)


def _check_room(what: str, nbytes: int, memory: Memory) -> None:
    if nbytes > memory.nbytes:
        raise ArgumentError(
            f"{what} of {nbytes} bytes with memory of {memory.nbytes}.",
            why="a copy begins at the start of the memory and stays inside.",
            fix="pass fewer bytes, or more memory.",
        )


def _check_launch(program: Program, memories: Sequence[Memory], values: Sequence[int]) -> None:
    expected, given = (len(program.arguments), len(program.variables)), (len(memories), len(values))
    if expected != given:
        raise ArgumentError(
            f"kernel {program.name!r} takes {expected[0]} memories and {expected[1]} values; "
            f"it was given {given[0]} and {given[1]}.",
            why="each argument and each variable of a Program is bound by position.",
            fix="pass one memory an argument and one value a variable.",
        )
    for variable, value in zip(program.variables, values, strict=True):
        if not variable.minimum <= value <= variable.maximum:
            raise ArgumentError(
                f"kernel {program.name!r} was given {variable.name} = {value}.",
                why=f"it was compiled for {variable.minimum} to {variable.maximum}.",
                fix="bind a value inside the bounds, or declare wider ones.",
            )


def _positions(program: Program, values: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Every position in the grid; symbolic sizes are computed from the values."""
    names = [variable.name for variable in program.variables]
    bound = dict(zip(names, values, strict=True))
    sizes = [size if isinstance(size, int) else _size(size, bound) for size in program.grid]
    return product(*(range(size) for size in sizes))


def _size(size: UOp, bound: Mapping[str, int]) -> int:
    """The number that a symbolic size is for these variables."""
    known: dict[UOp, int] = {}
    for node in toposort([size]):
        if node.op is Op.CONST:
            known[node] = int(node.arg)
        elif node.op is Op.VARIABLE:
            known[node] = bound[node.arg.name]
        else:
            function = meaning(node.op, node.dtype, *(source.dtype for source in node.src))
            known[node] = int(function(*(known[source] for source in node.src)))
    return known[size]


def _run(kernel: Kernel, arguments: tuple[object, ...]) -> None:
    name = kernel.program.name
    try:
        kernel.function(*arguments)
    except TinyError:
        raise
    except NameError as error:
        raise RunError(
            f"kernel {name!r} reads an accumulator before it is written.",
            why=str(error),
            fix="store the initial value before the loop that accumulates.",
        ) from error
