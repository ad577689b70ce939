"""The counter-based stream of random bits: a seed, and how many draws were given away."""

from __future__ import annotations

from threading import Lock

from tiny_ir import ArgumentTypeError

DEFAULT_SEED = 0x7A1C_3E55_0D24_9B67
"""Of a stream that nobody seeded: an arbitrary constant, so that runs can be repeated."""
KEY_BITS = 63
"""Keys and positions are launch values, which are signed 64-bit integers."""


class RandomStream:
    """One stream a seed. A tensor takes its positions when it is made, one an element.

    Whatever is realized first, and wherever, element n of the tensor at position p is draw p + n.
    """

    __slots__ = ("_lock", "key", "position")

    def __init__(self, seed: int = DEFAULT_SEED) -> None:
        self._lock = Lock()
        self.key = 0
        self.position = 0
        self.seed(seed)

    def seed(self, seed: int) -> None:
        """Start the stream of another seed from its first draw."""
        if not isinstance(seed, int) or isinstance(seed, bool):
            raise ArgumentTypeError(
                f"{seed!r} is not a seed.",
                why="a seed is an integer.",
                fix="pass for example manual_seed(42).",
            )
        self.key = seed % (1 << KEY_BITS)
        self.position = 0

    def take(self, count: int) -> int:
        """The first of `count` positions, which nobody else gets."""
        with self._lock:
            position = self.position
            self.position += count
        return position
