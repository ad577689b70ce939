"""NumPy, written the way its users write it."""

from __future__ import annotations

from typing import Any

import numpy as np

from models.smollm2 import FULL, SMALL, matrices
from peers.peer import Call
from works.answers import handed_over
from works.work import Array, Arrays, Work


class NumPy:
    """NumPy; its bfloat16 does not exist, and its float16 is software."""

    def prepare(self, work: Work, arrays: Arrays) -> Call | None:
        """Take the inputs in."""
        if work.operation not in FUNCTIONS or work.dtype != "float32":
            return None
        function = FUNCTIONS[work.operation]
        inputs = handed_over(work).values()
        if work.operation == "matvecs":
            prepared: Call | None = function(*inputs, **work.options)
            return prepared
        return lambda: function(*inputs, **work.options)

    def numbers(self, result: Any) -> Array:
        """A result as an array."""
        return np.asarray(result)


def _chain(x: Array) -> Array:
    y = x * 2
    y += 1
    np.maximum(y, 0, out=y)
    return np.asarray(np.exp(y, out=y))


def _softmax(x: Array) -> Array:
    powers = np.exp(x - x.max(1, keepdims=True))
    powers /= powers.sum(1, keepdims=True)
    return np.asarray(powers)


def _layer_norm(x: Array, gain: Array, bias: Array) -> Array:
    centred = x - x.mean(1, keepdims=True)
    spread = np.sqrt((centred * centred).mean(1, keepdims=True) + 1e-5)
    return np.asarray(centred / spread * gain + bias)


def _adds(x: Array, count: int) -> Array:
    for _ in range(count):
        x = x + 1
    return x


def _products(x: Array, w: Array, count: int) -> Array:
    for _ in range(count):
        x = np.tanh(x @ w)
    return x


def _matvecs(x: Array, hidden: Array, layers: int, activations: str) -> Call | None:
    if activations != "float32":
        return None
    vectors = {len(x): x, len(hidden): hidden}
    decoded = [m.decoded() for m in matrices(FULL if layers == FULL.layers else SMALL)]
    return lambda: np.concatenate([matrix @ vectors[matrix.shape[1]] for matrix in decoded])


FUNCTIONS: dict[str, Any] = {
    "matmul": np.matmul,
    "chain": _chain,
    "sum": lambda x, axis: x.sum(axis),
    "softmax": _softmax,
    "layer_norm": _layer_norm,
    "cumsum": lambda x: np.cumsum(x, 1),
    "sort": np.sort,
    "argsort": np.argsort,
    "gather": lambda table, rows: table[rows],
    "matvecs": _matvecs,
    "adds": _adds,
    "eager_adds": _adds,
    "products": _products,
}


def make() -> NumPy:
    """The peer."""
    return NumPy()
