"""How long whole operations take beside NumPy and, where it is installed, torch.

Each runs in turns with its peers, so that all see the same load; the best of each is kept. Every
result is compared with NumPy's before it is timed.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from tiny_tensor import Tensor

ROUNDS = 15
SEED = 7
TOLERANCE = 2e-3
"""Relative to the largest magnitude: sums of 4096 terms in another order."""

Array = np.ndarray[Any, np.dtype[Any]]


class Work(NamedTuple):
    """One operation in three spellings, over the same arrays."""

    name: str
    arrays: tuple[Array, ...]
    ours: Callable[..., Tensor]
    numpy: Callable[..., Array]
    torch: Callable[..., Any]


def works() -> Iterator[Work]:
    """The operations that are measured."""
    draw = np.random.default_rng(SEED)

    def normal(*shape: int) -> Array:
        return draw.standard_normal(shape, dtype=np.float32)

    for n in (512, 1024, 2048, 127, 777):
        pair = (normal(n, n), normal(n, n))
        yield Work(f"matmul {n}", pair, _product, _product, _product)
    square, vector = normal(4096, 4096), normal(4096)
    yield Work("matrix @ vector 4096", (square, vector), _product, _product, _product)
    yield Work("vector @ matrix 4096", (vector, square), _product, _product, _product)
    yield Work(
        "relu(2x+1).exp() 16M",
        (normal(1 << 24),),
        lambda x: (x * 2 + 1).relu().exp(),
        lambda x: np.exp(np.maximum(x * 2 + 1, 0)),
        lambda x: (x * 2 + 1).relu().exp(),
    )
    yield Work("sum 16M", (square,), lambda x: x.sum(), np.sum, lambda x: x.sum())
    for axis in (0, 1):
        yield Work(
            f"sum axis {axis} 4096x4096",
            (square,),
            lambda x, axis=axis: x.sum(axis),
            lambda x, axis=axis: x.sum(axis),
            lambda x, axis=axis: x.sum(axis),
        )
    yield Work(
        "softmax 4096x4096", (square,), lambda x: x.softmax(1), _softmax, lambda x: x.softmax(1)
    )
    yield Work(
        "layer norm 4096x1024",
        (normal(4096, 1024),),
        lambda x: x.layernorm(),
        _layernorm,
        lambda x: (x - x.mean(1, True)) / (x.var(1, correction=0, keepdim=True) + 1e-5).sqrt(),
    )
    rows = draw.integers(0, 100_000, 100_000).astype(np.int32)
    table = normal(100_000, 64)
    yield Work("gather 100k x 64", (table, rows), _rows, _rows, lambda t, i: t[i.long()])


def _product(a: Any, b: Any) -> Any:
    return a @ b


def _rows(table: Any, rows: Any) -> Any:
    return table[rows]


def _softmax(x: Array) -> Array:
    powers = np.exp(x - x.max(1, keepdims=True))
    return np.asarray(powers / powers.sum(1, keepdims=True))


def _layernorm(x: Array) -> Array:
    centred = x - x.mean(1, keepdims=True)
    return np.asarray(centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5))


def seconds(function: Callable[[], object]) -> float:
    """How long one call takes."""
    start = perf_counter()
    function()
    return perf_counter() - start


def measure() -> Iterator[tuple[str, float, str, float]]:
    """Yield the best time of ours and of each peer, taken in turns."""
    for work in works():
        ours = [Tensor(array).realize() for array in work.arrays]
        expected = work.numpy(*work.arrays)
        _check(work.name, work.ours(*ours).numpy(), expected)
        calls: dict[str, Callable[[], object]] = {
            "tiny": lambda work=work, ours=ours: work.ours(*ours).realize(),
            "numpy": lambda work=work: work.numpy(*work.arrays),
        }
        if importlib.util.find_spec("torch") is not None:
            import torch  # only in the environment of the peers

            tensors = [torch.from_numpy(array) for array in work.arrays]
            calls["torch"] = lambda work=work, tensors=tensors: work.torch(*tensors)
        best = dict.fromkeys(calls, float("inf"))
        for _ in range(ROUNDS):
            for name, call in calls.items():
                best[name] = min(best[name], seconds(call))
        for peer in list(calls)[1:]:
            yield work.name, best["tiny"], peer, best[peer]


def _check(name: str, found: Array, expected: Array) -> None:
    scale = max(1.0, float(np.abs(expected).max()))
    error = float(np.abs(found - expected).max()) / scale
    if not error <= TOLERANCE:
        raise SystemExit(f"{name}: off by {error:.1e} of the largest magnitude")
