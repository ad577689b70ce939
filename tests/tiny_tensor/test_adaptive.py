"""Adaptive pooling combines the windows that its formula says, and names mistakes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tiny_ir import ArgumentError, ShapeError
from tiny_tensor import Tensor

pytestmark = pytest.mark.usefixtures("session")


@pytest.mark.parametrize("sizes", [(2, 3), (5, 1), (None, 7)])
def test_windows_are_those_of_the_formula(sizes: tuple[int | None, int]) -> None:
    x = np.random.RandomState(0).randn(2, 5, 7).astype(np.float32)
    wanted = [n or size for n, size in zip(sizes, (5, 7), strict=True)]
    borders = [
        [(j * size // n, -(-(j + 1) * size // n)) for j in range(n)]
        for n, size in zip(wanted, (5, 7), strict=True)
    ]
    mean = Tensor(x).adaptive_avg_pool2d(sizes)
    largest, places = Tensor(x).adaptive_max_pool2d(sizes, return_indices=True)
    mean.realize(largest, places)
    for i, (top, bottom) in enumerate(borders[0]):
        for j, (left, right) in enumerate(borders[1]):
            part = x[:, top:bottom, left:right]
            assert mean.numpy()[:, i, j] == pytest.approx(part.mean((1, 2)), rel=1e-5, abs=1e-6)
            assert (largest.numpy()[:, i, j] == part.max((1, 2))).all()
    taken = np.take_along_axis(x.reshape(2, -1), places.numpy().reshape(2, -1), 1)
    assert (taken.reshape(largest.shape) == largest.numpy()).all()


def test_nan_is_the_largest() -> None:
    values, places = Tensor([1.0, math.nan, 3.0]).adaptive_max_pool2d((1,), True)
    assert math.isnan(values.item())
    assert places.item() == 1


def test_mistakes_are_named() -> None:
    x = Tensor.ones(2, 3)
    for size in ((), (-1,)):
        with pytest.raises(ArgumentError, match="output_size"):
            x.adaptive_max_pool2d(size)
    with pytest.raises(ShapeError):
        x.adaptive_avg_pool2d((1, 1, 1))
    with pytest.raises(ShapeError):
        Tensor.ones(2, 0).adaptive_avg_pool2d((1,))
