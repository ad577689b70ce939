"""Plugins that listen are told what takes time, and may add stages."""

from __future__ import annotations

from tiny_ir import UOp
from tiny_plugin import ExtraStage, ProfileEvent, Registry, Target, hook
from tiny_tensor import Session, Tensor


class Listener:
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.events: list[ProfileEvent] = []

    @hook
    def profile(self, event: ProfileEvent) -> None:
        """Keep it."""
        self.events.append(event)


def test_schedules_compilations_and_launches_are_told() -> None:
    registry = Registry()
    listener = Listener()
    registry.hooks.add(listener, "test")
    with Session(registry, cache_folder=""):
        for _ in range(3):
            assert (Tensor([1.0, 2.0]) + 1).tolist() == [2.0, 3.0]
    kinds = [event.kind for event in listener.events]
    assert kinds.count("schedule") == 1
    assert kinds.count("compile") == 1
    assert kinds.count("launch") == 3
    assert all(event.seconds >= 0 and event.name for event in listener.events)


def test_nobody_is_told_where_nobody_listens() -> None:
    with Session(cache_folder="") as session:
        (Tensor([1.0]) + 1).tolist()
        assert not session.is_listened_to


class Watcher:
    """Adds a stage that looks and changes nothing."""

    def __init__(self) -> None:
        self.seen: list[UOp] = []

    @hook
    def stages(self) -> tuple[ExtraStage, ...]:
        """One stage, at the first place the pipeline offers."""
        return (ExtraStage("kernel", "watch", self.watch),)

    def watch(self, graph: UOp, target: Target) -> UOp:
        """Look."""
        self.seen.append(graph)
        return graph


def test_stages_of_plugins_reach_the_code_generator() -> None:
    registry = Registry()
    watcher = Watcher()
    registry.hooks.add(watcher, "test")
    with Session(registry, cache_folder=""):
        assert (Tensor([1.0]) + 1).tolist() == [2.0]
    assert watcher.seen
