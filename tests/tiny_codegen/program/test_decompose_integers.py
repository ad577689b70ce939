"""Integer operations, decomposed for machines, against the op table, for every integer dtype."""

import itertools

import numpy as np
import pytest

from tiny_codegen.program.decompose_integers import DECOMPOSE_INTEGERS
from tiny_ir import (
    AxisKind,
    Op,
    RangeArg,
    RegisterArg,
    const,
    dtypes,
    make,
    meaning,
    rewrite,
    toposort,
)
from tiny_plugin import Target, pairs
from tiny_testing.arrays import NUMPY_DTYPES, evaluate_arrays

INTEGERS = [dtype for dtype in NUMPY_DTYPES if dtype.is_int]
NATIVE = (Op.CDIV, Op.CMOD, Op.SHL, Op.SHR, Op.NEG, Op.MAX, Op.MIN)
FLOATS = (dtypes.float32, dtypes.float64)
CPU = Target(
    "toy",
    supported=pairs(NATIVE, INTEGERS) | pairs([Op.FDIV, Op.TRUNC], FLOATS),
    vector_nbytes=(64,),
)
TOTAL = Target("toy", supported=CPU.supported, features=("total",))
DIVISIONS = (Op.FLOORDIV, Op.FLOORMOD, Op.CDIV, Op.CMOD)
OPS = (*DIVISIONS, Op.SHL, Op.SHR, Op.POW, Op.MAX, Op.MIN)


def variable(dtype, number=0, shape=()):
    return make(Op.REGISTER, dtype, (), RegisterArg(number, shape))


def interesting(dtype):
    low, high = dtype.minimum, dtype.maximum
    near = [
        low,
        low + 1,
        -64,
        -33,
        -2,
        -1,
        0,
        1,
        2,
        3,
        7,
        31,
        32,
        33,
        64,
        high // 2,
        high - 1,
        high,
    ]
    random = np.random.default_rng(0).integers(low, high, 30, NUMPY_DTYPES[dtype], endpoint=True)
    return [value for value in near if low <= value <= high] + [int(value) for value in random]


def lane_graph(op, a, b, target):
    return rewrite(make(op, None, (a, b)), DECOMPOSE_INTEGERS, target)


@pytest.mark.parametrize("shape", [(), (4,)], ids=["scalar", "wide"])
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("op", OPS, ids=str)
def test_two_variables_follow_the_op_table(op, dtype, shape):
    values = interesting(dtype)
    columns = zip(*itertools.product(values, values), strict=True)
    left, right = (np.array(column, NUMPY_DTYPES[dtype]) for column in columns)
    a, b = variable(dtype, 0, shape), variable(dtype, 1, shape)
    expected = meaning(op, dtype)
    wanted = [expected(int(p), int(q)) for p, q in zip(left, right, strict=True)]
    for target in (None, CPU):
        graph = lane_graph(op, a, b, target)
        assert graph.shape == shape
        assert evaluate_arrays(graph, {a: left, b: right}).tolist() == wanted


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("op", OPS, ids=str)
def test_a_variable_and_a_constant_follow_the_op_table(op, dtype):
    values = interesting(dtype)
    a = variable(dtype, 0, (4,))
    expected = meaning(op, dtype)
    for value in values:
        graph = lane_graph(op, a, const(dtype, value), CPU)
        assert graph.shape == (4,)
        results = evaluate_arrays(graph, {a: np.array(values, NUMPY_DTYPES[dtype])})
        assert results.tolist() == [expected(x, value) for x in values], value


def test_small_numerators_divide_by_every_constant():
    # A numerator that is known to be 0 or 1 once chose a shift that was too short.
    for largest in (1, 2, 5, 100):
        size = const(dtypes.int32, largest + 1)
        i = make(Op.RANGE, None, (size,), RangeArg(0, AxisKind.LOOP))
        values = np.arange(largest + 1, dtype=np.int32)
        for divisor in range(1, 2 * largest + 3):
            for op, function in ((Op.FLOORDIV, np.floor_divide), (Op.FLOORMOD, np.remainder)):
                graph = lane_graph(op, i, const(dtypes.int32, divisor), CPU)
                assert not {Op.CDIV, Op.CMOD} & ops_of(graph)
                results = evaluate_arrays(graph, {i: values})
                assert (results == function(values, divisor)).all()


def ops_of(graph):
    return {node.op for node in toposort([graph])}


def test_powers_of_two_shift_and_mask():
    a = variable(dtypes.int32)
    assert lane_graph(Op.FLOORDIV, a, const(dtypes.int32, 8), CPU) is a >> 3
    assert lane_graph(Op.FLOORMOD, a, const(dtypes.int32, 8), CPU) is a & 7


def test_unsigned_division_by_a_constant_needs_no_guard():
    a = variable(dtypes.uint32)
    graph = lane_graph(Op.FLOORDIV, a, const(dtypes.uint32, 7), CPU)
    assert graph is a.alu(Op.CDIV, 7)


def test_lanes_divide_as_floats():
    a, b = (variable(dtypes.int32, number, (8,)) for number in (0, 1))
    ops = ops_of(lane_graph(Op.FLOORDIV, a, b, CPU))
    assert Op.FDIV in ops
    assert Op.CDIV not in ops


def test_shifts_by_what_is_in_range_stay():
    x, count = variable(dtypes.uint32), variable(dtypes.uint32, 1)
    for shift in (x << 31, x >> (count & 31), x << 0):
        assert rewrite(shift, DECOMPOSE_INTEGERS, CPU) is shift


@pytest.mark.parametrize("op", [Op.CDIV, Op.CMOD, Op.SHL, Op.SHR], ids=str)
def test_a_target_that_follows_the_op_table_needs_no_guards(op):
    node = make(op, None, (variable(dtypes.int32), variable(dtypes.int32, 1)))
    assert rewrite(node, DECOMPOSE_INTEGERS, TOTAL) is node


def test_random_bits_are_those_of_the_op_table():
    random = np.random.default_rng(1)
    counters, keys = random.integers(0, 2**64, (2, 300), dtype=np.uint64)
    a, b = variable(dtypes.uint64), variable(dtypes.uint64, 1)
    graph = lane_graph(Op.THREEFRY, a, b, CPU)
    expected = meaning(Op.THREEFRY, dtypes.uint64)
    wanted = [expected(int(p), int(q)) for p, q in zip(counters, keys, strict=True)]
    assert evaluate_arrays(graph, {a: counters, b: keys}).tolist() == wanted


def test_constant_powers_are_few_products():
    graph = lane_graph(Op.POW, variable(dtypes.int32), const(dtypes.int32, 10), CPU)
    assert sum(node.op is Op.MUL for node in toposort([graph])) == 4
