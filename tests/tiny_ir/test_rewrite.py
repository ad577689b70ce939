"""The rewrite engine: which rules fire, in which order, how often, and that it always ends."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator

import pytest

from tiny_ir import (
    ArgumentError,
    Op,
    ParamArg,
    RuleError,
    RuleSet,
    UOp,
    VariableArg,
    anything,
    const,
    constant,
    dtypes,
    integer,
    law,
    live_nodes,
    make,
    node,
    observing,
    rewrite,
    rule,
    simplify,
    toposort,
    verify,
)

int32, float32 = dtypes.int32, dtypes.float32
x, y, c = anything("x"), anything("y"), constant("c")


@pytest.fixture(autouse=True)
def _made_up_rules_are_not_checked() -> Iterator[None]:
    """Rules here need not be true: they show the engine."""
    with observing(lambda rule, before, after: None):
        yield


def value(number: int) -> UOp:
    return make(Op.VARIABLE, int32, (), VariableArg(f"v{number}", 0, 9))


def twice_negated(node: UOp) -> UOp:
    return make(Op.NEG, None, (-node,))


a, b = value(0), value(1)


@rule(node(Op.NEG, node(Op.NEG, x)))
def two_negations_cancel(x: UOp) -> UOp:
    return x


@rule(node(Op.MUL, x, c))
def product_is_sum(x: UOp, c: UOp) -> UOp | None:
    return x + x * (c.arg - 1) if c.arg > 1 else None


def test_a_graph_in_which_nothing_fires_is_returned_itself() -> None:
    graph = (a + b) * 7
    assert rewrite(graph, RuleSet((two_negations_cancel,))) is graph


def test_replacements_are_rewritten_again() -> None:
    result = rewrite(a * 4, RuleSet((product_is_sum, law(x * 1, x, "times one"))))
    assert [n.op for n in toposort([result])] == [Op.VARIABLE, Op.ADD, Op.ADD, Op.ADD]


def test_the_first_rule_that_does_not_decline_wins() -> None:
    first = law(x + 0, x, "adding zero")
    second = law(x + c, c, "the constant")
    assert rewrite(a + 0, RuleSet((first, second))) is a
    assert rewrite(a + 0, RuleSet((second, first))) is const(int32, 0)


def test_a_node_that_is_shared_is_rewritten_once() -> None:
    shared = twice_negated(a + b)
    fired: list[str] = []
    with observing(lambda rule, before, after: fired.append(rule.name)):
        result = rewrite(shared * shared + shared, RuleSet((two_negations_cancel,)))
    assert result is (a + b) * (a + b) + (a + b)
    assert fired == ["two_negations_cancel"]


def test_the_observer_sees_rule_before_and_after() -> None:
    seen: list[tuple[str, UOp, UOp]] = []
    with observing(lambda rule, before, after: seen.append((rule.name, before, after))):
        rewrite(twice_negated(a) + 1, RuleSet((two_negations_cancel,)))
        rewrite(a + 1, RuleSet((two_negations_cancel,)))
    assert seen == [("two_negations_cancel", twice_negated(a), a)]


def test_observers_nest_and_end() -> None:
    outer: list[str] = []
    inner: list[str] = []
    rules = RuleSet((two_negations_cancel,))
    with observing(lambda rule, before, after: outer.append(rule.name)):
        with observing(lambda rule, before, after: inner.append(rule.name)):
            rewrite(twice_negated(a), rules)
        rewrite(twice_negated(b), rules)
    rewrite(twice_negated(a), rules)
    assert (outer, inner) == (["two_negations_cancel"], ["two_negations_cancel"])


def test_sources_of_commutative_ops_match_in_any_order() -> None:
    rules = RuleSet((law((x + c) * 2, x, "a test"),))
    for graph in ((a + 5) * 2, 2 * (a + 5), (5 + a) * 2, const(int32, 2) * (5 + a)):
        assert rewrite(graph, rules) is a


def test_sources_of_other_ops_match_in_their_order() -> None:
    rules = RuleSet((law(x - c, x, "a test"),))
    assert rewrite(a - 1, rules) is a
    assert rewrite(1 - a, rules) is 1 - a


def test_a_pattern_in_order_does_not_swap() -> None:
    @rule(node(Op.ADD, c, x, in_order=True))
    def constant_stands_last(c: UOp, x: UOp) -> UOp:
        return make(Op.ADD, None, (x, c))

    rules = RuleSet((constant_stands_last,))
    assert rewrite(5 + a, rules) is a + 5
    assert rewrite(a + 5, rules) is a + 5


def test_one_name_stands_for_one_node() -> None:
    rules = RuleSet((law((x + y) - x, y, "a test"),))
    assert rewrite((a + b) - a, rules) is b
    assert rewrite((a + b) - b, rules) is a
    assert rewrite((a + b) - value(2), rules) is (a + b) - value(2)


def test_literals_match_by_value_sign_and_kind() -> None:
    f = make(Op.PARAM, float32, (), ParamArg(0, 4, "cpu")).index(const(dtypes.weakint, 0))
    minus = RuleSet((law(x + -0.0, x, "negative zero"),))
    assert rewrite(f + -0.0, minus) is f
    assert rewrite(f + 0.0, minus) is f + 0.0
    truth = RuleSet((law(x & True, x, "and true"),))
    assert rewrite(make(Op.AND, None, (a, const(int32, 1))), truth).op is Op.AND


def test_patterns_of_several_ops_and_arguments() -> None:
    @rule(node((Op.MAX, Op.MIN), x, x, name="root"))
    def choice_of_one(root: UOp, x: UOp) -> UOp:
        return x

    assert rewrite(a.maximum(a) + b.minimum(b), RuleSet((choice_of_one,))) is a + b
    lanes = make(Op.SPLAT, None, (a,), 4)

    @rule(node(Op.EXTRACT, node(Op.SPLAT, x), arg=2))
    def third_lane(x: UOp) -> UOp:
        return x

    rules = RuleSet((third_lane,))
    assert rewrite(make(Op.EXTRACT, None, (lanes,), 2), rules) is a
    assert rewrite(make(Op.EXTRACT, None, (lanes,), 1), rules).op is Op.EXTRACT


def test_patterns_count_the_sources_of_ops_that_take_any_number() -> None:
    @rule(node(Op.SINK, x))
    def lone_sink(x: UOp) -> UOp:
        return x

    rules = RuleSet((lone_sink,))
    one, two = make(Op.SINK, None, (a,)), make(Op.SINK, None, (a, b))
    assert rewrite(one, rules) is a
    assert rewrite(two, rules) is two


def test_a_rule_gets_the_target() -> None:
    @rule(node(Op.NEG, x))
    def negate_by_target(x: UOp, target: int) -> UOp:
        return x * target

    assert rewrite(-a, RuleSet((negate_by_target,)), target=3) is a * 3


def test_a_rule_that_asks_for_an_unknown_name_is_refused() -> None:
    with pytest.raises(ArgumentError, match="asks for z"):

        @rule(node(Op.NEG, x))
        def wrong(z: UOp) -> UOp:
            return z


def test_a_law_does_not_change_the_shape() -> None:
    lanes = make(Op.SPLAT, None, (a,), 4)
    assert rewrite(lanes * 0, RuleSet((law(x * 0, 0, "times zero"),))) is lanes * 0


SWAP = law(x - y, y - x, "swapped")
GROW = law(-x, node(Op.NEG, node(Op.NEG, -x)), "grown")
TURN = (law(x.maximum(y), x.minimum(y), "there"), law(x.minimum(y), x.maximum(y), "back"))


@pytest.mark.parametrize("rules", [(SWAP,), (GROW,), TURN], ids=["swap", "grow", "turn"])
def test_rules_that_undo_each_other_are_an_error(rules: tuple[object, ...]) -> None:
    graph = -((a - b).maximum(a))
    with pytest.raises(RuleError, match="does not end"):
        rewrite(graph + graph, RuleSet(rules))  # type: ignore[arg-type]


def test_a_result_may_hold_a_node_that_was_rebuilt_before() -> None:
    """Once a node that waited for its replacement was taken for a loop when it was met again."""
    flip = law((x < y) ^ True, y <= x, "negated")
    last = law(node(Op.XOR, c, x, in_order=True), x ^ c, "constant last")
    condition = twice_negated(a) < b
    truth = const(dtypes.bool_, True)
    once = make(Op.XOR, None, (condition, truth))
    again = make(Op.XOR, None, (truth, a < b))
    graph = make(Op.OR, None, (once, again))
    result = rewrite(graph, RuleSet((two_negations_cancel, last, flip)))
    assert result is make(Op.OR, None, (b <= a, b <= a))


def test_results_that_are_part_of_the_graph_are_not_rewritten_twice() -> None:
    fired: list[UOp] = []
    inner = twice_negated(a)
    with observing(lambda rule, before, after: fired.append(before)):
        result = rewrite((inner * 1) + inner, RuleSet((law(x * 1, x, "one"), two_negations_cancel)))
    assert result is a + a
    assert fired == [inner, a * 1]


def test_depth_has_no_limit() -> None:
    element = make(Op.PARAM, float32, (), ParamArg(0, 4, "cpu")).index(const(dtypes.weakint, 0))
    chain = element
    for _ in range(200_000):
        chain = chain + element
    negated = chain
    for _ in range(20_000):
        negated = -negated
    assert len(toposort([chain])) == 200_000 + len(toposort([element]))
    verify(chain, "graph")
    assert simplify(chain) is chain
    assert simplify(negated) is chain


def test_nodes_are_freed() -> None:
    gc.collect()
    before = live_nodes()
    kept = rewrite((value(901) * 4) * (value(902) * 4), RuleSet((product_is_sum,)))
    assert live_nodes() > before
    del kept
    gc.collect()
    assert live_nodes() == before


def test_threads_that_build_and_rewrite_get_the_same_nodes() -> None:
    results: list[UOp] = []

    def work() -> None:
        total = a
        for number in range(300):
            total = total + value(number % 50) * 4
        results.append(rewrite(total, RuleSet((product_is_sum, law(x * 1, x, "times one")))))

    workers = [threading.Thread(target=work) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(results) == 8
    assert len(set(results)) == 1


def test_threads_that_build_what_others_drop_get_the_same_node() -> None:
    sources = (value(1), value(2))
    differ: list[int] = []

    def work() -> None:
        for number in range(50_000):
            if make(Op.ADD, None, sources) is not make(Op.ADD, None, sources):
                differ.append(number)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # look for a switch inside of what must not be interrupted
    try:
        workers = [threading.Thread(target=work) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    finally:
        sys.setswitchinterval(before)
    assert not differ


def test_sets_of_rules_add() -> None:
    i = integer("i")
    both = RuleSet((law(i * 1, i, "times one"),)) + RuleSet((law(i + 0, i, "plus zero"),))
    assert len(both) == 2
    assert rewrite((a + 0) * 1, both) is a
