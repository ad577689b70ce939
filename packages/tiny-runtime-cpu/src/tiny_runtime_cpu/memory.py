"""Hand out blocks of memory by address: small ones cut from slabs, big ones mapped alone."""

from threading import Lock

from tiny_ir import ArgumentError, RunError
from tiny_runtime_cpu.driver import Block, Driver

_SLAB_NBYTES = 1 << 20
_SMALLEST = 64  # the alignment that every block has
_LARGEST_SMALL = 1 << 16  # bigger blocks get pages of their own


class Heap:
    """The live blocks of one runtime, by address.

    Small sizes are rounded up to a power of two and come back through a list per size; what is
    left of a slab is cut as it is needed.
    """

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._lock = Lock()
        self._live: dict[int, Block] = {}
        self._adopted: dict[int, list[Block]] = {}
        self._free: dict[int, list[Block]] = {}
        self._slab: Block | None = None
        self._used = 0
        self.allocated_nbytes = 0
        self.peak_nbytes = 0

    def allocate(self, nbytes: int) -> Block:
        """A block of at least one byte, aligned to 64 bytes.

        Raises:
            ArgumentError: the size is negative.
            OutOfMemoryError: the system does not give that much.
        """
        if nbytes < 0:
            raise ArgumentError(
                f"cannot allocate {nbytes} bytes",
                why="a size is not negative",
                fix="ask for 0 bytes or more",
            )
        with self._lock:
            block = self._small(nbytes) if nbytes <= _LARGEST_SMALL else None
            if block is None:
                block = self._driver.allocate(nbytes)
            self._live[block.address] = block
            self.allocated_nbytes += block.nbytes
            self.peak_nbytes = max(self.peak_nbytes, self.allocated_nbytes)
        return block

    def adopt(self, data: memoryview) -> Block:
        """Bytes of others as a block, until it is freed; the same bytes may be adopted often."""
        block = self._driver.block_of(data)
        with self._lock:
            blocks = self._adopted.setdefault(block.address, [])
            blocks.append(block)
            blocks.sort(key=lambda one: one.nbytes)
        return block

    def free(self, address: object) -> None:
        """Give a block back.

        Raises:
            RunError: no live block begins there.
        """
        with self._lock:
            if isinstance(address, int) and address in self._adopted:
                self._let_go(address)
                return
            block = self._live.pop(address, None) if isinstance(address, int) else None
            if block is None:
                raise RunError(
                    f"cannot free {address!r}: no live block begins there",
                    why="it was freed before, or is a piece of a block, or of another runtime",
                    fix="free what allocate returned, once",
                )
            self.allocated_nbytes -= block.nbytes
            if block.nbytes <= _LARGEST_SMALL:
                self._free.setdefault(block.nbytes, []).append(block)

    def _let_go(self, address: int) -> None:
        """Forget the smallest of the blocks that were adopted at an address."""
        blocks = self._adopted[address]
        blocks.pop(0)
        if not blocks:
            del self._adopted[address]

    def block(self, address: object) -> Block:
        """The live block that begins at an address.

        Raises:
            RunError: there is none.
        """
        if isinstance(address, int) and address in self._adopted:
            return self._adopted[address][-1]
        block = self._live.get(address) if isinstance(address, int) else None
        if block is None:
            raise RunError(
                f"there is no live memory at {address!r}",
                why="it was freed, or belongs to another runtime",
                fix="keep memory until the last call that uses it",
            )
        return block

    def clear(self) -> None:
        """Forget all blocks; each is unmapped when nothing refers to its bytes."""
        with self._lock:
            self._live.clear()
            self._adopted.clear()
            self._free.clear()
            self._slab = None
            self.allocated_nbytes = 0

    def _small(self, nbytes: int) -> Block:
        size = max(_SMALLEST, 1 << max(nbytes - 1, 0).bit_length())
        free = self._free.get(size)
        if free:
            return free.pop()
        if self._slab is None or self._used + size > self._slab.nbytes:
            self._slab = self._driver.allocate(_SLAB_NBYTES)
            self._used = 0
        start = self._used
        self._used += size
        data = self._slab.data[start : start + size]
        return Block(self._slab.address + start, data, self._slab.owner)
