"""Losses of numbers equal their formulas, with every reduction and option, and name mistakes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tiny_ir import ArgumentError, DTypeError, ShapeError, dtypes
from tiny_tensor import Tensor

pytestmark = pytest.mark.usefixtures("session")

Array = np.ndarray[Any, Any]
DICE = np.random.RandomState(0)
X, Y = (DICE.randn(4, 3).astype(np.float32) * 2 for _ in range(2))
FAR = np.abs(X - Y)
SIGN = np.where(DICE.rand(4, 3) > 0.5, 1, -1).astype(np.int32)
ROWS = np.array([1, -1, 1, -1], np.int32)
P = np.exp(Y) / np.exp(Y).sum(1, keepdims=True)


def length(x: Array) -> Array:
    return np.sqrt((x * x).sum(-1))  # type: ignore[no-any-return]


COSINE = (X * Y).sum(-1) / (length(X) * length(Y))

EACH: dict[str, tuple[Callable[..., Tensor], Array]] = {
    "l1": (lambda x, y, **k: x.l1_loss(y, **k), FAR),
    "mse": (lambda x, y, **k: x.mse_loss(y, **k), FAR**2),
    "smooth l1": (
        lambda x, y, **k: x.smooth_l1_loss(y, beta=0.5, **k),
        np.where(FAR < 0.5, FAR**2, FAR - 0.25),
    ),
    "huber": (
        lambda x, y, **k: x.huber_loss(y, delta=0.5, weight=Tensor([1.0, 2.0, 0.5]), **k),
        np.where(FAR <= 0.5, FAR**2 / 2, 0.5 * (FAR - 0.25)) * [1.0, 2.0, 0.5],
    ),
    "kl": (lambda x, y, **k: x.kl_div(Tensor(P), **k), P * (np.log(P) - X)),
    "kl of logarithms": (
        lambda x, y, **k: x.kl_div(Tensor(np.log(P)), log_target=True, **k),
        P * (np.log(P) - X),
    ),
    "poisson": (
        lambda x, y, **k: x.poisson_nll_loss(Tensor([0.0, 1.0, 3.0]), full=True, **k),
        np.exp(X) - X * [0, 1, 3] + [0, 0, 3 * math.log(3) - 3 + 0.5 * math.log(6 * math.pi)],
    ),
    "gaussian": (
        lambda x, y, **k: x.gaussian_nll_loss(y, Tensor([1.0, 2.0, 4.0, 0.0]), full=True, **k),
        0.5
        * (
            np.log([[1], [2], [4], [1e-6]])
            + FAR**2 / [[1], [2], [4], [1e-6]]
            + math.log(2 * math.pi)
        ),
    ),
    "hinge": (
        lambda x, y, **k: x.hinge_embedding_loss(Tensor(SIGN), 0.5, **k),
        np.where(SIGN == 1, X, np.maximum(0, 0.5 - X)),
    ),
    "ranking": (
        lambda x, y, **k: x.margin_ranking_loss(y, Tensor(SIGN), 0.5, **k),
        np.maximum(0, 0.5 - SIGN * (X - Y)),
    ),
    "soft margin": (
        lambda x, y, **k: x.soft_margin_loss(Tensor(SIGN), **k),
        np.log1p(np.exp(-SIGN * X)),
    ),
    "many labels": (
        lambda x, y, **k: x.multilabel_soft_margin_loss(Tensor(SIGN > 0).int(), **k),
        np.log1p(np.exp(-SIGN * X)).mean(-1),
    ),
    "cosines": (
        lambda x, y, **k: x.cosine_embedding_loss(y, Tensor(ROWS), -0.5, **k),
        np.where(ROWS == 1, 1 - COSINE, np.maximum(0, COSINE + 0.5)),
    ),
    "triplets": (
        lambda x, y, **k: x.triplet_margin_loss(y, -y, swap=True, eps=0.0, **k),
        np.maximum(0, length(X - Y) - np.minimum(length(X + Y), length(2 * Y)) + 1),
    ),
    "classes": (
        lambda x, y, **k: x.multi_margin_loss(Tensor([2, 0, 1, 2]), 2, **k),
        np.array(
            [
                sum(max(0.0, 1 - row[t] + row[i]) ** 2 for i in range(3) if i != t) / 3
                for row, t in zip(X, [2, 0, 1, 2], strict=True)
            ]
        ),
    ),
    "several classes": (
        lambda x, y, **k: x.multilabel_margin_loss(Tensor([[2, -1, 0], [0, 1, -1]] * 2), **k),
        np.array(
            [
                sum(max(0.0, 1 - row[t] + row[i]) for t in own for i in {0, 1, 2} - set(own)) / 3
                for row, own in zip(X, [(2,), (0, 1)] * 2, strict=True)
            ]
        ),
    ),
}


@pytest.mark.parametrize("name", EACH)
def test_a_loss_is_its_formula_in_every_reduction(name: str) -> None:
    call, each = EACH[name]
    x, y = Tensor(X), Tensor(Y)
    none, mean, total = (call(x, y, reduction=word) for word in ("none", "mean", "sum"))
    assert none.shape == each.shape
    none.realize(mean, total)
    assert none.numpy() == pytest.approx(each, rel=1e-5, abs=1e-6)
    assert mean.item() == pytest.approx(each.mean(), rel=1e-5)
    assert total.item() == pytest.approx(each.sum(), rel=1e-5)
    with pytest.raises(ArgumentError, match="reduction"):
        call(x, y, reduction="median")


def test_results_have_the_dtype_of_the_predictions() -> None:
    assert Tensor(X).half().huber_loss(Tensor(Y)).dtype is dtypes.float16
    assert Tensor([1, 2]).mse_loss(3).dtype is dtypes.float32


def test_a_loss_a_batch_divides_by_its_size() -> None:
    loss = Tensor(X).kl_div(Tensor(P), "batchmean")
    assert loss.item() == pytest.approx((P * (np.log(P) - X)).sum() / 4, rel=1e-5)


def test_mistakes_are_named() -> None:
    x = Tensor(X)
    for call in (
        lambda: x.huber_loss(x, delta=0.0),
        lambda: x.smooth_l1_loss(x, beta=-1.0),
        lambda: x.triplet_margin_loss(x, x, margin=0.0),
        lambda: x.multi_margin_loss(Tensor([0] * 4), p=3),
    ):
        with pytest.raises(ArgumentError):
            call()
    for wrong in (
        lambda: x.multi_margin_loss(Tensor([0, 1])),
        lambda: x.multilabel_margin_loss(Tensor([[0, 1]])),
        lambda: x[0, 0].multilabel_margin_loss(Tensor(0)),
    ):
        with pytest.raises(ShapeError):
            wrong()
    with pytest.raises(DTypeError):
        x.multilabel_margin_loss(x)
