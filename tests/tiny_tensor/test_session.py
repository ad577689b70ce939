"""A Session owns what tensors need; threads share it."""

from __future__ import annotations

import threading

import pytest

from tiny_ir import RunError, SettingError, dtypes, live_nodes
from tiny_tensor import Session, Tensor, current_session


def test_a_session_is_current_inside_its_block(session: Session) -> None:
    with Session(cache_folder="") as inner:
        assert current_session() is inner
    assert current_session() is session


def test_all_threads_see_one_session_by_default() -> None:
    seen: list[Session] = []
    thread = threading.Thread(target=lambda: seen.append(current_session()))
    thread.start()
    thread.join()
    assert seen == [current_session()]


def test_graphs_are_built_and_run_by_many_threads(session: Session) -> None:
    start = Tensor([1, 2, 3, 4])
    results: dict[int, object] = {}

    def work(number: int) -> None:
        with session:
            x = start
            for _ in range(20):
                x = x + number
            results[number] = (x, x.tolist())

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {n: found[1] for n, found in results.items()} == {  # type: ignore[index]
        n: [1 + 20 * n, 2 + 20 * n, 3 + 20 * n, 4 + 20 * n] for n in range(8)
    }


def test_memory_goes_back_with_the_tensor(session: Session) -> None:
    arena = session.device("cpu").arena
    x = Tensor([1.0] * 1000)
    (x + 1).tolist()
    del x
    Tensor([1.0]).realize()
    before = arena.used_nbytes
    for _ in range(10):
        (Tensor([1.0] * 1000) + 1).realize()
    Tensor([1.0]).realize()
    assert arena.used_nbytes <= before + 4096


def test_a_loop_that_realizes_keeps_no_history(session: Session) -> None:
    x = Tensor([0])
    total = Tensor([0])
    for _ in range(5):
        x = (x + 1).realize()
        total = total + x
    count = live_nodes()
    for _ in range(50):
        x = (x + 1).realize()
        total = (total + x).realize()
    assert live_nodes() <= count + 20
    assert x.item() == 55


def test_a_pending_tensor_forgets_what_was_computed(session: Session) -> None:
    total = Tensor([0])
    held = []
    for n in range(4):
        batch = (Tensor([n]) + 1).realize()
        total = total + batch
        held.append(session.device("cpu").arena.used_nbytes)
    assert total.item() == 10


def test_equal_graphs_are_scheduled_once(session: Session) -> None:
    (Tensor([1, 2]) * 3).tolist()
    done = session.counters.schedules + session.counters.cached_schedules
    (Tensor([5, 6]) * 3).tolist()
    assert session.counters.schedules + session.counters.cached_schedules == done


def test_counters_can_start_again(session: Session) -> None:
    (Tensor([1, 2]) + 1).tolist()
    assert session.counters.kernels == 1
    session.counters.reset()
    assert session.counters.kernels == 0


def test_the_default_float_is_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEFAULT_FLOAT", "float64")
    with Session(cache_folder=""):
        assert Tensor([1.5]).dtype is dtypes.float64
    monkeypatch.setenv("DEFAULT_FLOAT", "int8")
    with Session(cache_folder=""), pytest.raises(SettingError, match="DEFAULT_FLOAT"):
        Tensor([1.5])


def test_a_setting_that_is_no_number_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINY_CACHE_MB", "many")
    with Session(cache_folder=""), pytest.raises(SettingError, match="TINY_CACHE_MB"):
        (Tensor([1]) + 1).tolist()


def test_a_tensor_stays_in_its_session(session: Session) -> None:
    x = Tensor([1, 2]).realize()
    with Session(cache_folder=""), pytest.raises(RunError, match="another Session"):
        (x + 1).tolist()
    assert (x + 1).tolist() == [2, 3]
