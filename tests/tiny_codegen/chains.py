"""Random chains of movement: each step on a node and on a NumPy array side by side."""

from __future__ import annotations

import random
from collections.abc import Callable
from math import prod

import numpy as np
import numpy.typing as npt

from tiny_ir import Op, UOp, make

from .graphs import dtype_of, param

Array = npt.NDArray[np.generic]
Pair = tuple[UOp, Array]
Step = Callable[[random.Random, UOp, Array], "Pair | None"]

LARGEST = 400
"""Elements above which no step makes an array grow."""


def permute(draw: random.Random, x: UOp, a: Array) -> Pair:
    order = draw.sample(range(a.ndim), a.ndim)
    return x.permute(order), a.transpose(order)


def reshape(draw: random.Random, x: UOp, a: Array) -> Pair:
    """Merge and split axes at random, with axes of size 1 in between."""
    shape = draw.choice(([a.size], list(a.shape), list(a.shape)))
    for _ in range(draw.randrange(4)):
        if len(shape) > 1 and draw.random() < 0.4:
            at = draw.randrange(len(shape) - 1)
            shape[at : at + 2] = [shape[at] * shape[at + 1]]
        elif shape and draw.random() < 0.8:
            at = draw.randrange(len(shape))
            size = shape[at]
            factor = draw.choice([n for n in range(1, size + 1) if size % n == 0] or [1])
            shape[at : at + 1] = [factor, size // factor]
        else:
            shape.insert(draw.randint(0, len(shape)), 1)
    if prod(shape) != a.size or len(shape) > 6:
        shape = [a.size]
    return x.reshape(shape), a.reshape(shape)


def pad(draw: random.Random, x: UOp, a: Array) -> Pair | None:
    pairs = [(draw.choice((0, 0, 1, 2)), draw.choice((0, 0, 1, 3))) for _ in a.shape]
    if prod(size + sum(pair) for size, pair in zip(a.shape, pairs, strict=True)) > LARGEST:
        return None
    return x.pad(pairs), np.pad(a, pairs) if pairs else a


def shrink(draw: random.Random, x: UOp, a: Array) -> Pair:
    parts = []
    for size in a.shape:
        begin = draw.randint(0, max(0, size - 1))
        parts.append((begin, draw.randint(min(begin + 1, size), size)))
    return x.shrink(parts), a[tuple(slice(*part) for part in parts)]


def flip(draw: random.Random, x: UOp, a: Array) -> Pair:
    axes = [axis for axis in range(a.ndim) if draw.random() < 0.5]
    return x.flip(axes), np.flip(a, axes) if axes else a


def expand(draw: random.Random, x: UOp, a: Array) -> Pair | None:
    shape = [draw.choice((1, 2, 3, 5)) if size == 1 else size for size in a.shape]
    if prod(shape) > LARGEST:
        return None
    return x.expand(shape), np.broadcast_to(a, shape)


def window(draw: random.Random, x: UOp, a: Array) -> Pair | None:
    if not a.ndim or a.ndim > 5:
        return None
    axis = draw.randrange(a.ndim)
    size, stride, dilation = draw.randint(1, 4), draw.randint(1, 3), draw.randint(1, 3)
    reach = dilation * (size - 1) + 1
    if a.shape[axis] < reach:
        return None
    windows = np.lib.stride_tricks.sliding_window_view(a, reach, axis)
    taken = [slice(None)] * windows.ndim
    taken[axis], taken[-1] = slice(None, None, stride), slice(None, None, dilation)
    found = windows[tuple(taken)]
    if found.size > LARGEST:
        return None
    return x.window(axis, size, stride, dilation), found


def fold(draw: random.Random, x: UOp, a: Array) -> Pair | None:
    """The adjoint of `window`, written as the sum that defines it."""
    if a.ndim < 2:
        return None
    axis = draw.randrange(a.ndim - 1)
    count, size = a.shape[axis], a.shape[-1]
    stride, dilation = draw.randint(1, 3), draw.randint(1, 3)
    shortest = (count - 1) * stride + dilation * (size - 1) + 1
    length = shortest + draw.randrange(stride)
    if count < 1 or size < 1 or a.size // (count * size) * length > LARGEST:
        return None
    total = np.zeros((*a.shape[:axis], length, *a.shape[axis + 1 : -1]), a.dtype)
    moved, source = np.moveaxis(total, axis, 0), np.moveaxis(a, axis, 0)
    for o in range(count):
        for k in range(size):
            moved[o * stride + k * dilation] += source[o, ..., k]
    return x.fold(axis, length, stride, dilation), total


def reduce(draw: random.Random, x: UOp, a: Array) -> Pair | None:
    axes = [axis for axis in range(a.ndim) if draw.random() < 0.4 and a.shape[axis]]
    if not axes:
        return None
    if draw.random() < 0.5:
        return x.reduce(Op.ADD, axes), a.sum(tuple(axes), dtype=a.dtype)
    return x.reduce(Op.MAX, axes), a.max(tuple(axes))


def compute(draw: random.Random, x: UOp, a: Array) -> Pair:
    return draw.choice((lambda: (x * 3 + 1, a * 3 + 1), lambda: (-x, -a)))()


def combine_with_itself(draw: random.Random, x: UOp, a: Array) -> Pair:
    """Two views of one value in one expression."""
    y, b = flip(draw, x, a)
    return x * 2 - y, a * 2 - b


def store(draw: random.Random, x: UOp, a: Array) -> Pair:
    return make(Op.CONTIGUOUS, None, (x,)), a


MOVEMENT: tuple[Step, ...] = (permute, reshape, reshape, pad, shrink, flip, expand, window)
ANYTHING: tuple[Step, ...] = (*MOVEMENT, *MOVEMENT, fold, reduce, compute, combine_with_itself)
WITH_MEMORY: tuple[Step, ...] = (*ANYTHING, store)


def random_array(draw: random.Random, largest: int = 60) -> Array:
    """Small integers under a random shape."""
    shape = tuple(draw.choice((1, 2, 3, 4, 5, 7)) for _ in range(draw.randrange(5)))
    while prod(shape) > largest:
        shape = shape[1:]
    values = [draw.randint(-9, 9) for _ in range(prod(shape))]
    return np.array(values, np.int32).reshape(shape)


def random_chain(
    draw: random.Random, x: UOp, a: Array, steps: tuple[Step, ...], longest: int = 7
) -> Pair:
    """Apply random steps; those that do not fit are left out."""
    for _ in range(draw.randint(1, longest)):
        moved = draw.choice(steps)(draw, x, a)
        if moved is not None:
            x, a = moved
    return x, a


__all__ = [
    "ANYTHING",
    "MOVEMENT",
    "WITH_MEMORY",
    "dtype_of",
    "param",
    "random_array",
    "random_chain",
]
