"""What gradients need stays as long as they can be asked for, and no longer."""

from __future__ import annotations

import gc

import pytest

from tiny_ir import GradientError, OutOfMemoryError
from tiny_tensor import Session, Tensor, jit
from tiny_tensor.engine import history
from tiny_tensor.engine.history import KEPT_UPDATES
from tiny_tensor.engine.kept import Kept
from tiny_tensor.engine.memory import Allocation

pytestmark = pytest.mark.usefixtures("session")


def test_a_part_of_data_that_was_written_leads_to_what_was_written() -> None:
    data, a = Tensor([1.0, 2.0, 3.0]), Tensor(2.0)
    data[0] = a * a
    data.realize()
    assert data.sum().gradient(a)[0].item() == 4
    data[1:2] = data[:1] + a * 3
    data.realize()
    assert (data.tolist(), data.sum().gradient(a)[0].item()) == ([4, 10, 3], 4 + 4 + 3)


def test_what_a_write_in_place_took_is_missed() -> None:
    data, a = Tensor([1.0, 2.0, 3.0]), Tensor(2.0)
    data[1:] = a * data[:2]
    assert data.sum().gradient(a)[0].item() == 3
    data.realize()
    with pytest.raises(GradientError, match="written in place"):
        data.sum().gradient(a)


def test_data_that_was_written_from_itself_leads_on() -> None:
    data, a = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
    data += a
    data.realize()
    data *= a
    data.realize()
    assert data.tolist() == [12, 24]
    assert data.sum().gradient(a)[0].tolist() == [1 + 3 + 3, 2 + 4 + 4]


def test_sums_keep_nothing(session: Session) -> None:
    x, other = Tensor([3.0]), Tensor([5.0])
    y = (x * 2 + other).realize()
    del other
    assert session.history.kept.held_nbytes() == 0
    assert y.sum().gradient(x)[0].tolist() == [2]


def test_what_is_between_is_kept_with_what_it_was_computed_from() -> None:
    x, other = Tensor([3.0]), Tensor([5.0])
    y = (x * other).realize()
    z = (y * y * other).realize()
    del y, other
    gc.collect()
    assert z.sum().gradient(x)[0].tolist() == [2 * 15 * 5 * 5]


def test_a_target_among_the_results_of_the_same_run_counts() -> None:
    x = Tensor([3.0])
    part = x * 2
    y = part * part * x
    Tensor.realize(y, part)
    del x
    gc.collect()
    assert y.sum().gradient(part)[0].tolist() == [2 * 6 * 3]


def test_a_target_that_was_computed_later_counts() -> None:
    x = Tensor([3.0])
    part = x * 2
    y = (part * part * x).realize()
    part.realize()
    del x
    gc.collect()
    assert y.sum().gradient(part)[0].tolist() == [2 * 6 * 3]


def test_a_gradient_that_was_realized_leads_to_what_was_kept() -> None:
    x, other = Tensor([3.0]), Tensor([5.0])
    y = (other * 2).realize()
    z = (x * x * y * y).realize()
    del y
    gc.collect()
    slope = z.sum().gradient(x)[0].realize()
    assert slope.sum().gradient(other)[0].tolist() == [2 * 3 * 2 * 10 * 2]


def test_the_oldest_is_given_back_where_there_is_too_much(session: Session) -> None:
    session.history.kept = Kept(limit=100)
    x = Tensor([1.0, 2.0])
    results = []
    for _ in range(30):
        other = Tensor([3.0, 4.0])
        results.append((x * other).realize())
        del other
    x.sum().realize()
    assert session.history.kept.held_nbytes() <= 100 + 16
    assert results[-1].sum().gradient(x)[0].tolist() == [3, 4]
    with pytest.raises(GradientError, match="no longer exists"):
        results[0].sum().gradient(x)


def test_what_is_kept_makes_room_where_memory_is_short(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, other = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
    y = (x * other).realize()
    del other
    kept = session.history.kept
    arena = session.device("cpu").arena
    allocate = arena.allocate

    def full(nbytes: int) -> Allocation:
        if kept.held_nbytes() > 8:
            raise OutOfMemoryError("full", why="it is a test.", fix="wait.")
        return allocate(nbytes)

    monkeypatch.setattr(arena, "allocate", full)
    assert (x + 1).tolist() == [2, 3]
    with pytest.raises(GradientError, match="no longer exists"):
        y.sum().gradient(x)


@pytest.mark.parametrize("is_captured", [False, True])
def test_a_thousand_updates_leave_no_past(session: Session, is_captured: bool) -> None:
    x, w = Tensor([1.0, 2.0]), Tensor([0.1, 0.2])

    def step(x: Tensor, w: Tensor) -> Tensor:
        loss = (x * w * w).sum()
        w.assign(w - 0.01 * loss.gradient(w)[0])
        return loss

    run = jit(step) if is_captured else step
    losses = []
    for _ in range(1000 if is_captured else 5 * KEPT_UPDATES):
        losses.append(run(x, w))
        Tensor.realize(losses[-1], w)
        del losses[:-3]
    gc.collect()
    session.history.settle()
    makings = sum(isinstance(item, history.Making) for item in gc.get_objects())
    assert makings <= 2 * KEPT_UPDATES + 4
    assert len(session._memories) <= 6
    assert session.history.kept.held_nbytes() <= (KEPT_UPDATES + 3) * 8
    assert losses[-1].gradient(w)[0].tolist() == [0, 0]


def test_what_backward_adds_carries_no_past(session: Session) -> None:
    x, w = Tensor([1.0, 2.0]), Tensor([1.0, 2.0])
    for _ in range(3):
        (x * w * w).sum().backward()
        assert w.grad is not None
        w.assign(w - w.grad * 0.25).realize()
        w.grad = None
    assert session.history.kept.held_nbytes() == 0
    assert w.sum().gradient(x)[0].tolist() == [0, 0]


def test_what_lies_too_far_back_is_refused_and_not_left_out() -> None:
    x, a = Tensor([1.0]), Tensor([1.5])
    for _ in range(KEPT_UPDATES + 1):
        x *= a
        x.realize()
    assert (x * a.detach()).sum().gradient(x)[0].tolist() == [1.5]
    with pytest.raises(GradientError, match=f"{KEPT_UPDATES} updates"):
        x.sum().gradient(a)


def test_long_rows_are_refused_and_not_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "KEPT_STEPS", 3)
    a, state, other = Tensor([1.5]), Tensor([1.0]), Tensor([2.0])
    for _ in range(4):
        state = (state * a).realize()
    result = state * other
    assert result.sum().gradient(other)[0].tolist() == [1.5**4]
    assert (result.detach() * a).sum().gradient(a)[0].tolist() == [2 * 1.5**4]
    with pytest.raises(GradientError, match="further back"):
        result.sum().gradient(a)


def test_a_copy_leads_to_what_was_copied_in_the_same_run() -> None:
    x = Tensor.ones(2)
    copy = x.clone()
    y = (copy * copy).sum()
    Tensor.realize(y, x, copy)
    assert [slope.tolist() for slope in y.gradient(x, copy)] == [[2, 2], [2, 2]]


def test_what_a_write_took_is_computed_again_where_its_beginning_is_known() -> None:
    row, a = Tensor.ones(6).contiguous().realize(), Tensor([2.0])
    for at in range(1, 6):
        row[at : at + 1] = row[at - 1 : at] * a
        row.realize()
    assert row.tolist() == [1, 2, 4, 8, 16, 32]
    assert row[5].gradient(a)[0].tolist() == [5 * 2**4]
