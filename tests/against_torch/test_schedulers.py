"""Schedulers give the learning rates that those of torch give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from tiny_tensor import Tensor, nn

ours, theirs = nn.optim, torch.optim.lr_scheduler
FIRST = 0.25
STEPS = 9

CASES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "steps": (lambda o: ours.MultiStepLR(o, [2, 5]), lambda o: theirs.MultiStepLR(o, [2, 5])),
    "cosine": (
        lambda o: ours.CosineAnnealingLR(o, 4, 0.01),
        lambda o: theirs.CosineAnnealingLR(o, 4, 0.01),
    ),
    "one cycle": (
        lambda o: ours.OneCycleLR(o, 0.5, 10),
        lambda o: theirs.OneCycleLR(o, 0.5, 10, cycle_momentum=False),
    ),
    "one cycle of lines": (
        lambda o: ours.OneCycleLR(o, 0.5, 10, 0.45, "linear", 10.0, 100.0),
        lambda o: theirs.OneCycleLR(
            o,
            0.5,
            10,
            pct_start=0.45,
            anneal_strategy="linear",
            div_factor=10.0,
            final_div_factor=100.0,
            cycle_momentum=False,
        ),
    ),
}


def rates(scheduler: Any, rate: Callable[[], float], *metrics: float) -> list[float]:
    found = [rate()]
    for step in range(STEPS):
        scheduler.step(*metrics[step : step + 1])
        found.append(rate())
    return found


def both(
    make: Callable[[Any], Any], make_twin: Callable[[Any], Any], *metrics: float
) -> tuple[list[float], list[float]]:
    mine = nn.optim.SGD([Tensor([1.0])], lr=FIRST)
    other = torch.optim.SGD([torch.ones(1)], lr=FIRST)
    twin = make_twin(other)
    other.step()
    return (
        rates(make(mine), mine.lr.item, *metrics),
        rates(twin, lambda: float(other.param_groups[0]["lr"]), *metrics),
    )


@pytest.mark.parametrize("name", CASES)
def test_rates_are_those_of_torch(name: str) -> None:
    mine, expected = both(*CASES[name])
    np.testing.assert_allclose(mine, expected, rtol=2e-6, atol=1e-8)


@pytest.mark.parametrize("mode", ["min", "max"])
@pytest.mark.parametrize("threshold_mode", ["rel", "abs"])
def test_a_plateau_reduces_as_in_torch(mode: str, threshold_mode: str) -> None:
    options: dict[str, Any] = {
        "mode": mode,
        "factor": 0.5,
        "patience": 1,
        "threshold": 0.1,
        "threshold_mode": threshold_mode,
    }
    metrics = (3.0, 2.9, 2.8, 3.4, 3.5, 1.0, -1.0, -1.05, -1.0)
    mine, expected = both(
        lambda o: ours.ReduceLROnPlateau(o, **options),
        lambda o: theirs.ReduceLROnPlateau(o, **options),
        *metrics,
    )
    np.testing.assert_allclose(mine, expected, rtol=1e-6)
