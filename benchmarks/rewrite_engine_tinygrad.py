"""The nine rules and the graph of rewrite_engine.py in tinygrad's language."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tinygrad.dtype import dtypes
from tinygrad.uop.ops import Ops, PatternMatcher, UOp, UPat, graph_rewrite

from rewrite_engine import LEAVES, draw_plan, unused

x, c, d = UPat.var("x"), UPat.cvar("c"), UPat.cvar("d")


def constant(value: int) -> UOp:
    """A constant."""
    return UOp.const(value, dtypes.int32)


def pair(op: Ops, left: UPat, right: UPat | int) -> UPat:
    """Two sources, in either order where the op commutes."""
    other = UPat.const(right) if isinstance(right, int) else right
    commutes = op in (Ops.ADD, Ops.MUL, Ops.MAX)
    return UPat(op, src=[left, other] if commutes else (left, other))


RULES = PatternMatcher(
    [
        (pair(Ops.ADD, x, 0), lambda x: x),
        (pair(Ops.MUL, x, 1), lambda x: x),
        (pair(Ops.MUL, x, 0), lambda x: constant(0)),
        (pair(Ops.SUB, x, 0), lambda x: x),
        (UPat(Ops.NEG, src=(UPat(Ops.NEG, src=(x,)),)), lambda x: x),
        (pair(Ops.ADD, x, x), lambda x: UOp(Ops.MUL, x.dtype, (x, constant(2)))),
        (pair(Ops.MAX, x, x), lambda x: x),
        (
            pair(Ops.ADD, pair(Ops.ADD, x, c), d),
            lambda x, c, d: UOp(Ops.ADD, x.dtype, (x, constant(c.arg + d.arg))),
        ),
        (
            pair(Ops.MUL, pair(Ops.MUL, x, c), d),
            lambda x, c, d: UOp(Ops.MUL, x.dtype, (x, constant(c.arg * d.arg))),
        ),
    ]
)
IDLE_RULES = PatternMatcher(
    [
        (pair(Ops.ADD, x, 1001), lambda x: x),
        (pair(Ops.MUL, x, 1002), lambda x: x),
        (pair(Ops.SUB, x, 1003), lambda x: x),
        (pair(Ops.MAX, x, 1004), lambda x: x),
        (UPat(Ops.NEG, src=(pair(Ops.ADD, x, 1005),)), lambda x: x),
        (pair(Ops.ADD, x, 1006), lambda x: x),
        (pair(Ops.MUL, x, 1007), lambda x: x),
        (pair(Ops.SUB, pair(Ops.ADD, x, c), 1008), lambda x, c: x),
        (pair(Ops.MUL, pair(Ops.MAX, x, c), 1009), lambda x, c: x),
    ]
)
PLAN = draw_plan()
ENDS = unused(PLAN)
OPS = {name: Ops[name] for name in ("ADD", "MUL", "SUB", "NEG", "MAX")}


def build() -> UOp:
    """The graph."""
    nodes = [UOp.variable(f"v{place}", 0, 10).cast(dtypes.int32) for place in range(LEAVES)]
    for name, left, right in PLAN:
        if name == "NEG":
            src: tuple[UOp, ...] = (nodes[left],)
        else:
            src = (nodes[left], nodes[right] if right >= 0 else constant(-1 - right))
        nodes.append(UOp(OPS[name], dtypes.int32, src))
    return UOp(Ops.SINK, dtypes.void, tuple(nodes[end] for end in ENDS))


def work() -> dict[str, Callable[[], Any]]:
    """What is measured."""
    graph = build()
    return {
        "build": build,
        "rules fire": lambda: graph_rewrite(graph, RULES),
        "nothing fires": lambda: graph_rewrite(graph, IDLE_RULES),
        "order": graph.toposort,
        "nodes": lambda: [len(graph.toposort()), len(graph_rewrite(graph, RULES).toposort())],
    }
