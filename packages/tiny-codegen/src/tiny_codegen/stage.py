"""A stage: a named step from one graph to another, as rules or as a walk over the whole graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tiny_ir import Op, RuleSet, UOp, rewrite
from tiny_plugin import Target

Walk = Callable[[UOp, Target], UOp]
"""A pure function of a whole graph, for steps that must see everything."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One row of the pipeline.

    Attributes:
        name: what listings call it; its file and constant are named alike.
        step: a RuleSet, or a Walk.
        level: the level that the graph is at afterwards.
        removes: ops that no longer stand in the graph afterwards.
    """

    name: str
    step: RuleSet | Walk
    level: str
    removes: frozenset[Op] = frozenset()

    def run(self, root: UOp, target: Target) -> UOp:
        """Apply the stage."""
        if isinstance(self.step, RuleSet):
            return rewrite(root, self.step, target)
        return self.step(root, target)
