"""Values that move from device to device: copies of whole slots, kernels where their memory is."""

from __future__ import annotations

import numpy as np

from tiny_codegen.generator import Generator
from tiny_ir import Op, ParamArg, UOp, dtypes, make
from tiny_plugin import Copy, Launch, Schedule
from tiny_testing.schedules import run_schedule

from ..graphs import SCALAR, VERIFIED, WIDE, reference

TARGETS = {"here": SCALAR, "there": WIDE}
X = np.arange(12, dtype=np.int32)


def memory(slot: int, device: str, elements: int = 12) -> UOp:
    return make(Op.PARAM, dtypes.int32, (), ParamArg(slot, elements, device))


def moved(value: UOp, device: str) -> UOp:
    return make(Op.COPY, None, (value,), device)


def scheduled(*effects: UOp) -> Schedule:
    return Generator().schedule(make(Op.SINK, None, effects), TARGETS, VERIFIED)


def results(schedule: Schedule, *contents: np.ndarray) -> list[np.ndarray]:
    found = run_schedule(schedule, [c.tobytes() for c in contents], bench=reference())
    return [np.frombuffer(one, np.int32) for one in found]


def kinds(schedule: Schedule) -> list[str]:
    return [type(step).__name__ for step in schedule.steps]


def test_memory_is_copied_as_it_is() -> None:
    schedule = scheduled(memory(1, "there").store(moved(memory(0, "here"), "there")))
    assert schedule.steps == (Copy(0, 1, 48),)


def test_a_value_is_computed_first_and_then_copied() -> None:
    value = moved(memory(0, "here") * 2, "there") + 1
    schedule = scheduled(memory(1, "there").store(value))
    assert kinds(schedule) == ["Launch", "Copy", "Launch"]
    first, copy, last = schedule.steps
    assert isinstance(first, Launch)
    assert isinstance(copy, Copy)
    assert isinstance(last, Launch)
    assert (first.program.target, last.program.target) == (SCALAR, WIDE)
    devices = [schedule.slots[slot].device for slot in (copy.source, copy.destination)]
    assert devices == ["here", "there"]
    assert np.array_equal(results(schedule, X, X * 0)[1], X * 2 + 1)


def test_part_of_memory_is_gathered_before_it_is_copied() -> None:
    part = memory(0, "here").reshape((3, 4)).shrink(((0, 3), (1, 3)))
    schedule = scheduled(memory(1, "there", 6).reshape((3, 2)).store(moved(part, "there")))
    assert kinds(schedule) == ["Launch", "Copy"]
    assert np.array_equal(results(schedule, X, X[:6] * 0)[1], X.reshape(3, 4)[:, 1:3].reshape(-1))


def test_reshaped_memory_is_copied_as_it_is() -> None:
    value = moved(memory(0, "here").reshape((3, 4)), "there").permute((1, 0))
    schedule = scheduled(memory(1, "there").reshape((4, 3)).store(value + 1))
    assert kinds(schedule) == ["Copy", "Launch"]
    assert np.array_equal(results(schedule, X, X * 0)[1], X.reshape(3, 4).T.reshape(-1) + 1)


def test_a_copy_of_old_bytes_is_made_before_they_change() -> None:
    x = memory(0, "here")
    store = x.store(x * 10)
    schedule = scheduled(memory(1, "there").store(moved(x, "there")), store)
    after = results(schedule, X, X * 0)
    assert np.array_equal(after[0], X * 10)
    assert np.array_equal(after[1], X)


def test_a_copy_of_new_bytes_is_made_after_they_changed() -> None:
    x = memory(0, "here")
    store = x.store(x * 10)
    schedule = scheduled(store, memory(1, "there").store(moved(x.after(store), "there")))
    after = results(schedule, X, X * 0)
    assert np.array_equal(after[1], X * 10)


def test_there_and_back() -> None:
    value = moved(moved(memory(0, "here") + 1, "there") * 2, "here") - 3
    schedule = scheduled(memory(1, "here").store(value))
    assert kinds(schedule) == ["Launch", "Copy", "Launch", "Copy", "Launch"]
    assert np.array_equal(results(schedule, X, X * 0)[1], (X + 1) * 2 - 3)
