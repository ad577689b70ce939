"""Losses, attention and dropout equal their formulas, with every option and at the ends."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tiny_ir import ArgumentError, DTypeError, ShapeError, dtypes
from tiny_tensor import Session, Tensor

pytestmark = pytest.mark.usefixtures("session")

Array = np.ndarray[Any, Any]
nan, inf = math.nan, math.inf


def log_softmax(x: Array, axis: int) -> Array:
    shifted = x - x.max(axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis, keepdims=True))  # type: ignore[no-any-return]


def number(x: Tensor) -> float:
    return x.item()  # type: ignore[return-value]


def test_cross_entropy_with_every_option() -> None:
    x = Tensor([[1, 2, 0.5], [3, 0.4, 0], [0, 0, 0]])
    target = Tensor([0, 1, -100])
    weight = Tensor([0.2, 0.3, 0.5])
    assert number(x.cross_entropy(target)) == pytest.approx(2.09066, abs=1e-5)
    smooth = x.cross_entropy(target, label_smoothing=0.2)
    assert number(smooth) == pytest.approx(2.00066, abs=1e-5)
    same = x[:2].cross_entropy(target[:2], label_smoothing=0.2)
    assert number(same) == pytest.approx(number(smooth), rel=1e-6)
    assert number(x.cross_entropy(target, "sum", 0.2)) == pytest.approx(4.00132, abs=1e-5)
    weighted = x.cross_entropy(target, label_smoothing=0.2, weight=weight)
    assert number(weighted) == pytest.approx(2.2809, abs=1e-4)
    nothing = Tensor([-100] * 3)
    assert math.isnan(number(x.cross_entropy(nothing)))
    assert number(x.cross_entropy(nothing, "sum")) == 0
    assert x.cross_entropy(target, "none")[2].item() == 0
    assert x.half().cross_entropy(target).dtype is dtypes.float16


@pytest.mark.parametrize("shape", [(5, 7), (2, 7, 3), (2, 7, 3, 2)])
def test_cross_entropy_of_classes_equals_its_formula(shape: tuple[int, ...]) -> None:
    dice = np.random.RandomState(0)
    x = dice.randn(*shape).astype(np.float32) * 3
    target = dice.randint(0, 7, (shape[0], *shape[2:])).astype(np.int64)
    logs = log_softmax(x.astype(np.float64), 1)
    each = -np.take_along_axis(logs, np.expand_dims(target, 1), 1)[:, 0]
    mine, theirs = Tensor(x), Tensor(target)
    assert mine.cross_entropy(theirs, "none").numpy() == pytest.approx(each, rel=1e-5)
    assert number(mine.cross_entropy(theirs)) == pytest.approx(each.mean(), rel=1e-5)
    assert number(mine.log_softmax(1).nll_loss(theirs)) == pytest.approx(each.mean(), rel=1e-5)
    weight = dice.rand(7).astype(np.float32)
    scale = weight[target]
    actual = mine.log_softmax(1).nll_loss(theirs, Tensor(weight), ignore_index=3)
    kept = target != 3
    expected = (each * scale)[kept].sum() / scale[kept].sum()
    assert number(actual) == pytest.approx(expected, rel=1e-5)


def test_cross_entropy_of_probabilities() -> None:
    x = np.random.RandomState(0).randn(4, 3).astype(np.float32)
    target = np.random.RandomState(1).dirichlet(np.ones(3), 4).astype(np.float32)
    each = -(log_softmax(x, 1) * target).sum(1)
    assert number(Tensor(x).cross_entropy(Tensor(target))) == pytest.approx(each.mean(), rel=1e-5)
    smooth = target * 0.9 + 0.1 / 3
    each = -(log_softmax(x, 1) * smooth).sum(1)
    actual = Tensor(x).cross_entropy(Tensor(target), "none", 0.1)
    assert actual.numpy() == pytest.approx(each, rel=1e-5)


def test_sparse_cross_entropy_has_classes_last() -> None:
    x = np.random.RandomState(0).randn(2, 3, 5).astype(np.float32)
    target = np.array([[0, 4, -1], [2, -1, 1]])
    logs = log_softmax(x, -1)
    kept = target >= 0
    each = -np.take_along_axis(logs, np.where(kept, target, 0)[..., None], -1)[..., 0] * kept
    loss = Tensor(x).sparse_categorical_crossentropy(Tensor(target))
    assert number(loss) == pytest.approx(each.sum() / kept.sum(), rel=1e-5)
    loss = Tensor(x).sparse_categorical_crossentropy(Tensor(target), reduction="none")
    assert loss.numpy() == pytest.approx(each, rel=1e-5)


def test_losses_of_two_classes() -> None:
    ones = Tensor([1.0, 1.0])
    assert number(Tensor([0.0, 1.0]).binary_crossentropy(ones)) == 50
    far = Tensor([200.0, -200.0])
    assert number(far.binary_crossentropy_logits(Tensor([0.0, 1.0]))) == 200
    x = np.linspace(-4, 4, 9).astype(np.float32)
    y = np.linspace(0, 1, 9).astype(np.float32)
    p = 1 / (1 + np.exp(-x.astype(np.float64)))
    each = -(y * np.log(p) + (1 - y) * np.log(1 - p))
    for reduction, expected in (("none", each), ("sum", each.sum()), ("mean", each.mean())):
        logits = Tensor(x).binary_crossentropy_logits(Tensor(y), reduction)
        assert logits.numpy() == pytest.approx(expected, rel=1e-5)
        plain = Tensor(x).sigmoid().binary_crossentropy(Tensor(y), reduction)
        assert plain.numpy() == pytest.approx(expected, rel=1e-5)
    weighted = Tensor(x).binary_crossentropy_logits(Tensor(y), "none", Tensor(3.0))
    expected = -(3 * y * np.log(p) + (1 - y) * np.log(1 - p))
    assert weighted.numpy() == pytest.approx(expected, rel=1e-5)


def test_cross_entropy_takes_three_kernels(session: Session) -> None:
    x, target = Tensor(np.ones((8, 100), np.float32)), Tensor([1] * 8)
    x.cross_entropy(target, label_smoothing=0.1).realize()
    assert session.counters.kernels <= 3


def test_mistakes_of_losses_are_named() -> None:
    x, target = Tensor.ones(2, 3), Tensor([0, 1])
    with pytest.raises(ArgumentError, match="reduction cannot be 'avg'"):
        x.cross_entropy(target, "avg")
    with pytest.raises(ArgumentError, match="label_smoothing"):
        x.cross_entropy(target, label_smoothing=1.5)
    with pytest.raises(ShapeError, match=r"targets of shape \(3,\)"):
        x.cross_entropy(Tensor([0, 1, 2]))
    with pytest.raises(ShapeError, match="probabilities have the same shape"):
        x.cross_entropy(Tensor([0.5, 0.5]))
    with pytest.raises(ShapeError, match="weights of shape"):
        x.cross_entropy(target, weight=Tensor([1.0]))
    with pytest.raises(DTypeError, match="not classes"):
        x.nll_loss(Tensor([0.0, 1.0]))
    with pytest.raises(ArgumentError):
        x.binary_crossentropy(x, "avg")


def attended(q: Array, k: Array, v: Array, mask: Array | None = None) -> Array:
    scores = q.astype(np.float64) @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -inf) if mask.dtype == bool else scores + mask
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True) @ v  # type: ignore[no-any-return]


def test_attention_equals_its_formula() -> None:
    dice = np.random.RandomState(0)
    q = dice.randn(2, 4, 5, 8).astype(np.float32)
    k = dice.randn(2, 4, 6, 8).astype(np.float32)
    v = dice.randn(2, 4, 6, 3).astype(np.float32)
    x, y, z = Tensor(q), Tensor(k), Tensor(v)
    actual = x.scaled_dot_product_attention(y, z)
    assert actual.numpy() == pytest.approx(attended(q, k, v), rel=1e-4, abs=1e-5)
    mask = dice.rand(5, 6) > 0.4
    mask[:, 0] = True
    actual = x.scaled_dot_product_attention(y, z, Tensor(mask))
    assert actual.numpy() == pytest.approx(attended(q, k, v, mask), rel=1e-4, abs=1e-5)
    added = dice.randn(4, 5, 6).astype(np.float32)
    actual = x.scaled_dot_product_attention(y, z, Tensor(added))
    assert actual.numpy() == pytest.approx(attended(q, k, v, added), rel=1e-4, abs=1e-5)
    causal = x.scaled_dot_product_attention(y, z, is_causal=True)
    expected = attended(q, k, v, np.tril(np.ones((5, 6), bool)))
    assert causal.numpy() == pytest.approx(expected, rel=1e-4, abs=1e-5)
    grouped = x.scaled_dot_product_attention(y[:, :2], z[:, :2], enable_gqa=True)
    shared = attended(q, np.repeat(k[:, :2], 2, 1), np.repeat(v[:, :2], 2, 1))
    assert grouped.numpy() == pytest.approx(shared, rel=1e-4, abs=1e-5)
    assert x.half().scaled_dot_product_attention(y.half(), z.half()).dtype is dtypes.float16


def test_a_query_that_sees_nothing_gives_zero() -> None:
    x = Tensor([[1.0], [2.0]])
    mask = Tensor([[False, False], [True, False]])
    assert x.scaled_dot_product_attention(x, x, mask).tolist() == [[0.0], [1.0]]
    with pytest.raises(ArgumentError, match="causal"):
        x.scaled_dot_product_attention(x, x, mask, is_causal=True)
    y = Tensor.ones(3, 2, 1)
    with pytest.raises(ShapeError, match="3 heads"):
        y.scaled_dot_product_attention(y[:2], y[:2], enable_gqa=True)


def test_dropout_drops_in_training_only() -> None:
    x = Tensor.ones(10000)
    assert x.dropout(0.5) is x
    with Tensor.train():
        kept = x.dropout(0.25).numpy()
        assert set(np.unique(kept)) == {np.float32(0), np.float32(4 / 3)}
        assert (kept == 0).mean() == pytest.approx(0.25, abs=0.02)
        assert x.dropout(0.0) is x
        assert x.dropout(1.0).sum().item() == 0
        assert x.half().dropout(0.5).dtype is dtypes.float16
    for wrong in (-0.1, 3):
        with pytest.raises(ValueError, match="probability"):
            x.dropout(wrong)
