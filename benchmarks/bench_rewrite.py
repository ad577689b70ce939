"""The rewrite engine beside tinygrad's: one graph, the same rules, the same number of nodes out.

The graph has about 20,000 nodes over eight variables. Nine rules rewrite it; in the second row
nine rules that look at every node and never fire do. Times are those of the process, best of seven.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator

from tinygrad.dtype import dtypes as peer_dtypes
from tinygrad.uop.ops import Ops, PatternMatcher, UPat, graph_rewrite
from tinygrad.uop.ops import UOp as PeerUOp

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

DRAWS = 24_000  # which make about 20,000 distinct nodes
VARIABLES = 8
ROUNDS = 7
SEED = 1
OUR_OPS = {name: Op[name] for name in ("ADD", "MUL", "SUB", "NEG", "MAX")}
PEER_OPS = {name: Ops[name] for name in OUR_OPS}

x, c, d = anything("x"), constant("c"), constant("d")


@rule((x + c) + d)
def added_constants_join(x: UOp, c: UOp, d: UOp) -> UOp:
    return make(Op.ADD, None, (x, const(x.dtype, c.arg + d.arg)))


@rule((x * c) * d)
def multiplied_constants_join(x: UOp, c: UOp, d: UOp) -> UOp:
    return make(Op.MUL, None, (x, const(x.dtype, c.arg * d.arg)))


@rule(x + x)
def sum_with_itself_is_twice(x: UOp) -> UOp:
    return make(Op.MUL, None, (x, const(x.dtype, 2)))


@rule(x.maximum(x))
def maximum_with_itself_is_itself(x: UOp) -> UOp:
    return x


@rule(node(Op.NEG, node(Op.NEG, x)))
def two_negations_cancel(x: UOp) -> UOp:
    return x


OUR_RULES = RuleSet(
    (
        law(x + 0, x, "adding zero"),
        law(x * 1, x, "multiplying by one"),
        law(x * 0, 0, "multiplying by zero"),
        law(x - 0, x, "subtracting zero"),
        two_negations_cancel,
        sum_with_itself_is_twice,
        maximum_with_itself_is_itself,
        added_constants_join,
        multiplied_constants_join,
    )
)
# The ops of the graph, beside sources that it never has.
IDLE = (
    (x + 1001, x * 1002, x - 1003),
    (x.maximum(1004), -(x + 1005), x + 1006),
    (x * 1007, (x + c) - 1008, x.maximum(c) * 1009),
)
OUR_IDLE_RULES = RuleSet(law(left, x, f"never {left}") for three in IDLE for left in three)

px = UPat.var("x")
pc, pd = UPat.cvar("c"), UPat.cvar("d")


def pair(op: Ops, left: UPat, right: UPat | int) -> UPat:
    """A pattern of two sources, in either order where the op commutes."""
    other = UPat.const(right) if isinstance(right, int) else right
    commutes = op in (Ops.ADD, Ops.MUL, Ops.MAX)
    return UPat(op, src=[left, other] if commutes else (left, other))


def peer_constant(value: int) -> PeerUOp:
    """A constant of tinygrad."""
    return PeerUOp.const(value, peer_dtypes.int32)


PEER_RULES = PatternMatcher(
    [
        (pair(Ops.ADD, px, 0), lambda x: x),
        (pair(Ops.MUL, px, 1), lambda x: x),
        (pair(Ops.MUL, px, 0), lambda x: peer_constant(0)),
        (pair(Ops.SUB, px, 0), lambda x: x),
        (UPat(Ops.NEG, src=(UPat(Ops.NEG, src=(px,)),)), lambda x: x),
        (pair(Ops.ADD, px, px), lambda x: PeerUOp(Ops.MUL, x.dtype, (x, peer_constant(2)))),
        (pair(Ops.MAX, px, px), lambda x: x),
        (
            pair(Ops.ADD, pair(Ops.ADD, px, pc), pd),
            lambda x, c, d: PeerUOp(Ops.ADD, x.dtype, (x, peer_constant(c.arg + d.arg))),
        ),
        (
            pair(Ops.MUL, pair(Ops.MUL, px, pc), pd),
            lambda x, c, d: PeerUOp(Ops.MUL, x.dtype, (x, peer_constant(c.arg * d.arg))),
        ),
    ]
)
PEER_IDLE_RULES = PatternMatcher(
    [
        (pair(Ops.ADD, px, 1001), lambda x: x),
        (pair(Ops.MUL, px, 1002), lambda x: x),
        (pair(Ops.SUB, px, 1003), lambda x: x),
        (pair(Ops.MAX, px, 1004), lambda x: x),
        (UPat(Ops.NEG, src=(pair(Ops.ADD, px, 1005),)), lambda x: x),
        (pair(Ops.ADD, px, 1006), lambda x: x),
        (pair(Ops.MUL, px, 1007), lambda x: x),
        (pair(Ops.SUB, pair(Ops.ADD, px, pc), 1008), lambda x, c: x),
        (pair(Ops.MUL, pair(Ops.MAX, px, pc), 1009), lambda x, c: x),
    ]
)


def draw_plan() -> list[tuple[str, int, int | None]]:
    """Draw the graph as (op, left, right): earlier places; a negative right is a number."""
    dice = random.Random(SEED)
    plan: list[tuple[str, int, int | None]] = []
    unused = list(range(VARIABLES))
    for place in range(VARIABLES, VARIABLES + DRAWS):
        name = dice.choice(["ADD", "ADD", "MUL", "MUL", "SUB", "NEG", "MAX"])
        left = unused.pop(dice.randrange(len(unused))) if len(unused) > 64 else nearby(dice, place)
        right = None
        if name != "NEG":
            right = -1 - dice.randrange(4) if dice.random() < 0.4 else nearby(dice, place)
        plan.append((name, left, right))
        unused.append(place)
    for place in range(VARIABLES + DRAWS, VARIABLES + DRAWS + len(unused) - 1):
        plan.append(("MAX", unused.pop(0), unused.pop(0)))
        unused.append(place)
    return plan


def nearby(dice: random.Random, place: int) -> int:
    """Draw an earlier place, most often one of the last."""
    return place - 1 - int(dice.random() ** 2 * min(place, 600))


PLAN = draw_plan()


def our_graph() -> UOp:
    """The graph in our language."""
    nodes = [
        make(Op.VARIABLE, dtypes.weakint, (), VariableArg(f"v{i}", 0, 10)).cast(dtypes.int32)
        for i in range(VARIABLES)
    ]
    for name, left, right in PLAN:
        if right is None:
            src: tuple[UOp, ...] = (nodes[left],)
        else:
            other = nodes[right] if right >= 0 else const(dtypes.int32, -1 - right)
            src = (nodes[left], other)
        nodes.append(make(OUR_OPS[name], None, src))
    return nodes[-1]


def peer_graph() -> PeerUOp:
    """The graph in tinygrad's."""
    nodes = [PeerUOp.variable(f"v{i}", 0, 10).cast(peer_dtypes.int32) for i in range(VARIABLES)]
    for name, left, right in PLAN:
        if right is None:
            src: tuple[PeerUOp, ...] = (nodes[left],)
        else:
            src = (nodes[left], nodes[right] if right >= 0 else peer_constant(-1 - right))
        nodes.append(PeerUOp(PEER_OPS[name], peer_dtypes.int32, src))
    return nodes[-1]


def seconds(run: Callable[[], object]) -> float:
    """Return the best processor time of some rounds; each keeps what it made until the end."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        kept = run()
        best = min(best, time.process_time() - start)
        del kept
    return best


def measure() -> Iterator[tuple[str, float, str, float]]:
    """Compare building, rewriting, rewriting where no rule fires, and sorting."""
    yield "build", seconds(our_graph), "tinygrad", seconds(peer_graph)
    ours, theirs = our_graph(), peer_graph()
    print(f"(nodes in: {len(toposort([ours]))} and {len(theirs.toposort())})")
    our_result, peer_result = rewrite(ours, OUR_RULES), graph_rewrite(theirs, PEER_RULES)
    print(f"(nodes out: {len(toposort([our_result]))} and {len(peer_result.toposort())})")
    del our_result, peer_result
    for what, our_rules, peer_rules in (
        ("rewrite, nine rules", OUR_RULES, PEER_RULES),
        ("rewrite, nothing fires", OUR_IDLE_RULES, PEER_IDLE_RULES),
    ):
        yield (
            what,
            seconds(lambda rules=our_rules: rewrite(ours, rules)),
            "tinygrad",
            seconds(lambda rules=peer_rules: graph_rewrite(theirs, rules)),
        )
    yield "toposort", seconds(lambda: toposort([ours])), "tinygrad", seconds(theirs.toposort)
