"""A gradient does not depend on what was realized before it."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiny_ir import GradientError
from tiny_tensor import Session, Tensor, jit, nn
from tiny_tensor.engine.history import KEPT_STEPS, KEPT_UPDATES

pytestmark = pytest.mark.usefixtures("session")


def test_a_loss_may_be_read_before_it_is_differentiated() -> None:
    x = Tensor([1.0, 2.0])
    loss = (x * x).sum()
    assert loss.item() == 5
    loss.backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2, 4]


def test_what_lies_between_may_be_read() -> None:
    x = Tensor([1.0, 2.0])
    y = (x * x).realize()
    z = (y * y + x).realize()
    assert z.sum().gradient(x, y)[0].tolist() == [5, 33]
    assert z.sum().gradient(x, y)[1].tolist() == [2, 8]


def test_a_gradient_may_be_read_before_it_is_differentiated() -> None:
    x = Tensor([1.0, 2.0])
    (slope,) = (x * x * x).sum().gradient(x)
    assert slope.tolist() == [3, 12]
    assert slope.sum().gradient(x)[0].tolist() == [6, 12]


def test_what_lies_between_may_be_gone() -> None:
    x = Tensor([1.0, 2.0])
    y = (x * x).realize()
    z = (y * y).realize()
    del y
    gc.collect()
    assert z.sum().gradient(x)[0].tolist() == [4, 32]


def test_a_written_tensor_may_be_read() -> None:
    x = Tensor([1.0, 2.0, 3.0])
    y = x * x
    y[1:2] = x[:1] * 5
    assert y.tolist() == [1, 5, 9]
    assert y.sum().gradient(x)[0].tolist() == [7, 0, 6]


def test_detach_is_remembered() -> None:
    x = Tensor([3.0])
    y = (x * x.detach()).realize()
    assert y.sum().gradient(x)[0].tolist() == [3]
    assert x.detach().realize().sum().gradient(x)[0].tolist() == [0]


def test_numbers_that_are_gone_and_not_needed_are_not_missed() -> None:
    x, other = Tensor([3.0]), Tensor([5.0])
    y = (x * 2 + other).realize()
    del other
    gc.collect()
    assert y.sum().gradient(x)[0].tolist() == [2]


def test_numbers_that_are_gone_and_needed_were_kept() -> None:
    x, other = Tensor([3.0]), Tensor([5.0])
    y = (x * other).realize()
    del other
    gc.collect()
    assert y.sum().gradient(x)[0].tolist() == [5]


def test_numbers_that_were_overwritten_and_are_needed_are_missed() -> None:
    x, other = Tensor([3.0, 4.0]), Tensor([5.0, 6.0])
    y = (x * other).realize()
    other[:1] = Tensor([7.0])
    other.realize()
    with pytest.raises(GradientError, match="no longer exists"):
        y.sum().gradient(x)


def test_nothing_is_kept_where_nobody_can_ask(session: Session) -> None:
    x, other = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
    y = (x * other).realize()
    nobody = (x.detach() * 2).realize()
    held = len(session._memories)
    del other
    gc.collect()
    assert session.history.kept.held_nbytes() == 16
    del x
    gc.collect()
    session.history.settle()
    assert len(session._memories) == held - 2
    assert session.history.kept.held_nbytes() == 0
    assert (y.tolist(), nobody.tolist()) == ([3, 8], [2, 4])


def test_long_rows_of_results_are_forgotten(session: Session) -> None:
    x = Tensor([1.0])
    buffer_makings = session.history._makings
    for _ in range(5):
        x = (x * 2).realize()
    longest = max(making.length for making in buffer_makings.values())
    assert 5 <= longest <= KEPT_STEPS


def test_training_leaves_nothing_to_remember(session: Session) -> None:
    layer = nn.Linear(2, 1)
    optimizer = nn.optim.Adam(nn.state.get_parameters(layer))
    for _ in range(3):
        optimizer.zero_grad()
        layer(Tensor.ones(3, 2)).sum().backward()
        optimizer.step()
    kept = [making.length for making in session.history._makings.values()]
    assert max(kept, default=0) <= 1


def test_a_weight_that_is_written_from_itself_stays_a_weight(session: Session) -> None:
    x, w = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
    for step in range(4):
        loss = (x * w * w).sum()
        (slope,) = loss.gradient(w)
        w.assign(w - slope * 0.25).realize()
        if step == 1:
            before = session.counters.schedules + session.counters.cached_schedules
    assert session.counters.schedules + session.counters.cached_schedules == before
    assert w.tolist() == [3 / 16, 0]
    assert session.history.kept.held_nbytes() <= KEPT_UPDATES * 8


def test_data_that_is_written_from_elsewhere_leads_there() -> None:
    x, y = Tensor([1.0, 2.0]), Tensor([0.0, 0.0])
    y.assign(x * x).realize()
    assert y.sum().gradient(x)[0].tolist() == [2, 4]


STEPS = [
    lambda x: x.sin(),
    lambda x: x * x.flip(0),
    lambda x: x + x.sum(0, keepdim=True),
    lambda x: x.cumsum(1),
    lambda x: x.T @ x,
    lambda x: (x * 0.5).tanh(),
]


@settings(max_examples=10, deadline=None, derandomize=True)
@given(
    st.lists(st.tuples(st.integers(0, len(STEPS) - 1), st.booleans()), min_size=2, max_size=5),
    st.booleans(),
)
def test_gradients_are_the_same_however_much_was_realized(
    chain: list[tuple[int, bool]], keep: bool
) -> None:
    values = np.linspace(-1, 1, 9).reshape(3, 3)

    def gradient(realizes: bool) -> list[object]:
        x = y = Tensor(values)
        kept = []
        for step, is_realized in chain:
            y = STEPS[step](y)
            if is_realized and realizes:
                y.realize()
            if keep:
                kept.append(y)
        loss = y.sum()
        if realizes:
            loss.realize()
        return [g.numpy() for g in loss.gradient(x, *kept)]

    for mine, expected in zip(gradient(True), gradient(False), strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-12)  # type: ignore[call-overload]


def test_a_target_may_be_realized_before_with_or_after_what_it_is_a_part_of() -> None:
    def gradient(order: str) -> list[object]:
        a = Tensor([3.0, 4.0])
        x = a * 2
        w = x.sin()
        y = w * w * x
        tensors = {"x": x, "w": w, "y": y}
        for names in order.split():
            Tensor.realize(*[tensors[name] for name in names])
        return [g.tolist() for g in y.sum().gradient(a, x, w)]

    expected = gradient("")
    for order in ("x y", "w y", "xy", "yxw", "y x", "y w", "y x w", "y w x", "y wx", "w y x"):
        assert gradient(order) == expected, order


def test_a_target_may_be_written_before_what_it_is_a_part_of() -> None:
    a = Tensor([3.0, 4.0])
    copied, written, assigned = a.clone(), (a * 1).realize(), Tensor([0.0, 0.0])
    written[1:] = a[:1] * 2
    assigned.assign(a * 5)
    y = (copied * copied + written * written + assigned * assigned).realize()
    slopes = y.sum().gradient(copied, written, assigned, a)
    assert [g.tolist() for g in slopes] == [[6, 8], [6, 12], [30, 40], [186, 208]]


def test_data_that_is_written_is_a_target_at_its_new_version() -> None:
    x = Tensor([3.0, 4.0])
    x[:1] = 5
    y = (x * x).realize()
    assert y.sum().gradient(x)[0].tolist() == [10, 8]
    x.assign(x * 2)
    y = (x * x).realize()
    x.realize()
    assert y.sum().gradient(x)[0].tolist() == [20, 16]


def test_constants_are_targets() -> None:
    x = Tensor.ones(2)
    y = (x * 3).realize()
    assert y.sum().gradient(x)[0].tolist() == [3, 3]
    x.realize()
    assert y.sum().gradient(x)[0].tolist() == [3, 3]


def test_copies_are_told_apart_and_views_are_found() -> None:
    a = Tensor([[1.0, 2.0], [3.0, 4.0]])
    x, other = a.clone(), a.clone()
    view = x.T
    y = (view * view).realize()
    assert y.sum().gradient(other)[0].tolist() == [[0, 0], [0, 0]]
    assert y.sum().gradient(view)[0].tolist() == [[2, 6], [4, 8]]
    assert y.sum().gradient(x)[0].tolist() == [[2, 4], [6, 8]]


def test_a_captured_function_differentiates_what_it_realizes() -> None:
    def step(a: Tensor) -> Tensor:
        x = a.clone()
        y = (x * x).realize()
        return y.sum().gradient(x)[0]

    captured = jit(step)
    for _ in range(3):
        assert captured(Tensor([3.0, 4.0])).tolist() == [6, 8]


def test_a_weight_that_was_made_in_a_call_is_kept() -> None:
    x = Tensor([1.0, 2.0, 3.0]).reshape(1, 1, 3)
    y = x.conv2d(Tensor([[[1.0, 1.0]]]))
    assert y.tolist() == [[[3, 5]]]
    gc.collect()
    assert y.sum().gradient(x)[0].tolist() == [[[1, 2, 1]]]


@pytest.mark.parametrize("is_captured", [False, True])
def test_steps_hold_no_more_and_more_memory(session: Session, is_captured: bool) -> None:
    w, state = Tensor.rand(64, 64).realize(), Tensor.rand(64, 64).realize()
    losses = []

    def step(w: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        state = (state @ w).tanh()
        loss = (state * state).sum()
        loss.realize()
        w.assign(w - 0.01 * loss.gradient(w)[0])
        return loss, state

    run = jit(step) if is_captured else step
    for at in range(50):
        loss, state = run(w, state.detach())
        Tensor.realize(loss, state, w)
        losses.append(loss)
        if at == 10:
            held = session.device("cpu").arena.used_nbytes
    assert session.device("cpu").arena.used_nbytes <= held + 64 * 100
