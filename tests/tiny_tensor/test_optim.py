"""Optimizers take the steps of their formulas, and keep their state in place."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tiny_ir import ArgumentError, ArgumentTypeError, GradientError, dtypes
from tiny_tensor import Session, Tensor, jit, nn
from tiny_tensor.nn.optim import LAMB, LARS, SGD, Adam, AdamW, Muon, Optimizer, OptimizerGroup

pytestmark = pytest.mark.usefixtures("session")

Array = np.ndarray[Any, np.dtype[Any]]
SIZES = np.array([1.0, -2.0, 0.5])


def trained(make: Callable[[list[Tensor]], Optimizer], steps: int = 5) -> Array:
    """A parameter after some steps down a bowl."""
    x = Tensor(SIZES)
    optimizer = make([x])
    for _ in range(steps):
        optimizer.zero_grad()
        (x * x * x + x).sum().backward()
        optimizer.step()
    return x.numpy()


def slope(x: Array) -> Array:
    return 3 * x * x + 1


def test_sgd_follows_the_gradient() -> None:
    x = SIZES
    for _ in range(5):
        x = x - 0.01 * slope(x)
    np.testing.assert_allclose(trained(lambda p: SGD(p, lr=0.01)), x, rtol=1e-6)


@pytest.mark.parametrize("nesterov", [False, True])
@pytest.mark.parametrize("classic", [False, True])
def test_sgd_with_momentum(nesterov: bool, classic: bool) -> None:
    x, velocity = SIZES, np.zeros(3)
    for _ in range(5):
        g = slope(x) + 0.1 * x
        velocity = 0.9 * velocity + g
        x = x - 0.01 * (g + 0.9 * velocity if nesterov else velocity)

    def make(params: list[Tensor]) -> Optimizer:
        return SGD(params, 0.01, 0.9, 0.1, nesterov, classic)

    np.testing.assert_allclose(trained(make), x, rtol=1e-6)


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_adam_and_adamw(decay: float) -> None:
    x, mean, square = SIZES, np.zeros(3), np.zeros(3)
    for t in range(1, 6):
        g = slope(x)
        mean, square = 0.9 * mean + 0.1 * g, 0.999 * square + 0.001 * g * g
        step = mean / (1 - 0.9**t) / (np.sqrt(square / (1 - 0.999**t)) + 1e-8)
        x = x - 0.01 * (step + decay * x)
    if decay:
        found = trained(lambda p: AdamW(p, lr=0.01, weight_decay=decay))
    else:
        found = trained(lambda p: Adam(p, lr=0.01))
    np.testing.assert_allclose(found, x, rtol=1e-6)


def test_lamb_scales_steps_to_the_size_of_the_parameter() -> None:
    x, mean, square = SIZES, np.zeros(3), np.zeros(3)
    for t in range(1, 6):
        g = slope(x)
        mean, square = 0.9 * mean + 0.1 * g, 0.999 * square + 0.001 * g * g
        step = mean / (1 - 0.9**t) / (np.sqrt(square / (1 - 0.999**t)) + 1e-6)
        x = x - 0.01 * step * math.sqrt((x * x).sum() / (step * step).sum())
    np.testing.assert_allclose(trained(lambda p: LAMB(p, lr=0.01)), x, rtol=1e-5)


def test_lars_scales_gradients_to_the_size_of_the_parameter() -> None:
    x, velocity = SIZES, np.zeros(3)
    for _ in range(5):
        g = slope(x) + 0.1 * x
        size, steep = math.sqrt((x * x).sum()), math.sqrt((g * g).sum())
        velocity = 0.9 * velocity + 0.5 * g * size * 0.02 / (steep + 0.1 * size)
        x = x - velocity

    def make(params: list[Tensor]) -> Optimizer:
        return LARS(params, lr=0.5, weight_decay=0.1, tcoef=0.02)

    np.testing.assert_allclose(trained(make), x, rtol=1e-5)


@pytest.mark.parametrize("shape", [(3, 2), (2, 3), (2, 3, 1)])
def test_muon_makes_the_momentum_orthogonal(shape: tuple[int, ...]) -> None:
    x = np.random.RandomState(0).uniform(-1, 1, shape)
    t = Tensor(x)
    optimizer = Muon([t], lr=0.1, momentum=0.9, weight_decay=0.5)
    velocity = np.zeros(shape)
    for _ in range(3):
        optimizer.zero_grad()
        (t * t * t + t).sum().backward()
        optimizer.step()
        g = slope(x)
        velocity = 0.9 * velocity + g
        even = (g + 0.9 * velocity).reshape(shape[0], -1)
        even /= np.linalg.norm(even) + 1e-7
        for _ in range(5):
            gram = even @ even.T
            even = 3.4445 * even - 4.775 * gram @ even + 2.0315 * gram @ gram @ even
        size = math.sqrt(max(1.0, even.shape[0] / even.shape[1]))
        x = x - 0.1 * (size * even.reshape(shape) + 0.5 * x)
    np.testing.assert_allclose(t.numpy(), x, rtol=1e-5, atol=1e-6)


def test_bias_correction_keeps_its_digits_at_the_first_step() -> None:
    x = Tensor([1.0])
    optimizer = Adam([x], lr=0.25, b2=0.999999)
    (x * 3).sum().backward()
    optimizer.step()
    assert x.tolist() == [pytest.approx(0.75, rel=1e-6)]


def test_the_learning_rate_can_be_written() -> None:
    x = Tensor([1.0])
    optimizer = SGD([x], lr=0.5)
    optimizer.lr.assign(Tensor([0.25]).reshape(()))
    x.sum().backward()
    optimizer.step()
    assert x.tolist() == [0.75]


def test_a_captured_step_trains_as_one_that_is_not_captured() -> None:
    def run(capture: bool) -> list[float]:
        Tensor.manual_seed(3)
        layer = nn.Linear(3, 2)
        optimizer = Adam(nn.state.get_parameters(layer), lr=0.1)

        def step(x: Tensor) -> Tensor:
            optimizer.zero_grad()
            loss = layer(x).square().mean()
            loss.backward()
            optimizer.step()
            return loss

        run_step = jit(step) if capture else step
        losses = []
        for at in range(5):
            losses.append(float(run_step(Tensor.full((4, 3), at + 1.0).contiguous()).item()))
        return losses

    assert run(True) == run(False)


def test_narrow_parameters_are_updated_in_float32() -> None:
    x = Tensor([1.0], dtype=dtypes.float16)
    optimizer = SGD([x], lr=1.0, momentum=0.5)
    assert optimizer.velocity[0].dtype is dtypes.float32
    for _ in range(2):
        optimizer.zero_grad()
        (x * 1e-3).sum().backward()
        optimizer.step()
    assert x.dtype is dtypes.float16
    assert x.tolist() == [pytest.approx(1 - 1e-3 - 1.5e-3, abs=1e-3)]


def test_a_parameter_without_gradient_stays() -> None:
    x, y = Tensor([1.0]), Tensor([1.0])
    optimizer = SGD([x, y], lr=0.5)
    x.sum().backward()
    optimizer.step()
    assert (x.tolist(), y.tolist()) == ([0.5], [1.0])


def test_a_tensor_that_is_named_twice_is_one_parameter() -> None:
    x = Tensor([1.0])
    optimizer = SGD([x, x], lr=0.5)
    x.sum().backward()
    optimizer.step()
    assert x.tolist() == [0.5]


def test_a_group_steps_together() -> None:
    x, y = Tensor([1.0]), Tensor([1.0])
    group = OptimizerGroup(SGD([x], lr=0.5), Adam([y], lr=0.25))
    (x + y).sum().backward()
    group.step()
    assert (x.tolist(), y.tolist()) == ([0.5], [0.75])
    group.zero_grad()
    assert x.grad is None
    assert y.grad is None


def test_all_steps_run_the_same_kernels(session: Session) -> None:
    x = Tensor([1.0, 2.0])
    optimizer = Adam([x], lr=0.1)

    def step() -> None:
        optimizer.zero_grad()
        (x * x).sum().backward()
        optimizer.step()

    step()
    before = session.counters.schedules + session.counters.cached_schedules
    step()
    step()
    assert session.counters.schedules + session.counters.cached_schedules == before


def test_gradients_can_be_read_after_the_step() -> None:
    x = Tensor([3.0])
    optimizer = SGD([x], lr=0.5)
    (x * x).sum().backward()
    optimizer.step()
    assert x.grad is not None
    assert (x.grad.tolist(), x.tolist()) == ([6.0], [0.0])


def test_gradients_of_inputs_do_not_pile_up() -> None:
    x, weight = Tensor([2.0, 3.0]), Tensor([1.0, 1.0])
    other = Tensor([1.0])
    optimizer, second = SGD([weight], lr=0.0), SGD([other], lr=0.0)
    (other * 5).sum().backward()
    for _ in range(3):
        optimizer.zero_grad()
        (x * weight).sum().backward()
        optimizer.step()
    assert x.grad is not None
    assert x.grad.tolist() == [1, 1]
    assert other.grad is not None
    assert other.grad.tolist() == [5]
    second.zero_grad()
    assert other.grad is None
    assert weight.grad is not None


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: SGD([]), ArgumentError),
        (lambda: SGD([Tensor([1.0])], momentum=1.5), ArgumentError),
        (lambda: Adam([Tensor([1.0])], b1=1.0), ArgumentError),
        (lambda: Muon([Tensor([1.0])]), ArgumentError),
        (lambda: SGD([Tensor([1])]), ArgumentTypeError),
        (lambda: SGD([1.0]), ArgumentTypeError),  # type: ignore[list-item]
        (lambda: SGD([Tensor([1.0])]).step(), GradientError),
    ],
)
def test_what_cannot_be_trained_is_refused(
    make: Callable[[], object], error: type[Exception]
) -> None:
    with pytest.raises(error):
        make()


def test_a_step_computes_the_loss_that_it_was_made_of(session: Session) -> None:
    layer, x = nn.Linear(3, 2), Tensor([[1.0, 2.0, 3.0]]).realize()
    optimizer = SGD([layer.weight, layer.bias], lr=0.1)
    loss = (layer(x) * layer(x)).sum()
    expected = float(((x.numpy() @ layer.weight.numpy().T + layer.bias.numpy()) ** 2).sum())
    loss.backward()
    optimizer.step()
    kernels = session.counters.kernels
    assert loss.item() == pytest.approx(expected, rel=1e-6)
    assert session.counters.kernels == kernels


def test_a_step_leaves_alone_what_it_shares_nothing_with(session: Session) -> None:
    layer, x = nn.Linear(3, 2), Tensor([[1.0, 2.0, 3.0]]).realize()
    other = Tensor.ones(5, 3).realize() @ layer.weight.T
    optimizer = SGD([layer.weight, layer.bias], lr=0.1)
    before = layer.weight.numpy().copy()
    layer(x).sum().backward()
    optimizer.step()
    kernels = session.counters.kernels
    np.testing.assert_allclose(other.numpy(), np.ones((5, 3)) @ before.T, rtol=1e-6)
    assert session.counters.kernels > kernels
