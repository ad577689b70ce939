"""Run lists of jobs: by the native chunk pool that images bring along, or call by call."""

from array import array
from collections.abc import Mapping
from typing import TYPE_CHECKING
from weakref import finalize

from tiny_runtime_cpu.driver import Block, Driver, Entry
from tiny_runtime_cpu.pool_code import (
    EXPORTS,
    JOB_NBYTES,
    LIBRARY_AT,
    LIBRARY_FUNCTIONS,
    PARALLEL,
    RUN,
    SLOT_NBYTES,
    SLOTS_AT,
    START,
    STOP,
    WORKERS_AT,
)

_PAGE_NBYTES = 4096
_WORD_NBYTES = 8
JOB_WORDS = JOB_NBYTES // _WORD_NBYTES

if TYPE_CHECKING:
    Words = array[int]
else:
    Words = array


def job(function: int, arguments: int, chunks: int, parallel: bool) -> tuple[int, int, int, int]:
    """The words of one job.

    Args:
        function: address of `void function(arguments, chunk, worker)`.
        arguments: address of its arguments.
        chunks: how often it is called.
        parallel: its chunks are worth waking workers for.
    """
    return function, arguments, chunks, PARALLEL if parallel else 0


class CallRunner:
    """Calls every chunk from Python on the calling thread: for systems without the pool."""

    threads = 1

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._entries: dict[int, Entry] = {}

    def run(self, jobs: Words, parallel: bool) -> None:
        """Run the jobs in order."""
        for start in range(0, len(jobs), JOB_WORDS):
            function, arguments, chunks, _ = jobs[start : start + JOB_WORDS]
            entry = self._entries.get(function)
            if entry is None:
                entry = self._entries[function] = self._driver.function(function, 3)
            for chunk in range(chunks):
                entry(arguments, chunk, 0)

    def forget(self, function: int) -> None:
        """Drop what is kept of a function whose code goes away."""
        self._entries.pop(function, None)

    def close(self) -> None:
        """There are no threads to end."""


class PoolRunner:
    """The native chunk pool: one call walks a whole list, workers help with parallel jobs.

    Args:
        driver: the operating system.
        code: an image that holds the pool's code, already mapped.
        exports: where its functions stand in the image.
        threads: how many threads run chunks, the caller included.
        state: zeroed memory that a forked child sees as zeros, see `state_nbytes`.
    """

    def __init__(
        self, driver: Driver, code: Block, exports: Mapping[str, int], threads: int, state: Block
    ) -> None:
        self.threads = threads
        self._code = code
        self._state = state
        self._words = state.data.cast("q")
        self._driver = driver
        run, start, stop = (code.address + exports[name] for name in (RUN, START, STOP))
        self._run = driver.function(run, 4)
        self._start = driver.function(start, 2)
        # The workers run this code on this state: both are kept until the workers have ended.
        keep = (code, state)
        self._close = finalize(self, _stop, driver.function(stop, 1), state.address, keep)

    def run(self, jobs: Words, parallel: bool) -> None:
        """Run the jobs in order; the GIL is released meanwhile.

        Args:
            jobs: four words a job.
            parallel: some job is worth waking workers for.
        """
        wanted = parallel and self.threads > 1
        # After a fork the state is all zeros: the child has no workers and starts its own.
        if wanted and not self._words[WORKERS_AT // _WORD_NBYTES]:
            self._start_workers()
        address, words = jobs.buffer_info()
        self._run(self._state.address, address, words // JOB_WORDS, wanted)

    def close(self) -> None:
        """Wait for lists that run, then end the workers; later lists run on their caller alone."""
        self.threads = 1
        self._close()

    def _start_workers(self) -> None:
        first = LIBRARY_AT // _WORD_NBYTES
        for position, address in enumerate(self._driver.symbols(LIBRARY_FUNCTIONS).values()):
            self._words[first + position] = address
        self._start(self._state.address, self.threads - 1)


def state_nbytes(threads: int) -> int:
    """How much memory the state of a pool takes, in whole pages."""
    return -(-(SLOTS_AT + SLOT_NBYTES * threads) // _PAGE_NBYTES) * _PAGE_NBYTES


def has_pool(exports: Mapping[str, int]) -> bool:
    """Whether an image brings the pool's code along."""
    return all(name in exports for name in EXPORTS)


def _stop(stop: Entry, state: int, keep: tuple[Block, Block]) -> None:
    stop(state)
