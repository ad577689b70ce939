"""Costly sides of choices run only where a lane needs them, and change no value."""

import numpy as np
import pytest

from tiny_codegen.program.decompose import DECOMPOSE
from tiny_codegen.program.skip_rare_work import LEAST_WORK, skip_rare_work
from tiny_ir import (
    PROGRAM_LEVEL,
    AxisKind,
    Op,
    ParamArg,
    RangeArg,
    const,
    dtypes,
    make,
    rewrite,
    toposort,
    verify,
)
from tiny_plugin import FloatFacts, Target, pairs
from tiny_tensor import Tensor
from tiny_testing.arrays import NUMPY_DTYPES, evaluate_arrays

OPS = (
    Op.ADD,
    Op.SUB,
    Op.MUL,
    Op.FDIV,
    Op.FMA,
    Op.TRUNC,
    Op.FLOOR,
    Op.ROUND,
    Op.AND,
    Op.OR,
    Op.XOR,
) + (Op.SHL, Op.SHR, Op.CAST, Op.WHERE, Op.BITCAST, Op.CMPLT, Op.CMPLE, Op.CMPEQ, Op.CMPNE)
TARGET = Target(
    "toy",
    form="wide",
    supported=pairs(OPS, NUMPY_DTYPES),
    floats=(FloatFacts(dtypes.float32, fma=True),),
)

WITHOUT_FMA = Target("toy", form="wide", supported=pairs(OPS, NUMPY_DTYPES))


def loop(size):
    return make(Op.RANGE, None, (const(dtypes.int32, size),), RangeArg(3, AxisKind.LOOP))


def kernel(value_of, lanes=None):
    """Store value_of(x) for every x of a buffer."""
    i = loop(100)
    source, target = (
        make(Op.PARAM, dtypes.float32, (), ParamArg(slot, 1600, "toy")) for slot in (0, 1)
    )
    offset = i * (lanes or 1)
    x = make(Op.LOAD, None, (make(Op.INDEX, None, (source, offset), lanes),))
    address = make(Op.INDEX, None, (target, offset), lanes)
    return make(Op.SINK, None, (make(Op.STORE, None, (address, value_of(x))).end(i),))


def costly(x, operations=LEAST_WORK):
    for _ in range(operations):
        x = x * x
    return x


def loops_of(sink):
    return [node for node in toposort([sink]) if node.op is Op.RANGE]


@pytest.mark.parametrize("lanes", [None, 16], ids=["scalar", "wide"])
def test_costly_sides_move_into_a_loop_of_one_turn(lanes):
    sink = kernel(lambda x: (x > 100.0).where(costly(x), x + 1.0), lanes)
    result = skip_rare_work(sink, TARGET)
    verify(result, PROGRAM_LEVEL)
    assert len(loops_of(result)) == 2
    # The work depends on the turn: it is computed inside.
    turn = loops_of(result)[-1]
    products = [node for node in toposort([result]) if node.op is Op.MUL and node.dtype.is_float]
    assert all(turn in toposort([node]) for node in products)


def test_cheap_sides_stay():
    sink = kernel(lambda x: (x > 100.0).where(costly(x, 5), x + 1.0))
    assert skip_rare_work(sink, TARGET) is sink


def test_work_that_is_needed_elsewhere_stays():
    def value(x):
        work = costly(x)
        return (x > 100.0).where(work, x + 1.0) + work

    sink = kernel(value)
    assert skip_rare_work(sink, TARGET) is sink


def test_the_usual_side_beside_a_constant_stays():
    sink = kernel(lambda x: (x < 1e30).where(costly(x), 0.0))
    assert skip_rare_work(sink, TARGET) is sink


def test_targets_with_their_loops_left_in_are_left_alone():
    sink = kernel(lambda x: (x > 100.0).where(costly(x), x + 1.0))
    assert skip_rare_work(sink, Target("toy", form="loops")) is sink


def test_sines_share_one_loop_for_their_large_angles():
    sink = kernel(lambda x: make(Op.SIN, None, (x,)), 16)
    result = skip_rare_work(rewrite(sink, DECOMPOSE, TARGET), TARGET)
    verify(result, PROGRAM_LEVEL)
    assert len(loops_of(result)) == 2


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_results_are_those_without_branches(name):
    random = np.random.default_rng(0)
    values = (random.standard_normal(1003) * 100).astype(np.float32)
    values[::17] *= np.float32(1e30)
    values[5:7] = np.inf, np.nan
    results = getattr(Tensor(values), name)().numpy()
    # This machine may have multiply-adds or not: its bits are those of one of the two.
    expected = [without_branches(name, values, target) for target in (TARGET, WITHOUT_FMA)]
    assert any(np.array_equal(results, bits, equal_nan=True) for bits in expected)


def without_branches(name, values, target):
    x = make(Op.PARAM, dtypes.float32, (), ParamArg(0, 1, "toy"))
    graph = rewrite(make(Op[name.upper()], None, (x,)), DECOMPOSE, target)
    return evaluate_arrays(graph, {x: values})


def test_a_choice_made_of_another_by_the_same_condition_ends():
    x = Tensor([0.25, 2.0])
    low = x < 0.5
    y = low.where(1.0 - x, x)
    for _ in range(30):
        y = y * 0.5 + 1.0
    z = low.where(y * y + x, y)
    for _ in range(30):
        z = z * 0.5 + 1.0
    result = low.where(z * z, y).numpy()
    assert np.allclose(result, [4.0, 2.0])
