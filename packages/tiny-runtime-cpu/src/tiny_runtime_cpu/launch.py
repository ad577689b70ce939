"""Turn calls into the words that the run list reads: jobs and their arguments."""

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from threading import Lock

from tiny_ir import Op, RunError, UOp, toposort
from tiny_ir.meaning import meaning
from tiny_plugin import Binary, Call, Estimates, Memory, Program
from tiny_runtime_cpu.driver import Block
from tiny_runtime_cpu.threads import JOB_WORDS, Words, job

# What one thread does in a second, for the choice whether workers are worth waking. Only the order
# of magnitude counts. Measured on server processors with vectors of 64 bytes.
_OPERATIONS_A_SECOND = 2e10
_NBYTES_A_SECOND = 2e10
_WORTH_ALONE_SECONDS = 40e-6  # a sleeping worker takes 10 to 20 us to come
_WORTH_IN_LIST_SECONDS = 4e-6  # an awake one takes 0.2 us

_CHUNKS_AT = 2  # where a job has the number of its chunks


@dataclass(frozen=True, slots=True, eq=False)
class Executable:
    """A loaded Binary: where its code is, and what its launch needs.

    `chunks` is None where the size of the grid depends on variables. `code` keeps the code mapped.
    """

    name: str
    address: int
    program: Program
    minimum_nbytes: tuple[int, ...]
    values: int
    scratch_nbytes: int
    chunks: int | None
    is_shared_alone: bool
    is_shared_in_list: bool
    code: object = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Captured:
    """Calls made ready: all jobs and arguments in two arrays of words.

    `order` picks the words of all arguments from (addresses, values, scratch address).
    """

    executables: tuple[Executable, ...]
    jobs: Words
    arguments: Words
    minimum_nbytes: tuple[int, ...]
    values: int
    order: Callable[[list[int]], tuple[int, ...]] | None
    is_parallel: bool
    scratch: Block | None
    lock: Lock
    current: list[list[Memory] | list[int]]


def executable_of(binary: Binary, address: int, code: object) -> Executable:
    """What a launch needs to know, found once."""
    program = binary.program
    sizes = [size for size in program.grid if isinstance(size, int)]
    is_fixed = len(sizes) == len(program.grid)
    seconds = _seconds(program.estimates)
    return Executable(
        program.name,
        address,
        program,
        tuple(each.elements * each.dtype.nbytes for each in program.arguments),
        len(program.variables),
        program.scratch_nbytes,
        _product(sizes) if is_fixed else None,
        seconds >= _WORTH_ALONE_SECONDS,
        seconds >= _WORTH_IN_LIST_SECONDS,
        code,
    )


def executable_in(call: Call) -> Executable:
    """What a call launches.

    Raises:
        RunError: it is not what `load` of this runtime returned.
    """
    executable = call.executable
    if not isinstance(executable, Executable):
        raise not_loaded(executable)
    return executable


def not_loaded(executable: object) -> RunError:
    """The error for something that is not an Executable."""
    return RunError(
        f"cannot launch {type(executable).__name__}",
        why="launch takes what load of this runtime returned",
        fix="load the Binary first",
    )


def words_of(
    executable: Executable, memories: Sequence[Memory], values: Sequence[int], scratch: Block | None
) -> list[int]:
    """The words that one call passes.

    Raises:
        RunError: their number is wrong, or memory is smaller than what the kernel reads or writes.
    """
    check(executable.name, executable.minimum_nbytes, executable.values, memories, values)
    words = [memory.handle + memory.offset for memory in memories]  # type: ignore[operator]  # handles of this runtime are addresses
    words += values
    if executable.scratch_nbytes and scratch is not None:
        words.append(scratch.address)
    return words


def check(
    name: str,
    minimum_nbytes: Sequence[int],
    expected_values: int,
    memories: Sequence[Memory],
    values: Sequence[int],
) -> None:
    """Refuse arguments of a wrong number, and memory that the kernel would pass the end of."""
    if len(memories) != len(minimum_nbytes):
        raise _wrong_count(name, "memories", len(minimum_nbytes), len(memories))
    if len(values) != expected_values:
        raise _wrong_count(name, "values", expected_values, len(values))
    for memory, nbytes in zip(memories, minimum_nbytes):  # noqa: B905  # lengths are equal here
        if memory.nbytes < nbytes:
            raise RunError(
                f"argument {list(memories).index(memory)} of {name} has {memory.nbytes} bytes",
                why=f"the kernel reads or writes {nbytes} bytes there",
                fix="pass memory that is large enough",
            )


def jobs_of(calls: Sequence[Call], scratch: Block | None) -> tuple[Words, Words, bool]:
    """The jobs of a list, their arguments, which must stay alive, and whether one is parallel."""
    words: list[int] = []
    starts: list[int] = []
    for call in calls:
        starts.append(8 * len(words))
        words += words_of(executable_in(call), call.memories, call.values, scratch)
    arguments = array("q", words)
    address = arguments.buffer_info()[0]
    jobs = array("q")
    in_list = len(calls) > 1
    is_parallel = False
    for call, start in zip(calls, starts, strict=True):
        executable = executable_in(call)
        chunks = chunks_of(executable, call.values)
        worth = executable.is_shared_in_list if in_list else executable.is_shared_alone
        is_shared = worth and chunks > 1
        is_parallel = is_parallel or is_shared
        jobs.extend(job(executable.address, address + start, chunks, is_shared))
    return jobs, arguments, is_parallel


def captured_calls(calls: Sequence[Call], scratch: Block | None) -> Captured:
    """Make calls ready to run again and again."""
    jobs, arguments, is_parallel = jobs_of(calls, scratch)
    executables = tuple(executable_in(call) for call in calls)
    memories = [memory for call in calls for memory in call.memories]
    values = [value for call in calls for value in call.values]
    order: list[int] = []
    at_memory, at_value = 0, len(memories)
    for executable in executables:
        order += range(at_memory, at_memory + len(executable.minimum_nbytes))
        order += range(at_value, at_value + executable.values)
        at_memory += len(executable.minimum_nbytes)
        at_value += executable.values
        if executable.scratch_nbytes:
            order.append(len(memories) + len(values))
    return Captured(
        executables,
        jobs,
        arguments,
        tuple(nbytes for executable in executables for nbytes in executable.minimum_nbytes),
        len(values),
        itemgetter(*order) if len(order) > 1 else None,
        is_parallel,
        scratch,
        Lock(),
        [memories, values],
    )


def refill(captured: Captured, memories: list[Memory], values: list[int]) -> None:
    """Store other memories and values into the arguments of captured calls."""
    if captured.current == [memories, values]:
        return
    check("the captured list", captured.minimum_nbytes, captured.values, memories, values)
    words: list[int] = [memory.handle + memory.offset for memory in memories]  # type: ignore[operator]  # handles of this runtime are addresses
    words += values
    if captured.scratch is not None:
        words.append(captured.scratch.address)
    picked = captured.order(words) if captured.order is not None else words
    captured.arguments[:] = array("q", picked)
    at = 0
    for index, executable in enumerate(captured.executables):
        if executable.chunks is None:
            own = values[at : at + executable.values]
            captured.jobs[JOB_WORDS * index + _CHUNKS_AT] = chunks_of(executable, own)
        at += executable.values
    captured.current[:] = [memories, values]


def chunks_of(executable: Executable, values: Sequence[int]) -> int:
    """How many chunks a launch has: the product of the grid, 1 without one."""
    if executable.chunks is not None:
        return executable.chunks
    program = executable.program
    names = [variable.name for variable in program.variables]
    bound = dict(zip(names, values, strict=True))
    return _product(
        [size if isinstance(size, int) else _value_of(size, bound) for size in program.grid]
    )


def _value_of(size: UOp, bound: dict[str, int]) -> int:
    known: dict[UOp, int] = {}
    for node in toposort([size]):
        if node.op is Op.CONST:
            known[node] = node.arg
        elif node.op is Op.VARIABLE:
            known[node] = bound[node.arg.name]
        else:
            parts = [known[source] for source in node.src]
            kinds = [source.dtype for source in node.src]
            known[node] = int(meaning(node.op, node.dtype, *kinds)(*parts))
    return known[size]


def _product(sizes: Sequence[int]) -> int:
    product = 1
    for size in sizes:
        product *= size
    return product


def _seconds(estimates: Estimates) -> float:
    """How long one launch takes on one thread; without estimates, long enough to share."""
    if not estimates.operations and not estimates.nbytes:
        return 1.0
    return max(estimates.operations / _OPERATIONS_A_SECOND, estimates.nbytes / _NBYTES_A_SECOND)


def _wrong_count(name: str, what: str, expected: int, actual: int) -> RunError:
    return RunError(
        f"{name} was launched with {actual} {what}",
        why=f"its Program takes {expected}",
        fix="pass one for each, in the order of the Program",
    )
