"""Matmul shapes that stand in no table: primes, tails, transposed, tall and skinny, batched."""

from __future__ import annotations

from works.operations import matmul
from works.work import Works

GROUP = "matmul shapes"

SHAPES = (
    # odd and prime sizes
    (127, 127, 127),
    (251, 251, 251),
    (509, 509, 509),
    (777, 777, 777),
    (1021, 1021, 1021),
    (100, 300, 500),
    (333, 555, 777),
    (1000, 1000, 1000),
    (1025, 1023, 1027),
    (640, 96, 1280),
    # small
    (48, 48, 48),
    (64, 64, 64),
    (96, 256, 96),
    (128, 128, 128),
    (192, 192, 192),
    # tall and skinny
    (8192, 64, 64),
    (4096, 256, 32),
    (10000, 30, 30),
    (2048, 2048, 8),
    (2048, 2048, 17),
    (8, 2048, 2048),
    (17, 1024, 1024),
    (4, 4096, 1024),
    (64, 4096, 64),
    (31, 10000, 31),
    (1024, 16, 1024),
    (2000, 5, 2000),
    (512, 512, 3072),
    (3072, 512, 256),
    (128, 768, 3072),
)
"""(m, k, n)."""

TRANSPOSED = (
    (512, 512, 512, "b"),
    (512, 512, 512, "a"),
    (512, 512, 512, "ab"),
    (777, 333, 555, "b"),
    (777, 333, 555, "a"),
    (256, 2048, 128, "b"),
    (128, 2048, 256, "a"),
    (1024, 64, 1024, "b"),
)

BATCHED = ((32, 128, 64, 128), (8, 257, 129, 65))
"""(batch, m, k, n)."""


def shapes(quick: bool) -> Works:
    """Forty shapes, one row each; the group's target is 0.9 at the median, 1.1 at most."""
    for m, k, n in ((48, 48, 48), (17, 31, 5)) if quick else SHAPES:
        yield matmul(f"matmul {m}x{k}x{n}", m, k, n, group=GROUP)
    for m, k, n, which in TRANSPOSED[:0] if quick else TRANSPOSED:
        names = " and ".join({"a": "left", "b": "right"}[each] for each in which)
        title = f"matmul {m}x{k}x{n}, {names} transposed"
        yield matmul(title, m, k, n, transposed=which, group=GROUP)
    for batch, m, k, n in BATCHED[:0] if quick else BATCHED:
        yield matmul(f"matmul {batch}x {m}x{k}x{n}", m, k, n, batch=batch, group=GROUP)
