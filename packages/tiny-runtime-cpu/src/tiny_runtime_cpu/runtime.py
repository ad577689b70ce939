"""Run Binaries on the CPU: memory is this process's own, and every call returns when it is done."""

from array import array
from collections.abc import Mapping, Sequence
from threading import Lock
from time import perf_counter

from tiny_ir import ArgumentError, RunError
from tiny_plugin import Binary, Call, Mark, Memory, Target, boundary
from tiny_runtime_cpu import settings
from tiny_runtime_cpu.compiler import FLAT, OBJECT, LinkedObject
from tiny_runtime_cpu.driver import Block, Driver, copy_bytes
from tiny_runtime_cpu.image import MACHINES, Image, ImageError, read_image
from tiny_runtime_cpu.launch import (
    Captured,
    Executable,
    chunks_of,
    executable_in,
    jobs_of,
    not_loaded,
    words_of,
)
from tiny_runtime_cpu.memory import Heap
from tiny_runtime_cpu.target import host_target
from tiny_runtime_cpu.threads import CallRunner, PoolRunner, Words, has_pool, job, state_nbytes

_DONE = Mark("cpu", 0)  # calls return when they are done, so one Mark serves all


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

    def adopt(self, data: memoryview) -> Memory | None:
        """Bytes of others as memory, without a copy; None where they are constant, or none."""
        if not data.nbytes or data.readonly:
            return None
        return Memory("cpu", self._heap.adopt(_flat_bytes(data)).address, data.nbytes)

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
            return Executable(binary, block.address + image.exports[binary.entry], block)
        if binary.format == OBJECT:
            linked = LinkedObject(binary.data, binary.entry)
            return Executable(binary, linked.address, linked)
        raise RunError(
            f"the runtime 'cpu' cannot load the format {binary.format!r}",
            why=f"it takes {FLAT!r} and {OBJECT!r}",
            fix="compile for the device 'cpu'",
        )

    def _checked(self, binary: Binary) -> Image:
        try:
            image = read_image(binary.data)
            if image.machine != MACHINES.get(self._driver.machine):
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
        if not isinstance(executable, Executable):
            raise not_loaded(executable)
        scratch = self._take_scratch(executable.scratch_nbytes)
        arguments = array("q", words_of(executable, memories, values, scratch))
        chunks = executable.chunks
        if chunks is None:
            chunks = chunks_of(executable, values)
        shared = chunks > 1 and executable.is_shared_alone
        words = job(executable.address, arguments.buffer_info()[0], chunks, shared)
        self._run(array("q", words), shared, scratch, 1)
        return _DONE

    def submit(self, steps: Sequence[Call], after: Sequence[Mark] = ()) -> Mark:
        """Run calls in order, each after the one before, in one native call."""
        if steps:
            scratch = self._take_scratch(_scratch_nbytes(steps))
            jobs, arguments, is_parallel = jobs_of(steps, scratch)
            self._run(jobs, is_parallel, scratch, len(steps))
            del arguments  # the kernels read them until here
        return _DONE

    def capture(self, steps: Sequence[Call]) -> Captured:
        """Prepare calls that will run often, for `replay`."""
        nbytes = _scratch_nbytes(steps) * self.threads
        return Captured(steps, self._driver.allocate(nbytes) if nbytes else None)

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
            captured.refill(list(memories), list(values))
            self._run(captured.jobs, captured.is_parallel, None, len(captured.executables))
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

    def _run(self, jobs: Words, is_parallel: bool, scratch: Block | None, launches: int) -> None:
        self._launches += launches
        runner = self._pool if self._pool is not None else self._calls
        runner.run(jobs, is_parallel)
        if scratch is not None:
            self._scratch.append(scratch)

    def _take_scratch(self, nbytes: int) -> Block | None:
        """Scratch for one list. Lists of several threads run at once, each with its own."""
        if not nbytes:
            return None
        nbytes *= self.threads
        try:
            block = self._scratch.pop()
        except IndexError:
            return self._driver.allocate(nbytes)
        return block if block.nbytes >= nbytes else self._driver.allocate(nbytes)


def _scratch_nbytes(calls: Sequence[Call]) -> int:
    return max((executable_in(call).scratch_nbytes for call in calls), default=0)


def _flat_bytes(data: bytes | bytearray | memoryview) -> memoryview:
    view = memoryview(data)
    if not view.c_contiguous:
        raise ArgumentError(
            "cannot copy bytes that do not lie one after another",
            why="the memoryview has gaps or another order",
            fix="copy it into contiguous bytes first",
        )
    return view.cast("B") if view.nbytes else memoryview(bytearray())
