"""torch, one operation at a time."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from typing import Any

from models.convnet import LEARNING_RATE, convnet_arrays
from models.resnet18 import resnet18_arrays, resnet18_forward
from peers.peer import Call
from works.work import Array, Arrays, Work

torch: Any = import_module("torch")
functional: Any = import_module("torch.nn.functional")

Transform = Callable[[Callable[..., Any]], Callable[..., Any]]


class Torch:
    """torch; `transform` is what is done with each function before it is called."""

    def __init__(self, transform: Transform) -> None:
        self.transform = transform
        torch.set_num_threads(int(os.environ["BENCH_THREADS"]))

    def prepare(self, work: Work, arrays: Arrays) -> Call | None:
        """Take the inputs in."""
        inputs = []
        for name, array in arrays.items():
            tensor = torch.from_numpy(array)
            if tensor.dtype == torch.float32:
                tensor = tensor.to(getattr(torch, work.dtype))
            inputs.append(tensor.transpose(-1, -2) if name in work.transposed else tensor)
        if work.operation == "convnet_step":
            return self._convnet_step(*inputs)
        if work.operation not in FUNCTIONS:
            return None
        function = self.transform(FUNCTIONS[work.operation])

        def call() -> Any:
            with torch.no_grad():
                return function(*inputs, **work.options)

        return call

    def numbers(self, result: Any) -> Array:
        """A result as a NumPy array."""
        array: Array = (result.float() if result.is_floating_point() else result).numpy()
        return array

    def _convnet_step(self, x: Any, labels: Any) -> Call:
        weights = {
            name: torch.nn.Parameter(torch.from_numpy(array))
            for name, array in convnet_arrays().items()
        }
        optimizer = torch.optim.Adam(list(weights.values()), lr=LEARNING_RATE, fused=True)
        labels = labels.long()
        loss_of = self.transform(_convnet_loss)

        def step() -> Any:
            optimizer.zero_grad(set_to_none=True)
            loss = loss_of(x, labels, weights)
            loss.backward()
            optimizer.step()
            return loss.detach()

        return step


def _convnet_loss(x: Any, labels: Any, weights: dict[str, Any]) -> Any:
    def conv(x: Any, name: str) -> Any:
        weight, bias = weights[f"{name}.weight"], weights[f"{name}.bias"]
        return functional.relu(functional.conv2d(x, weight, bias))

    def norm(x: Any, name: str) -> Any:
        scale, shift = weights[f"{name}.weight"], weights[f"{name}.bias"]
        return functional.batch_norm(x, None, None, scale, shift, True)

    x = functional.max_pool2d(norm(conv(conv(x, "c1"), "c2"), "n1"), 2)
    x = functional.max_pool2d(norm(conv(conv(x, "c3"), "c4"), "n2"), 2)
    logits = functional.linear(x.flatten(1), weights["last.weight"], weights["last.bias"])
    return functional.cross_entropy(logits, labels)


WEIGHTS: dict[str, Any] = {}


def _resnet18(x: Any) -> Any:
    def conv(x: Any, name: str, stride: int, padding: int) -> Any:
        return functional.conv2d(x, WEIGHTS[f"{name}.weight"], None, stride, padding)

    def norm(x: Any, name: str) -> Any:
        parts = ("running_mean", "running_var", "weight", "bias")
        return functional.batch_norm(x, *(WEIGHTS[f"{name}.{part}"] for part in parts))

    def head(x: Any) -> Any:
        return functional.linear(x.mean((2, 3)), WEIGHTS["fc.weight"], WEIGHTS["fc.bias"])

    def pool(x: Any) -> Any:
        return functional.max_pool2d(x, 3, 2, 1)

    return resnet18_forward(x, conv, norm, functional.relu, pool, head)


def _adds(x: Any, count: int) -> Any:
    for _ in range(count):
        x = x + 1
    return x


def _products(x: Any, w: Any, count: int) -> Any:
    for _ in range(count):
        x = torch.tanh(x @ w)
    return x


FUNCTIONS: dict[str, Any] = {
    "matmul": lambda a, b: a @ b,
    "chain": lambda x: (x * 2 + 1).relu().exp(),
    "sum": lambda x, axis: x.sum() if axis is None else x.sum(axis),
    "softmax": lambda x: torch.softmax(x, 1),
    "layer_norm": lambda x, gain, bias: functional.layer_norm(x, gain.shape, gain, bias),
    "cumsum": lambda x: x.cumsum(1),
    "sort": lambda x: x.sort()[0],
    "argsort": lambda x: x.argsort(stable=True),
    "gather": lambda table, rows: functional.embedding(rows, table),
    "convolution": lambda x, w, groups: functional.conv2d(x, w, padding=1, groups=groups),
    "attention": lambda q, k, v: functional.scaled_dot_product_attention(q, k, v, is_causal=True),
    "adds": _adds,
    "eager_adds": _adds,
    "products": _products,
    "resnet18": _resnet18,
}


def make(transform: Transform | None = None) -> Torch:
    """The peer."""
    WEIGHTS.update((name, torch.from_numpy(array)) for name, array in resnet18_arrays().items())
    return Torch(transform or (lambda function: function))
