"""A device that takes every launch and computes nothing: for tests of all that leads up to one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tiny_ir import RunError
from tiny_plugin import Binary, Mark, Memory, boundary
from tiny_runtime_null.driver import Driver
from tiny_runtime_null.target import null_target


@boundary
class NullRuntime:
    """Counts what it is asked to do.

    Args:
        driver: what it counts with.
    """

    name = "null"
    renderer = "c"
    compiler = "null"

    def __init__(self, driver: Driver | None = None) -> None:
        self.target = null_target()
        self._driver = driver or Driver()
        self._number = 0
        self._launches = 0

    def allocate(self, nbytes: int) -> Memory:
        """A block that is only a number."""
        return Memory(self.name, self._driver.allocate(nbytes), nbytes)

    def free(self, memory: Memory) -> None:
        """Forget the number."""
        self._driver.free(memory.handle)

    def copy_in(
        self, memory: Memory, data: bytes | bytearray | memoryview, after: Sequence[Mark] = ()
    ) -> Mark:
        """Drop the bytes."""
        return self._mark()

    def copy_out(
        self, memory: Memory, data: bytearray | memoryview, after: Sequence[Mark] = ()
    ) -> Mark:
        """Refuse: there is nothing to read.

        Raises:
            RunError: always.
        """
        raise RunError(
            f"the device {self.name!r} has no data to read back.",
            why="it takes launches and copies, and computes and keeps nothing.",
            fix="move the tensor to a device that computes, such as the default one.",
        )

    def copy(self, source: Memory, destination: Memory, after: Sequence[Mark] = ()) -> Mark:
        """Copy nothing to nowhere."""
        return self._mark()

    def load(self, binary: Binary) -> object:
        """The Binary itself."""
        return binary

    def launch(
        self,
        executable: object,
        memories: Sequence[Memory],
        values: Sequence[int] = (),
        after: Sequence[Mark] = (),
    ) -> Mark:
        """Count the launch."""
        self._launches += 1
        return self._mark()

    def wait(self, mark: Mark) -> None:
        """Return at once: nothing takes time."""

    def clock(self) -> float:
        """Seconds, for differences only."""
        return self._driver.clock()

    def statistics(self) -> Mapping[str, int]:
        """Bytes that blocks would take, and launches so far."""
        return {"allocated_nbytes": self._driver.allocated_nbytes, "launches": self._launches}

    def _mark(self) -> Mark:
        self._number += 1
        return Mark(self.name, self._number)
