"""All contact with the machine: there is none but the clock. No byte is kept anywhere."""

from __future__ import annotations

import time


class Driver:
    """Counts blocks instead of holding them."""

    def __init__(self) -> None:
        self._blocks: dict[int, int] = {}
        self._number = 0

    def allocate(self, nbytes: int) -> int:
        """The number of a new block."""
        self._number += 1
        self._blocks[self._number] = nbytes
        return self._number

    def free(self, block: object) -> None:
        """Forget a block."""
        if isinstance(block, int):
            self._blocks.pop(block, None)

    @property
    def allocated_nbytes(self) -> int:
        """Bytes of all blocks that were not freed."""
        return sum(self._blocks.values())

    def clock(self) -> float:
        """Seconds, for differences."""
        return time.perf_counter()
