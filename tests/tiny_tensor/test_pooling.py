"""Pooling equals the windows that define it, at the edges too."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tiny_ir import ArgumentError, ShapeError, dtypes
from tiny_tensor import Tensor

pytestmark = pytest.mark.usefixtures("session")

Array = np.ndarray[Any, Any]


def pooled(
    x: Array, kernel: int, stride: int, padding: int, dilation: int, is_ceil: bool, kind: str
) -> Array:
    """One axis, window by window; kind is max, mean (padding counts) or inner (it does not)."""
    length = x.shape[-1]
    reach = dilation * (kernel - 1) + 1
    rest = length + 2 * padding - reach
    count = (-(-rest // stride) if is_ceil else rest // stride) + 1
    if is_ceil and (count - 1) * stride >= length + padding:
        count -= 1
    columns = []
    for n in range(count):
        places = [n * stride + k * dilation - padding for k in range(kernel)]
        seen = x[..., [p for p in places if 0 <= p < length]]
        if kind == "max":
            columns.append(seen.max(-1))
        elif kind == "inner":
            columns.append(seen.mean(-1))
        else:
            known = sum(-padding <= p < length + padding for p in places)
            columns.append(seen.sum(-1) / known)
    return np.stack(columns, -1)


@pytest.mark.parametrize(
    ("kernel", "stride", "padding", "dilation"),
    [(2, 2, 0, 1), (3, 2, 1, 1), (3, 3, 1, 1), (2, 1, 0, 3), (4, 3, 2, 1), (2, 3, 1, 2)],
)
@pytest.mark.parametrize("is_ceil", [False, True])
def test_pooling_equals_its_definition(
    kernel: int, stride: int, padding: int, dilation: int, is_ceil: bool
) -> None:
    x = np.random.RandomState(kernel).randn(2, 3, 10).astype(np.float32)
    options: dict[str, Any] = {
        "kernel_size": (kernel,),
        "stride": stride,
        "padding": padding,
        "dilation": dilation,
        "ceil_mode": is_ceil,
    }
    numbers = (kernel, stride, padding, dilation, is_ceil)
    largest = Tensor(x).max_pool2d(**options)
    assert isinstance(largest, Tensor)
    assert np.array_equal(largest.numpy(), pooled(x, *numbers, "max"))
    mean = Tensor(x).avg_pool2d(**options)
    assert mean.numpy() == pytest.approx(pooled(x, *numbers, "mean"), rel=1e-5, abs=1e-6)
    inner = Tensor(x).avg_pool2d(**options, count_include_pad=False)
    assert inner.numpy() == pytest.approx(pooled(x, *numbers, "inner"), rel=1e-5, abs=1e-6)


def test_two_axes_are_pooled_together() -> None:
    x = np.random.RandomState(0).randn(1, 2, 6, 8).astype(np.float32)
    blocks = x.reshape(1, 2, 3, 2, 2, 4)
    largest = Tensor(x).max_pool2d((2, 4))
    assert isinstance(largest, Tensor)
    assert np.array_equal(largest.numpy(), blocks.max((3, 5)))
    assert Tensor(x).avg_pool2d((2, 4)).numpy() == pytest.approx(blocks.mean((3, 5)), rel=1e-5)
    assert Tensor.ones(4, 4, dtype="int32").avg_pool2d(2).dtype is dtypes.float32
    assert Tensor.ones(4, 4, dtype="half").avg_pool2d(2).dtype is dtypes.float16


def test_places_of_the_largest_bring_them_back() -> None:
    x = np.random.RandomState(0).randn(2, 3, 4, 6).astype(np.float32)
    values, places = Tensor(x).max_pool2d(2, return_indices=True)
    flat = x.reshape(2, 3, 24)
    taken = np.take_along_axis(flat, places.numpy().reshape(2, 3, 6), -1)
    assert np.array_equal(taken.reshape(2, 3, 2, 3), values.numpy())
    back = values.max_unpool2d(places).numpy()
    assert np.array_equal(back[back != 0], x[back != 0])
    assert (back != 0).sum() == values.numel()
    assert Tensor([5, 5, 1, 5]).max_pool2d((2,), return_indices=True)[1].tolist() == [0, 3]
    padded = Tensor([3.0, 1.0, 2.0]).max_pool2d((2,), padding=1, return_indices=True)
    assert padded[1].tolist() == [0, 2]


def test_nan_is_the_largest_and_padding_never_is() -> None:
    largest = Tensor([1.0, math.nan, -5.0, -6.0]).max_pool2d((2,))
    assert isinstance(largest, Tensor)
    assert math.isnan(largest[0].item())  # type: ignore[arg-type]
    assert largest[1].item() == -5.0
    edges = Tensor([-3.0, -4.0]).max_pool2d((3,), stride=1, padding=1)
    assert isinstance(edges, Tensor)
    assert edges.tolist() == [-3.0, -3.0]


def test_sums_are_divided_by_the_number_that_is_asked_for() -> None:
    x = Tensor([1.0, 2.0, 3.0])
    assert x.avg_pool2d((2,), 1, padding=1, divisor_override=4).tolist() == [0.25, 0.75, 1.25, 0.75]


def test_mistakes_are_named() -> None:
    x = Tensor.ones(4, 4)
    with pytest.raises(ShapeError, match="covers 5"):
        x.max_pool2d(5)
    with pytest.raises(ShapeError, match="more axes"):
        x.max_pool2d((2, 2, 2))
    for padding in (2, -1, (0, 2)):
        with pytest.raises(ArgumentError, match="padding"):
            x.avg_pool2d(2, padding=padding)
    with pytest.raises(ArgumentError, match="divided by 0"):
        x.avg_pool2d(divisor_override=0)
    with pytest.raises(ShapeError, match="places"):
        x.max_unpool2d(Tensor.zeros(4, 3, dtype="int32"))
    with pytest.raises(ArgumentError, match="stride"):
        x.avg_pool2d(2, stride=0)
    with pytest.raises(ArgumentError, match="sizes"):
        x.avg_pool2d(0)


@pytest.mark.parametrize("align", [False, True])
def test_interpolation_mixes_neighbours(align: bool) -> None:
    x = np.array([0.0, 2.0, 1.0], np.float32)
    for wanted in (1, 2, 5, 7):
        if align:
            places = np.arange(wanted) * (2 / max(1, wanted - 1))
        else:
            places = np.clip((np.arange(wanted) + 0.5) * 3 / wanted - 0.5, 0, 2)
        expected = np.interp(places, [0, 1, 2], x)
        actual = Tensor(x).interpolate((wanted,), align_corners=align)
        assert actual.numpy() == pytest.approx(expected, abs=1e-6)


def test_interpolation_takes_the_nearest() -> None:
    x = Tensor([[10, 20, 30]])
    assert x.interpolate((5,), mode="nearest").tolist() == [[10, 10, 20, 20, 30]]
    assert x.interpolate((2,), mode="nearest-exact").tolist() == [[10, 30]]
    assert x.interpolate((2, 3)).tolist() == [[10, 20, 30]] * 2
    assert x.interpolate((2,), mode="area").tolist() == [[15, 25]]
    assert x.interpolate(mode="nearest", scale_factor=(1.7,)).tolist() == [[10, 10, 20, 20, 30]]
    line = Tensor([0.0, 1.0, 2.0, 3.0]).interpolate((7,), "cubic", align_corners=True)
    assert line.tolist() == pytest.approx([0.0, 0.40625, 1.0, 1.5, 2.0, 2.59375, 3.0])
    with pytest.raises(ArgumentError, match="mode"):
        x.interpolate((2,), mode="spline")
    with pytest.raises(ArgumentError, match="align_corners"):
        x.interpolate((2,), mode="nearest", align_corners=True)
    with pytest.raises(ArgumentError):
        x.interpolate((1, 2, 3))
