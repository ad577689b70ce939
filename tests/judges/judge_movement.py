"""Random chains of movement on tensors equal the same chains on NumPy arrays."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tiny_tensor import Tensor

CASES = 5000
MOST_ELEMENTS = 4096
LONGEST_CHAIN = 8

Array = NDArray[np.int32]
Pair = tuple[Tensor, Array]
Move = Callable[[random.Random, Tensor, Array], Pair]


def permute(dice: random.Random, x: Tensor, y: Array) -> Pair:
    """Reorder the axes."""
    order = dice.sample(range(y.ndim), y.ndim)
    return x.permute(*order), y.transpose(order)


def pad(dice: random.Random, x: Tensor, y: Array) -> Pair:
    """Put zeros around."""
    widths = tuple((dice.randrange(3), dice.randrange(3)) for _ in y.shape)
    return x.pad(widths), np.pad(y, widths)


def shrink(dice: random.Random, x: Tensor, y: Array) -> Pair:
    """Keep a part of each axis; it may be empty."""
    bounds = []
    for size in y.shape:
        begin = dice.randint(0, size)
        least = begin if dice.random() < 0.05 else min(begin + 1, size)
        bounds.append((begin, dice.randint(least, size)))
    return x.shrink(tuple(bounds)), y[tuple(slice(*bound) for bound in bounds)]


def flip(dice: random.Random, x: Tensor, y: Array) -> Pair:
    """Turn some axes around."""
    axes = tuple(axis for axis in range(y.ndim) if dice.random() < 0.5)
    return x.flip(*axes), np.flip(y, axes)


def expand(dice: random.Random, x: Tensor, y: Array) -> Pair:
    """Repeat axes of size one, and put a new axis in front."""
    sizes = [dice.randint(1, 4) if size == 1 else size for size in y.shape]
    if y.ndim < 5:
        sizes.insert(0, dice.randint(1, 3))
    return x.expand(*sizes), np.broadcast_to(y, sizes)


def reshape(dice: random.Random, x: Tensor, y: Array) -> Pair:
    """Spread the same elements over other axes."""
    left = y.size
    sizes = []
    while left > 1 and len(sizes) < 4:
        divisors = [number for number in range(1, left + 1) if left % number == 0]
        sizes.append(dice.choice(divisors))
        left //= sizes[-1]
    sizes.append(left)
    dice.shuffle(sizes)
    return x.reshape(*sizes), y.reshape(sizes)


def stride(dice: random.Random, x: Tensor, y: Array) -> Pair:
    """Take every so many elements, forwards or backwards."""
    steps = tuple(slice(None, None, dice.choice((1, 1, 2, 3, -1, -2))) for _ in y.shape)
    return x[steps], y[steps]


MOVES: tuple[Move, ...] = (permute, pad, shrink, flip, expand, reshape, stride)


def judge(case: int) -> dict[str, str | float]:
    """Judge one chain."""
    dice = random.Random(case)
    shape = [dice.randint(1, 6) for _ in range(dice.randint(1, 4))]
    y: Array = np.arange(1, np.prod(shape) + 1, dtype=np.int32).reshape(shape)
    x = Tensor(y)
    length = dice.randint(1, LONGEST_CHAIN)
    for _ in range(length):
        further = dice.choice(MOVES)(dice, x, y)
        if further[1].size <= MOST_ELEMENTS:
            x, y = further
        if dice.random() < 0.1:
            x.realize()
    np.testing.assert_array_equal(x.numpy(), y)
    return {"elements": float(y.size)}
