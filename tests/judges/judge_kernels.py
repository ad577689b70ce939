"""Random graphs, writes, recurrences and loop actions compute what NumPy and the op table say."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

CASES = 10_000

# The cases are those of the tests of the code generator, which are no package of their own.
sys.path.append(str(Path(__file__).parents[2]))
graphs, corpus, chains, rangeify, order, recurrence, actions, random_graphs = (
    import_module(f"tests.tiny_codegen.{name}")
    for name in (
        *("graphs", "corpus", "chains", "kernels.test_rangeify", "kernels.test_order"),
        *("kernels.test_recurrence", "loops.test_actions", "test_random_graphs"),
    )
)
TARGETS = tuple(graphs.TARGETS.items())


def judge(case: int) -> dict[str, str | float]:
    """Compile one random graph for one target, run it, and compare what memory holds.

    Raises:
        AssertionError: an array does not hold what it should.
    """
    kind, check = KINDS[case % len(KINDS)]
    name, target = TARGETS[case // len(KINDS) % len(TARGETS)]
    check(100_000 + case, target)
    return {"graph": kind, "target": name}


def _chain(case: int, target: object) -> None:
    rangeify.check_chain(case, chains.WITH_MEMORY, target, graphs.VERIFIED)


def _history(case: int, target: object) -> None:
    order.check_history(case, target, graphs.VERIFIED)


def _recurrence(case: int, target: object) -> None:
    recurrence.check_recurrence(case, target)


def _actions(case: int, target: object) -> None:
    name = random.Random(case).choice(sorted(corpus.GRAPHS))
    actions.check_actions(name, (name, case), target)


def _dtypes(case: int, target: object) -> None:
    machines = (target, random_graphs.MACHINE, random_graphs.SHORT_MACHINE)
    random_graphs.check_graph(case, machines[case % 3], graphs.reference())


KINDS: tuple[tuple[str, Callable[[int, object], None]], ...] = (
    ("movement", _chain),
    ("reads and writes", _history),
    ("recurrences", _recurrence),
    ("loop actions", _actions),
    ("every dtype", _dtypes),
)
