"""Bounds hold for every value, and are as tight as the cases below say."""

from __future__ import annotations

import random
from itertools import product
from math import inf

import pytest

from tiny_ir import AxisKind, DType, Op, RangeArg, UOp, VariableArg, const, dtypes, make
from tiny_ir.bounds import bounds, is_false, is_true
from tiny_ir.meaning import meaning

INTEGER_OPS = (
    *(Op.ADD, Op.SUB, Op.MUL, Op.FLOORDIV, Op.FLOORMOD, Op.CDIV, Op.CMOD, Op.MAX, Op.MIN),
    *(Op.AND, Op.OR, Op.XOR, Op.SHL, Op.SHR),
    *(Op.CMPLT, Op.CMPLE, Op.CMPEQ, Op.CMPNE),
)


def variable(name: str, low: int, high: int) -> UOp:
    return make(Op.VARIABLE, dtypes.weakint, (), VariableArg(name, low, high))


def loop(size: int | UOp, number: int = 0) -> UOp:
    node = size if isinstance(size, UOp) else const(dtypes.weakint, size)
    return make(Op.RANGE, None, (node,), RangeArg(number, AxisKind.LOOP))


def narrowed(dtype: DType, low: int, high: int, name: str) -> UOp:
    """A node of `dtype` that has exactly the values from low to high."""
    return variable(name, low, high).cast(dtype)


@pytest.mark.parametrize("op", INTEGER_OPS)
@pytest.mark.parametrize("dtype", [dtypes.weakint, dtypes.int8, dtypes.uint8])
def test_bounds_contain_every_result(op: Op, dtype: DType) -> None:
    draw = random.Random(f"{op}{dtype}")
    ends = [0, 1, 2, 3, 7, 8, 9, 127] + ([128, 255] if dtype.is_unsigned else [-1, -2, -5, -128])
    function = meaning(op, dtype)
    for _ in range(60):
        low_x, high_x = sorted(draw.choices(ends, k=2))
        low_y, high_y = sorted(draw.choices(ends, k=2))
        x = narrowed(dtype, low_x, high_x, "x")
        y = narrowed(dtype, low_y, high_y, "y")
        low, high = bounds(make(op, None, (x, y)))
        xs = range(low_x, high_x + 1, 1 + (high_x - low_x) // 20)
        ys = range(low_y, high_y + 1, 1 + (high_y - low_y) // 20)
        for a, b in product((*xs, high_x), (*ys, high_y)):
            assert low <= function(a, b) <= high, (a, b)


@pytest.mark.parametrize("op", [Op.ADD, Op.SUB, Op.MUL, Op.MAX, Op.MIN, Op.FLOORDIV, Op.CDIV])
def test_bounds_of_index_arithmetic_are_reached(op: Op) -> None:
    draw = random.Random(op.name)
    function = meaning(op, dtypes.weakint)
    for _ in range(100):
        low_x, high_x = sorted(draw.choices(range(-9, 10), k=2))
        low_y, high_y = sorted(draw.choices(range(-9, 10), k=2))
        node = make(op, None, (variable("x", low_x, high_x), variable("y", low_y, high_y)))
        results = [
            function(a, b) for a in range(low_x, high_x + 1) for b in range(low_y, high_y + 1)
        ]
        assert bounds(node) == (min(results), max(results))


def test_modulo_inside_one_period_keeps_its_bounds() -> None:
    assert bounds(variable("x", 13, 15) % 12) == (1, 3)
    assert bounds(variable("x", -3, -1) % 4) == (1, 3)
    assert bounds(variable("x", -5, 100) % 8) == (0, 7)


def test_a_range_counts_to_the_largest_size() -> None:
    assert bounds(loop(variable("n", 1, 40))) == (0, 39)
    assert bounds(loop(0)) == (0, 0)


def test_a_bound_size_has_the_bounds_of_its_variable() -> None:
    bind = make(Op.BIND, None, (variable("n", 1, 40), const(dtypes.weakint, 7)))
    assert bounds(bind) == (1, 40)


def test_what_may_wrap_has_the_whole_range() -> None:
    assert bounds(narrowed(dtypes.int8, 0, 100, "x") + 27) == (27, 127)
    assert bounds(narrowed(dtypes.int8, 0, 100, "x") + 28) == (-128, 127)
    assert bounds(narrowed(dtypes.uint8, 0, 3, "x") - 1) == (0, 255)


def test_unknown_index_values_are_unbounded() -> None:
    unknown = make(Op.POW, None, (variable("x", 0, 3), variable("y", 0, 3)))
    assert bounds(unknown) == (-inf, inf)
    assert bounds(unknown * 0) == (0, 0)
    assert bounds(unknown % 5) == (0, 4)
    assert bounds(unknown + unknown - 7) == (-inf, inf)


def test_numbers_beyond_floats_stay_integers() -> None:
    huge = const(dtypes.weakint, 1 << 2000)
    assert bounds(variable("x", 0, 3) * huge + make(Op.POW, None, (huge, huge)))[1] == inf


def test_comparisons_are_decided_by_bounds() -> None:
    i = loop(12)
    assert is_true(i < 12)
    assert is_false(i < 0)
    assert is_true(i >= 0)
    assert is_false(i.eq(12))
    assert is_true(i.ne(-1))
    assert not is_true(i < 11)


def test_a_mask_bounds_its_result() -> None:
    x = make(Op.POW, dtypes.int32, (const(dtypes.int32, 2), const(dtypes.int32, 3)))
    assert bounds(x & 15) == (0, 15)


def test_depth_has_no_limit() -> None:
    node = variable("x", 0, 1)
    for _ in range(100_000):
        node = make(Op.ADD, None, (node, variable("y", 0, 1)))
    assert bounds(node) == (0, 100_001)
