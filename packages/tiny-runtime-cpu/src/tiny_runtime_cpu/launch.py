"""Turn calls into the words that the run list reads: jobs and their arguments."""

from array import array
from collections.abc import Sequence
from operator import itemgetter
from threading import Lock

from tiny_ir import Op, RunError, UOp, meaning, toposort
from tiny_plugin import Binary, Call, Estimates, Memory, Variable
from tiny_runtime_cpu.driver import Block
from tiny_runtime_cpu.threads import JOB_WORDS, Words, job

# What one thread does in a second, for the choice whether workers are worth waking. Only the order
# of magnitude counts. Measured on server processors with vectors of 64 bytes.
_OPERATIONS_A_SECOND = 2e10
_NBYTES_A_SECOND = 4e10
_WORTH_ALONE_SECONDS = 40e-6  # a sleeping worker takes 10 to 20 us to come
_WORTH_IN_LIST_SECONDS = 4e-6  # an awake one takes 0.2 us

_CHUNKS_AT = 2  # where a job has the number of its chunks


class Executable:
    """A loaded Binary: where its code is, and what its launch needs, found once.

    A plain class: a warm start pays for the making of a dataclass and has no use for one.

    Args:
        binary: what was loaded.
        address: where its entry is.
        code: what keeps the code mapped.
    """

    __slots__ = (
        "address",
        "chunks",
        "code",
        "is_shared_alone",
        "is_shared_in_list",
        "minimum_nbytes",
        "name",
        "program",
        "scratch_nbytes",
        "variables",
    )

    def __init__(self, binary: Binary, address: int, code: object) -> None:
        self.program = program = binary.program
        self.name = program.name
        self.address = address
        self.code = code
        self.minimum_nbytes = tuple(a.elements * a.dtype.nbytes for a in program.arguments)
        self.variables = program.variables
        self.scratch_nbytes = program.scratch_nbytes
        sizes = [size for size in program.grid if isinstance(size, int)]
        # None where the size of the grid depends on variables.
        self.chunks = _product(sizes) if len(sizes) == len(program.grid) else None
        seconds = _seconds(program.estimates)
        self.is_shared_alone = seconds >= _WORTH_ALONE_SECONDS
        self.is_shared_in_list = seconds >= _WORTH_IN_LIST_SECONDS


class Captured:
    """Calls made ready to run again and again: all jobs and arguments in two arrays of words.

    Args:
        calls: what to run, in order.
        scratch: memory for kernels that need some, for all workers.
    """

    __slots__ = (
        "arguments",
        "current",
        "executables",
        "is_parallel",
        "jobs",
        "lock",
        "minimum_nbytes",
        "order",
        "scratch",
        "variables",
    )

    def __init__(self, calls: Sequence[Call], scratch: Block | None) -> None:
        self.jobs, self.arguments, self.is_parallel = jobs_of(calls, scratch)
        self.executables = tuple(executable_in(call) for call in calls)
        self.minimum_nbytes = tuple(n for e in self.executables for n in e.minimum_nbytes)
        self.variables = tuple(v for e in self.executables for v in e.variables)
        self.scratch = scratch
        self.lock = Lock()
        memories = [memory for call in calls for memory in call.memories]
        self.current = (memories, [value for call in calls for value in call.values])
        order = self._order()
        # itemgetter returns a tuple from two items on.
        self.order = itemgetter(*order) if len(order) > 1 else tuple

    def _order(self) -> list[int]:
        """Where each word of the arguments stands in (addresses, values, scratch address)."""
        order: list[int] = []
        at_memory, at_value = 0, len(self.minimum_nbytes)
        for executable in self.executables:
            order += range(at_memory, at_memory + len(executable.minimum_nbytes))
            order += range(at_value, at_value + len(executable.variables))
            at_memory += len(executable.minimum_nbytes)
            at_value += len(executable.variables)
            if executable.scratch_nbytes:
                order.append(len(self.minimum_nbytes) + len(self.variables))
        return order

    def refill(self, memories: list[Memory], values: list[int]) -> None:
        """Store other memories and values into the arguments."""
        if self.current == (memories, values):
            return
        check("the captured list", self.minimum_nbytes, self.variables, memories, values)
        words: list[int] = [memory.handle + memory.offset for memory in memories]  # type: ignore[operator]  # handles of this runtime are addresses
        words += values
        if self.scratch is not None:
            words.append(self.scratch.address)
        self.arguments[:] = array("q", self.order(words))
        at = 0
        for index, executable in enumerate(self.executables):
            if executable.chunks is None:
                own = values[at : at + len(executable.variables)]
                self.jobs[JOB_WORDS * index + _CHUNKS_AT] = chunks_of(executable, own)
            at += len(executable.variables)
        self.current = (memories, values)


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
    check(executable.name, executable.minimum_nbytes, executable.variables, memories, values)
    words = [memory.handle + memory.offset for memory in memories]  # type: ignore[operator]  # handles of this runtime are addresses
    words += values
    if executable.scratch_nbytes and scratch is not None:
        words.append(scratch.address)
    return words


def check(
    name: str,
    minimum_nbytes: Sequence[int],
    variables: Sequence[Variable],
    memories: Sequence[Memory],
    values: Sequence[int],
) -> None:
    """Refuse a wrong number of arguments, values out of bounds, and memory that is too small."""
    if len(memories) != len(minimum_nbytes):
        raise _wrong_count(name, "memories", len(minimum_nbytes), len(memories))
    if len(values) != len(variables):
        raise _wrong_count(name, "values", len(variables), len(values))
    for value, variable in zip(values, variables):  # noqa: B905  # lengths are equal here
        if not variable.minimum <= value <= variable.maximum:
            raise RunError(
                f"{name} was launched with {variable.name} = {value}",
                why=f"it was compiled for {variable.minimum} to {variable.maximum}",
                fix="pass a value in these bounds, or compile for others",
            )
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
