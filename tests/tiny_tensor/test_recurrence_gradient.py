"""Gradients of recurrences are those of the same steps written one after another."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from tiny_ir import (
    AxisKind,
    GradientError,
    LoopArg,
    Op,
    RangeArg,
    StateArg,
    UOp,
    const,
    dtypes,
    make,
)
from tiny_tensor import Tensor
from tiny_tensor.methods.scan import FIRST_STEP_NUMBER, Body, at_step, scan

pytestmark = pytest.mark.usefixtures("session")

Parts = tuple[Tensor, Tensor, Tensor]

DICE = np.random.RandomState(0)


def random(*shape: int) -> Tensor:
    return Tensor(DICE.uniform(-1, 1, shape))


def recurrence(
    steps: int, initial: Sequence[Tensor], body: Body
) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    finals, outputs = scan(steps, [state.uop for state in initial], body)
    first = initial[0]
    return tuple(map(first._apply, finals)), tuple(map(first._apply, outputs))


def assert_same_gradients(one: Tensor, other: Tensor, targets: Sequence[Tensor]) -> None:
    mine, expected = one.gradient(*targets), other.gradient(*targets)
    np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-12)
    for found, gradient in zip(mine, expected, strict=True):
        assert np.abs(gradient.numpy()).max() > 0
        np.testing.assert_allclose(found.numpy(), gradient.numpy(), rtol=1e-11, atol=1e-13)


def matmul(a: UOp, b: UOp) -> UOp:
    return (Tensor._from_uop(a) @ Tensor._from_uop(b)).uop


def network(x: Tensor, weight: Tensor, first: Tensor) -> tuple[Tensor, Tensor]:
    """A recurrent net: its states after each step, and the last one, from a SCAN."""

    def body(step: UOp, states: tuple[UOp, ...]) -> tuple[list[UOp], list[UOp]]:
        (state,) = states
        new = (matmul(state, weight.uop) + at_step(x.uop, step)).alu(Op.TANH)
        return [new], [new * new]

    (last,), (squares,) = recurrence(x.shape[0], [first], body)  # type: ignore[arg-type]
    return squares, last


def unrolled(x: Tensor, weight: Tensor, first: Tensor) -> tuple[Tensor, Tensor]:
    state, squares = first, []
    for step in range(len(x)):
        state = (state @ weight + x[step]).tanh()
        squares.append(state * state)
    return Tensor.stack(*squares), state


@pytest.fixture
def parts() -> Parts:
    """The inputs of the steps, the weight, and the first state."""
    return random(3, 2, 3), random(3, 3), random(2, 3)


def loss(results: tuple[Tensor, Tensor]) -> Tensor:
    squares, last = results
    count = Tensor(np.arange(squares.shape[0]) + 1.0).reshape(-1, 1, 1)  # type: ignore[arg-type]
    return (squares * count).sum() + last.exp().sum()


def test_a_recurrent_net_has_the_gradients_of_its_steps(parts: Parts) -> None:
    assert_same_gradients(loss(network(*parts)), loss(unrolled(*parts)), parts)


def test_a_recurrent_net_can_be_differentiated_twice(parts: Parts) -> None:
    def twice(run: Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]) -> Tensor:
        gradients = loss(run(*parts)).gradient(*parts)
        return sum(((g * g).sum() for g in gradients), start=Tensor(np.zeros(())))

    assert_same_gradients(twice(network), twice(unrolled), parts)


def test_only_the_last_state_may_be_used(parts: Parts) -> None:
    one, other = network(*parts)[1].sum(), unrolled(*parts)[1].sum()
    assert_same_gradients(one, other, parts)


def test_only_the_stored_values_may_be_used(parts: Parts) -> None:
    one, other = network(*parts)[0].sum(), unrolled(*parts)[0].sum()
    assert_same_gradients(one, other, parts)


def test_several_states_and_the_step_itself() -> None:
    x, a, b = random(4, 3), random(3), random(3)

    def body(step: UOp, states: tuple[UOp, ...]) -> tuple[list[UOp], list[UOp]]:
        u, v = states
        number = step.cast(dtypes.float64)
        return [u * at_step(x.uop, step) + v, u + v * number], [u * v]

    (u, v), (products,) = recurrence(4, [a, b], body)
    one = (u * u).sum() + v.sum() + products.sum()
    p, q, stored = a, b, Tensor(np.zeros(()))
    for step in range(4):
        stored = stored + (p * q).sum()
        p, q = p * x[step] + q, p + q * step
    assert_same_gradients(one, (p * p).sum() + q.sum() + stored, [x, a, b])


def test_what_is_read_from_the_back() -> None:
    x, first = random(4, 3), random(3)

    def body(step: UOp, states: tuple[UOp, ...]) -> tuple[list[UOp], list[UOp]]:
        new = states[0] * at_step(x.uop, const(dtypes.weakint, 3) - step)
        return [new], [new]

    _, (products,) = recurrence(4, [first], body)
    p, stored = first, []
    for step in range(4):
        p = p * x[3 - step]
        stored.append(p)
    assert_same_gradients(products.sum(), Tensor.stack(*stored).sum(), [x, first])


def test_what_is_read_at_computed_places() -> None:
    x, first, order = random(3, 2), random(2), [2, 0, 2, 1]
    places = Tensor(order)

    def body(step: UOp, states: tuple[UOp, ...]) -> tuple[list[UOp], list[UOp]]:
        row = x.uop.index(at_step(places.uop, step))
        return [states[0] * row], [states[0]]

    (last,), (stored,) = recurrence(4, [first], body)
    p, kept = first, []
    for place in order:
        kept.append(p)
        p = p * x[place]
    assert_same_gradients(
        last.sum() + stored.sum(), p.sum() + Tensor.stack(*kept).sum(), [x, first]
    )


def test_a_loop_that_ends_by_a_condition_has_no_gradient() -> None:
    x = random()
    step = make(
        Op.RANGE,
        None,
        (const(dtypes.weakint, 5),),
        RangeArg(FIRST_STEP_NUMBER, AxisKind.SERIAL),
    )
    state = make(Op.STATE, dtypes.float64, (), StateArg(0, 0, ()))
    loop = make(Op.LOOP, None, (step, x.uop, state * 2, state < 100), LoopArg(0, 1, 0, True))
    result = x._apply(make(Op.GET, dtypes.float64, (loop,), 0))
    with pytest.raises(GradientError, match="condition"):
        result.gradient(x)
