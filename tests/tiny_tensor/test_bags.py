"""Bags of embeddings are sums, means and extremes of rows, and name mistakes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tiny_ir import ArgumentError, DTypeError, ShapeError
from tiny_tensor import Tensor

pytestmark = pytest.mark.usefixtures("session")

TABLE = np.random.RandomState(0).randn(6, 3)
NUMBERS = [0, 5, 2, 2, 1]
BAGS = [[0, 5, 2], [], [2, 1]]
COMBINE: dict[str, Any] = {"sum": np.sum, "mean": np.mean, "max": np.max}


@pytest.mark.parametrize("mode", COMBINE)
def test_a_bag_combines_its_rows(mode: str) -> None:
    table, numbers = Tensor(TABLE), Tensor(NUMBERS)
    wanted = [COMBINE[mode](TABLE[bag], 0) if bag else np.zeros(3) for bag in BAGS]
    found = table.embedding_bag(numbers, Tensor([0, 3, 3]), mode)
    last = table.embedding_bag(numbers, Tensor([0, 3, 3, 5]), mode, include_last_offset=True)
    square = table.embedding_bag(Tensor([[0, 5], [2, 1]]), None, mode)
    some = table.embedding_bag(numbers, Tensor([0, 3, 3]), mode, padding_idx=-4)
    assert found.numpy() == pytest.approx(np.array(wanted))
    assert last.tolist() == found.tolist()
    assert square.numpy() == pytest.approx(COMBINE[mode](TABLE[[[0, 5], [2, 1]]], 1))
    kept = [[0, 5], [], [1]]
    wanted = [COMBINE[mode](TABLE[bag], 0) if bag else np.zeros(3) for bag in kept]
    assert some.numpy() == pytest.approx(np.array(wanted))


def test_rows_have_weights_in_sums() -> None:
    weights = Tensor([1.0, 2.0, 3.0, 4.0, 5.0], dtype="float64")
    found = Tensor(TABLE).embedding_bag(
        Tensor(NUMBERS), Tensor([0, 2]), "sum", per_sample_weights=weights
    )
    wanted = TABLE[NUMBERS] * np.arange(1.0, 6.0)[:, None]
    assert found.numpy() == pytest.approx(np.array([wanted[:2].sum(0), wanted[2:].sum(0)]))


def test_mistakes_are_named() -> None:
    table, numbers, offsets = Tensor(TABLE), Tensor(NUMBERS), Tensor([0])
    with pytest.raises(ArgumentError, match="mode"):
        table.embedding_bag(numbers, offsets, "median")
    with pytest.raises(ArgumentError, match="'sum'"):
        table.embedding_bag(numbers, offsets, per_sample_weights=numbers.double())
    for call in (
        lambda: table.embedding_bag(numbers),
        lambda: table[0].embedding_bag(numbers, offsets),
        lambda: table.embedding_bag(numbers, Tensor([[0]])),
        lambda: table.embedding_bag(numbers, offsets, "sum", Tensor([1.0])),
    ):
        with pytest.raises(ShapeError):
            call()
    with pytest.raises(DTypeError):
        table.embedding_bag(numbers.double(), offsets)
