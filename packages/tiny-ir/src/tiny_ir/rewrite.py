"""The one rewrite engine: applies a RuleSet until nothing changes, without recursion."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from tiny_ir.errors import RuleError
from tiny_ir.graph import rebuild
from tiny_ir.matcher import Matcher, Observer
from tiny_ir.op import Op
from tiny_ir.rule import RuleSet
from tiny_ir.toposort import toposort
from tiny_ir.uop import UOp

Matchers = dict[Op, Matcher | None]

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
    order = toposort((root,))
    at, result = _first_firing(order, matchers, target, observer)
    if result is None:
        return root
    # Books are kept from the first change on.
    final = dict(zip(order[:at], order[:at], strict=True))
    final_of = final.__getitem__
    waiting = {order[at]: result}  # replaced, and the replacement is not final yet
    todo = order[: at - 1 if at else None : -1]
    todo += _unfinished(result, final)
    while todo:
        node = todo.pop()
        if node in final:
            continue
        if waiting and node in waiting:
            finished = final.get(waiting[node])
            if finished is None:
                raise _loop(node, waiting)
            del waiting[node]
            final[node] = finished
            continue
        current = node
        src = node.src
        rewritten = tuple(map(final_of, src))
        if rewritten != src:
            current = rebuild(node, rewritten)
            known = final.get(current)
            if known is not None:
                final[node] = known
                continue
            if current in waiting:
                raise _loop(current, waiting)
        matcher = matchers[current.op]
        result = None if matcher is None else matcher(current, target, observer)
        if result is None:
            final[node] = current
            if current is not node:
                final[current] = current
            continue
        known = final.get(result)
        if known is not None:
            final[node] = final[current] = known
            continue
        if result in waiting or len(waiting) > _WAITING_LIMIT:
            raise _loop(result, waiting)
        waiting[node] = waiting[current] = result
        todo += (node, current)
        todo += _unfinished(result, final)
    return final[root]


def _first_firing(
    order: list[UOp], matchers: Matchers, target: Any, observer: Observer | None
) -> tuple[int, UOp | None]:
    """Find the first node that a rule changes, and what it becomes."""
    for at, node in enumerate(order):
        matcher = matchers[node.op]
        if matcher is not None:
            result = matcher(node, target, observer)
            if result is not None:
                return at, result
    return len(order), None


def _unfinished(root: UOp, final: dict[UOp, UOp]) -> list[UOp]:
    """Return what is not final at and below `root`, users before sources."""
    if all(map(final.__contains__, root.src)):
        return [root]
    order: dict[UOp, None] = {}
    stack = [root]
    push, pop = stack.append, stack.pop
    while stack:
        node = stack[-1]
        if node in order:
            pop()
            continue
        is_ready = True
        for source in node.src:
            if source not in order and source not in final:
                push(source)
                is_ready = False
        if is_ready:
            order[node] = None
            pop()
    return list(order)[::-1]


_WAITING_LIMIT = 10_000
"""Replacements that wait for each other; rules that end stay far below it."""


def _loop(node: UOp, waiting: dict[UOp, UOp]) -> RuleError:
    return RuleError(
        f"rewriting does not end at {node!r}.",
        why=f"{len(waiting)} replacements wait for each other; the rules undo one another.",
        fix="run it inside observing(print) to see which rules fire, and let one of them decline.",
    )
