"""The rooms take tensors of a bound size: the graph is that of the upper bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tiny_ir import ShapeError, SizeError, dtypes
from tiny_tensor import Tensor, Variable

pytestmark = pytest.mark.usefixtures("session")

Array = np.ndarray[Any, Any]
DATA = np.random.RandomState(0).randn(10, 4).astype(np.float32)
LENGTH = 6


def softmax(x: Array, axis: int) -> Array:
    return np.exp(x) / np.exp(x).sum(axis, keepdims=True)  # type: ignore[no-any-return]


FUNCTIONS: dict[str, tuple[Callable[[Tensor], Tensor], Callable[[Array], Array]]] = {
    "add": (lambda x: x + 1, lambda y: y + 1),
    "sum": (lambda x: x.sum(0), lambda y: y.sum(0)),
    "mean": (lambda x: x.mean(), lambda y: y.mean()),
    "var": (lambda x: x.var(0), lambda y: y.var(0, ddof=1)),
    "max": (lambda x: x.max(0), lambda y: y.max(0)),
    "argmax": (lambda x: x.argmax(0), lambda y: y.argmax(0)),
    "softmax": (lambda x: x.softmax(0), lambda y: softmax(y, 0)),
    "matmul": (lambda x: x @ x.T, lambda y: y @ y.T),
    "contraction": (lambda x: x.T @ x, lambda y: y.T @ y),
    "tril": (lambda x: (x @ x.T).tril(), lambda y: np.tril(y @ y.T)),
    "flatten": (lambda x: x.flatten(), lambda y: y.reshape(-1)),
    "unsqueeze": (lambda x: x.unsqueeze(0), lambda y: y[None]),
    "flip": (lambda x: x.flip(0), lambda y: np.flip(y, 0)),
    "pad": (
        lambda x: x.pad((0, 0, 1, 2), value=3),
        lambda y: np.pad(y, ((1, 2), (0, 0)), constant_values=3),
    ),
    "cat": (lambda x: x.cat(x), lambda y: np.concatenate([y, y])),
    "cumsum": (lambda x: x.cumsum(0), lambda y: y.cumsum(0)),
    "last": (lambda x: x[-1], lambda y: y[-1]),
    "list": (lambda x: x[[0, -1]], lambda y: y[[0, -1]]),
    "rest": (lambda x: x[1:], lambda y: y[1:]),
    "where": (lambda x: (x > 0).where(x, 0), lambda y: np.where(y > 0, y, 0)),
    "repeat": (lambda x: x.repeat(2, 1), lambda y: np.tile(y, (2, 1))),
    "attention": (
        lambda x: x.scaled_dot_product_attention(x, x, is_causal=True),
        lambda y: softmax(np.where(np.tri(LENGTH, dtype=bool), y @ y.T / 2, -np.inf), 1) @ y,
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_take_bound_sizes(name: str) -> None:
    mine, theirs = FUNCTIONS[name]
    length = Variable("n", 1, 10).bind(LENGTH)
    actual = mine(Tensor(DATA)[:length]).numpy()
    expected = theirs(DATA[:LENGTH])
    assert actual.shape == expected.shape
    assert actual == pytest.approx(expected, rel=1e-4, abs=1e-5)


def test_bound_positions_are_read() -> None:
    place = Variable("place", 0, 4).bind(3)
    x = Tensor(DATA)
    assert np.array_equal(x[place].numpy(), DATA[3])
    assert np.array_equal(x[place : place + 2].numpy(), DATA[3:5])


def test_what_must_be_known_is_named() -> None:
    part = Tensor(DATA)[: Variable("n", 1, 10).bind(LENGTH)]
    with pytest.raises(ShapeError, match="symbolic size"):
        part.split(2)
    with pytest.raises(SizeError, match="cannot carry"):
        part.cumsum(1)


FAR = 1 << 33
"""Elements of tensors that fit no memory: what is read of them is computed."""


def test_elements_far_away_are_computed() -> None:
    x = Tensor.arange(FAR)
    assert (x.dtype, x.size, x.nbytes()) == (dtypes.int64, FAR, 8 * FAR)
    assert x[FAR - 2 :].tolist() == [FAR - 2, FAR - 1]
    assert x.reshape(1 << 17, 1 << 16)[-1, ::-1][:2].tolist() == [FAR - 1, FAR - 2]
    n = Variable("n", 1, FAR).bind(FAR - 2)
    assert (x[n:][:2].tolist(), x[:n].max_shape) == ([FAR - 2, FAR - 1], (FAR,))


def test_positions_far_away_have_64_bits() -> None:
    x = Tensor.zeros(FAR)
    found = [x.argmax(), x.cummax()[1], x.argsort(), x.topk(1)[1], x.searchsorted(Tensor([1.0]))]
    found.append(x.reshape(1, 1, FAR).max_pool2d((2,), return_indices=True)[1])
    assert {positions.dtype for positions in found} == {dtypes.int64}
