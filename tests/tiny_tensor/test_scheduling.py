"""What a run would take, asked for without running."""

from __future__ import annotations

import pytest

from tiny_ir import ArgumentError, JitError
from tiny_plugin import Launch
from tiny_tensor import Session, Tensor, Variable, jit


def test_a_schedule_is_made_without_a_run(session: Session) -> None:
    x = Tensor([1.0, 2.0]) + 1.0
    before = session.counters.realizes
    schedule = x.schedule_linear(x * 2.0)
    assert all(isinstance(step, Launch) and step.program.uops for step in schedule.steps)
    assert session.counters.realizes == before
    assert x.realize().schedule_linear().steps == ()


def test_numbers_are_told_apart_from_steps(session: Session) -> None:
    x = Tensor.ones(8).clone().realize()[: Variable("n", 1, 8).bind(3)] + 1.0
    schedule, values = x.sum().linear_with_vars()
    assert list(values.values()) == [3]
    assert schedule.steps
    with pytest.raises(ArgumentError, match="linear_with_vars"):
        x.sum().schedule_linear()


def test_what_was_compiled_before_is_only_launched(session: Session) -> None:
    x = Tensor([3.0, 4.0]).realize()
    y = (x * x).callify()
    made = session.counters.schedules + session.counters.cached_schedules
    assert y.tolist() == [9.0, 16.0]
    assert session.counters.schedules + session.counters.cached_schedules == made


def test_a_captured_function_cannot_ask(session: Session) -> None:
    with pytest.raises(JitError, match="stand-ins"):
        jit(lambda x: (x + 1.0).callify())(Tensor([1.0]))


def test_a_run_may_leave_the_counters_alone(session: Session) -> None:
    x = Tensor([1.0]) + 1.0
    before = session.counters.as_dict()
    x.realize(do_update_stats=False)
    assert session.counters.as_dict() == before
