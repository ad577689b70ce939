"""Simplification keeps every value, ends, and takes index arithmetic to its shortest form."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections import Counter
from itertools import product

import pytest

from tiny_ir import (
    SIMPLIFY,
    SIMPLIFY_GATED,
    SIMPLIFY_INDEX,
    AxisKind,
    DType,
    Op,
    ParamArg,
    RangeArg,
    UOp,
    const,
    dtypes,
    make,
    rewrite,
    simplify,
    toposort,
)
from tiny_testing.evaluate import evaluate
from tiny_testing.expressions import (
    LEAVES,
    anything,
    condition,
    flat,
    loop,
    split_shape,
    unflat,
    values,
    variable,
)
from tiny_testing.expressions import number as random_number
from tiny_testing.firings import check_firing, recorded_firings

weakint, int32, float32, bool_ = dtypes.weakint, dtypes.int32, dtypes.float32, dtypes.bool_
TRUE, FALSE = const(bool_, True), const(bool_, False)
i, j, k = loop(24, 0), loop(6, 1), loop(4, 2)
n = variable("n", 1, 64)


def number(value: int) -> UOp:
    return const(weakint, value)


def element(dtype: DType, slot: int = 0, at: UOp | None = None) -> UOp:
    """A value that nothing is known about."""
    return make(Op.PARAM, dtype, (), ParamArg(slot, 64, "cpu")).index(i if at is None else at)


@pytest.mark.parametrize("seed", range(40))
def test_random_expressions_keep_their_values(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(25):
        before = anything(draw)
        after = simplify(before)
        assert simplify(after) is after
        for _ in range(10):
            environment = values(draw)
            assert evaluate(before, environment) == evaluate(after, environment), str(before)


@pytest.mark.parametrize("seed", range(20))
def test_reshapes_back_and_forth_are_nothing(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(10):
        elements = draw.choice((12, 24, 36, 60, 72, 96, 120, 210, 256))
        first = shape = split_shape(draw, elements)
        start = [loop(size, at) if size > 1 else number(0) for at, size in enumerate(first)]
        indices = start
        step_by_step = draw.random() < 0.7
        for _ in range(draw.randrange(1, 4)):
            following = split_shape(draw, elements)
            indices = unflat(flat(indices, shape), following)
            if step_by_step:
                indices = [simplify(index) for index in indices]
            shape = following
        indices = unflat(flat(indices, shape), first)
        assert [simplify(index) for index in indices] == start


INDEX_FORMS = {
    "split and merged": (i // 6 * 6 + i % 6, i),
    "split in three": (i // 12 * 12 + i // 4 % 3 * 4 + i % 4, i),
    "merged and divided": ((i * 4 + k) // 4, i),
    "merged and reduced": ((i * 4 + k) % 4, k),
    "small parts fall away": ((i * 24 + j * 4 + k) // 24, i),
    "divided in part": ((i * 16 + j * 4 + k) // 32, (i * 4 + j) // 8),
    "divided twice": (i // 4 // 3, i // 12),
    "digit": (i % 12 // 4, i // 4 % 3),
    "reduced twice": (i % 12 % 4, i % 4),
    "offset reduced": ((i + 2) // 4 * 4 + (i + 2) % 4, i + 2),
    "flipped twice": (23 - (23 - i), i),
    "flipped and split": ((23 - i) // 4, 5 - i // 4),
    "flipped and reduced": ((23 - i) % 4, 3 - i % 4),
    "too small to divide": (k // 4, number(0)),
    "negative numerator": ((k - 4) // 4, number(-1)),
    "negative remainder": ((k - 4) % 4, k),
    "negative divisor": (i // -6 * -6 - (number(0) - i) % 6, i),
    "terms cancel": (i * 3 + j - i * 2 - j, i),
    "division inside a sum": ((i + j // 3) // 2, (i * 3 + j) // 6),
    "larger is known": ((i + 30).maximum(j), i + 30),
    "smaller is known": ((i + 30).minimum(j), j),
}


@pytest.mark.parametrize("name", INDEX_FORMS)
def test_index_form(name: str) -> None:
    before, after = INDEX_FORMS[name]
    assert simplify(before) is simplify(after)
    assert len(toposort([simplify(before)])) <= len(toposort([after])) + 4


def test_sums_are_written_in_one_way() -> None:
    ways = [i + j + k + 1, k + (1 + i) + j, (j + 1) + (k + i), i - (number(-1) - j) + k]
    assert len({simplify(way) for way in ways}) == 1


def test_the_constant_stands_last() -> None:
    total = simplify(3 + (i + 4) + j)
    assert total.src[1] is number(7)


def test_sums_do_not_subtract() -> None:
    assert all(node.op is not Op.SUB for node in toposort([simplify(i - j)]))


@pytest.mark.parametrize(
    ("comparison", "result"),
    [
        (i < 24, TRUE),
        (i < 0, FALSE),
        (i >= 0, TRUE),
        (i * 4 + k < 96, TRUE),
        ((i + 100).eq(i), FALSE),
        ((i * 2).eq(7), FALSE),
        ((i * 4 + k).eq(96), FALSE),
        ((i * 8 + k).eq(6), FALSE),
        (i.ne(i), FALSE),
        (i <= i, TRUE),
    ],
)
def test_comparison_is_decided(comparison: UOp, result: UOp) -> None:
    assert simplify(comparison) is result


@pytest.mark.parametrize(
    ("comparison", "shorter"),
    [
        (i + 3 < 5, i < 2),
        (i * 4 + k < 16, i < 4),
        (i * 4 < 15, i < 4),
        (i // 4 < 3, i < 12),
        (number(2) <= i // 4, number(7) < i),
        (i * 2 < j * 2, i < j),
        ((i * 4).eq(8), i.eq(2)),
        ((number(3) - i).eq(1), i.eq(2)),
    ],
)
def test_comparison_gets_shorter(comparison: UOp, shorter: UOp) -> None:
    assert simplify(comparison) is shorter


def test_masks_keep_the_strictest_limits() -> None:
    assert simplify((i >= 0) & (i < 5) & (i < 7)) is (i < 5)
    assert simplify((i < 5) & (i > 6)) is FALSE
    assert simplify((i < 5) & (i > 3)) is i.eq(4)
    assert simplify((i < 5) & (j < 3)) is simplify((j < 3) & (i < 5))


def test_symbolic_sizes_divide() -> None:
    row, column = loop(variable("m", 1, 9), 0), loop(n, 1)
    assert simplify((row * n + column) // n) is row
    assert simplify((row * n + column) % n) is column
    assert simplify(((row * n + column) * 4 + k) // (n * 4)) is row
    assert simplify(column < n) is TRUE
    assert simplify(n <= column) is FALSE


def test_division_by_zero_gives_zero() -> None:
    assert simplify(make(Op.FLOORDIV, None, (i, number(0)))) is number(0)
    assert simplify(make(Op.FLOORMOD, None, (i, number(0)))) is number(0)


ARANGES = {
    "B17 division": (lambda x: (x - 6) // 4, 12, [-2, -2, -1, -1, -1, -1, 0, 0, 0, 0, 1, 1]),
    "B17 modulo": (lambda x: (x - 6) % 4, 12, [2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1]),
    "B17 multiples": (lambda x: (x * 3 - 10) // 3, 6, [-4, -3, -2, -1, 0, 1]),
    "B17 halves": (lambda x: (x * 6 - 9) // 6, 6, [-2, -1, 0, 1, 2, 3]),
    "B17 negative factor": (lambda x: (x * -3 - 15) // 6, 6, [-3, -3, -4, -4, -5, -5]),
    "B17 negative divisor": (lambda x: (x - 4) // -2, 5, [2, 1, 1, 0, 0]),
}


@pytest.mark.parametrize("dtype", [weakint, int32, dtypes.int8])
@pytest.mark.parametrize("name", ARANGES)
def test_negative_numerators(name: str, dtype: DType) -> None:
    expression, size, expected = ARANGES[name]
    counted = loop(size)
    result = simplify(expression(counted.cast(dtype)))
    assert [evaluate(result, {counted: at}) for at in range(size)] == expected


@pytest.mark.parametrize("dtype", [weakint, int32, dtypes.uint8])
def test_division_of_tiny_numerators(dtype: DType) -> None:
    """Case B19."""
    for size, divisor in product(range(2, 6), range(1, 10)):
        counted = loop(size)
        result = simplify(counted.cast(dtype) // divisor)
        quotients = [at // divisor for at in range(size)]
        assert [evaluate(result, {counted: at}) for at in range(size)] == quotients
        if size <= divisor:
            assert result is const(dtype, 0)


def test_integers_of_fixed_width_from_indices_become_indices() -> None:
    assert simplify((i.cast(int32) * 4 + k.cast(int32)) // 4) is i.cast(int32)
    assert simplify((i.cast(int32) // 6 * 6 + i.cast(int32) % 6).cast(weakint)) is i
    assert simplify(i.cast(int32) < 24) is TRUE


def test_integers_that_may_wrap_stay() -> None:
    x = element(dtypes.uint8)
    assert simplify(x * 2 // 2) is x * 2 // 2
    assert simplify(x + 1 > x).op is not Op.CONST
    counted = loop(200).cast(dtypes.uint8)
    assert simplify(counted * 2 // 2) is not counted
    assert check_firing(counted * 2 // 2, simplify(counted * 2 // 2)) > 0


x, y = element(float32, 0), element(float32, 1)


@pytest.mark.parametrize(
    "unsafe",
    [
        x * 0.0,
        x - x,
        x / x,
        x + 1e8 - 1e8,
        x * 3.0 / 3.0,
        x.eq(x),
        x.ne(x),
        x + 0.0,
        const(float32, 0.0) - x,
        x / 3.0,
        x / 2.0**127,
        x * y - y * x,
        (x + y) - y,
        x.maximum(0.0).minimum(0.0),
        x <= x,
        (x < y) ^ True,
    ],
    ids=str,
)
def test_floats_keep_what_ieee_says(unsafe: UOp) -> None:
    """Case C41."""
    assert simplify(unsafe) is unsafe


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (x * 1.0, x),
        (x / 1.0, x),
        (x + -0.0, x),
        (x - 0.0, x),
        (-(-x), x),  # noqa: B002
        (x / 4.0, x * 0.25),
        (x / -0.5, x * -2.0),
        (x + (-y), x - y),
        ((-x) * (-y), x * y),
        (x.cast(dtypes.float64).cast(float32), x),
        (element(dtypes.int8).cast(float32).alu(Op.FLOOR), element(dtypes.int8).cast(float32)),
    ],
    ids=str,
)
def test_float_laws_fire(before: UOp, after: UOp) -> None:
    assert simplify(before) is after


def test_narrowing_casts_stay() -> None:
    assert simplify(x.cast(dtypes.float16).cast(float32)) is x.cast(dtypes.float16).cast(float32)
    wide = element(int32)
    assert simplify(wide.cast(dtypes.int8).cast(int32)) is wide.cast(dtypes.int8).cast(int32)
    assert simplify(wide.cast(dtypes.int64).cast(dtypes.int8)) is wide.cast(dtypes.int8)
    assert simplify(wide.cast(dtypes.int64).cast(int32)) is wide


def test_choices() -> None:
    p, q = element(bool_, 2), element(bool_, 3)
    assert simplify(make(Op.WHERE, None, (TRUE, x, y))) is x
    assert simplify(p.where(x, x)) is x
    assert simplify(p.where(p.where(x, y), y)) is p.where(x, y)
    assert simplify((p ^ True).where(x, y)) is p.where(y, x)
    assert simplify(p.where(q.where(x, y), y)) is simplify((p & q).where(x, y))
    assert simplify((i < 24).where(x, y)) is x
    assert simplify(p.where(TRUE, FALSE)) is p


def test_bools() -> None:
    p, q = element(bool_, 2), element(bool_, 3)
    assert simplify(~(~p)) is p
    assert simplify(p & ~p) is FALSE
    assert simplify(p | (p & q)) is p
    assert simplify(p.cast(int32).ne(0)) is p
    assert simplify(p.cast(float32) < 0.5) is p ^ True


def test_one_element_never_stands_for_many_lanes() -> None:
    lanes = make(Op.IOTA, weakint, (), 8)
    total = simplify((i * 8 + lanes) // 8)
    assert total.shape == (8,)
    wide = element(int32, 0, lanes)
    assert simplify(wide * 0).shape == (8,)
    assert simplify(make(Op.WHERE, None, (TRUE, const(int32, 1), wide))).shape == (8,)
    assert check_firing((i * 8 + lanes) // 8, total) > 0


def test_order_of_terms_does_not_depend_on_history() -> None:
    def written() -> list[str]:
        return [str(node) for node in toposort([simplify(k * 5 + variable("q", 0, 3) + i * 2 + j)])]

    first = written()
    kept = [simplify(j + variable(f"q{at}", 0, 3)) for at in range(50)]
    assert written() == first
    assert kept


def test_deep_graphs_do_not_recurse() -> None:
    chain = x
    lanes = element(int32)
    indices = variable("a", 0, 3)
    for at in range(200_000):
        chain = make(Op.ADD, None, (chain, x))
        if at < 5_000:
            lanes = make(Op.ADD, None, (lanes, const(int32, 3)))
            indices = make(Op.ADD, None, (indices, LEAVES[at % 4]))
    assert simplify(chain) is chain
    assert simplify(lanes) is simplify(element(int32) + 15_000)
    assert len(toposort([simplify(indices)])) < 30


def test_long_sums_of_distinct_terms_stay_fast() -> None:
    table = make(Op.PARAM, weakint, (), ParamArg(0, 4000, "cpu"))
    total: UOp = number(0)
    for at in range(3000):
        total = make(Op.ADD, None, (total, table.index(number(at * 7919 % 4000))))
    assert len(toposort([simplify(total)])) >= 6000


RARE = (
    make(Op.CAST, int32, (element(int32),)),
    (element(dtypes.int8).cast(int32) + 3).cast(weakint),
    (element(int32) << 3) << 4,
    (element(int32) >> 3) >> 30,
    x.alu(Op.FLOOR).alu(Op.CEIL),
)


def test_every_rule_that_fires_keeps_the_value() -> None:
    draw = random.Random(7)
    with recorded_firings(most=60) as firings:
        for _ in range(400):
            rewrite(anything(draw), SIMPLIFY_INDEX)
        for dtype in (int32, dtypes.uint8, float32, dtypes.float16, bool_):
            for _ in range(150):
                simplify(_typed(draw, dtype, 3))
        for rare in RARE:
            simplify(rare)
    assert firings.check(samples=5) > 500
    fired = Counter(firings.counts)
    silent = [rule.name for rule in SIMPLIFY if rule.law is None and not fired[rule.name]]
    assert silent == []


def _typed(draw: random.Random, dtype: DType, depth: int) -> UOp:
    """An expression of one dtype, with the constants that laws speak about."""
    if depth == 0:
        if draw.random() < 0.4:
            numbers = (-0.0, 0.0, 1.0, -1.0, 2.0, 3.0) if dtype.is_float else (0, 1, -1, 2, 3, 15)
            return const(dtype, draw.choice(numbers))
        source = draw.choice((dtype, dtypes.int8, bool_, weakint))
        leaf = draw.choice(LEAVES) if source is weakint else element(source, draw.randrange(3))
        return leaf.cast(dtype)
    sources = (_typed(draw, dtype, depth - 1), _typed(draw, dtype, draw.randrange(depth)))
    if dtype.is_bool:
        if draw.random() < 0.5:
            kind = draw.choice((int32, float32, bool_))
            pair = (_typed(draw, kind, depth - 1), _typed(draw, kind, draw.randrange(depth)))
            return make(draw.choice((Op.CMPLT, Op.CMPLE, Op.CMPEQ, Op.CMPNE)), None, pair)
        return make(draw.choice((Op.AND, Op.OR, Op.XOR)), None, sources)
    if draw.random() < 0.15:
        return _typed(draw, bool_, depth - 1).where(*sources)
    if draw.random() < 0.15:
        ops = [Op.NEG, Op.FLOOR, Op.TRUNC, Op.BITCAST, Op.CAST]
        op = draw.choice(ops)
        if op is Op.CAST:
            return sources[0].cast(draw.choice((int32, dtypes.float64, dtypes.int64))).cast(dtype)
        return make(op, dtype, (sources[0],))
    if draw.random() < 0.05 and dtype.is_float:
        return make(Op.FMA, None, (*sources, const(dtype, 2)))
    ops = [Op.ADD, Op.SUB, Op.MUL, Op.MAX, Op.MIN]
    if dtype.is_float:
        ops += [Op.FDIV]
    else:
        ops += [Op.FLOORDIV, Op.CDIV, Op.FLOORMOD, Op.CMOD, Op.AND, Op.OR, Op.XOR, Op.SHL, Op.SHR]
    return make(draw.choice(ops), None, sources)


def test_offsets_are_simplified_under_their_gates() -> None:
    shifted = i + 3
    offset = shifted // 4 * 8 + shifted % 4
    read = make(Op.PARAM, float32, (), ParamArg(0, 64, "cpu")).index(offset, shifted < 4)
    shorter = rewrite(read, SIMPLIFY_GATED)
    assert shorter.src[1] is number(3)
    assert shorter.src[2] is i.eq(0) or shorter.src[2] is (i < 1)
    assert check_firing(read, shorter, samples=30) > 0


def test_conditions_that_others_imply_are_dropped() -> None:
    both = (i * 4 + k < 8) & (i < 2) & (i * 3 + j < 40)
    assert rewrite(both, SIMPLIFY_GATED) is (i < 2)
    assert rewrite((i < 5) & (i // 2 < 3), SIMPLIFY_GATED) is (i < 5)


@pytest.mark.parametrize("seed", range(30))
def test_what_is_simplified_under_a_condition_is_equal_where_it_holds(seed: int) -> None:
    draw = random.Random(seed)
    storage = make(Op.PARAM, int32, (), ParamArg(0, 4096, "cpu"))
    for _ in range(20):
        gate, offset = condition(draw, 2), random_number(draw, 3)
        read = storage.index(offset, gate)
        shorter = rewrite(read, SIMPLIFY_GATED)
        for _ in range(25):
            environment = values(draw)
            assert evaluate(read, environment) == evaluate(shorter, environment), str(read)


SCRIPT = """
from tiny_ir import Op, ParamArg, const, dtypes, make, simplify
from tiny_testing.expressions import LEAVES
table = make(Op.PARAM, dtypes.int32, (), ParamArg(1, 9, "cpu"))
total = table.index(LEAVES[0]).cast(dtypes.weakint)
for leaf in LEAVES[::-1]:
    total = total + leaf * 3 + leaf // 5
print(simplify(total))
"""


def test_sums_are_written_alike_in_every_process() -> None:
    written = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(written) == 1


def test_a_read_inside_of_an_offset_keeps_its_own_gate() -> None:
    positions = make(Op.PARAM, dtypes.int32, (), ParamArg(1, 4, ""))
    table = make(Op.PARAM, dtypes.int32, (), ParamArg(2, 4, ""))
    eight = const(dtypes.weakint, 8)
    i = make(Op.RANGE, None, (eight,), RangeArg(0, AxisKind.LOOP))
    read = positions.index(i - 4, i > 3).cast(dtypes.weakint)
    element = table.index(read, (i > 3) & (read > -1) & (read < 4))
    reads = [n for n in toposort((rewrite(element, SIMPLIFY_GATED),)) if n.op is Op.INDEX]
    assert all(n.src[2].op is not Op.CONST for n in reads)


def test_one_lane_that_is_false_stands_last_beside_wide_bools() -> None:
    lanes = make(Op.IOTA, dtypes.weakint, (), 8)
    wide = (lanes < 6) & (lanes < const(dtypes.weakint, 7))
    both = make(Op.AND, None, (const(dtypes.bool_, False), wide))
    assert simplify(both) is simplify(make(Op.AND, None, (wide, const(dtypes.bool_, False))))
