"""One allocator for all devices: a runtime's raw blocks become pieces that are used again.

Sizes are rounded up to classes. A free piece of the class is taken first; small pieces are cut from
a shared block, large ones have a block of their own. A piece goes back when the last holder of its
`Allocation` is gone, which may happen in any thread at any time: it is only put on a queue then,
and filed at the next call.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Protocol
from weakref import finalize

from tiny_ir import OutOfMemoryError
from tiny_plugin import Memory

ALIGNMENT = 64
"""Bytes: a cache line, and the widest vector register."""
SMALL = 1 << 18
"""Bytes: pieces up to this size are cut from shared blocks."""
BLOCK = 1 << 22
"""Bytes of a shared block."""
ADOPTED = -1
"""Stands for the size of a piece that was never taken from a block of the arena."""
STEPS = 8
"""Classes between two powers of two: at most an eighth of a piece is lost to rounding."""


class Allocator(Protocol):
    """The part of a Runtime that is used here."""

    def allocate(self, nbytes: int) -> Memory:
        """A raw block."""
        ...

    def free(self, memory: Memory) -> None:
        """Give a block back."""
        ...


class Allocation:
    """A piece of memory; it goes back to its arena when this object is collected."""

    __slots__ = ("__weakref__", "is_shared", "memory")

    def __init__(self, memory: Memory, *, is_shared: bool = False) -> None:
        self.memory = memory
        self.is_shared = is_shared
        """Whether somebody else sees these bytes: then no tensor is written into them."""


class Arena:
    """The memory of one device.

    Args:
        allocator: where blocks come from.
        keep_nbytes: how many bytes of free large pieces are kept for later.
    """

    def __init__(self, allocator: Allocator, keep_nbytes: int = 1 << 30) -> None:
        self._allocator = allocator
        self._keep_nbytes = keep_nbytes
        self._free: dict[int, list[Memory]] = {}
        self._returned: deque[tuple[int, Memory]] = deque()
        self._block: Memory | None = None
        self._block_used = 0
        self._kept_nbytes = 0
        self.held_nbytes = 0
        """Bytes of blocks taken from the runtime."""
        self.used_nbytes = 0
        """Bytes of pieces in use, rounded up to their classes."""
        self.peak_nbytes = 0
        """The most bytes that were in use at a time."""

    def allocate(self, nbytes: int) -> Allocation:
        """A piece of at least `nbytes`, aligned to 64 bytes; its content is arbitrary.

        The caller holds the Session's lock.

        Raises:
            OutOfMemoryError: the device has no room, even after all free pieces went back.
        """
        self._file()
        size = size_class(nbytes)
        free = self._free.get(size)
        if free:
            memory = free.pop()
            if size > SMALL:
                self._kept_nbytes -= size
        elif size <= SMALL:
            memory = self._cut(size)
        else:
            memory = self._raw(size)
        self.used_nbytes += size
        self.peak_nbytes = max(self.peak_nbytes, self.used_nbytes)
        allocation = Allocation(memory.piece(0, nbytes))
        give_back: Callable[[tuple[int, Memory]], None] = self._returned.append
        finalize(allocation, give_back, (size, memory)).atexit = False
        return allocation

    def adopt(self, memory: Memory) -> Allocation:
        """A piece that the runtime adopted from somebody else; it goes back to the runtime."""
        allocation = Allocation(memory, is_shared=True)
        give_back: Callable[[tuple[int, Memory]], None] = self._returned.append
        finalize(allocation, give_back, (ADOPTED, memory)).atexit = False
        return allocation

    def trim(self) -> None:
        """Give free large pieces back to the runtime."""
        self._file()
        for size, pieces in self._free.items():
            if size > SMALL:
                while pieces:
                    self._release(size, pieces.pop())

    def _file(self) -> None:
        """Put returned pieces where the next call finds them."""
        while self._returned:
            size, memory = self._returned.popleft()
            if size == ADOPTED:
                self._allocator.free(memory)
                continue
            self.used_nbytes -= size
            if size > SMALL:
                if self._kept_nbytes + size > self._keep_nbytes:
                    self.held_nbytes -= size
                    self._allocator.free(memory)
                    continue
                self._kept_nbytes += size
            self._free.setdefault(size, []).append(memory)

    def _release(self, size: int, memory: Memory) -> None:
        self._kept_nbytes -= size
        self.held_nbytes -= size
        self._allocator.free(memory)

    def _cut(self, size: int) -> Memory:
        if self._block is None or self._block_used + size > BLOCK:
            self._block = self._raw(BLOCK)
            self._block_used = 0
        piece = self._block.piece(self._block_used, size)
        self._block_used += size
        return piece

    def _raw(self, nbytes: int) -> Memory:
        try:
            memory = self._allocator.allocate(nbytes)
        except OutOfMemoryError:
            self.trim()
            memory = self._allocator.allocate(nbytes)
        self.held_nbytes += nbytes
        return memory


def size_class(nbytes: int) -> int:
    """The size that a piece of `nbytes` really gets.

    Example:
        >>> size_class(1), size_class(1000), size_class(1_000_000)
        (64, 1024, 1048576)
    """
    if nbytes <= ALIGNMENT * STEPS:
        return max(ALIGNMENT, -(-nbytes // ALIGNMENT) * ALIGNMENT)
    step = 1 << ((nbytes - 1).bit_length() - STEPS.bit_length())
    return -(-nbytes // step) * step
