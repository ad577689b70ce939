"""The answers, by NumPy: what every peer's result is compared with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from models import convnet_loss, resnet18_answer
from models.arithmetic import convolution, softmax
from models.smollm2 import matvecs_answer
from works.long_graphs import long_graph
from works.work import Array, Arrays, Work


def answer_of(work: Work) -> Array:
    """What the work should give."""
    arrays = handed_over(work)
    return np.asarray(ANSWERS[work.operation](*arrays.values(), **work.options))


def handed_over(work: Work) -> Arrays:
    """The inputs as NumPy takes them: float32, transposed where the work says so."""
    arrays = {
        name: array.swapaxes(-1, -2) if name in work.transposed else array
        for name, array in work.inputs().items()
    }
    if work.dtype == "bfloat16":
        return {name: _rounded_to_bfloat16(array) for name, array in arrays.items()}
    if work.dtype != "float32":
        return {name: array.astype(work.dtype).astype("float32") for name, array in arrays.items()}
    return arrays


def comparable(work: Work, result: Array) -> Array:
    """The result in a form that has one right value: positions of equal elements may differ."""
    if work.operation == "argsort":
        return np.asarray(work.inputs()["x"][result])
    return result


def _rounded_to_bfloat16(array: Array) -> Array:
    bits = array.view(np.uint32)
    even = (bits >> 16) & 1
    return np.asarray(((bits + 0x7FFF + even) & 0xFFFF0000).astype(np.uint32).view(np.float32))


def _chain(x: Array) -> Array:
    return np.asarray(np.exp(np.maximum(x * 2 + 1, 0)))


def _sum(x: Array, axis: int | None) -> Array:
    return np.asarray(x.sum(axis, dtype=np.float64))


def _layer_norm(x: Array, gain: Array, bias: Array) -> Array:
    centred = x - x.mean(1, keepdims=True)
    spread = np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5)
    return np.asarray(centred / spread * gain + bias)


def _attention(q: Array, k: Array, v: Array) -> Array:
    scores = q @ k.swapaxes(-1, -2) / np.float32(np.sqrt(q.shape[-1]))
    length = q.shape[-2]
    scores = np.where(np.tri(length, dtype=bool), scores, np.float32(-np.inf))
    return np.asarray(softmax(scores) @ v)


def _adds(x: Array, count: int) -> Array:
    return x + np.float32(count)


def _products(x: Array, w: Array, count: int) -> Array:
    for _ in range(count):
        x = np.tanh(x @ w)
    return x


ANSWERS: dict[str, Callable[..., Any]] = {
    "matmul": np.matmul,
    "chain": _chain,
    "sum": _sum,
    "softmax": softmax,
    "layer_norm": _layer_norm,
    "cumsum": lambda x: np.cumsum(x, 1, dtype=np.float64),
    "sort": np.sort,
    "argsort": np.sort,
    "gather": lambda table, rows: table[rows],
    "convolution": convolution,
    "attention": _attention,
    "adds": _adds,
    "eager_adds": _adds,
    "products": _products,
    "long_graph": long_graph,
    "matvecs": matvecs_answer,
    "resnet18": resnet18_answer,
    "convnet_step": convnet_loss,
}
