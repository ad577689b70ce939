"""Checks rules where they fire: both sides are computed on random values of their leaves.

As a pytest plugin it checks what fires in every test: `pytest_plugins = ["tiny_testing.firings"]`.
A run of all tests fails where a rule fired and was never computed, unless the option
`firings_without_values` names it with a reason.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from tiny_ir import Op, Rule, UOp, bounds, observing, order_of, toposort
from tiny_ir.op_table import FUNCTIONS
from tiny_testing.evaluate import (
    CannotEvaluateError,
    Value,
    evaluate,
    is_same,
    leaves,
)
from tiny_testing.laws import LawError

_LARGEST = 3000
"""Nodes of a graph that is still evaluated."""
_INEXACT = frozenset((*FUNCTIONS, Op.POW))
_STORAGE = frozenset((Op.PARAM, Op.BUFFER, Op.SCRATCH, Op.REGISTER))
_TOLERANCE = 16
"""Units in the last place that a function, or a float sum in another order, may differ."""


def check_firing(before: UOp, after: UOp, *, samples: int = 8, seed: int = 0) -> int:
    """Compute both sides on random values of their ranges, variables and storage.

    Args:
        before: a graph of elementwise nodes, reads and reductions over ranges.
        after: what a rule made of it; an index may have become an integer of fixed width.
        samples: how many assignments.
        seed: of the random values.

    Returns:
        How many assignments were computed; 0 if there is nothing to compute: effects, movement,
        a rule that walks other ranges than before, reads storage as another dtype, or makes
            accumulators.

    Raises:
        LawError: dtype, shape or value differ.
    """
    narrowed = before.dtype.is_weak and after.dtype.is_int
    if (before.dtype is not after.dtype and not narrowed) or before.shape != after.shape:
        raise LawError(f"{before!r} became {after!r}: another dtype or shape.")
    if not (is_small(before) and is_small(after)):
        return 0
    order = toposort([before])
    wanted = leaves([before, after])
    if not set(wanted) <= set(order) or _rereads(before, after):
        return 0
    draw = random.Random(seed)
    tolerance = _tolerance(order, before)
    done = 0
    for _ in range(samples):
        environment = _environment(wanted, draw)
        if environment is None:
            continue
        try:
            a, b = evaluate(before, environment), evaluate(after, environment)
        except CannotEvaluateError:
            return done
        if not (is_same(a, b) or _is_near(a, b, tolerance)):
            values = ", ".join(f"{leaf!r}={value}" for leaf, value in environment.items())
            raise LawError(f"{a} is not {b} where {values}:\n{before}\nbecame\n{after}")
        done += 1
    return done


def _rereads(before: UOp, after: UOp) -> bool:
    """Whether storage is read as another dtype than before, or an accumulator that was not there.

    Its bits are then not known here.
    """
    known = {_storage_key(node): node.dtype for node in _storage_read(before)}
    return any(
        known.get(_storage_key(node), None if node.op is Op.REGISTER else node.dtype)
        is not node.dtype
        for node in _storage_read(after)
    )


def _storage_key(node: UOp) -> tuple[Op, object]:
    """Which storage it is, as the first field of its arg says; as words, it has more elements."""
    return (node.op, node.arg[0])


def _storage_read(root: UOp) -> list[UOp]:
    """The storage that a value is read from; not what was written before."""
    seen = {root}
    stack = [root]
    while stack:
        node = stack.pop()
        for source in node.src[:1] if node.op is Op.AFTER else node.src:
            if source not in seen:
                seen.add(source)
                stack.append(source)
    return [node for node in seen if node.op in _STORAGE]


def is_small(root: UOp, most: int = _LARGEST) -> bool:
    """Whether a graph has at most so many nodes; the walk ends when there are more."""
    seen = {root}
    stack = [root]
    while stack and len(seen) <= most:
        for source in stack.pop().src:
            if source not in seen:
                seen.add(source)
                stack.append(source)
    return len(seen) <= most


def _tolerance(order: list[UOp], root: UOp) -> float:
    """How far the sides may be apart, relative to their size; 0 where they must be equal."""
    if not root.dtype.is_float:
        return 0.0
    sums = [node for node in order if node.op is Op.REDUCE and node.dtype.is_float]
    if not sums and not any(node.op in _INEXACT for node in order):
        return 0.0
    return max([_TOLERANCE, *map(_terms_of, sums)]) * root.dtype.epsilon


def _terms_of(reduce: UOp) -> float:
    """How many terms a reduction over ranges has at most: each addition rounds once."""
    return math.prod(bounds(axis)[1] + 1 for axis in reduce.src[1:])


def _is_near(a: Value, b: Value, tolerance: float) -> bool:
    if not tolerance:
        return False
    if isinstance(a, list):
        return all(_is_near(x, y, tolerance) for x, y in zip(a, b, strict=True))
    return is_same(a, b) or math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance)


def _environment(wanted: list[UOp], draw: random.Random) -> dict[UOp, Value] | None:
    """Values for the leaves, sizes before ranges; None where a range is empty."""
    environment: dict[UOp, Value] = {}
    for leaf in wanted:
        if leaf.op is Op.VARIABLE:
            low, high = leaf.arg.minimum, leaf.arg.maximum
            environment[leaf] = draw.choice((low, high, draw.randint(low, high)))
        elif leaf.op is Op.BIND:
            environment[leaf] = environment[leaf.src[0]] = leaf.src[1].arg
        else:
            size = evaluate(leaf.src[0], environment)
            if size <= 0:
                return None
            environment[leaf] = draw.choice((0, size - 1, draw.randrange(size)))
    return environment


@dataclass(slots=True)
class Firings:
    """What fired inside `recorded_firings`, each pair of graphs once.

    Attributes:
        most: how many pairs of a rule are kept; further ones are counted only.
        seen: digests of the graphs that are not looked at again.
        pairs: for each rule the graphs before and after.
        counts: how often each rule fired, by name.
    """

    most: int = 200
    seen: set[tuple[str, int]] = field(default_factory=set)
    pairs: dict[Rule, list[tuple[UOp, UOp]]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def __call__(self, rule: Rule, before: UOp, after: UOp) -> None:
        """Note a firing."""
        self.counts[rule.name] = self.counts.get(rule.name, 0) + 1
        pairs = self.pairs.setdefault(rule, [])
        if len(pairs) >= self.most:
            return
        digest = (rule.name, order_of(before))
        if digest not in self.seen:
            self.seen.add(digest)
            pairs.append((before, after))

    def check(self, *, samples: int = 8) -> int:
        """Check every firing that was noted; return how many could be computed.

        Raises:
            LawError: a rule changed a value, a dtype or a shape.
        """
        checked = 0
        for rule, pairs in self.pairs.items():
            for before, after in pairs:
                try:
                    checked += check_firing(before, after, samples=samples) > 0
                except LawError as error:
                    raise LawError(f"{rule.name}: {error}") from error
        return checked


@contextmanager
def recorded_firings(
    most: int = 200, seen: set[tuple[str, int]] | None = None
) -> Iterator[Firings]:
    """Record what every rewrite inside the block does.

    Args:
        most: how many firings of one rule are kept.
        seen: digests of what is not recorded again; added to.

    Example:
        >>> from tiny_ir import Op, VariableArg, dtypes, make, simplify
        >>> n = make(Op.VARIABLE, dtypes.weakint, (), VariableArg("n", 0, 9))
        >>> with recorded_firings() as firings:
        ...     _ = simplify(n * 2 - n)
        >>> firings.check() > 0
        True
    """
    firings = Firings(most, set() if seen is None else seen)
    with observing(firings):
        yield firings


@dataclass(slots=True)
class FiringChecker:
    """An observer that checks firings at once, and keeps no node alive.

    Attributes:
        most: how many firings of one rule are computed; those that cannot be do not count.
        tries: how many are looked at, for that.
        samples: how many assignments of values each is checked with.
        seen: digests of the graphs that were looked at, for each rule.
        computed: how many of them had values on both sides, for each rule that fired.
    """

    most: int = 40
    tries: int = 400
    samples: int = 4
    seen: dict[str, set[int]] = field(default_factory=dict)
    computed: dict[str, int] = field(default_factory=dict)

    def __call__(self, rule: Rule, before: UOp, after: UOp) -> None:
        """Check a firing, unless one like it was checked before.

        Raises:
            LawError: the rule changed a value, a dtype or a shape.
        """
        if self.computed.get(rule.name, 0) >= self.most:
            return
        seen = self.seen.setdefault(rule.name, set())
        digest = order_of(before)
        if digest in seen or len(seen) >= self.tries:
            return
        seen.add(digest)
        try:
            done = check_firing(before, after, samples=self.samples, seed=digest)
        except LawError as error:
            raise LawError(f"{rule.name}: {error}") from error
        self.computed[rule.name] = self.computed.get(rule.name, 0) + (done > 0)


_COMPUTED = pytest.StashKey[dict[str, int]]()
"""How many firings of each rule were computed in this run, by all its workers."""
_OUTPUT = "tiny_firings"
"""What a worker of pytest-xdist calls its share of them."""


@pytest.fixture(scope="session", autouse=True)
def checked_firings(pytestconfig: pytest.Config) -> Iterator[FiringChecker]:
    """Check what fires in every test of this session."""
    checker = FiringChecker()
    if pytestconfig.option.no_firings:
        yield checker
        return
    with observing(checker):
        yield checker
    add_counts(pytestconfig.stash[_COMPUTED], checker.computed)


def add_counts(total: dict[str, int], more: Mapping[str, int]) -> None:
    """Add what was counted elsewhere; a rule that fired is kept, even with 0."""
    for name, count in more.items():
        total[name] = total.get(name, 0) + count


def never_computed(computed: Mapping[str, int], allowed: Iterable[str]) -> list[str]:
    """The rules that fired without values.

    Args:
        computed: how many firings of each rule that fired were computed.
        allowed: lines `name: why there is nothing to compute`.

    Raises:
        ValueError: a line has no reason.
    """
    named = set()
    for line in allowed:
        name, _, reason = line.partition(":")
        if not reason.strip():
            raise ValueError(f"firings_without_values: {line!r} gives no reason after a colon")
        named.add(name.strip())
    return sorted(name for name, count in computed.items() if not count and name not in named)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer the list of rules that have nothing to compute, and to compute none."""
    what = "rules whose firings have no values, one a line: `name: why`"
    parser.addini("firings_without_values", what, type="linelist")
    parser.addoption(
        "--no-firings",
        action="store_true",
        help="compute no firings of rules: another run of the same tests does",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Begin to count."""
    config.stash[_COMPUTED] = {}


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over what a worker counted; one that broke down has no output."""
    add_counts(node.config.stash[_COMPUTED], getattr(node, "workeroutput", {}).get(_OUTPUT, {}))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Let a worker report; fail a run of all tests in which a rule was never computed."""
    config = session.config
    output = getattr(config, "workeroutput", None)
    if output is not None:
        output[_OUTPUT] = config.stash[_COMPUTED]
    elif _missing(config) and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Name the rules that were never computed."""
    missing = _missing(config)
    if missing:
        terminalreporter.section("rules that fired and were never computed")
        terminalreporter.line("\n".join(missing))
        terminalreporter.line(
            "Test each on a graph with values, or say in the option firings_without_values why "
            "there is nothing to compute."
        )


def _missing(config: pytest.Config) -> list[str]:
    """Rules without values in a run of all tests; a part of them need not compute each rule."""
    is_whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    if not is_whole or config.option.keyword or config.option.markexpr:
        return []
    allowed: list[str] = config.getini("firings_without_values")
    computed: dict[str, int] = config.stash[_COMPUTED]
    return never_computed(computed, allowed)
