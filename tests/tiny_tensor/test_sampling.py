"""Pictures read at places: as interpolation where these are even, and as its mode says outside."""

from __future__ import annotations

import numpy as np
import pytest

from tiny_ir import ArgumentError, ShapeError
from tiny_tensor import Tensor

pytestmark = pytest.mark.usefixtures("session")

X = np.random.RandomState(0).randn(1, 2, 3, 4)


def even_grid(rows: int, columns: int, *, align_corners: bool) -> Tensor:
    """Places at even distances over the whole picture."""
    lines = []
    for n in (rows, columns):
        edges = np.linspace(-1, 1, n) if align_corners else (np.arange(n) * 2 + 1) / n - 1
        lines.append(edges)
    down, along = np.meshgrid(*lines, indexing="ij")
    return Tensor(np.stack((along, down), -1)[None])


@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize(("mode", "same"), [("bilinear", "linear"), ("bicubic", "cubic")])
def test_even_places_are_those_of_interpolation(mode: str, same: str, align_corners: bool) -> None:
    grid = even_grid(5, 7, align_corners=align_corners)
    found = Tensor(X).grid_sample(grid, mode, "border", align_corners)
    wanted = Tensor(X).interpolate((5, 7), same, align_corners)
    assert found.numpy() == pytest.approx(wanted.numpy(), abs=1e-6)


def test_outside_is_what_the_mode_says() -> None:
    line = Tensor([[[[1.0, 2.0, 3.0]]]])
    grid = Tensor([[[[-2.0, 0.0], [1.75, 0.0], [3.0, 0.0]]]])
    read = {
        mode: line.grid_sample(grid, "nearest", mode, True).reshape(-1).tolist()
        for mode in ("zeros", "border", "reflection")
    }
    assert read["zeros"] == [0.0, 0.0, 0.0]
    assert read["border"] == [1.0, 3.0, 3.0]
    assert read["reflection"] == [2.0, 2.0, 1.0]
    half = line.grid_sample(Tensor([[[[1.0, 0.0]]]]))  # the outer edge of the last element
    assert half.item() == 1.5


def test_places_have_a_gradient() -> None:
    rng = np.random.RandomState(1)
    places, step = rng.uniform(-0.9, 0.9, (1, 2, 3, 2)), rng.randn(1, 2, 3, 2)
    grid = Tensor(places)
    slope = Tensor(X).grid_sample(grid).sum().gradient(grid)[0].numpy()
    ends = [
        Tensor(X).grid_sample(Tensor(places + sign * 1e-6 * step)).sum().item() for sign in (1, -1)
    ]
    assert (slope * step).sum() == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-5)  # type: ignore[operator]


def test_mistakes_are_named() -> None:
    x, grid = Tensor(X), Tensor.zeros(1, 2, 2, 2)
    with pytest.raises(ArgumentError, match="mode"):
        x.grid_sample(grid, "linear")
    with pytest.raises(ArgumentError, match="padding_mode"):
        x.grid_sample(grid, padding_mode="zero")
    for wrong in (Tensor.zeros(2, 2, 2, 2), Tensor.zeros(1, 2, 2, 3), Tensor.zeros(1, 2, 2)):
        with pytest.raises(ShapeError, match="a grid of shape"):
            x.grid_sample(wrong)
