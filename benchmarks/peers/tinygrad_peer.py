"""tinygrad: each work is a TinyJit, as ours is a captured function."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from models.convnet import LEARNING_RATE, convnet_arrays
from models.resnet18 import resnet18_arrays, resnet18_forward
from peers.peer import Call
from works.work import Array, Arrays, Work

tinygrad: Any = import_module("tinygrad")
Tensor, TinyJit = tinygrad.Tensor, tinygrad.TinyJit

LEFT_OUT = {"sort", "argsort", "cumsum"}
"""They take seconds to minutes a call at the sizes of the table."""


class Tinygrad:
    """tinygrad on its default CPU backend."""

    def prepare(self, work: Work, arrays: Arrays) -> Call | None:
        """Take the inputs in."""
        if work.operation in LEFT_OUT:
            return None
        inputs = []
        for name, array in arrays.items():
            tensor = Tensor(array)
            if array.dtype == "float32" and work.dtype != "float32":
                tensor = tensor.cast(work.dtype)
            tensor = tensor.realize()
            inputs.append(tensor.transpose(-1, -2) if name in work.transposed else tensor)
        if work.operation in BUILDERS:
            return _waiting(BUILDERS[work.operation](*inputs, **work.options))
        if work.operation not in FUNCTIONS:
            return None
        function = FUNCTIONS[work.operation]
        captured = TinyJit(lambda *tensors: function(*tensors, **work.options).realize())
        return _waiting(lambda: captured(*inputs))

    def numbers(self, result: Any) -> Array:
        """A result as a NumPy array."""
        array: Array = result.float().numpy()
        return array


def _waiting(call: Call) -> Call:
    device = tinygrad.Device[tinygrad.Device.DEFAULT]

    def waited() -> Any:
        result = call()
        device.synchronize()
        return result

    return waited


def _adds(x: Any, count: int) -> Any:
    for _ in range(count):
        x = (x + 1).contiguous()
    return x


def _products(x: Any, w: Any, count: int) -> Any:
    for _ in range(count):
        x = (x @ w).tanh().contiguous()
    return x


def _eager_adds(x: Any, count: int) -> Call:
    def call() -> Any:
        y = x
        for _ in range(count):
            y = (y + 1).realize()
        return y

    return call


def _resnet18(x: Any) -> Call:
    weights = {name: Tensor(array).realize() for name, array in resnet18_arrays().items()}

    def conv(x: Any, name: str, stride: int, padding: int) -> Any:
        return x.conv2d(weights[f"{name}.weight"], stride=stride, padding=padding)

    def norm(x: Any, name: str) -> Any:
        spread = (weights[f"{name}.running_var"] + 1e-5).rsqrt()
        parts = ("weight", "bias", "running_mean")
        return x.batchnorm(*(weights[f"{name}.{part}"] for part in parts), spread)

    def head(x: Any) -> Any:
        return x.mean((2, 3)).linear(weights["fc.weight"].T, weights["fc.bias"])

    def pool(x: Any) -> Any:
        return x.max_pool2d((3, 3), stride=2, padding=1)

    def relu(x: Any) -> Any:
        return x.relu()

    def forward(x: Any) -> Any:
        return resnet18_forward(x, conv, norm, relu, pool, head).realize()

    captured = TinyJit(forward)
    return lambda: captured(x)


def _convnet_step(x: Any, labels: Any) -> Call:
    weights = {name: Tensor(array).realize() for name, array in convnet_arrays().items()}
    for weight in weights.values():
        weight.is_param_(True)
    optimizer = tinygrad.nn.optim.Adam(list(weights.values()), lr=LEARNING_RATE)

    def conv(x: Any, name: str) -> Any:
        return x.conv2d(weights[f"{name}.weight"], weights[f"{name}.bias"]).relu()

    def norm(x: Any, name: str) -> Any:
        mean = x.mean((0, 2, 3))
        variance = (x - mean.reshape(1, -1, 1, 1)).square().mean((0, 2, 3))
        scale, shift = weights[f"{name}.weight"], weights[f"{name}.bias"]
        return x.batchnorm(scale, shift, mean, (variance + 1e-5).rsqrt())

    def step(x: Any, labels: Any) -> Any:
        optimizer.zero_grad()
        x = norm(conv(conv(x, "c1"), "c2"), "n1").max_pool2d()
        x = norm(conv(conv(x, "c3"), "c4"), "n2").max_pool2d()
        logits = x.flatten(1).linear(weights["last.weight"].T, weights["last.bias"])
        loss = logits.sparse_categorical_crossentropy(labels).backward()
        return loss.realize(*optimizer.schedule_step())

    captured = TinyJit(tinygrad.Context(TRAINING=1)(step))
    return lambda: captured(x, labels)


FUNCTIONS: dict[str, Any] = {
    "matmul": lambda a, b: a @ b,
    "chain": lambda x: (x * 2 + 1).relu().exp(),
    "sum": lambda x, axis: x.sum(axis),
    "softmax": lambda x: x.softmax(1),
    "layer_norm": lambda x, gain, bias: x.layernorm(eps=1e-5) * gain + bias,
    "gather": lambda table, rows: table[rows],
    "convolution": lambda x, w, groups: x.conv2d(w, padding=1, groups=groups),
    "attention": lambda q, k, v: q.scaled_dot_product_attention(k, v, is_causal=True),
    "adds": _adds,
    "products": _products,
}

BUILDERS: dict[str, Any] = {
    "eager_adds": _eager_adds,
    "resnet18": _resnet18,
    "convnet_step": _convnet_step,
}


def make() -> Tinygrad:
    """The peer."""
    return Tinygrad()
