"""Ours: each work is a captured function, replayed."""

from __future__ import annotations

from typing import Any

import numpy as np

from models.convnet_tiny import ConvNet
from models.resnet18_tiny import ResNet18
from models.smollm2 import FULL, SMALL, matrices
from models.smollm2_tiny import TinyMatrix
from peers.peer import Call
from tiny_tensor import Session, Tensor, jit
from works.long_graphs import long_graph
from works.work import Array, Arrays, Work


class Tiny:
    """tiny_tensor."""

    def prepare(self, work: Work, arrays: Arrays) -> Call | None:
        """Take the inputs in."""
        inputs = []
        for array in arrays.values():
            tensor = Tensor(array)
            if array.dtype == "float32" and work.dtype != "float32":
                tensor = tensor.cast(work.dtype)
            tensor.realize()
            inputs.append(tensor)
        flipped = [name in work.transposed for name in arrays]
        if work.operation in BUILDERS:
            call: Call = BUILDERS[work.operation](*inputs, **work.options)
            return call
        function = FUNCTIONS[work.operation]

        @jit
        def replayed(*tensors: Tensor) -> Any:
            views = [t.transpose(-1, -2) if f else t for t, f in zip(tensors, flipped, strict=True)]
            return function(*views, **work.options)

        return lambda: replayed(*inputs)

    def numbers(self, result: Any) -> Array:
        """A result as a NumPy array."""
        if isinstance(result, list):
            return np.concatenate([self.numbers(part) for part in result])
        if isinstance(result, Tensor):
            result = (result.cast("float32") if result.dtype.is_float else result).numpy()
        return np.asarray(result)


def _eager_adds(x: Tensor, count: int) -> Call:
    def call() -> Tensor:
        y = x
        for _ in range(count):
            y = (y + 1).realize()
        return y

    return call


def _long_graph(x: Tensor, count: int) -> Call:
    data = x.numpy()

    def call() -> Any:
        with Session(cache_folder=""):  # finds nothing compiled
            return long_graph(Tensor(data), count).numpy()

    return call


def _matvecs(x: Tensor, hidden: Tensor, layers: int, activations: str) -> Call:
    found = matrices(FULL if layers == FULL.layers else SMALL)
    packed = [(TinyMatrix(matrix), matrix.columns == x.shape[0]) for matrix in found]

    @jit
    def replayed(x: Tensor, hidden: Tensor) -> list[Tensor]:
        if activations == "int8":
            return [m.product_of_int8(x if narrow else hidden) for m, narrow in packed]
        return [m.product(x if narrow else hidden) for m, narrow in packed]

    return lambda: replayed(x, hidden)


def _resnet18(x: Tensor) -> Call:
    network = ResNet18.with_random_weights()
    replayed = jit(network.forward)
    return lambda: replayed(x)


def _convnet_step(x: Tensor, labels: Tensor) -> Call:
    step = ConvNet.with_random_weights().training_step()
    return lambda: step(x, labels)


def _repeated(x: Tensor, count: int) -> Tensor:
    for _ in range(count):
        x = x + 1
    return x


def _products(x: Tensor, w: Tensor, count: int) -> Tensor:
    for _ in range(count):
        x = (x @ w).tanh()
    return x


FUNCTIONS: dict[str, Any] = {
    "matmul": lambda a, b: a @ b,
    "chain": lambda x: (x * 2 + 1).relu().exp(),
    "sum": lambda x, axis: x.sum(axis),
    "softmax": lambda x: x.softmax(1),
    "layer_norm": lambda x, gain, bias: x.layernorm() * gain + bias,
    "cumsum": lambda x: x.cumsum(1),
    "sort": lambda x: x.sort()[0],
    "argsort": lambda x: x.argsort(),
    "gather": lambda table, rows: table[rows],
    "convolution": lambda x, w, groups: x.conv2d(w, padding=1, groups=groups),
    "attention": lambda q, k, v: q.scaled_dot_product_attention(k, v, is_causal=True),
    "adds": _repeated,
    "products": _products,
}

BUILDERS: dict[str, Any] = {
    "matvecs": _matvecs,
    "long_graph": _long_graph,
    "eager_adds": _eager_adds,
    "resnet18": _resnet18,
    "convnet_step": _convnet_step,
}


def make() -> Tiny:
    """The peer."""
    return Tiny()
