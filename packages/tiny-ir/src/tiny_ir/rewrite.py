"""The one rewrite engine: applies a RuleSet until nothing changes, without recursion."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from tiny_ir.errors import RuleError
from tiny_ir.graph import rebuild
from tiny_ir.matcher import Observer
from tiny_ir.rule import RuleSet
from tiny_ir.uop import UOp

_OBSERVER: ContextVar[Observer | None] = ContextVar("tiny_rewrite_observer", default=None)


@contextmanager
def observing(observer: Observer) -> Iterator[None]:
    """Call `observer(rule, before, after)` for each rule that fires inside the block.

    Example:
        >>> from tiny_ir import RuleSet, const, dtypes, integer, law, make, Op, observing, rewrite
        >>> x = integer("x")
        >>> one = RuleSet((law(x * 1, x, "multiplying by one"),))
        >>> fired = []
        >>> two = const(dtypes.int32, 2)
        >>> with observing(lambda rule, before, after: fired.append(rule.name)):
        ...     _ = rewrite(two * 1, one)
        >>> fired
        ['multiplying_by_one']
    """
    token = _OBSERVER.set(observer)
    try:
        yield
    finally:
        _OBSERVER.reset(token)


def rewrite(root: UOp, rules: RuleSet, target: Any = None) -> UOp:
    """Apply rules everywhere below `root`, sources first, until none fires.

    Args:
        root: the graph.
        rules: tried in order at each node; a replacement is rewritten again.
        target: handed to rules that ask for it.

    Raises:
        RuleError: a node was replaced by a graph that leads back to it.
    """
    matchers = rules.matchers
    observer = _OBSERVER.get()
    done: dict[UOp, UOp] = {}
    waiting: dict[UOp, UOp] = {}
    rebuilt: dict[UOp, UOp] = {}
    stack = [root]
    push, pop = stack.append, stack.pop
    while stack:
        node = stack[-1]
        if node in done:
            pop()
            continue
        if waiting:
            replacement = waiting.get(node)
            if replacement is not None:
                finished = done.get(replacement)
                if finished is None:
                    raise _loop(node, waiting)
                done[node] = finished
                del waiting[node]
                current = rebuilt.pop(node, None)
                if current is not None:
                    done[current] = finished
                    waiting.pop(current, None)
                pop()
                continue
        src = node.src
        ready = True
        for source in src:
            if source not in done:
                push(source)
                ready = False
        if not ready:
            continue
        current = node
        if src:
            rewritten = tuple([done[source] for source in src])
            if rewritten != src:
                current = rebuild(node, rewritten)
                known = done.get(current)
                if known is not None:
                    done[node] = known
                    pop()
                    continue
        matcher = matchers[current.op]
        result = None if matcher is None else matcher(current, target, observer)
        if result is None:
            done[node] = done[current] = current
            pop()
            continue
        known = done.get(result)
        if known is not None:
            done[node] = known
            if current is not node:
                done[current] = known
            pop()
            continue
        if result in waiting:
            raise _loop(result, waiting)
        if len(waiting) > _WAITING_LIMIT:
            raise _loop(node, waiting)
        waiting[node] = result
        if current is not node:
            waiting[current] = result
            rebuilt[node] = current
        push(result)
    return done[root]


_WAITING_LIMIT = 10_000
"""Replacements that wait for each other; rules that end stay far below it."""


def _loop(node: UOp, waiting: dict[UOp, UOp]) -> RuleError:
    return RuleError(
        f"rewriting does not end at {node!r}.",
        why=f"{len(waiting)} replacements wait for each other; the rules undo one another.",
        fix="run it inside observing(print) to see which rules fire, and let one of them decline.",
    )
