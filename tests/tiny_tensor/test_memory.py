"""The arena gives pieces again that nobody holds any more."""

from __future__ import annotations

import itertools

import pytest

from tiny_ir import OutOfMemoryError
from tiny_plugin import Memory
from tiny_tensor.engine.memory import ALIGNMENT, BLOCK, SMALL, Arena, size_class


class Blocks:
    """Stands in for a runtime: hands out numbers, and knows what is out."""

    def __init__(self, limit: int = 1 << 40) -> None:
        self.limit = limit
        self.out: dict[int, int] = {}
        self.calls = 0

    def allocate(self, nbytes: int) -> Memory:
        """A block, unless the limit is reached."""
        if sum(self.out.values()) + nbytes > self.limit:
            raise OutOfMemoryError("full")
        self.calls += 1
        self.out[self.calls] = nbytes
        return Memory("toy", self.calls, nbytes)

    def free(self, memory: Memory) -> None:
        """Take a block back."""
        del self.out[memory.handle]  # type: ignore[arg-type]  # handles are our numbers


def test_a_piece_that_is_dropped_is_given_again() -> None:
    arena = Arena(Blocks())
    first = arena.allocate(1000)
    place = (first.memory.handle, first.memory.offset)
    del first
    second = arena.allocate(990)
    assert (second.memory.handle, second.memory.offset) == place
    assert second.memory.nbytes == 990


def test_pieces_in_use_do_not_overlap() -> None:
    arena = Arena(Blocks())
    held = [arena.allocate(n) for n in (1, 64, 65, 1000, SMALL, SMALL + 1, 100_000)]
    spans = sorted((a.memory.handle, a.memory.offset, a.memory.nbytes) for a in held)
    for (one, start, nbytes), (other, following, _) in itertools.pairwise(spans):
        assert one != other or start + nbytes <= following
    assert all(a.memory.offset % ALIGNMENT == 0 for a in held)


def test_small_pieces_share_blocks() -> None:
    blocks = Blocks()
    arena = Arena(blocks)
    held = [arena.allocate(100) for _ in range(1000)]
    assert blocks.calls == 1
    assert arena.used_nbytes == len(held) * size_class(100)


def test_large_pieces_go_back_when_too_many_are_kept() -> None:
    blocks = Blocks()
    arena = Arena(blocks, keep_nbytes=2 * BLOCK)
    held = [arena.allocate(BLOCK) for _ in range(5)]
    assert len(blocks.out) == 5
    held.clear()
    arena.allocate(64)
    assert sum(1 for nbytes in blocks.out.values() if nbytes == BLOCK) <= 3
    assert arena.used_nbytes <= BLOCK


def test_a_full_device_gets_its_free_pieces_back_first() -> None:
    blocks = Blocks(limit=3 * BLOCK)
    arena = Arena(blocks)
    arena.allocate(2 * BLOCK)
    other = arena.allocate(3 * BLOCK)
    assert other.memory.nbytes == 3 * BLOCK
    with pytest.raises(OutOfMemoryError):
        arena.allocate(BLOCK)


def test_the_peak_is_remembered() -> None:
    arena = Arena(Blocks())
    held = arena.allocate(1 << 20)
    del held
    arena.allocate(64)
    assert arena.peak_nbytes == 1 << 20


def test_no_class_wastes_more_than_an_eighth() -> None:
    for nbytes in (513, 1000, 4097, 70_000, 1_000_001, 123_456_789):
        size = size_class(nbytes)
        assert nbytes <= size <= nbytes * 9 // 8 + ALIGNMENT
        assert size % ALIGNMENT == 0
