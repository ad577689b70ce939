"""A Work: one thing that every peer is asked to compute."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Arrays = dict[str, Array]


class Work(NamedTuple):
    """One thing to compute.

    Attributes:
        name: how the tables call it.
        operation: the key by which peers and answers know how to compute it.
        inputs: gives the same arrays at every call, in the order the operation takes them.
        target: the ratio that we want to reach: our time by the best peer's. None where the group
            has one for all its rows.
        dtype: what floats among the inputs are converted to before the time is taken.
        transposed: inputs that are handed over as the transposed view of what `inputs` gives.
        options: what else the operation needs to know.
        operations: arithmetic operations of the least work that gives the answer; 0: not counted.
        nbytes: bytes that must be read and written at least; 0: not counted.
        tolerance: how far results may be off, relative to the greatest magnitude of the answer.
        group: rows that share a target, for their median and their greatest.
        peers: who else is asked; empty: every peer.
        size: what the cost grows with, among works that look at growth.
    """

    name: str
    operation: str
    inputs: Callable[[], Arrays]
    target: float | None = None
    dtype: str = "float32"
    transposed: frozenset[str] = frozenset()
    options: Mapping[str, int | float | str | None] = {}
    operations: float = 0.0
    nbytes: float = 0.0
    tolerance: float = 1e-4
    group: str = ""
    peers: frozenset[str] = frozenset()
    size: int = 0


Works = Iterator[Work]


def normal(seed: int, *shape: int, scale: float = 1.0) -> Array:
    """Normally distributed float32 numbers, the same for the same seed."""
    drawn = np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)
    return drawn * np.float32(scale)


def indices(seed: int, count: int, limit: int) -> Array:
    """Evenly distributed int32 numbers from 0 to below `limit`."""
    return np.random.default_rng(seed).integers(0, limit, count).astype(np.int32)
