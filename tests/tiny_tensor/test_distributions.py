"""Random numbers of further distributions have their quantiles, and mistakes are named."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from tiny_ir import ArgumentError, RandomError, dtypes
from tiny_tensor import Tensor

pytestmark = pytest.mark.usefixtures("session")

COUNT = 20_000
DRAWS: dict[str, tuple[Callable[[], Tensor], object]] = {
    "exponential": (lambda: Tensor.exponential(COUNT, rate=2.0), stats.expon(scale=0.5)),
    "truncated normal": (
        lambda: Tensor.truncated_normal(COUNT, mean=1.0, std=2.0, low=-1.0, high=2.0),
        stats.truncnorm(-1.0, 0.5, 1.0, 2.0),
    ),
    "log normal": (
        lambda: Tensor.log_normal(COUNT, mean=0.5, std=0.25),
        stats.lognorm(0.25, scale=math.exp(0.5)),
    ),
    "cauchy": (lambda: Tensor.cauchy(COUNT, median=1.0, sigma=2.0), stats.cauchy(1.0, 2.0)),
}


@pytest.mark.parametrize("name", DRAWS)
def test_numbers_have_the_distribution(name: str) -> None:
    draw, distribution = DRAWS[name]
    Tensor.manual_seed(5)
    parts = distribution.cdf(draw().numpy())  # type: ignore[attr-defined]
    # The parts are uniform: Kolmogorov and Smirnov's distance is below 1.95 / sqrt(n) in 999 of
    # 1000 cases.
    assert stats.kstest(parts, "uniform").statistic < 1.95 / math.sqrt(COUNT)


def test_trials_until_success_have_the_distribution() -> None:
    Tensor.manual_seed(5)
    counts = Tensor.geometric(COUNT, p=0.25, dtype="int32").bincount().numpy()[:6] / COUNT
    assert counts == pytest.approx(stats.geom(0.25).pmf(np.arange(6)), abs=0.015)


def test_ones_come_as_often_as_probabilities_say() -> None:
    Tensor.manual_seed(5)
    x = Tensor([0.0, 0.25, 1.0]).unsqueeze(1).expand(3, COUNT).bernoulli()
    assert x.mean(1).numpy() == pytest.approx([0.0, 0.25, 1.0], abs=0.015)


def test_mistakes_are_named() -> None:
    for call in (
        lambda: Tensor.exponential(2, rate=0.0),
        lambda: Tensor.truncated_normal(2, low=1.0, high=1.0),
        lambda: Tensor.truncated_normal(2, std=0.0),
        lambda: Tensor.log_normal(2, std=-1.0),
        lambda: Tensor.cauchy(2, sigma=0.0),
        lambda: Tensor.geometric(2, p=1.0),
        lambda: Tensor.normal(2, std=-1.0),
        lambda: Tensor.uniform(2, low=1.0, high=0.0),
    ):
        with pytest.raises(ArgumentError):
            call()
    with pytest.raises(RandomError):
        Tensor.exponential(2, dtype=dtypes.int32)
    with pytest.raises(RandomError):
        Tensor([1]).bernoulli()
