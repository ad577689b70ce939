"""A graph of any length, in words that NumPy, jax and tiny_tensor share."""

from __future__ import annotations

from typing import Any

OPS_A_STEP = 10


def long_graph(x: Any, count: int) -> Any:
    """About `count` operations: elementwise ones, and a sum now and then that needs them all."""
    for step in range(count // OPS_A_STEP):
        scale = 0.5 + 0.25 * step / count  # no two steps are the same kernel
        x = abs(x * scale + 0.25)
        x = abs(x * scale - 0.125)
        x = (x - x.sum() * 0.001) * 1.5
    return x
