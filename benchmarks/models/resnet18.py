"""ResNet-18 (He et al. 2015, arXiv:1512.03385), with torchvision's names of parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from models.arithmetic import Array, convolution, max_pool, normalized

LAYERS = ((64, 1), (128, 2), (256, 2), (512, 2))
"""(channels, stride of the first block) of each layer of two blocks."""

CLASSES = 1000
SEED = 40


def resnet18_arrays() -> dict[str, Array]:
    """Random weights that keep the size of the signal, and statistics near 0 and 1."""
    draw = np.random.default_rng(SEED)
    arrays: dict[str, Array] = {}

    def convolve(name: str, out: int, into: int, size: int) -> None:
        drawn = draw.standard_normal((out, into, size, size), dtype=np.float32)
        arrays[f"{name}.weight"] = drawn * np.float32(np.sqrt(2 / (into * size * size)))

    def normalize(name: str, channels: int) -> None:
        def uniform(low: float, high: float) -> Array:
            return draw.uniform(low, high, channels).astype(np.float32)

        arrays[f"{name}.weight"] = uniform(0.5, 1.0)
        arrays[f"{name}.bias"] = uniform(-0.2, 0.2)
        arrays[f"{name}.running_mean"] = uniform(-0.2, 0.2)
        arrays[f"{name}.running_var"] = uniform(0.5, 1.5)

    convolve("conv1", 64, 3, 7)
    normalize("bn1", 64)
    into = 64
    for name, out, stride in blocks():
        convolve(f"{name}.conv1", out, into, 3)
        normalize(f"{name}.bn1", out)
        convolve(f"{name}.conv2", out, out, 3)
        normalize(f"{name}.bn2", out)
        if stride != 1:
            convolve(f"{name}.downsample.0", out, into, 1)
            normalize(f"{name}.downsample.1", out)
        into = out
    drawn = draw.standard_normal((CLASSES, 512), dtype=np.float32)
    arrays["fc.weight"] = drawn * np.float32(0.04)
    arrays["fc.bias"] = np.zeros(CLASSES, np.float32)
    return arrays


def blocks() -> list[tuple[str, int, int]]:
    """(name, channels, stride) of the eight blocks."""
    return [
        (f"layer{layer}.{block}", channels, stride if block == 0 else 1)
        for layer, (channels, stride) in enumerate(LAYERS, 1)
        for block in range(2)
    ]


def resnet18_forward(
    x: Any,
    conv: Callable[[Any, str, int, int], Any],
    norm: Callable[[Any, str], Any],
    relu: Callable[[Any], Any],
    pool: Callable[[Any], Any],
    head: Callable[[Any], Any],
) -> Any:
    """The network in the words of whoever computes it.

    Args:
        x: (n, 3, h, w).
        conv: takes a value, the name of the weight, stride and padding.
        norm: takes a value and the name of a normalization.
        relu: sets negative elements to 0.
        pool: takes the greatest of each 3x3 window, stride 2, padding 1.
        head: the mean over the image, then the last layer.
    """
    x = pool(relu(norm(conv(x, "conv1", 2, 3), "bn1")))
    for name, _, stride in blocks():
        y = relu(norm(conv(x, f"{name}.conv1", stride, 1), f"{name}.bn1"))
        y = norm(conv(y, f"{name}.conv2", 1, 1), f"{name}.bn2")
        if stride != 1:
            x = norm(conv(x, f"{name}.downsample.0", stride, 0), f"{name}.downsample.1")
        x = relu(y + x)
    return head(x)


def resnet18_answer(x: Array) -> Array:
    """The network by NumPy."""
    arrays = resnet18_arrays()

    def conv(x: Array, name: str, stride: int, padding: int) -> Array:
        return convolution(x, arrays[f"{name}.weight"], 1, stride, padding)

    def norm(x: Array, name: str) -> Array:
        parts = ("running_mean", "running_var", "weight", "bias")
        return normalized(x, *(arrays[f"{name}.{part}"] for part in parts))

    def head(x: Array) -> Array:
        return np.asarray(x.mean((2, 3)) @ arrays["fc.weight"].T + arrays["fc.bias"])

    def relu(x: Array) -> Array:
        return np.maximum(x, 0)

    return np.asarray(resnet18_forward(x, conv, norm, relu, lambda x: max_pool(x, 3, 2, 1), head))
