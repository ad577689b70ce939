"""Strides, padding, groups, reductions, ties: what functions have options for agrees with torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812 (its customary name)

from tiny_tensor import Tensor

Tiny = Callable[..., Tensor]
Theirs = Callable[..., torch.Tensor]
Array = np.ndarray[Any, np.dtype[Any]]
DICE = np.random.RandomState(0)


def normal(*shape: int) -> Array:
    return DICE.randn(*shape).astype(np.float32)


def agree(mine: Tiny, theirs: Theirs, *inputs: Array, rtol: float = 2e-5) -> None:
    """Compare values and gradients, with a weight of its own for each result."""
    ours = [Tensor(x) for x in inputs]
    torches = [torch.tensor(x, requires_grad=True) for x in inputs]
    expected = theirs(*torches)
    weight = np.random.RandomState(1).uniform(0.5, 1.5, tuple(expected.shape)).astype(np.float32)
    result = mine(*ours)
    gradients = result.gradient(*ours, gradient=Tensor(weight))
    expected.backward(torch.tensor(weight))
    close(result, expected.detach().numpy(), rtol)
    for gradient, leaf in zip(gradients, torches, strict=True):
        assert leaf.grad is not None
        close(gradient, leaf.grad.numpy(), rtol)


def close(mine: Tensor, theirs: Array, rtol: float) -> None:
    scale = float(np.abs(theirs[np.isfinite(theirs)]).max(initial=1e-30))
    np.testing.assert_allclose(mine.numpy(), theirs, rtol=rtol, atol=rtol * scale)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"stride": 2},
        {"padding": 1},
        {"dilation": 2},
        {"groups": 2},
        {"stride": (2, 1), "padding": (1, 2), "dilation": (1, 2), "groups": 2},
    ],
    ids=str,
)
def test_convolution(options: dict[str, Any]) -> None:
    groups = options.get("groups", 1)
    agree(
        lambda x, w, b: x.conv2d(w, b, **options),
        lambda x, w, b: F.conv2d(x, w, b, **options),
        normal(2, 4, 7, 8),
        normal(6, 4 // groups, 3, 2),
        normal(6),
    )


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"stride": 2, "output_padding": 1},
        {"padding": 1, "dilation": 2},
        {"groups": 2, "stride": (1, 3), "output_padding": (0, 2)},
    ],
    ids=str,
)
def test_transposed_convolution(options: dict[str, Any]) -> None:
    groups = options.get("groups", 1)
    agree(
        lambda x, w, b: x.conv_transpose2d(w, b, **options),
        lambda x, w, b: F.conv_transpose2d(x, w, b, **options),
        normal(2, 4, 5, 4),
        normal(4, 6 // groups, 3, 3),
        normal(6),
    )


@pytest.mark.parametrize(
    "options",
    [{}, {"stride": 1}, {"stride": 2, "padding": 1}, {"ceil_mode": True}],
    ids=str,
)
@pytest.mark.parametrize("kind", ["max_pool2d", "avg_pool2d"])
def test_pooling(kind: str, options: dict[str, Any]) -> None:
    size = (3, 2)
    agree(
        lambda x: getattr(x, kind)(size, **options),
        lambda x: getattr(F, kind)(x, size, **options),
        normal(2, 2, 7, 6),
    )


@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal: bool) -> None:
    agree(
        lambda q, k, v: q.scaled_dot_product_attention(k, v, is_causal=causal),
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=causal),
        normal(2, 2, 5, 4),
        normal(2, 2, 5, 4),
        normal(2, 2, 5, 4),
    )


LABELS = np.array([0, 2, 1, -100, 3])


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_cross_entropy(reduction: str, smoothing: float) -> None:
    agree(
        lambda x: x.sparse_categorical_crossentropy(
            Tensor(LABELS), -100, label_smoothing=smoothing, reduction=reduction
        ),
        lambda x: F.cross_entropy(
            x, torch.tensor(LABELS), label_smoothing=smoothing, reduction=reduction
        ),
        normal(5, 4),
    )


def test_binary_cross_entropy() -> None:
    target = DICE.uniform(0, 1, (3, 4)).astype(np.float32)
    agree(
        lambda x: x.binary_crossentropy_logits(Tensor(target)),
        lambda x: F.binary_cross_entropy_with_logits(x, torch.tensor(target)),
        normal(3, 4),
    )
    agree(
        lambda x: x.sigmoid().binary_crossentropy(Tensor(target)),
        lambda x: F.binary_cross_entropy(x.sigmoid(), torch.tensor(target)),
        normal(3, 4),
    )


INDEX = np.array([[0, 1, 1], [2, 0, 1]])


def test_gather() -> None:
    agree(
        lambda x: x.gather(0, Tensor(INDEX)),
        lambda x: x.gather(0, torch.tensor(INDEX)),
        normal(3, 3),
    )


def test_scatter_that_adds() -> None:
    agree(
        lambda x, s: x.scatter(0, Tensor(INDEX), s, reduce="add"),
        lambda x, s: x.scatter_add(0, torch.tensor(INDEX), s),
        normal(3, 3),
        normal(2, 3),
    )


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("kind", ["sum", "prod", "mean", "amax", "amin"])
def test_scatter_reduce(kind: str, include_self: bool) -> None:
    agree(
        lambda x, s: x.scatter_reduce(0, Tensor(INDEX), s, kind, include_self),
        lambda x, s: x.scatter_reduce(0, torch.tensor(INDEX), s, kind, include_self=include_self),
        normal(3, 3),
        normal(2, 3),
    )


@pytest.mark.parametrize("mode", ["linear", "nearest"])
def test_interpolation(mode: str) -> None:
    theirs = {"linear": "bilinear", "nearest": "nearest"}[mode]
    agree(
        lambda x: x.interpolate((5, 7), mode),
        lambda x: F.interpolate(x, (5, 7), mode=theirs),
        normal(1, 2, 4, 3),
    )


def test_ties_share_what_arrives() -> None:
    x = np.array([[1, 3, 3], [2, 2, 2]], dtype=np.float32)
    agree(lambda x: x.max(1), lambda x: x.amax(1), x)
    agree(Tensor.maximum, torch.maximum, x, x[:, ::-1].copy())


def test_second_derivatives() -> None:
    x = normal(2, 3)
    t, u = Tensor(x), torch.tensor(x, requires_grad=True)
    (mine,) = (t.softmax().log() * t.tanh()).sum().gradient(t)
    (again,) = (mine * mine).sum().gradient(t)
    (theirs,) = torch.autograd.grad((u.softmax(1).log() * u.tanh()).sum(), u, create_graph=True)
    (expected,) = torch.autograd.grad((theirs * theirs).sum(), u)
    close(again, expected.numpy(), 5e-5)
