"""Reductions, NaN, and what nothing adds up to (cases 1 to 14)."""

from __future__ import annotations

import numpy as np
import pytest

from tiny_ir import ArgumentError
from tiny_tensor import Tensor

from .kinds import check_along, check_each, check_same, inf, nan, slope, tensor

FLOATS = ("float16", "bfloat16", "float32", "float64")


@pytest.mark.parametrize("length", [2, 7, 8, 33, 449])
def test_nan_is_the_extreme_wherever_it_stands(length: int) -> None:
    for place in {0, length // 2, length - 1}:
        values = [float(n) for n in range(length)]
        values[place] = nan
        x = tensor(values)
        check_same([x.max().item(), x.min().item()], [nan, nan])
        assert (x.argmax().item(), x.argmin().item()) == (place, place)


@pytest.mark.parametrize("dtype", FLOATS)
def test_nan_is_larger_and_smaller_than_anything(dtype: str) -> None:
    columns = [([1.0, nan, nan, 2.0], dtype), ([nan, 1.0, nan, 1.0], dtype)]
    check_each(lambda x, y: x.maximum(y), columns, [nan, nan, nan, 2.0], dtype=dtype)
    check_each(lambda x, y: x.minimum(y), columns, [nan, nan, nan, 1.0], dtype=dtype)
    values = [nan, -1.0, 1.0]
    check_each(lambda x: x.relu(), [(values, dtype)], [nan, 0.0, 1.0], dtype=dtype)
    check_each(lambda x: x.clamp(-2, 0.5), [(values, dtype)], [nan, -1.0, 0.5], dtype=dtype)


def test_nan_stays_in_pools_and_running_extremes() -> None:
    x = tensor([1.0, nan, 0.0, 5.0])
    check_same(x.reshape(1, 1, 2, 2).max_pool2d().item(), nan)
    values, places = x.cummax()
    check_same(values.tolist(), [1.0, nan, nan, nan])
    assert places.tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "float32", "bfloat16"])
def test_of_equal_extremes_the_first_is_named(dtype: str) -> None:
    check_along(lambda x, axis: x.argmax(axis), [0, 3, 3, 1], 1, dtype=dtype)
    check_along(lambda x, axis: x.argmin(axis), [2, 1, 1], 1, dtype=dtype)
    x = tensor([[1, 5], [2, 10], [3, 3]], dtype)
    assert x.argmax(1).tolist() == [1, 1, 0]
    assert x.argmax().item() == 3


@pytest.mark.parametrize("length", [7, 8, 33, 449])
def test_of_many_equal_extremes_the_first_is_named(length: int) -> None:
    x = tensor([1.0] * length)
    assert (x.argmax().item(), x.argmin().item()) == (0, 0)


def test_extremes_name_the_first_nan() -> None:
    check_along(lambda x, axis: x.argmax(axis), [3, nan, 1, 5], 1)
    check_along(lambda x, axis: x.argmin(axis), [inf, nan, -inf], 1)
    check_along(lambda x, axis: x.argmax(axis), [-1, -2, nan, nan], 2)


@pytest.mark.parametrize("device", ["cpu", "python"])
def test_nothing_adds_up_to_the_identity(device: str) -> None:
    none = Tensor.zeros(0, device=device)
    check_same(none.sum().item(), 0.0)
    check_same(none.prod().item(), 1.0)
    check_same(none.mean().item(), nan)
    assert Tensor.zeros(2, 0, device=device).sum(1).tolist() == [0, 0]
    assert (none.all().item(), none.any().item()) == (True, False)
    assert none.logsumexp(0).item() == -inf


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin"])
@pytest.mark.parametrize("dtype", ["float32", "int32", "bool"])
def test_nothing_has_no_extreme(name: str, dtype: str) -> None:
    with pytest.raises(ArgumentError, match="no extreme"):
        getattr(Tensor.zeros(2, 0, dtype=dtype), name)(1)
    with pytest.raises(ArgumentError, match="no extreme"):
        getattr(Tensor.zeros(0, dtype=dtype), name)()
    assert getattr(Tensor.zeros(0, 3, dtype=dtype), name)(1).shape == (0,)


def test_bools_and_narrow_integers_widen() -> None:
    assert Tensor.ones(300, dtype="bool").sum().item() == 300
    for values, dtype, name, expected, kind in (
        ([200, 100], "uint8", "sum", 300, "uint32"),
        ([100, 100], "int8", "prod", 10000, "int32"),
        ([30000, 30000], "int16", "sum", 60000, "int32"),
        ([True, True, False], "bool", "sum", 2, "int32"),
        ([2**31, 2**31], "int64", "sum", 2**32, "int64"),
    ):
        for device in ("cpu", "python"):
            result = getattr(tensor(values, dtype, device), name)()
            assert (result.item(), result.dtype.name) == (expected, kind)
    running = tensor([200, 100], "uint8").cumsum(0)
    assert (running.tolist(), running.dtype.name) == ([200, 300], "uint32")
    assert tensor([True] * 300, "bool").cumsum(0).tolist()[-1] == 300
    assert tensor([100, 100], "int8").cumprod(0).tolist() == [100, 10000]


def test_counts_beyond_a_narrow_float_are_counted() -> None:
    assert Tensor.ones(70000, dtype="half").mean().item() == 1
    assert Tensor.full((2**20,), 1e-5, dtype="half").mean().item() == pytest.approx(
        1.0014e-5, rel=1e-3
    )
    assert tensor([0, 1], "half").repeat(35000).var().item() == 0.25
    assert tensor([0, 1], "bfloat16").repeat(35000).std().item() == 0.5


@pytest.mark.parametrize("length", [3, 8, 33])
def test_products_through_zeros_have_gradients(length: int) -> None:
    assert slope(lambda x: x.prod(), [0, 2, 3]) == [6, 0, 0]
    assert slope(lambda x: x.prod(), [0, 0, 3]) == [0, 0, 0]
    assert slope(lambda x: x.cumprod(0), [2, 0, 3]) == [1, 8, 0]
    values = [2.0] * length
    values[1] = 0
    found = slope(lambda x: x.prod(), values)
    assert found == [2.0 ** (length - 1) if n == 1 else 0 for n in range(length)]


def test_logarithms_of_sums_hold_infinities() -> None:
    x = tensor([[1.0, 2.0], [-inf, -inf]])
    check_same(x.logsumexp(1).tolist(), [2.3132617, -inf], rel=1e-6)
    check_along(lambda x, axis: x.logsumexp(axis), [inf, 1.0], inf)
    check_along(lambda x, axis: x.logsumexp(axis), [-inf, -inf], -inf)
    check_along(lambda x, axis: x.logsumexp(axis), [1000.0, 1000.0], 1000.6931, rel=1e-6)
    running = tensor([-inf, -inf, 0.0, 1.0]).logcumsumexp(0)
    check_same(running.tolist(), [-inf, -inf, 0.0, 1.3132616], rel=1e-6)
    pairs = [([-inf, inf, inf, 0.0], "float32"), ([-inf, 1.0, inf, -inf], "float32")]
    check_each(lambda x, y: x.logaddexp(y), pairs, [-inf, inf, inf, 0.0])
    check_same(tensor([inf, -inf, nan]).logsumexp(0).item(), nan)


def test_softmax_of_masked_and_large_rows() -> None:
    x = tensor([[0.0, -inf], [1000.0, 1000.0], [-1000.0, -1000.0]])
    check_same(x.softmax(1).tolist(), [[1, 0], [0.5, 0.5], [0.5, 0.5]])
    check_same(x.log_softmax(1)[0].tolist(), [0, -inf])


def test_running_sums_of_nothing_and_of_one() -> None:
    assert tensor([], "int8").cumsum(0).dtype is tensor([1], "int8").cumsum(0).dtype
    assert Tensor(5).cumsum(0).item() == 5
    assert Tensor.ones(1, 4).cumsum(0).tolist() == [[1, 1, 1, 1]]
    assert Tensor.zeros(0, 3).cumsum(0).shape == Tensor.zeros(3, 0).cumsum(0).T.shape == (0, 3)


@pytest.mark.parametrize("length", [1, 8, 449, 1022])
def test_running_sums_have_gradients_at_any_length(length: int) -> None:
    found = slope(lambda x: x.cumsum(0), [1.0] * length)
    assert np.array_equal(found, np.arange(length, 0, -1))
