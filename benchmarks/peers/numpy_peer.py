"""NumPy, written the way its users write it."""

from __future__ import annotations

from typing import Any

import numpy as np

from peers.peer import Call
from works.answers import handed_over
from works.work import Array, Arrays, Work


class NumPy:
    """NumPy; its bfloat16 does not exist, and its float16 is software."""

    def prepare(self, work: Work, arrays: Arrays) -> Call | None:
        """Take the inputs in."""
        function = FUNCTIONS.get(work.operation)
        if function is None or work.dtype != "float32":
            return None
        inputs = handed_over(work).values()
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
    "adds": _adds,
    "eager_adds": _adds,
    "products": _products,
}


def make() -> NumPy:
    """The peer."""
    return NumPy()
