"""The nine rules and the graph of rewrite_engine.py in our language."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rewrite_engine import LEAVES, draw_plan, unused
from tiny_ir import (
    Op,
    RuleSet,
    UOp,
    VariableArg,
    anything,
    const,
    constant,
    dtypes,
    law,
    make,
    node,
    rewrite,
    rule,
    toposort,
)

x, c, d = anything("x"), constant("c"), constant("d")


@rule((x + c) + d)
def added_constants_are_one(x: UOp, c: UOp, d: UOp) -> UOp:
    return make(Op.ADD, None, (x, const(x.dtype, c.arg + d.arg)))


@rule((x * c) * d)
def multiplied_constants_are_one(x: UOp, c: UOp, d: UOp) -> UOp:
    return make(Op.MUL, None, (x, const(x.dtype, c.arg * d.arg)))


RULES = RuleSet(
    (
        law(x + 0, x, "adding zero"),
        law(x * 1, x, "multiplying by one"),
        law(x * 0, 0, "multiplying by zero"),
        law(x - 0, x, "subtracting zero"),
        law(node(Op.NEG, -x), x, "two negations cancel"),
        law(x + x, x * 2, "a sum with itself"),
        law(x.maximum(x), x, "the larger of a number and itself"),
        added_constants_are_one,
        multiplied_constants_are_one,
    )
)
_IDLE = (
    *(x + 1001, x * 1002, x - 1003),
    *(x.maximum(1004), -(x + 1005), x + 1006),
    *(x * 1007, (x + c) - 1008, x.maximum(c) * 1009),
)
IDLE_RULES = RuleSet(law(left, x, f"never {number}") for number, left in enumerate(_IDLE))


def build() -> UOp:
    """The graph."""
    nodes = [
        make(Op.VARIABLE, dtypes.weakint, (), VariableArg(f"v{place}", 0, 10)).cast(dtypes.int32)
        for place in range(LEAVES)
    ]
    for name, left, right in PLAN:
        if name == "NEG":
            src: tuple[UOp, ...] = (nodes[left],)
        else:
            src = (nodes[left], nodes[right] if right >= 0 else const(dtypes.int32, -1 - right))
        nodes.append(make(OPS[name], None, src))
    return make(Op.SINK, None, tuple(nodes[end] for end in ENDS))


PLAN = draw_plan()
ENDS = unused(PLAN)
OPS = {name: Op[name] for name in ("ADD", "MUL", "SUB", "NEG", "MAX")}


def work() -> dict[str, Callable[[], Any]]:
    """What is measured."""
    graph = build()
    return {
        "build": build,
        "rules fire": lambda: rewrite(graph, RULES),
        "nothing fires": lambda: rewrite(graph, IDLE_RULES),
        "order": lambda: toposort([graph]),
        "nodes": lambda: [len(toposort([graph])), len(toposort([rewrite(graph, RULES)]))],
    }
