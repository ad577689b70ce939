"""Integers of 64 bits in words of 32, against the op table, on a target that has no others."""

import itertools

import numpy as np
import pytest

from tiny_codegen.program.decompose import DECOMPOSE
from tiny_codegen.program.decompose_words import is_long, words_of
from tiny_ir import (
    PROGRAM_LEVEL,
    AxisKind,
    Op,
    ParamArg,
    RangeArg,
    ReduceArg,
    RegisterArg,
    const,
    dtypes,
    make,
    meaning,
    rewrite,
    toposort,
    verify,
)
from tiny_plugin import FloatFacts, Target, pairs
from tiny_testing.accuracy import floats_of_every_size, special_floats
from tiny_testing.arrays import NUMPY_DTYPES, evaluate_arrays

OPS = (
    (Op.ADD, Op.SUB, Op.MUL, Op.FDIV, Op.FMA, Op.NEG, Op.TRUNC, Op.FLOOR, Op.CEIL, Op.ROUND)
    + (Op.AND, Op.OR, Op.XOR, Op.SHL, Op.SHR, Op.CDIV, Op.CMOD, Op.MAX, Op.MIN, Op.CAST)
    + (Op.CMPLT, Op.CMPLE, Op.CMPEQ, Op.CMPNE, Op.WHERE, Op.BITCAST)
)
WORDS = (dtypes.bool_, dtypes.int32, dtypes.uint32, dtypes.float32, dtypes.int8, dtypes.uint16)
LONG = (dtypes.int64, dtypes.uint64)
TARGET = Target(
    "toy",
    form="wide",
    supported=pairs(OPS, WORDS),
    storage=frozenset(WORDS),
    floats=(FloatFacts(dtypes.float32, fma=True),),
)
BINARY = (Op.ADD, Op.SUB, Op.MUL, Op.AND, Op.OR, Op.XOR, Op.SHL, Op.SHR, Op.MAX, Op.MIN) + (
    *(Op.CDIV, Op.CMOD, Op.FLOORDIV, Op.FLOORMOD, Op.CMPLT, Op.CMPLE, Op.CMPEQ, Op.CMPNE),
)


def variable(dtype, number=0):
    return make(Op.REGISTER, dtype, (), RegisterArg(number, ()))


def given(dtype, number=0):
    """A value of 64 bits made of two words that are known."""
    low, high = variable(dtypes.uint32, 2 * number), variable(dtypes.uint32, 2 * number + 1)
    wide = high.cast(dtypes.uint64) << 32 | low.cast(dtypes.uint64)
    return (low, high), wide.bitcast(dtype)


def split(values):
    unsigned = values.view(np.uint64)
    return (unsigned & 0xFFFFFFFF).astype(np.uint32), (unsigned >> 32).astype(np.uint32)


def in_words(graph):
    """The graph without 64 bits, but for the join at its root."""
    result = rewrite(graph, DECOMPOSE, TARGET)
    for node in toposort([result]):
        if is_long(node.dtype):
            assert words_of(node) is not None, node
    return result


def interesting(dtype):
    low, high = dtype.minimum, dtype.maximum
    near = [low, low + 1, -2, -1, 0, 1, 2, 3, 31, 32, 33, 63, 64, 2**32 - 1, 2**32, 2**33 + 5]
    random = np.random.default_rng(0)
    drawn = random.integers(low, high, 14, NUMPY_DTYPES[dtype], endpoint=True)
    sizes = [int(n) >> int(count) for n, count in zip(drawn, range(0, 56, 4), strict=True)]
    return [n for n in (*near, -7, high - 1, high, *sizes) if low <= n <= high]


@pytest.mark.parametrize("dtype", LONG, ids=str)
@pytest.mark.parametrize("op", BINARY, ids=str)
def test_arithmetic_of_words_is_that_of_long_numbers(op, dtype):
    values = interesting(dtype)
    columns = zip(*itertools.product(values, values), strict=True)
    left, right = (np.array(column, NUMPY_DTYPES[dtype]) for column in columns)
    (names, a), (others, b) = given(dtype), given(dtype, 1)
    graph = in_words(make(op, None, (a, b)))
    columns = dict(zip((*names, *others), (*split(left), *split(right)), strict=True))
    comparison = graph.dtype.is_bool
    expected = meaning(op, dtypes.bool_, dtype) if comparison else meaning(op, dtype)
    wanted = [expected(int(p), int(q)) for p, q in zip(left, right, strict=True)]
    assert evaluate_arrays(graph, columns).tolist() == wanted


@pytest.mark.parametrize("source", LONG, ids=str)
@pytest.mark.parametrize("dtype", [*WORDS, dtypes.float16, dtypes.bfloat16, *LONG], ids=str)
def test_long_numbers_are_cast_once(dtype, source):
    values = np.array(
        interesting(source) + [2**24 + 1, 2**53 + 1, 2**62 + 2**38], NUMPY_DTYPES[source]
    )
    names, x = given(source)
    code = {dtypes.float16: dtypes.uint16, dtypes.bfloat16: dtypes.uint16}.get(dtype, dtype)
    graph = in_words(x.cast(dtype).bitcast(code))
    results = evaluate_arrays(graph, dict(zip(names, split(values), strict=True)))
    cast = meaning(Op.CAST, dtype, source)
    bits = meaning(Op.BITCAST, code, dtype)
    assert results.tolist() == [bits(cast(int(value))) for value in values]


@pytest.mark.parametrize("dtype", LONG, ids=str)
def test_floats_become_long_numbers(dtype):
    powers = np.array([s * 2.0**k for k in range(66) for s in (1, -1)], np.float32)
    parts = [powers, np.nextafter(powers, np.float32(0)), powers + np.float32(1.5)]
    parts += [floats_of_every_size(dtypes.float32, 2000), special_floats(dtypes.float32)]
    values = np.concatenate(parts)
    x = variable(dtypes.float32)
    cast = meaning(Op.CAST, dtype, dtypes.float32)
    results = evaluate_arrays(in_words(x.cast(dtype)), {x: values})
    assert results.tolist() == [cast(float(value)) for value in values]


@pytest.mark.parametrize(
    "source", [dtypes.bool_, dtypes.int8, dtypes.int32, dtypes.uint32], ids=str
)
def test_short_numbers_widen(source):
    values = np.array([0, 1, -1, 100, -100]).astype(NUMPY_DTYPES[source])
    x = variable(source)
    graph = in_words(x.cast(dtypes.int64) + 1)
    assert evaluate_arrays(graph, {x: values}).tolist() == [int(value) + 1 for value in values]


def test_random_bits_are_made_of_words():
    counters, keys = np.random.default_rng(1).integers(0, 2**64, (2, 50), dtype=np.uint64)
    (names, a), (others, b) = given(dtypes.uint64), given(dtypes.uint64, 1)
    graph = in_words(make(Op.THREEFRY, None, (a, b)))
    columns = dict(zip((*names, *others), (*split(counters), *split(keys)), strict=True))
    expected = meaning(Op.THREEFRY, dtypes.uint64)
    wanted = [expected(int(p), int(q)) for p, q in zip(counters, keys, strict=True)]
    assert evaluate_arrays(graph, columns).tolist() == wanted


def test_sines_of_large_angles_need_no_long_numbers():
    x = variable(dtypes.float32)
    graph = in_words(make(Op.SIN, None, (x,)))
    values = np.array([1.0, 1e5, 1e20, 3e38], np.float32)
    results = evaluate_arrays(graph, {x: values})
    np.testing.assert_allclose(results, np.sin(values.astype(np.float64)), rtol=2e-7)


# Kernels ----------------------------------------------------------------------------------------


def place(slot, offset, lanes=None, dtype=dtypes.int64):
    storage = make(Op.PARAM, dtype, (), ParamArg(slot, 64, "toy"))
    return make(Op.INDEX, None, (storage, offset), lanes)


def loop():
    return make(Op.RANGE, None, (const(dtypes.int32, 4),), RangeArg(0, AxisKind.LOOP))


def kernel_in_words(store, *axes):
    result = rewrite(make(Op.SINK, None, (store.end(*axes),)), DECOMPOSE, TARGET)
    verify(result, PROGRAM_LEVEL)
    left = [node for node in toposort([result]) if is_long(node.dtype)]
    assert not left, left
    return result


@pytest.mark.parametrize("lanes", [None, 4], ids=["scalar", "wide"])
def test_memory_holds_twice_as_many_words(lanes):
    i = loop()
    offset = i * (lanes or 1)
    total = make(Op.LOAD, None, (place(0, offset, lanes),)) + make(
        Op.LOAD, None, (place(1, offset, lanes),)
    )
    result = kernel_in_words(make(Op.STORE, None, (place(2, offset, lanes), total)), i)
    params = [node for node in toposort([result]) if node.op is Op.PARAM]
    assert {(node.dtype, node.arg.elements) for node in params} == {(dtypes.uint32, 128)}
    stores = [node for node in toposort([result]) if node.op is Op.STORE]
    assert len(stores) == (1 if lanes else 2)


def test_gates_close_both_words():
    i = loop()
    gate = i < 3
    load = make(Op.LOAD, None, (place(0, i), const(dtypes.int64, -1), gate))
    result = kernel_in_words(make(Op.STORE, None, (place(1, i), load, gate)), i)
    effects = [node for node in toposort([result]) if node.op in (Op.LOAD, Op.STORE)]
    assert len(effects) == 4
    assert all(node.src[-1] is gate for node in effects)


def test_accumulators_are_two_registers():
    i = loop()
    register = make(Op.REGISTER, dtypes.int64, (), RegisterArg(0, ()))
    start = register.store(const(dtypes.int64, 0))
    current = make(Op.LOAD, None, (register.after(start, i),))
    end = register.store(current + make(Op.LOAD, None, (place(0, i),))).end(i)
    total = make(Op.LOAD, None, (register.after(end),))
    store = make(Op.STORE, None, (place(1, const(dtypes.int32, 0)), total))
    result = kernel_in_words(store)
    assert len({node for node in toposort([result]) if node.op is Op.REGISTER}) == 2


def test_lanes_are_summed_one_by_one():
    wide = make(Op.LOAD, None, (place(0, const(dtypes.int32, 0), 4),))
    total = make(Op.REDUCE, None, (wide,), ReduceArg(Op.ADD, (0,)))
    kernel_in_words(make(Op.STORE, None, (place(1, const(dtypes.int32, 0)), total)))
