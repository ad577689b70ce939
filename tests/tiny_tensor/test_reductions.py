"""Reductions and recurrences equal NumPy, widen what is narrow, and let NaN through."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tiny_ir import ArgumentError, AxisError, dtypes
from tiny_tensor import Session, Tensor

pytestmark = pytest.mark.usefixtures("session")

nan, inf = math.nan, math.inf
AXES = [None, 0, -1, (0, 2), (0, 1, 2)]


@pytest.fixture(scope="module")
def values() -> np.ndarray[Any, Any]:
    return np.random.RandomState(0).randn(3, 5, 7).astype(np.float32)


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("keepdim", [False, True])
def test_reductions_equal_numpy(values: np.ndarray[Any, Any], axis: Any, keepdim: bool) -> None:
    x = Tensor(values)
    options: dict[str, Any] = {"axis": axis, "keepdims": keepdim}
    wide = values.astype(np.float64)
    for mine, theirs in [
        (x.sum(axis, keepdim), wide.sum(**options)),
        (x.mean(axis, keepdim), wide.mean(**options)),
        (x.max(axis, keepdim), values.max(**options)),
        (x.min(axis, keepdim), values.min(**options)),
        (x.var(axis, keepdim), wide.var(ddof=1, **options)),
        (x.std(axis, keepdim, 0), wide.std(**options)),
        ((x > 0).any(axis, keepdim), (values > 0).any(**options)),
        ((x > -1).all(axis, keepdim), (values > -1).all(**options)),
        (x[:, :2, :3].prod(axis, keepdim), wide[:, :2, :3].prod(**options)),
        (x.logsumexp(axis, keepdim), np.log(np.exp(wide).sum(**options))),
    ]:
        assert mine.shape == theirs.shape
        assert mine.numpy() == pytest.approx(theirs, rel=2e-6, abs=2e-6)


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_places_of_extremes(values: np.ndarray[Any, Any], axis: int | None) -> None:
    coarse = np.round(values)
    x = Tensor(coarse)
    assert np.array_equal(x.argmax(axis).numpy(), coarse.argmax(axis))
    assert np.array_equal(x.argmin(axis).numpy(), coarse.argmin(axis))
    kept = x.argmax(axis, keepdim=True)
    assert np.array_equal(kept.numpy(), coarse.argmax(axis, keepdims=True))
    assert kept.dtype is dtypes.int32


def test_the_first_of_equal_extremes_is_found_and_nan_before_all() -> None:
    assert Tensor([0, 3, 3, 1]).argmax().item() == 1
    assert Tensor([2, 1, 1]).argmin().item() == 1
    assert Tensor([[1, 5], [2, 10], [3, 3]]).argmax(1).tolist() == [1, 1, 0]
    assert Tensor([3, nan, 1, 5]).argmax().item() == 1
    assert Tensor([inf, nan, -inf]).argmin().item() == 1
    assert Tensor([-1, -2, nan]).argmax().item() == 2
    for x in (Tensor([1, nan]), Tensor([nan, 1])):
        assert math.isnan(x.max().item())  # type: ignore[arg-type]
        assert math.isnan(x.min().item())  # type: ignore[arg-type]


def test_sums_of_narrow_numbers_widen() -> None:
    assert Tensor.ones(300, dtype="bool").sum().item() == 300
    total = Tensor([200, 100], dtype="uint8").sum()
    assert (total.item(), total.dtype) == (300, dtypes.uint32)
    assert Tensor([200, 100], dtype="uint8").cumsum(0).tolist() == [200, 300]
    assert Tensor([100, 100], dtype="int8").prod().item() == 10000
    assert Tensor([100, 100], dtype="int8").sum(dtype="int8").item() == -56
    assert Tensor([1], dtype="half").sum().dtype is dtypes.float16
    assert Tensor([1, 2]).mean().dtype is dtypes.float32


def test_long_half_tensors_are_added_in_float32() -> None:
    assert Tensor.ones(70000, dtype="half").mean().item() == 1.0
    assert Tensor.full((2**20,), 1e-5, dtype="half").mean().item() == np.float16(1e-5)
    assert Tensor([0, 1], dtype="half").repeat(35000).var().item() == 0.25


def test_reductions_of_nothing() -> None:
    nothing = Tensor.zeros(0)
    assert nothing.sum().item() == 0
    assert nothing.prod().item() == 1
    assert math.isnan(nothing.mean().item())  # type: ignore[arg-type]
    assert nothing.all().item() is True
    assert nothing.any().item() is False
    assert nothing.logsumexp().item() == -inf
    assert Tensor.zeros(2, 0).sum(1).tolist() == [0, 0]
    assert Tensor.zeros(0, 3).max(1).shape == (0,)
    for function in (Tensor.max, Tensor.min, Tensor.argmax, Tensor.argmin):
        with pytest.raises(ArgumentError, match="no elements"):
            function(Tensor.zeros(2, 0), 1)


def test_one_element_reduces_to_itself() -> None:
    x = Tensor(5.0)
    assert x.sum().item() == x.max(0).item() == x.mean(-1).item() == 5.0
    assert x.argmax().item() == 0
    assert x.argmax(0).item() == 0


def test_axes_are_checked() -> None:
    x = Tensor.ones(2, 3)
    with pytest.raises(AxisError, match="axis 2 does not exist"):
        x.sum(2)
    with pytest.raises(AxisError, match="twice"):
        x.sum((0, -2))


def test_more_elements_than_32_bits_count() -> None:
    wide = Tensor.ones(1, 1, dtype="int64").expand(65536, 65537)
    assert wide.sum().item() == 65536 * 65537


def test_logsumexp_at_infinities() -> None:
    rows = Tensor([[1, 2], [-inf, -inf]]).logsumexp(1)
    assert rows.numpy() == pytest.approx(np.array([2.3132617, -inf]))
    assert Tensor([inf, 1]).logsumexp(0).item() == inf
    assert Tensor([1000.0, 1000]).logsumexp(0).item() == pytest.approx(1000.6931)
    running = Tensor([-inf, -inf, 0, 1]).logcumsumexp(0)
    assert running.numpy() == pytest.approx(np.array([-inf, -inf, 0, 1.3132616]))
    later = Tensor([1.0, inf, 2.0]).logcumsumexp(0)
    assert later.tolist() == [1.0, inf, inf]


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_recurrences_equal_numpy(values: np.ndarray[Any, Any], axis: int) -> None:
    x = Tensor(values)
    wide = values.astype(np.float64)
    for mine, theirs in [
        (x.cumsum(axis), wide.cumsum(axis)),
        (x.cumprod(axis), wide.cumprod(axis)),
        (x.cummax(axis)[0], np.maximum.accumulate(values, axis)),
        (x.cummin(axis)[0], np.minimum.accumulate(values, axis)),
        (x.logcumsumexp(axis), np.logaddexp.accumulate(wide, axis)),
    ]:
        assert mine.numpy() == pytest.approx(theirs, rel=1e-5, abs=1e-6)


def test_running_extremes_know_their_place() -> None:
    best, place = Tensor([1.0, 3.0, 3.0, 2.0, nan, 9.0, nan]).cummax()
    assert best.numpy() == pytest.approx(np.array([1, 3, 3, 3, nan, nan, nan]), nan_ok=True)
    assert place.tolist() == [0, 1, 2, 2, 4, 4, 4]
    best, place = Tensor([[3, 1, 2]]).cummin(1)
    assert (best.tolist(), place.tolist()) == ([[3, 1, 1]], [[0, 1, 1]])


def test_recurrences_of_one_element_and_of_none() -> None:
    assert Tensor([], dtype="int8").cumsum(0).dtype is Tensor([1], dtype="int8").cumsum(0).dtype
    assert Tensor(5).cumsum(0).item() == 5
    assert Tensor.ones(1, 4).cumsum(0).tolist() == [[1, 1, 1, 1]]
    assert Tensor.zeros(0, 3).cummax(1)[0].shape == (0, 3)
    with pytest.raises(AxisError):
        Tensor(5).cumsum(1)


def test_gradients_flow_through_recurrences() -> None:
    x = Tensor.ones(1022)
    (gradient,) = x.cumsum(0).sum().gradient(x)
    assert gradient.tolist() == list(range(1022, 0, -1))
    y = Tensor([2.0, 0.0, 3.0])
    (gradient,) = y.cumprod(0).sum().gradient(y)
    assert gradient.tolist() == [1, 8, 0]


def reference_softmax(x: np.ndarray[Any, Any], axis: int) -> np.ndarray[Any, Any]:
    powers = np.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)  # type: ignore[no-any-return]


@pytest.mark.parametrize("axis", [0, -1])
def test_softmax_and_its_kin(values: np.ndarray[Any, Any], axis: int) -> None:
    x, wide = Tensor(values), values.astype(np.float64)
    expected = reference_softmax(wide, axis)
    assert x.softmax(axis).numpy() == pytest.approx(expected, rel=1e-5)
    assert x.log_softmax(axis).numpy() == pytest.approx(np.log(expected), rel=1e-5)
    assert x.softmin(axis).numpy() == pytest.approx(reference_softmax(-wide, axis), rel=1e-5)
    assert x.half().softmax(axis).dtype is dtypes.float16
    assert Tensor([1, 1]).softmax().tolist() == [0.5, 0.5]
    assert x.softmax(axis, dtype="float64").dtype is dtypes.float64


def test_normalized_values(values: np.ndarray[Any, Any]) -> None:
    x, wide = Tensor(values), values.astype(np.float64)
    for axis in (-1, (1, 2)):
        middle = wide.mean(axis, keepdims=True)
        expected = (wide - middle) / np.sqrt(wide.var(axis, keepdims=True) + 1e-5)
        assert x.layernorm(axis).numpy() == pytest.approx(expected, rel=1e-4, abs=1e-5)
    lengths = np.sqrt((wide**2).sum(1, keepdims=True))
    assert x.normalize().numpy() == pytest.approx(wide / lengths, rel=1e-5)
    assert x.norm(1).numpy() == pytest.approx(lengths[:, 0], rel=1e-5)
    assert x.norm(1, p=1).numpy() == pytest.approx(np.abs(wide).sum(1), rel=1e-5)
    assert x.norm(1, p=inf).numpy() == pytest.approx(np.abs(wide).max(1), rel=1e-5)
    assert x.norm(1, p=3).numpy() == pytest.approx((np.abs(wide) ** 3).sum(1) ** (1 / 3), rel=1e-5)
    mean, deviation = Tensor(wide.mean((0, 2))), Tensor(1 / wide.std((0, 2)))
    scale, shift = Tensor.arange(5).double(), Tensor.ones(5).double()
    expected = (wide - wide.mean((0, 2), keepdims=True)) / wide.std((0, 2), keepdims=True)
    expected = expected * np.arange(5)[:, None] + 1
    actual = x.double().batchnorm(scale, shift, mean, deviation)
    assert actual.numpy() == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("name", "most"),
    [("sum", 1), ("var", 2), ("softmax", 3), ("log_softmax", 3), ("layernorm", 3), ("argmax", 2)],
)
def test_reductions_take_few_kernels(
    values: np.ndarray[Any, Any], session: Session, name: str, most: int
) -> None:
    x = Tensor(values)
    getattr(x, name)(-1).realize()
    assert session.counters.kernels <= most


@pytest.mark.parametrize("axis", [1.0, "a", (0, 1.0)], ids=str)
def test_an_axis_is_an_integer(axis: Any) -> None:
    # Under TYPED=1 the border says so, before the method does.
    with pytest.raises(TypeError, match=r"is not an axis|argument 'axis'"):
        Tensor.ones(2, 3).sum(axis)
