"""Every law of the algebra is proved; the prover refutes what is not a law."""

from __future__ import annotations

import pytest

from tiny_ir import (
    SIMPLIFY,
    AxisKind,
    Op,
    ParamArg,
    RangeArg,
    RegisterArg,
    Rule,
    RuleSet,
    UOp,
    VariableArg,
    boolean,
    const,
    dtypes,
    floating,
    index,
    integer,
    law,
    make,
    node,
    observing,
    rewrite,
    simplify,
)
from tiny_testing.driver import has_solver
from tiny_testing.evaluate import evaluate
from tiny_testing.firings import (
    FiringChecker,
    add_counts,
    check_firing,
    is_small,
    never_computed,
    recorded_firings,
)
from tiny_testing.laws import LawError, instances, prove

LAWS = [rule for rule in SIMPLIFY if rule.law is not None]
x, y = floating("x"), floating("y")
i, j = integer("i"), integer("j")
k = index("k")
p, q = boolean("p"), boolean("q")


@pytest.mark.parametrize("rule", LAWS, ids=lambda rule: rule.name)
def test_law_holds(rule: Rule) -> None:
    assert prove(rule, samples=40).cases > 0


@pytest.mark.parametrize("rule", LAWS, ids=lambda rule: rule.name)
def test_law_fires_on_its_left_side(rule: Rule) -> None:
    alone = RuleSet((rule,))
    lefts = list(instances(rule))
    assert lefts
    for left in lefts:
        with recorded_firings() as firings:
            rewrite(left, alone)
        assert firings.counts[rule.name] > 0, str(left)
        assert firings.check() > 0


@pytest.mark.skipif(not has_solver(), reason="z3 is not installed")
def test_the_solver_proves_laws_of_integers_and_bools() -> None:
    assert prove(law((i - j) + j, i, "subtracting and adding"), samples=0).solved >= 5
    assert prove(law(p & (p | q), p, "absorption"), samples=0).solved == 1


@pytest.mark.parametrize(
    "wrong",
    [
        law(x + 0.0, x, "adding positive zero loses a negative zero"),
        law(x * 0.0, 0.0, "NaN and infinity times zero are NaN"),
        law(x - x, 0.0, "infinity minus itself is NaN"),
        law(x / x, 1.0, "zero divided by itself is NaN"),
        law(x.eq(x), True, "NaN does not equal itself"),
        law((x + y) - y, x, "sums round"),
        law((x * 3.0) / 3.0, x, "products overflow"),
        law(i // i, 1, "zero divided by itself is zero"),
        law(node(Op.NEG, i // j), node(Op.NEG, i) // j, "floor division is not odd"),
        law((i * 2) // 2, i, "doubling wraps"),
        law(i < (i + 1), True, "the highest number wraps"),
        law(p | q, p ^ q, "or is not exclusive"),
        law(p.where(i, j), p.where(j, i), "the branches are swapped"),
        law((k // 2) * 2, k, "an odd number loses one"),
    ],
    ids=lambda rule: rule.name,
)
def test_what_is_no_law_is_refuted(wrong: Rule) -> None:
    with pytest.raises(LawError):
        prove(wrong, samples=50)


def test_a_law_that_fits_nothing_is_refused() -> None:
    with pytest.raises(LawError, match="no dtype"):
        prove(law(p + q, p, "bools have no sum"))


def test_a_rule_that_is_a_function_is_not_proved_as_a_law() -> None:
    function = next(rule for rule in SIMPLIFY if rule.law is None)
    with pytest.raises(LawError, match="check_firing"):
        prove(function)


def variable(name: str, low: int, high: int) -> UOp:
    return make(Op.VARIABLE, dtypes.weakint, (), VariableArg(name, low, high))


def test_a_wrong_firing_is_caught() -> None:
    n = variable("n", -5, 5)
    assert check_firing(n // 2, (n + 0) // 2) > 0
    with pytest.raises(LawError):
        check_firing(n // 2, make(Op.CDIV, None, (n, const(dtypes.weakint, 2))))


def test_a_firing_may_not_change_the_dtype() -> None:
    n = variable("n", -5, 5)
    with pytest.raises(LawError, match="dtype"):
        check_firing(n.cast(dtypes.int8), n.cast(dtypes.int16))


def test_reads_have_values_of_their_own() -> None:
    n = variable("n", 0, 5)
    a = make(Op.PARAM, dtypes.float32, (), ParamArg(0, 8, "cpu"))
    b = make(Op.PARAM, dtypes.float32, (), ParamArg(1, 8, "cpu"))
    with pytest.raises(LawError):
        check_firing(a.index(n), b.index(n))
    with pytest.raises(LawError):
        check_firing(a.index(n), a.index(n + 1))
    assert check_firing(a.index(n, n < 3), (n < 3).where(a.index(n), 0.0)) > 0


def test_a_recorder_keeps_each_firing_once() -> None:

    n = variable("n", 0, 9)
    with recorded_firings() as firings:
        for _ in range(3):
            simplify(n * 2 - n)
    assert firings.counts["sum_has_one_form"] >= 3
    assert all(len(pairs) == 1 for pairs in firings.pairs.values())
    assert firings.check() == len(firings.pairs)


def test_reductions_are_evaluated_over_their_ranges() -> None:

    n = variable("n", 0, 9)
    axis = make(Op.RANGE, None, (const(dtypes.weakint, 4),), RangeArg(0, AxisKind.REDUCE))
    assert evaluate((axis * n).reduce(Op.ADD, ranges=(axis,)), {n: 3}) == 18


def test_a_checker_refuses_a_wrong_rule_where_it_fires() -> None:
    n = variable("n", 0, 9)
    wrong = RuleSet((law(i - j, j - i, "swapped"),))
    with observing(FiringChecker()), pytest.raises(LawError, match="swapped"):
        rewrite(make(Op.SUB, None, (n, n * 2 + 1)), wrong)


def test_a_checker_looks_at_each_graph_once() -> None:
    checker = FiringChecker()
    n = variable("n", 0, 9)
    with observing(checker):
        for _ in range(3):
            simplify(n * 2 - n)
    assert len(checker.seen["sum_has_one_form"]) == 1


def test_what_cannot_be_computed_leaves_room_for_what_can() -> None:
    checker = FiringChecker(most=1)
    effects = RuleSet((law(i + 0, i, "adding nothing"),))
    place = make(Op.PARAM, dtypes.int32, (), ParamArg(0, 8, "cpu"))
    whole = make(Op.ADD, None, (place, const(dtypes.int32, 0)))
    n = variable("n", 0, 9)
    with observing(checker):
        rewrite(whole, effects)
        rewrite(make(Op.ADD, None, (n, const(n.dtype, 0))), effects)
    assert (len(checker.seen["adding_nothing"]), checker.computed["adding_nothing"]) == (2, 1)


def test_accumulators_have_values() -> None:
    total = make(Op.REGISTER, dtypes.int32, (), RegisterArg(0, ()))
    other = make(Op.REGISTER, dtypes.uint32, (), RegisterArg(1, ()))
    before = make(Op.LOAD, None, (total,))
    with pytest.raises(LawError):
        check_firing(before * 3, before + 3)
    assert check_firing(before * 2, before + before) > 0
    assert check_firing(before, make(Op.LOAD, None, (other,)).cast(dtypes.int32)) == 0


def test_large_graphs_are_not_evaluated() -> None:
    n = variable("n", 0, 9)
    chain = n
    for _ in range(5000):
        chain = make(Op.ADD, None, (chain, n))
    assert not is_small(chain)
    assert check_firing(chain, n) == 0


def test_rules_that_fire_are_computed_or_named_with_a_reason() -> None:
    total = {"a": 0, "b": 0}
    add_counts(total, {"a": 2, "c": 0})
    assert never_computed(total, ["b: an effect"]) == ["c"]
    with pytest.raises(ValueError, match="no reason"):
        never_computed(total, ["b"])
