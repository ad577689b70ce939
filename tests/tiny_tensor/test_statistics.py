"""Different values, frequencies, quantiles and covariances equal NumPy's; most need no reading."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tiny_ir import TinyError
from tiny_tensor import Tensor

pytestmark = pytest.mark.usefixtures("session")

RANDOM = np.random.RandomState(0)
NUMBERS = RANDOM.randn(4, 5)
COARSE = RANDOM.randint(0, 6, (4, 5))


def test_different_values() -> None:
    values, indices, inverse, counts = Tensor(COARSE).unique_all()
    expected = np.unique(COARSE, return_index=True, return_inverse=True, return_counts=True)
    for mine, theirs in zip((values, indices, inverse, counts), expected, strict=True):
        assert np.array_equal(mine.numpy(), theirs.reshape(mine.shape))
    assert Tensor(COARSE).unique().tolist() == expected[0].tolist()
    assert Tensor([]).unique().shape == (0,)
    assert Tensor(5).unique().tolist() == [5]


@pytest.mark.parametrize("invert", [False, True])
def test_isin(invert: bool) -> None:
    for elements in ([1, 3, 9], []):
        others = np.asarray(elements, np.int64)
        found = Tensor(COARSE).isin(Tensor(others), invert=invert)
        assert np.array_equal(found.numpy(), np.isin(COARSE, others, invert=invert))


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("size", [0, 1, 7, 64, 1000])
def test_searchsorted(side: Any, size: int) -> None:
    table = np.sort(RANDOM.randint(0, 50, size))
    found = Tensor(table).searchsorted(Tensor(COARSE * 9), side)
    assert np.array_equal(found.numpy(), np.searchsorted(table, COARSE * 9, side))
    special = np.asarray([math.inf, -math.inf, math.nan, 25.0])
    floats = table.astype(np.float64)
    found = Tensor(floats).searchsorted(Tensor(special), side)
    assert np.array_equal(found.numpy(), np.searchsorted(floats, special, side))


def test_bincount() -> None:
    flat = COARSE.reshape(-1)
    assert Tensor(flat).bincount().tolist() == np.bincount(flat).tolist()
    assert Tensor(flat).bincount(minlength=9).tolist() == np.bincount(flat, minlength=9).tolist()
    weights = RANDOM.rand(flat.size)
    found = Tensor(flat).bincount(Tensor(weights)).numpy()
    assert found == pytest.approx(np.bincount(flat, weights))
    assert Tensor([0, 7, 1]).bincount(size=3).tolist() == [1, 1, 0]
    assert Tensor([0, 2], device="null").bincount(size=3).realize().shape == (3,)
    assert Tensor(np.zeros(0, np.int64)).bincount().shape == (0,)


@pytest.mark.parametrize("options", [{}, {"range": (-1.0, 1.0)}, {"density": True}])
@pytest.mark.parametrize("bins", [1, 6])
def test_histogram(bins: int, options: dict[str, Any]) -> None:
    counts, edges = Tensor(NUMBERS).histogram(bins, **options)
    expected = np.histogram(NUMBERS, bins, **options)
    assert counts.numpy() == pytest.approx(expected[0])
    assert edges.numpy() == pytest.approx(expected[1])


def test_histogram_over_edges() -> None:
    edges = np.asarray([-1.0, 0.0, 0.5, 3.0])
    weights = RANDOM.rand(4, 5)
    counts, _ = Tensor(NUMBERS).histogram(Tensor(edges), weights=Tensor(weights))
    assert counts.numpy() == pytest.approx(np.histogram(NUMBERS, edges, weights=weights)[0])


@pytest.mark.parametrize("method", ["linear", "lower", "higher", "midpoint", "nearest"])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_quantiles(method: Any, axis: int | None) -> None:
    for q in (0.3, [0.0, 0.5, 1.0]):
        expected = np.quantile(NUMBERS, q, axis, method=method)
        assert Tensor(NUMBERS).quantile(q, axis, interpolation=method).numpy() == pytest.approx(
            expected
        )
    kept = Tensor(NUMBERS).quantile([0.1, 0.2], axis, keepdim=True)
    assert kept.shape == np.quantile(NUMBERS, [0.1, 0.2], axis, keepdims=True).shape


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_medians(axis: int | None) -> None:
    assert Tensor(NUMBERS).median(axis).numpy() == pytest.approx(np.median(NUMBERS, axis))
    assert math.isnan(Tensor([1.0, math.nan, 2.0]).median().item())


def test_neighbours() -> None:
    for n in (0, 1, 3):
        assert np.array_equal(Tensor(COARSE).diff(n, 0).numpy(), np.diff(COARSE, n, 0))
    assert Tensor([1, 2]).diff(0, prepend=Tensor([5])).tolist() == [1, 2]
    places = np.sort(RANDOM.rand(5))
    assert Tensor(NUMBERS).trapezoid().numpy() == pytest.approx(np.trapezoid(NUMBERS))
    found = Tensor(NUMBERS).trapezoid(Tensor(places)).numpy()
    assert found == pytest.approx(np.trapezoid(NUMBERS, places))
    found = Tensor(NUMBERS).trapezoid(dx=0.5, axis=0).numpy()
    assert found == pytest.approx(np.trapezoid(NUMBERS, dx=0.5, axis=0))


@pytest.mark.parametrize("axis", [0, -1])
def test_different_slices(axis: int) -> None:
    x = RANDOM.randint(0, 2, (4, 1, 4)).astype(np.int32)
    wanted = np.unique(x, True, True, True, axis)
    found = Tensor(x).unique_all(axis)
    for mine, theirs in zip(found, wanted, strict=True):
        assert mine.tolist() == theirs.tolist()
    assert Tensor(x).unique(axis).tolist() == wanted[0].tolist()
    assert Tensor.zeros(3, 0).unique(0).shape == (1, 0)
    assert Tensor.zeros(0, 3).unique(0).shape == (0, 3)


@pytest.mark.parametrize("correction", [0, 1])
def test_weighted_covariances(correction: int) -> None:
    count = NUMBERS.shape[1]
    often, much = np.arange(count) % 3, np.linspace(0.5, 2.0, count)
    for named in ({"fweights": often}, {"aweights": much}, {"fweights": often, "aweights": much}):
        found = Tensor(NUMBERS).cov(correction, **{k: Tensor(v) for k, v in named.items()})
        wanted = np.cov(NUMBERS, ddof=correction, **named)
        assert found.numpy() == pytest.approx(wanted)


def test_the_kth_smallest_and_its_place() -> None:
    values, places = Tensor([[3, 1, 3], [9, 8, 7]]).kthvalue(2)
    assert (values.tolist(), places.tolist()) == ([3, 8], [0, 1])
    assert Tensor([[3, 1], [9, 8]]).kthvalue(1, 0, keepdim=True)[0].tolist() == [[3, 1]]


def test_covariances() -> None:
    assert Tensor(NUMBERS).cov().numpy() == pytest.approx(np.cov(NUMBERS))
    assert Tensor(NUMBERS).cov(correction=0).numpy() == pytest.approx(np.cov(NUMBERS, ddof=0))
    assert Tensor(NUMBERS).corrcoef().numpy() == pytest.approx(np.corrcoef(NUMBERS))
    assert Tensor(NUMBERS[0]).cov().item() == pytest.approx(np.cov(NUMBERS[0]))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Tensor([1.0]).bincount(),
        lambda: Tensor([-1]).bincount(),
        lambda: Tensor([1]).bincount(size=-1),
        lambda: Tensor([1]).bincount(Tensor([1.0, 2.0])),
        lambda: Tensor([1.0]).histogram(0),
        lambda: Tensor([1.0]).histogram(3, (2.0, 1.0)),
        lambda: Tensor([1.0]).quantile(1.5),
        lambda: Tensor([]).quantile(0.5),
        lambda: Tensor([1.0]).quantile(0.5, interpolation="cubic"),
        lambda: Tensor([[1.0]]).searchsorted(1.0),
        lambda: Tensor([1.0]).searchsorted(1.0, "middle"),
        lambda: Tensor([1.0]).diff(-1),
        lambda: Tensor.zeros(2, 2, 2).cov(),
        lambda: Tensor.zeros(2, 2).cov(aweights=Tensor([1.0])),
        lambda: Tensor.zeros(2, 2).cov(fweights=Tensor([1.0, 1.0])),
        lambda: Tensor.zeros(2).bincount(Tensor.zeros(2, 1)),
        lambda: Tensor.zeros(2).kthvalue(0),
        lambda: Tensor.zeros(2).kthvalue(3),
    ],
)
def test_wrong_arguments_say_what_to_do(wrong: Any) -> None:
    with pytest.raises(TinyError) as caught:
        wrong()
    assert caught.value.why
    assert caught.value.fix
