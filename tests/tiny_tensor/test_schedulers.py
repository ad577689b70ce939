"""Learning rates over epochs: with groups, in captured functions, and what is refused."""

from __future__ import annotations

import pytest

from tiny_ir import ArgumentError, ArgumentTypeError
from tiny_tensor import Tensor, jit
from tiny_tensor.nn.optim import (
    SGD,
    CosineAnnealingLR,
    LRSchedulerGroup,
    MultiStepLR,
    OneCycleLR,
    OptimizerGroup,
    ReduceLROnPlateau,
)

pytestmark = pytest.mark.usefixtures("session")


def optimizer(lr: float = 1.0) -> SGD:
    return SGD([Tensor([1.0])], lr=lr)


def test_a_group_steps_all() -> None:
    first, second = optimizer(1.0), optimizer(2.0)
    group = LRSchedulerGroup(MultiStepLR(first, [1], 0.5), MultiStepLR(second, [2, 2], 0.5))
    group.step()
    assert (first.lr.item(), second.lr.item()) == (0.5, 2.0)
    group.step()
    assert (first.lr.item(), second.lr.item()) == (0.5, 0.5)


def test_a_step_may_be_captured() -> None:
    x = Tensor([8.0])
    trained = SGD([x], lr=0.5)
    scheduler = MultiStepLR(trained, [2], 0.5)

    @jit
    def step() -> None:
        trained.zero_grad()
        (x * x * 0.5).sum().backward()
        trained.step()
        scheduler.step()

    for expected in (4.0, 2.0, 1.5):
        step()
        assert x.item() == expected


def test_only_what_has_a_learning_rate_is_scheduled() -> None:
    with pytest.raises(ArgumentTypeError, match="LRSchedulerGroup"):
        MultiStepLR(OptimizerGroup(optimizer()), [1])
    with pytest.raises(ArgumentError, match="T_max"):
        CosineAnnealingLR(optimizer(), 0)
    with pytest.raises(ArgumentError, match="'cos' or 'linear'"):
        OneCycleLR(optimizer(), 1.0, 4, anneal_strategy="square")
    with pytest.raises(ArgumentError, match="pct_start"):
        OneCycleLR(optimizer(), 1.0, 4, pct_start=2.0)
    with pytest.raises(ArgumentError, match="'middle'"):
        ReduceLROnPlateau(optimizer(), mode="middle")
    with pytest.raises(ArgumentError, match="factor of 2"):
        ReduceLROnPlateau(optimizer(), factor=2.0)
    with pytest.raises(ArgumentError, match="no metric"):
        ReduceLROnPlateau(optimizer()).step()
