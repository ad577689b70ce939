"""Sums of a tensor and a multiple of a product are rounded once, and know what 0 means."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tiny_ir import ShapeError
from tiny_tensor import Tensor

pytestmark = pytest.mark.usefixtures("session")

DICE = np.random.RandomState(0)
A, B = DICE.randn(2, 3, 4), DICE.randn(2, 4, 5)
X = DICE.randn(3, 5)
NAMED = {"beta": 0.5, "alpha": -2.0}


def test_each_is_its_formula() -> None:
    x, a, b = Tensor(X), Tensor(A), Tensor(B)
    pairs = [
        (x.addcmul(x, x, value=3), X + 3 * X * X),
        (x.addcdiv(x, x + 9.0, value=3), X + 3 * X / (X + 9)),
        (x.addmm(a[0], b[0], **NAMED), X / 2 - 2 * A[0] @ B[0]),
        (x[:, 0].addmv(a[0], b[0, :, 0], **NAMED), X[:, 0] / 2 - 2 * A[0] @ B[0, :, 0]),
        (x.addr(x[:, 0], x[0], **NAMED), X / 2 - 2 * np.outer(X[:, 0], X[0])),
        (x.addbmm(a, b, **NAMED), X / 2 - 2 * (A @ B).sum(0)),
        (x.baddbmm(a, b, **NAMED), X / 2 - 2 * A @ B),
    ]
    pairs[0][0].realize(*[found for found, _ in pairs])
    for found, wanted in pairs:
        assert found.numpy() == pytest.approx(wanted)


def test_a_sum_is_rounded_once() -> None:
    x = Tensor([-1.015625], dtype="bfloat16")
    near = Tensor([1.0078125], dtype="bfloat16")
    assert x.addcmul(near, near).item() == 2.0**-14
    assert x.addcmul(near, near).dtype is x.dtype


def test_what_counts_for_nothing_may_be_nan() -> None:
    x = Tensor([math.nan, math.nan])
    assert x.addmv(Tensor.eye(2), Tensor([1.0, 2.0]), beta=0).tolist() == [1.0, 2.0]
    with pytest.raises(ShapeError):
        Tensor([1.0, 2.0, 3.0]).addmv(Tensor.eye(2), Tensor([1.0, 2.0]), beta=0)


def test_bools_add_up_as_bools() -> None:
    x = Tensor([[True, False], [False, False]])
    assert x.addr(Tensor([False, True]), Tensor([True, False])).tolist() == [
        [True, False],
        [True, False],
    ]
