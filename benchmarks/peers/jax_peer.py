"""jax, with every function compiled."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from models.convnet import LEARNING_RATE, convnet_arrays
from models.resnet18 import resnet18_arrays, resnet18_forward
from peers.peer import Call
from works.long_graphs import long_graph
from works.work import Array, Arrays, Work

jax: Any = import_module("jax")
jnp: Any = import_module("jax.numpy")
lax: Any = import_module("jax.lax")

LAYOUT = ("NCHW", "OIHW", "NCHW")
EPSILON = 1e-8
DECAYS = (0.9, 0.999)


class Jax:
    """jax on its CPU backend."""

    def prepare(self, work: Work, arrays: Arrays) -> Call | None:
        """Take the inputs in."""
        inputs = []
        for array in arrays.values():
            taken = jnp.asarray(array)
            inputs.append(taken.astype(work.dtype) if taken.dtype == jnp.float32 else taken)
        flipped = [name in work.transposed for name in arrays]
        if work.operation in BUILDERS:
            call: Call = BUILDERS[work.operation](*inputs, **work.options)
            return call
        if work.operation not in FUNCTIONS:
            return None
        function = FUNCTIONS[work.operation]

        def spelled(*arrays: Any) -> Any:
            views = [a.swapaxes(-1, -2) if f else a for a, f in zip(arrays, flipped, strict=True)]
            return function(*views, **work.options)

        compiled = jax.jit(spelled)
        return lambda: jax.block_until_ready(compiled(*inputs))

    def numbers(self, result: Any) -> Array:
        """A result as a NumPy array."""
        wide = result.astype(jnp.float32) if jnp.issubdtype(result.dtype, jnp.floating) else result
        return np.asarray(wide)


def _conv(x: Any, w: Any, stride: int, padding: int, groups: int = 1) -> Any:
    return lax.conv_general_dilated(
        x,
        w,
        (stride, stride),
        [(padding, padding)] * 2,
        dimension_numbers=LAYOUT,
        feature_group_count=groups,
    )


def _pool(x: Any, size: int, stride: int, padding: int) -> Any:
    sides = [(0, 0), (0, 0), (padding, padding), (padding, padding)]
    return lax.reduce_window(
        x, -jnp.inf, lax.max, (1, 1, size, size), (1, 1, stride, stride), sides
    )


def _column(x: Any) -> Any:
    return x[:, None, None]


def _layer_norm(x: Any, gain: Any, bias: Any) -> Any:
    centred = x - x.mean(1, keepdims=True)
    return centred * lax.rsqrt((centred**2).mean(1, keepdims=True) + 1e-5) * gain + bias


def _attention(q: Any, k: Any, v: Any) -> Any:
    swapped = (x.swapaxes(1, 2) for x in (q, k, v))
    return jax.nn.dot_product_attention(*swapped, is_causal=True).swapaxes(1, 2)


def _products(x: Any, w: Any, count: int) -> Any:
    for _ in range(count):
        x = jnp.tanh(x @ w)
    return x


def _adds(x: Any, count: int) -> Any:
    for _ in range(count):
        x = x + 1
    return x


def _eager_adds(x: Any, count: int) -> Call:
    add = jax.jit(lambda x: x + 1)

    def call() -> Any:
        y = x
        for _ in range(count):
            y = add(y)
        return jax.block_until_ready(y)

    return call


def _long_graph(x: Any, count: int) -> Call:
    def call() -> Any:
        compiled = jax.jit(lambda x: long_graph(x, count))  # a new function is compiled anew
        return jax.block_until_ready(compiled(x))

    return call


def _resnet18(x: Any) -> Call:
    weights = {name: jnp.asarray(array) for name, array in resnet18_arrays().items()}

    def forward(x: Any, weights: dict[str, Any]) -> Any:
        def conv(x: Any, name: str, stride: int, padding: int) -> Any:
            return _conv(x, weights[f"{name}.weight"], stride, padding)

        def norm(x: Any, name: str) -> Any:
            scale = weights[f"{name}.weight"] * lax.rsqrt(weights[f"{name}.running_var"] + 1e-5)
            centred = x - _column(weights[f"{name}.running_mean"])
            return centred * _column(scale) + _column(weights[f"{name}.bias"])

        def head(x: Any) -> Any:
            return x.mean((2, 3)) @ weights["fc.weight"].T + weights["fc.bias"]

        return resnet18_forward(x, conv, norm, jax.nn.relu, lambda x: _pool(x, 3, 2, 1), head)

    compiled = jax.jit(forward)
    return lambda: jax.block_until_ready(compiled(x, weights))


def _convnet_loss(weights: dict[str, Any], x: Any, labels: Any) -> Any:
    def conv(x: Any, name: str) -> Any:
        y = _conv(x, weights[f"{name}.weight"], 1, 0)
        return jax.nn.relu(y + _column(weights[f"{name}.bias"]))

    def norm(x: Any, name: str) -> Any:
        mean = x.mean((0, 2, 3), keepdims=True)
        variance = ((x - mean) ** 2).mean((0, 2, 3), keepdims=True)
        scale, shift = _column(weights[f"{name}.weight"]), _column(weights[f"{name}.bias"])
        return (x - mean) * lax.rsqrt(variance + 1e-5) * scale + shift

    x = _pool(norm(conv(conv(x, "c1"), "c2"), "n1"), 2, 2, 0)
    x = _pool(norm(conv(conv(x, "c3"), "c4"), "n2"), 2, 2, 0)
    logits = x.reshape(len(x), -1) @ weights["last.weight"].T + weights["last.bias"]
    chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1)
    return -chosen.mean()


def _adam(weight: Any, mean: Any, square: Any, count: Any) -> Any:
    first, second = DECAYS
    spread = jnp.sqrt(square / (1 - second**count)) + EPSILON
    return weight - LEARNING_RATE * mean / (1 - first**count) / spread


def _convnet_step(x: Any, labels: Any) -> Call:
    weights = {name: jnp.asarray(array) for name, array in convnet_arrays().items()}

    def step(state: Any, x: Any, labels: Any) -> Any:
        weights, means, squares, count = state
        loss, gradients = jax.value_and_grad(_convnet_loss)(weights, x, labels)
        first, second = DECAYS
        means = {n: first * means[n] + (1 - first) * g for n, g in gradients.items()}
        squares = {n: second * squares[n] + (1 - second) * g * g for n, g in gradients.items()}
        count = count + 1
        stepped = {n: _adam(weights[n], means[n], squares[n], count) for n in weights}
        return (stepped, means, squares, count), loss

    compiled = jax.jit(step, donate_argnums=0)

    def zeros() -> dict[str, Any]:
        return {name: jnp.zeros_like(weight) for name, weight in weights.items()}

    states = [(weights, zeros(), zeros(), jnp.float32(0))]

    def call() -> Any:
        state, loss = compiled(states.pop(), x, labels)
        states.append(state)
        return jax.block_until_ready(loss)

    return call


FUNCTIONS: dict[str, Any] = {
    "matmul": lambda a, b: a @ b,
    "chain": lambda x: jnp.exp(jax.nn.relu(x * 2 + 1)),
    "sum": lambda x, axis: x.sum(axis),
    "softmax": lambda x: jax.nn.softmax(x, 1),
    "layer_norm": _layer_norm,
    "cumsum": lambda x: jnp.cumsum(x, 1),
    "sort": jnp.sort,
    "argsort": jnp.argsort,
    "gather": lambda table, rows: jnp.take(table, rows, axis=0),
    "convolution": lambda x, w, groups: _conv(x, w, 1, 1, groups),
    "attention": _attention,
    "adds": _adds,
    "products": _products,
}

BUILDERS: dict[str, Any] = {
    "long_graph": _long_graph,
    "eager_adds": _eager_adds,
    "resnet18": _resnet18,
    "convnet_step": _convnet_step,
}


def make() -> Jax:
    """The peer."""
    return Jax()
