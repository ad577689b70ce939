"""Layers in NumPy, for the answers of networks."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


def softmax(x: Array) -> Array:
    """Along the last axis."""
    powers = np.exp(x - x.max(-1, keepdims=True))
    return np.asarray(powers / powers.sum(-1, keepdims=True))


def convolution(x: Array, w: Array, groups: int = 1, stride: int = 1, padding: int = 1) -> Array:
    """(n, c, h, w) with (out, c / groups, kh, kw): gathers the windows, then multiplies once."""
    if padding:
        x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (2, 3))
    windows = windows[:, :, ::stride, ::stride]
    batch, channels, height, width = windows.shape[:4]
    grouped = windows.reshape(batch, groups, channels // groups, height, width, *w.shape[2:])
    kernels = w.reshape(groups, len(w) // groups, *w.shape[1:])
    parts = [
        np.tensordot(grouped[:, group], kernels[group], ((1, 4, 5), (1, 2, 3)))
        for group in range(groups)
    ]
    return np.concatenate(parts, -1).transpose(0, 3, 1, 2)


def max_pool(x: Array, size: int, stride: int, padding: int = 0) -> Array:
    """The greatest of each window of the last two axes."""
    if padding:
        sides = ((0, 0), (0, 0), (padding, padding), (padding, padding))
        x = np.pad(x, sides, constant_values=-np.inf)
    windows = np.lib.stride_tricks.sliding_window_view(x, (size, size), (2, 3))
    return np.asarray(windows[:, :, ::stride, ::stride].max((4, 5)))


def normalized(x: Array, mean: Array, variance: Array, weight: Array, bias: Array) -> Array:
    """Channels, the second axis, by mean and variance."""
    column = (-1, 1, 1)
    scale = weight / np.sqrt(variance + 1e-5)
    return (x - mean.reshape(column)) * scale.reshape(column) + bias.reshape(column)
