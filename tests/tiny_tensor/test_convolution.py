"""Convolutions equal the sums that define them, for every stride, dilation, padding and group."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tiny_ir import ArgumentError, ShapeError, dtypes
from tiny_tensor import Tensor

pytestmark = pytest.mark.usefixtures("session")

Array = np.ndarray[Any, Any]


def convolved(
    x: Array,
    w: Array,
    groups: int = 1,
    stride: tuple[int, ...] = (1, 1),
    dilation: tuple[int, ...] = (1, 1),
    padding: tuple[tuple[int, int], ...] = ((0, 0), (0, 0)),
) -> Array:
    """The definition, one kernel place after another."""
    x = np.pad(x, ((0, 0), (0, 0), *padding))
    kernel = w.shape[2:]
    spatial = [
        (x.shape[2 + n] - dilation[n] * (kernel[n] - 1) - 1) // stride[n] + 1
        for n in range(len(kernel))
    ]
    result = np.zeros((x.shape[0], w.shape[0], *spatial), np.float64)
    inside, outside = w.shape[1], w.shape[0] // groups
    for place in itertools.product(*map(range, kernel)):
        part = tuple(
            slice(k * d, k * d + s * (n - 1) + 1, s)
            for k, d, s, n in zip(place, dilation, stride, spatial, strict=True)
        )
        seen = x[(slice(None), slice(None), *part)].astype(np.float64)
        for g in range(groups):
            taken = seen[:, g * inside : (g + 1) * inside]
            weights = w[(slice(g * outside, (g + 1) * outside), slice(None), *place)]
            result[:, g * outside : (g + 1) * outside] += np.einsum(
                "bi...,oi->bo...", taken, weights
            )
    return result


def random_array(*shape: int) -> Array:
    return np.random.RandomState(len(shape)).randn(*shape).astype(np.float32)


@pytest.mark.parametrize("stride", [(1, 1), (2, 1), (3, 2)])
@pytest.mark.parametrize("dilation", [(1, 1), (1, 2)])
@pytest.mark.parametrize("groups", [1, 2])
def test_convolutions_equal_their_definition(
    stride: tuple[int, int], dilation: tuple[int, int], groups: int
) -> None:
    x, w = random_array(2, 4, 9, 8), random_array(6, 4 // groups, 3, 2)
    padding = ((1, 2), (0, 1))
    actual = Tensor(x).conv2d(Tensor(w), None, groups, stride, dilation, padding)
    expected = convolved(x, w, groups, stride, dilation, padding)
    assert actual.shape == expected.shape
    assert actual.numpy() == pytest.approx(expected, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("spatial", [1, 3])
def test_any_number_of_spatial_axes(spatial: int) -> None:
    x, w = random_array(2, 3, *(5, 4, 6)[:spatial]), random_array(4, 3, *(2, 3, 1)[:spatial])
    one = (1,) * spatial
    expected = convolved(x, w, 1, one, one, ((1, 1),) * spatial)
    actual = Tensor(x).conv2d(Tensor(w), Tensor([1.0, 2.0, 3.0, 4.0]), padding=1)
    expected += np.arange(1, 5).reshape(1, 4, *one)
    assert actual.numpy() == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_padding_is_one_number_or_one_or_two_an_axis() -> None:
    x, w = random_array(1, 1, 5, 6), random_array(1, 1, 2, 2)
    for given, pairs in [
        (1, ((1, 1), (1, 1))),
        ((1, 2), ((1, 1), (2, 2))),
        ((0, 1, 2, 3), ((2, 3), (0, 1))),
        (((0, 1), (2, 3)), ((0, 1), (2, 3))),
    ]:
        expected = convolved(x, w, padding=pairs)
        assert Tensor(x).conv2d(Tensor(w), padding=given).shape == expected.shape


def test_corners_of_convolution() -> None:
    row = Tensor.arange(8).reshape(1, 1, 8)
    assert row.conv2d(Tensor([[[1, 1]]]), stride=3).tolist() == [[[1, 7, 13]]]
    x = Tensor.arange(8).reshape(1, 2, 4)
    w = Tensor([[[1, 2]], [[10, 20]], [[1, 0]], [[0, 1]]])
    expected = [[[4, 7], [40, 70], [4, 5], [6, 7]]]
    assert x.conv2d(w, groups=2, dilation=2).tolist() == expected
    y = row.float()
    (gradient,) = y.conv2d(Tensor([[[1.0, 1.0]]]), stride=3).sum().gradient(y)
    assert gradient.reshape(-1).tolist() == [1, 1, 0, 1, 1, 0, 1, 1]
    half = Tensor.ones(1, 3000, 1, dtype="half").conv2d(Tensor.ones(1, 3000, 1, dtype="half"))
    assert (half.item(), half.dtype) == (3000.0, dtypes.float16)


def transposed(
    x: Array, w: Array, groups: int, stride: int, dilation: int, padding: int, extra: int
) -> Array:
    """The definition: each element lays the weights down at its place."""
    batch, channels, length = x.shape
    inside, outside, kernel = channels // groups, w.shape[1], w.shape[2]
    full = (length - 1) * stride + dilation * (kernel - 1) + 1 + extra
    result = np.zeros((batch, groups * outside, full), np.float64)
    for b, c, i, o, k in itertools.product(*map(range, (batch, channels, length, outside, kernel))):
        group = c // inside
        result[b, group * outside + o, i * stride + k * dilation] += float(x[b, c, i]) * w[c, o, k]
    return result[:, :, padding : full - padding]


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize(
    ("stride", "dilation", "padding", "extra"),
    [(1, 1, 0, 0), (2, 1, 1, 1), (3, 2, 0, 2), (1, 3, 2, 0), (2, 1, 0, 3)],
)
def test_transposed_convolutions_equal_their_definition(
    groups: int, stride: int, dilation: int, padding: int, extra: int
) -> None:
    x, w = random_array(2, 4, 5), random_array(4, 3, 3)
    actual = Tensor(x).conv_transpose2d(Tensor(w), None, groups, stride, dilation, padding, extra)
    expected = transposed(x, w, groups, stride, dilation, padding, extra)
    assert actual.shape == expected.shape
    assert actual.numpy() == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_a_transposed_convolution_is_the_adjoint() -> None:
    x, w, y = random_array(1, 3, 7, 6), random_array(4, 3, 3, 2), random_array(1, 4, 3, 5)
    options: dict[str, Any] = {"stride": (2, 1)}
    forward = Tensor(x).conv2d(Tensor(w), **options)
    back = Tensor(y).conv_transpose2d(Tensor(w), **options)
    assert (forward * Tensor(y)).sum().item() == pytest.approx(
        (back * Tensor(x)).sum().item(), rel=1e-4
    )


def test_corners_of_transposed_convolution() -> None:
    x = Tensor([[[1, 2]]])
    wide = x.conv_transpose2d(Tensor([[[1, 10, 100]]]), stride=2, padding=1, output_padding=1)
    assert wide.tolist() == [[[10, 102, 20, 200]]]
    assert x.conv_transpose2d(Tensor([[[1, 10]]]), stride=3, dilation=2).tolist() == [
        [[1, 0, 10, 2, 0, 20]]
    ]
    grouped = Tensor([[[1, 2], [3, 4]]]).conv_transpose2d(Tensor([[[1, 1]], [[2, 2]]]), groups=2)
    assert grouped.tolist() == [[[1, 3, 2], [6, 14, 8]]]


def test_padding_keeps_sizes_or_is_none() -> None:
    x, w = Tensor.arange(12).reshape(1, 1, 3, 4), Tensor([[[[1, 10], [100, 1000]]]])
    assert x.conv2d(w, padding="same").tolist() == x.conv2d(w, padding=((0, 1), (0, 1))).tolist()
    assert x.conv2d(w, padding="valid").tolist() == x.conv2d(w).tolist()
    assert x.conv2d(w, padding="same", dilation=(2, 3)).shape == x.shape


def test_mistakes_are_named() -> None:
    x, w = Tensor.ones(1, 4, 5, 5), Tensor.ones(2, 4, 3, 3)
    with pytest.raises(ArgumentError, match="dilation cannot be 0"):
        x.conv2d(w, dilation=0)
    with pytest.raises(ArgumentError, match="stride"):
        x.conv2d(w, stride=(1, 0))
    with pytest.raises(ArgumentError, match="padding"):
        x.conv2d(w, padding=(1, 2, 3))
    with pytest.raises(ArgumentError, match="padding"):
        x.conv2d(w, padding=-1)
    with pytest.raises(ArgumentError, match="'same' does not go with stride"):
        x.conv2d(w, padding="same", stride=2)
    with pytest.raises(ArgumentError, match="'valid'"):
        x.conv2d(w, padding="full")
    with pytest.raises(ShapeError, match="channels in 3 groups"):
        x.conv2d(w, groups=3)
    with pytest.raises(ShapeError, match="4 channels in 1 groups"):
        x.conv2d(Tensor.ones(2, 3, 3, 3))
    with pytest.raises(ShapeError, match="does not fit axis 2"):
        x.conv2d(Tensor.ones(2, 4, 6, 3))
    with pytest.raises(ShapeError, match="unsqueeze"):
        x.conv2d(Tensor.ones(2, 4, 3))
    with pytest.raises(ShapeError, match="4 channels"):
        x.conv_transpose2d(Tensor.ones(3, 2, 3, 3))


@pytest.mark.parametrize("slide", [Tensor.conv2d, Tensor.conv_transpose2d])
def test_a_bias_makes_no_channels(slide: Callable[..., Tensor]) -> None:
    with pytest.raises(ShapeError, match=r"shape \(2,\) does not fit 1 channels"):
        slide(Tensor.ones(1, 1, 5, 5), Tensor.ones(1, 1, 3, 3), Tensor.ones(2))
