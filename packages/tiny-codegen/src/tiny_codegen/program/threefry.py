"""Random bits from a counter and a key, in words of 32 bits."""

from __future__ import annotations

from tiny_ir import UOp, dtypes

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = 0x1BD11BDA


def threefry_of_words(counter: UOp, key: UOp) -> UOp:
    """Threefry with two words and 20 rounds: the same bits as the op table gives.

    Source:
        J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
    """
    x, y = words_of(counter)
    low, high = words_of(key)
    keys = (low, high, low ^ high ^ PARITY)
    x, y = x + keys[0], y + keys[1]
    for block in range(5):
        for distance in ROTATIONS[block % 2]:
            x = x + y
            y = (y << distance | y >> (32 - distance)) ^ x
        x = x + keys[(block + 1) % 3]
        y = y + keys[(block + 2) % 3] + (block + 1)
    return (y.cast(dtypes.uint64) << 32) | x.cast(dtypes.uint64)


def words_of(x: UOp) -> tuple[UOp, UOp]:
    """The low and the high half of a uint64."""
    return x.cast(dtypes.uint32), (x >> 32).cast(dtypes.uint32)
