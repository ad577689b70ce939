"""Sizes that are bound when a graph runs."""

from __future__ import annotations

import pytest

from tiny_ir import ArgumentError
from tiny_tensor import Session, Tensor, Variable

pytestmark = pytest.mark.usefixtures("session")


def test_one_graph_serves_all_numbers(session: Session) -> None:
    n = Variable("n", 1, 8)
    x = Tensor.arange(8).realize()
    found = []
    schedules = []
    for k in (3, 5, 8):
        found.append((x[: n.bind(k)] + 1).tolist())
        counters = session.counters
        schedules.append(counters.schedules + counters.cached_schedules)
    assert found == [list(range(1, k + 1)) for k in (3, 5, 8)]
    assert schedules[0] == schedules[-1]


def test_products_of_bound_size() -> None:
    n = Variable("n", 1, 8)
    for k in (2, 5):
        product = Tensor.ones(2, n.bind(k)) @ Tensor.ones(n.bind(k), 3)
        assert product.tolist() == [[k] * 3] * 2


def test_a_number_out_of_bounds_is_refused() -> None:
    n = Variable("n", 2, 4)
    for value in (1, 5, -1):
        with pytest.raises(ArgumentError, match="between 2 and 4"):
            n.bind(value)
    with pytest.raises(ArgumentError, match="between 4 and 2"):
        Variable("n", 4, 2)


def test_memory_is_taken_for_the_largest_number() -> None:
    n = Variable("n", 1, 8)
    x = Tensor.empty(n.bind(3), 2, dtype="int32")
    x.assign(Tensor.ones(n.bind(3), 2, dtype="int32"))
    assert x.tolist() == [[1, 1]] * 3
