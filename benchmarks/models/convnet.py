"""A small convolutional net for 28x28 images of ten classes, trained with batch norm and Adam."""

from __future__ import annotations

import numpy as np

from models.arithmetic import Array, convolution, max_pool, normalized, softmax

CONVOLUTIONS = (("c1", 32, 1, 5), ("c2", 32, 32, 5), ("c3", 64, 32, 3), ("c4", 64, 64, 3))
"""(name, channels out, channels in, size)."""

NORMS = (("n1", 32), ("n2", 64))
FEATURES = 576
LEARNING_RATE = 1e-3
SEED = 41


def convnet_arrays() -> dict[str, Array]:
    """Random weights that keep the size of the signal."""
    draw = np.random.default_rng(SEED)
    arrays: dict[str, Array] = {}
    for name, out, into, size in CONVOLUTIONS:
        drawn = draw.standard_normal((out, into, size, size), dtype=np.float32)
        arrays[f"{name}.weight"] = drawn * np.float32(np.sqrt(2 / (into * size * size)))
        arrays[f"{name}.bias"] = np.zeros(out, np.float32)
    for name, channels in NORMS:
        arrays[f"{name}.weight"] = np.ones(channels, np.float32)
        arrays[f"{name}.bias"] = np.zeros(channels, np.float32)
    drawn = draw.standard_normal((10, FEATURES), dtype=np.float32)
    arrays["last.weight"] = drawn * np.float32(0.04)
    arrays["last.bias"] = np.zeros(10, np.float32)
    return arrays


def convnet_loss(x: Array, labels: Array) -> Array:
    """The loss before the first step, by NumPy: a step gives the loss it started from."""
    arrays = convnet_arrays()

    def conv(x: Array, name: str) -> Array:
        y = convolution(x, arrays[f"{name}.weight"], padding=0)
        return np.asarray(np.maximum(y + arrays[f"{name}.bias"].reshape(-1, 1, 1), 0))

    def norm(x: Array, name: str) -> Array:
        mean, variance = x.mean((0, 2, 3)), x.var((0, 2, 3))
        return normalized(x, mean, variance, arrays[f"{name}.weight"], arrays[f"{name}.bias"])

    x = max_pool(norm(conv(conv(x, "c1"), "c2"), "n1"), 2, 2)
    x = max_pool(norm(conv(conv(x, "c3"), "c4"), "n2"), 2, 2)
    logits = x.reshape(len(x), -1) @ arrays["last.weight"].T + arrays["last.bias"]
    chosen = softmax(logits)[np.arange(len(x)), labels]
    return np.asarray(-np.log(chosen).mean())
