"""The rows of the pipeline: stages, the choice of loops, and slots where plugins add stages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tiny_ir import Op, RuleSet, UOp, rewrite
from tiny_plugin import Target

Walk = Callable[[UOp, Target], UOp]
"""A pure function of a whole graph, for steps that must see everything."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A named step from one graph to another.

    Attributes:
        name: what listings call it; its file and constant are named alike.
        step: a RuleSet, or a Walk.
        level: the level that the graph is at afterwards.
        removes: ops that no longer stand in the graph afterwards.
        allows_weak: whether a program's indices may still be weakint afterwards.
    """

    name: str
    step: RuleSet | Walk
    level: str
    removes: frozenset[Op] = frozenset()
    allows_weak: bool = False

    def run(self, root: UOp, target: Target) -> UOp:
        """Apply the stage."""
        if isinstance(self.step, RuleSet):
            return rewrite(root, self.step, target)
        return self.step(root, target)


@dataclass(frozen=True, slots=True)
class LoopChoice:
    """The place at which loop actions are chosen.

    Attributes:
        name: what listings call it.
        level: the level that the graph is at before and afterwards.
    """

    name: str
    level: str


@dataclass(frozen=True, slots=True)
class PluginSlot:
    """A place where the stages of plugins run, in the order of their names.

    Attributes:
        name: what plugins call the slot.
        level: the level that the graph is at before and afterwards.
    """

    name: str
    level: str


Row = Stage | LoopChoice | PluginSlot
