"""Run Binaries on the CPU: memory is this process's own, and every call returns when it is done."""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from time import perf_counter

from tiny_ir import ArgumentError, Op, RunError, UOp
from tiny_ir.meaning import meaning
from tiny_plugin import Binary, Call, Estimates, Mark, Memory, Program, Target, boundary

from tiny_runtime_cpu import settings
from tiny_runtime_cpu.compiler import FLAT, OBJECT, LinkedObject
from tiny_runtime_cpu.driver import Block, Driver, copy_bytes
from tiny_runtime_cpu.image import Image, ImageError, machine_number, read_image
from tiny_runtime_cpu.memory import Heap
from tiny_runtime_cpu.target import host_target
from tiny_runtime_cpu.threads import (
    CallRunner,
    PoolRunner,
    Runner,
    has_pool,
    job,
    state_nbytes,
)

# What one thread does in a second, for the choice whether workers are worth waking. Only the order
# of magnitude counts. Measured on 2021 and 2023 server processors with wide vectors.
_OPERATIONS_A_SECOND = 2e10
_NBYTES_A_SECOND = 2e10
_WORTH_ALONE_SECONDS = 40e-6  # a sleeping worker takes 10 to 20 us to come
_WORTH_IN_LIST_SECONDS = 4e-6  # an awake one takes 0.2 us

_DONE = Mark("cpu", 0)  # calls return when they are done, so one Mark serves all


@dataclass(frozen=True, slots=True, eq=False)
class Executable:
    """A loaded Binary: where its code is, and what its launch needs."""

    name: str
    address: int
    program: Program
    minimum_nbytes: tuple[int, ...]
    seconds: float
    code: object = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Captured:
    """Calls made ready: all jobs and arguments in two arrays of words."""

    calls: tuple[Call, ...]
    jobs: "array[int]"
    arguments: "array[int]"
    starts: tuple[int, ...]
    parallel: bool
    is_symbolic: bool
    scratch: Block | None
    lock: Lock
    current: list[object]


@boundary
class CpuRuntime:
    """The processor this process runs on.

    Args:
        driver: the operating system.
        threads: how many threads run kernels; None takes TINY_THREADS, 0 one per processor.
    """

    name = "cpu"
    renderer = "llvm"
    compiler = "llvm"

    def __init__(self, driver: Driver | None = None, *, threads: int | None = None) -> None:
        self._driver = driver or Driver()
        self.target: Target = host_target(self._driver)
        wanted = settings.threads() if threads is None else threads
        self.threads = wanted or self.target.cores
        self._heap = Heap(self._driver)
        self._calls = CallRunner(self._driver)
        self._pool: PoolRunner | None = None
        self._pool_state: Block | None = self._driver.allocate_unforked(state_nbytes(self.threads))
        self._pool_lock = Lock()
        self._scratch: list[Block] = []
        self._launches = 0

    # memory

    def allocate(self, nbytes: int) -> Memory:
        """A block, aligned to 64 bytes; its content is arbitrary."""
        return Memory("cpu", self._heap.allocate(nbytes).address, nbytes)

    def free(self, memory: Memory) -> None:
        """Give back a block that `allocate` returned."""
        self._heap.free(memory.handle)

    def view(self, memory: Memory) -> memoryview:
        """The bytes themselves, without a copy; they stay mapped while the view exists.

        What they hold after `free` is arbitrary.
        """
        data = self._heap.block(memory.handle).data
        end = memory.offset + memory.nbytes
        if memory.offset < 0 or end > data.nbytes:
            raise ArgumentError(
                f"bytes {memory.offset} to {end} are not inside the block of {data.nbytes}",
                why="a piece lies inside the memory it is cut from",
                fix="ask for an offset and a size that fit",
            )
        return data[memory.offset : end]

    def copy_in(
        self, memory: Memory, data: bytes | bytearray | memoryview, after: Sequence[Mark] = ()
    ) -> Mark:
        """Copy host bytes to the start of `memory`."""
        source = _flat_bytes(data)
        self._check_fit(memory, source.nbytes)
        copy_bytes(self.view(memory)[: source.nbytes], source)
        return _DONE

    def copy_out(
        self, memory: Memory, data: bytearray | memoryview, after: Sequence[Mark] = ()
    ) -> Mark:
        """Copy the start of `memory` into host bytes, as many as `data` holds."""
        destination = _flat_bytes(data)
        self._check_fit(memory, destination.nbytes)
        if destination.readonly:
            raise ArgumentError(
                "cannot copy into bytes that cannot be written",
                why="copy_out stores into `data`",
                fix="pass a bytearray or a writable memoryview",
            )
        copy_bytes(destination, self.view(memory)[: destination.nbytes])
        return _DONE

    def copy(self, source: Memory, destination: Memory, after: Sequence[Mark] = ()) -> Mark:
        """Copy as many bytes as `destination` holds between two memories."""
        self._check_fit(source, destination.nbytes)
        copy_bytes(self.view(destination), self.view(source)[: destination.nbytes])
        return _DONE

    def _check_fit(self, memory: Memory, nbytes: int) -> None:
        if nbytes > memory.nbytes:
            raise ArgumentError(
                f"cannot copy {nbytes} bytes: the memory has {memory.nbytes}",
                why="a copy starts at the begin of the memory and may not pass its end",
                fix="pass fewer bytes, or allocate more",
            )

    # code

    def load(self, binary: Binary) -> Executable:
        """Make a Binary ready to launch.

        Raises:
            RunError: the format is unknown, the bytes are damaged, or made for another machine.
        """
        if binary.format == FLAT:
            image = self._checked(binary)
            imports = self._driver.symbols(set(image.imports.values())) if image.imports else {}
            cells = {offset: imports[name] for offset, name in image.imports.items()}
            block = self._driver.map_code(binary.data, cells, image.relatives)
            self._adopt_pool(block, image)
            return _executable(binary, block.address + image.exports[binary.entry], block)
        if binary.format == OBJECT:
            linked = LinkedObject(binary.data, binary.entry)
            return _executable(binary, linked.address, linked)
        raise RunError(
            f"the runtime 'cpu' cannot load the format {binary.format!r}",
            why=f"it takes {FLAT!r} and {OBJECT!r}",
            fix="compile for the device 'cpu'",
        )

    def _checked(self, binary: Binary) -> Image:
        try:
            image = read_image(binary.data)
            if image.machine != machine_number(self._driver.machine):
                raise ImageError(f"it was made for machine {image.machine} of the ELF list")
            if binary.entry not in image.exports:
                raise ImageError(f"it has no entry {binary.entry!r}")
        except ImageError as error:
            raise RunError(
                f"cannot load the kernel {binary.entry!r}",
                why=str(error),
                fix="clear the cache of compiled kernels; they are made again",
            ) from error
        return image

    def _adopt_pool(self, block: Block, image: Image) -> None:
        """Take the pool's code from the first image that has it; all images bring the same."""
        if self._pool is not None or self._pool_state is None or not has_pool(image.exports):
            return
        with self._pool_lock:
            if self._pool is None:
                self._pool = PoolRunner(
                    self._driver, block, image.exports, self.threads, self._pool_state
                )

    # work

    def launch(
        self,
        executable: object,
        memories: Sequence[Memory],
        values: Sequence[int] = (),
        after: Sequence[Mark] = (),
    ) -> Mark:
        """Run what `load` returned, with arguments and variables in the order of its Program."""
        call = Call(executable, tuple(memories), tuple(values))
        return self._run((call,), _WORTH_ALONE_SECONDS)

    def submit(self, steps: Sequence[Call], after: Sequence[Mark] = ()) -> Mark:
        """Run calls in order, each after the one before, in one native call."""
        return self._run(steps, _WORTH_IN_LIST_SECONDS) if steps else _DONE

    def capture(self, steps: Sequence[Call]) -> Captured:
        """Prepare calls that will run often, for `replay`."""
        scratch_nbytes = self._scratch_nbytes(steps)
        scratch = self._driver.allocate(scratch_nbytes) if scratch_nbytes else None
        calls = tuple(steps)
        worth = _WORTH_IN_LIST_SECONDS if len(calls) > 1 else _WORTH_ALONE_SECONDS
        jobs, arguments, starts = self._prepare(calls, scratch, worth)
        memories = [memory for call in calls for memory in call.memories]
        values = [value for call in calls for value in call.values]
        return Captured(
            calls,
            jobs,
            arguments,
            tuple(starts),
            any(jobs[3::4]),
            any(not isinstance(size, int) for call in calls for size in _facts(call).program.grid),
            scratch,
            Lock(),
            [memories, values],
        )

    def replay(
        self,
        captured: object,
        memories: Sequence[Memory],
        values: Sequence[int] = (),
        after: Sequence[Mark] = (),
    ) -> Mark:
        """Run what `capture` returned, with all memories and values of its calls in order."""
        if not isinstance(captured, Captured):
            raise RunError(
                f"cannot replay {type(captured).__name__}",
                why="replay takes what capture of this runtime returned",
                fix="capture the calls first",
            )
        with captured.lock:
            self._refill(captured, list(memories), list(values))
            self._launches += len(captured.calls)
            self._runner().run(captured.jobs, captured.parallel)
        return _DONE

    def wait(self, mark: Mark) -> None:
        """Return at once: every call returned when it was done."""

    def clock(self) -> float:
        """Seconds, for differences only."""
        return perf_counter()

    def statistics(self) -> Mapping[str, int]:
        """Bytes allocated now and at most, kernels launched, threads."""
        return {
            "allocated_nbytes": self._heap.allocated_nbytes,
            "peak_nbytes": self._heap.peak_nbytes,
            "launches": self._launches,
            "threads": self.threads,
        }

    def close(self) -> None:
        """End the workers and forget all memory."""
        if self._pool is not None:
            self._pool.close()
        self._scratch.clear()
        self._heap.clear()

    def _runner(self) -> Runner:
        return self._pool if self._pool is not None else self._calls

    def _run(self, calls: Sequence[Call], worth: float) -> Mark:
        nbytes = self._scratch_nbytes(calls)
        scratch = self._take_scratch(nbytes) if nbytes else None
        jobs, arguments, _ = self._prepare(calls, scratch, worth)
        self._launches += len(calls)
        self._runner().run(jobs, any(jobs[3::4]))
        if scratch is not None:
            self._scratch.append(scratch)
        del arguments  # the native code read them until here
        return _DONE

    def _prepare(
        self, calls: Sequence[Call], scratch: Block | None, worth: float
    ) -> tuple["array[int]", "array[int]", list[int]]:
        words: list[int] = []
        starts: list[int] = []
        for call in calls:
            executable = _facts(call)
            _check(executable, call)
            starts.append(len(words))
            words += [memory.handle + memory.offset for memory in call.memories]  # type: ignore[operator]  # handles of this runtime are addresses
            words += call.values
            if executable.program.scratch_nbytes and scratch is not None:
                words.append(scratch.address)
        arguments = array("q", words)
        address = arguments.buffer_info()[0]
        jobs = array("q")
        for call, start in zip(calls, starts, strict=True):
            executable = _facts(call)
            chunks = _chunks(executable.program, call.values)
            parallel = chunks > 1 and executable.seconds >= worth
            jobs.extend(job(executable.address, address + 8 * start, chunks, parallel))
        return jobs, arguments, starts

    def _refill(
        self, captured: Captured, memories: Sequence[Memory], values: Sequence[int]
    ) -> None:
        """Store other memories and values into the arguments of captured calls."""
        if captured.current == [memories, values]:
            return
        at_memory = at_value = 0
        for index, (call, start) in enumerate(zip(captured.calls, captured.starts, strict=True)):
            executable = _facts(call)
            mine = memories[at_memory : at_memory + len(call.memories)]
            own = values[at_value : at_value + len(call.values)]
            _check(executable, Call(executable, tuple(mine), tuple(own)))
            at_memory += len(mine)
            at_value += len(own)
            words = [memory.handle + memory.offset for memory in mine]  # type: ignore[operator]  # handles of this runtime are addresses
            words += own
            captured.arguments[start : start + len(words)] = array("q", words)
            if captured.is_symbolic:
                captured.jobs[4 * index + 2] = _chunks(executable.program, own)
        if at_memory != len(memories) or at_value != len(values):
            raise _wrong_count("the captured list", "memories", at_memory, len(memories))
        captured.current[:] = [memories, values]

    def _scratch_nbytes(self, calls: Sequence[Call]) -> int:
        most = max((_facts(call).program.scratch_nbytes for call in calls), default=0)
        return most * self.threads

    def _take_scratch(self, nbytes: int) -> Block:
        """Scratch for one list. Lists of several threads run at once, each with its own."""
        try:
            block = self._scratch.pop()
        except IndexError:
            return self._driver.allocate(nbytes)
        return block if block.nbytes >= nbytes else self._driver.allocate(nbytes)


def _facts(call: Call) -> Executable:
    executable = call.executable
    if not isinstance(executable, Executable):
        raise RunError(
            f"cannot launch {type(executable).__name__}",
            why="launch takes what load of this runtime returned",
            fix="load the Binary first",
        )
    return executable


def _executable(binary: Binary, address: int, code: object) -> Executable:
    program = binary.program
    minimum = tuple(each.elements * each.dtype.nbytes for each in program.arguments)
    seconds = _seconds(program.estimates)
    return Executable(program.name, address, program, minimum, seconds, code)


def _seconds(estimates: Estimates) -> float:
    """How long one launch takes on one thread; without estimates, long enough to share."""
    if not estimates.operations and not estimates.nbytes:
        return 1.0
    return max(estimates.operations / _OPERATIONS_A_SECOND, estimates.nbytes / _NBYTES_A_SECOND)


def _check(executable: Executable, call: Call) -> None:
    """Refuse arguments that the kernel would read or write past the end of."""
    if len(call.memories) != len(executable.minimum_nbytes):
        raise _wrong_count(
            executable.name, "memories", len(executable.minimum_nbytes), len(call.memories)
        )
    if len(call.values) != len(executable.program.variables):
        raise _wrong_count(
            executable.name, "values", len(executable.program.variables), len(call.values)
        )
    for position, (memory, nbytes) in enumerate(
        zip(call.memories, executable.minimum_nbytes, strict=True)
    ):
        if memory.nbytes < nbytes:
            raise RunError(
                f"argument {position} of {executable.name} has {memory.nbytes} bytes",
                why=f"the kernel reads or writes {nbytes} bytes there",
                fix="pass memory that is large enough",
            )


def _wrong_count(name: str, what: str, expected: int, actual: int) -> RunError:
    return RunError(
        f"{name} was launched with {actual} {what}",
        why=f"its Program takes {expected}",
        fix="pass one for each, in the order of the Program",
    )


def _chunks(program: Program, values: Sequence[int]) -> int:
    """How many chunks a launch has: the grid's one axis, or 1 without one."""
    chunks = 1
    for size in program.grid:
        chunks *= size if isinstance(size, int) else _value_of(size, program, values)
    return chunks


def _value_of(size: UOp, program: Program, values: Sequence[int]) -> int:
    bound = {each.name: value for each, value in zip(program.variables, values, strict=True)}
    known: dict[UOp, int] = {}
    for node in size.toposort():
        if node.op is Op.CONST:
            known[node] = node.arg
        elif node.op is Op.VARIABLE:
            known[node] = bound[node.arg.name]
        else:
            parts = [known[source] for source in node.src]
            kinds = [source.dtype for source in node.src]
            known[node] = int(meaning(node.op, node.dtype, *kinds)(*parts))
    return known[size]


def _flat_bytes(data: bytes | bytearray | memoryview) -> memoryview:
    view = memoryview(data)
    if not view.c_contiguous:
        raise ArgumentError(
            "cannot copy bytes that do not lie one after another",
            why="the memoryview has gaps or another order",
            fix="copy it into contiguous bytes first",
        )
    return view.cast("B") if view.nbytes else memoryview(bytearray())
