"""Narrow floats computed in float32 and as bits, against the op table, bit for bit."""

import functools

import numpy as np
import pytest

from tiny_codegen.program.decompose import DECOMPOSE
from tiny_codegen.program.decompose_dtypes import DECOMPOSE_DTYPES
from tiny_codegen.program.float_formats import NARROW
from tiny_codegen.program.math.float_bits import unsigned_word_of
from tiny_ir import (
    Op,
    ParamArg,
    RegisterArg,
    bits_of,
    const,
    dtypes,
    make,
    meaning,
    rewrite,
    toposort,
    value_of,
)
from tiny_plugin import Target, pairs
from tiny_testing.accuracy import floats_of_every_size, special_floats
from tiny_testing.arrays import NUMPY_DTYPES, evaluate_arrays

FORMATS = sorted(NARROW)
EACH = pytest.mark.parametrize("dtype", FORMATS, ids=str)
INTEGERS = [dtype for dtype in NUMPY_DTYPES if dtype.is_int or dtype.is_bool]
BINARY = (Op.ADD, Op.SUB, Op.MUL, Op.FDIV, Op.MAX, Op.MIN)
UNARY = (Op.NEG, Op.SQRT, Op.TRUNC, Op.FLOOR, Op.CEIL, Op.ROUND)
COMPARISONS = (Op.CMPLT, Op.CMPLE, Op.CMPEQ, Op.CMPNE)


def variable(dtype, number=0, shape=()):
    return make(Op.REGISTER, dtype, (), RegisterArg(number, shape))


def coded(dtype, number=0):
    """A variable that holds bits, and the narrow float they are."""
    code = variable(unsigned_word_of(dtype), number)
    return code, code.bitcast(dtype)


@functools.cache
def all_codes(dtype):
    return np.arange(1 << dtype.bits, dtype=NUMPY_DTYPES[unsigned_word_of(dtype)])


@functools.cache
def all_values(dtype):
    return [value_of(dtype, code) for code in range(1 << dtype.bits)]


@functools.cache
def ties_of(dtype):
    """Numbers in the middle between two neighbours of a narrow float, as float32."""
    finite = np.array(sorted({value for value in all_values(dtype) if abs(value) < np.inf}))
    return ((finite[1:] + finite[:-1]) / 2).astype(np.float32)


def bits_after(graph, dtype, columns, target=None):
    """The bits of a narrow result."""
    word = unsigned_word_of(dtype)
    return evaluate_arrays(rewrite(graph.bitcast(word), DECOMPOSE, target), columns)


def assert_bits(results, dtype, expected, arguments):
    wanted = np.array([bits_of(dtype, value) for value in expected])
    wrong = np.nonzero(results != wanted)[0]
    assert not len(wrong), [(arguments[at], hex(results[at]), hex(wanted[at])) for at in wrong[:5]]


@EACH
def test_every_value_widens_exactly(dtype):
    code, x = coded(dtype)
    graph = rewrite(x.cast(dtypes.float32), DECOMPOSE)
    results = evaluate_arrays(graph, {code: all_codes(dtype)})
    assert list(map(repr, results.tolist())) == list(map(repr, all_values(dtype)))


@EACH
def test_float32_rounds_to_nearest_even(dtype):
    ties = ties_of(dtype)
    values = np.concatenate(
        [
            *(
                ties,
                np.nextafter(ties, np.float32(np.inf)),
                np.nextafter(ties, np.float32(-np.inf)),
            ),
            np.array(all_values(dtype), np.float32),
            floats_of_every_size(dtypes.float32, 5000),
            special_floats(dtypes.float32),
        ]
    )[-30_000:]
    x = variable(dtypes.float32)
    cast = meaning(Op.CAST, dtype, dtypes.float32)
    results = bits_after(x.cast(dtype), dtype, {x: values})
    assert_bits(results, dtype, [cast(float(value)) for value in values], values)


@EACH
def test_float64_is_rounded_once(dtype):
    # 1 + 2**-8 + 2**-30 in two steps is a tie, which loses the last digit.
    ties = ties_of(dtype)[-2000:].astype(np.float64)
    values = np.concatenate(
        [ties, ties * (1 + 2.0**-40), ties * (1 - 2.0**-40), [1 + 2.0**-8 + 2.0**-30]]
        + [floats_of_every_size(dtypes.float64, 5000), special_floats(dtypes.float64)]
    )
    x = variable(dtypes.float64)
    cast = meaning(Op.CAST, dtype, dtypes.float64)
    results = bits_after(x.cast(dtype), dtype, {x: values})
    assert_bits(results, dtype, [cast(float(value)) for value in values], values)


@pytest.mark.parametrize("integer", INTEGERS, ids=str)
@EACH
def test_integers_are_rounded_once(dtype, integer):
    values = integers_near(dtype, integer)
    x = variable(integer)
    cast = meaning(Op.CAST, dtype, integer)
    results = bits_after(x.cast(dtype), dtype, {x: values})
    assert_bits(results, dtype, [cast(value.item()) for value in values], values)


def integers_near(dtype, integer):
    if integer.is_bool:
        return np.array([False, True])
    low, high = integer.minimum, integer.maximum
    random = np.random.default_rng(0)
    numbers = [int(n) for n in random.integers(low, high, 600, NUMPY_DTYPES[integer])]
    sizes = [n >> int(count) for n, count in zip(numbers, random.integers(0, integer.bits, 600))]  # noqa: B905
    ties = [int(tie) for tie in ties_of(dtype) if tie == np.trunc(tie) and low <= tie <= high]
    near = [tie + step for tie in ties[-300:] for step in (-1, 0, 1)]
    chosen = [n for n in (*numbers, *sizes, *near, low, high) if low <= n <= high]
    return np.array(chosen, NUMPY_DTYPES[integer])


@pytest.mark.parametrize("integer", INTEGERS, ids=str)
@EACH
def test_every_value_becomes_the_integer_of_the_op_table(dtype, integer):
    code, x = coded(dtype)
    graph = rewrite(x.cast(integer), DECOMPOSE)
    cast = meaning(Op.CAST, integer, dtype)
    codes = all_codes(dtype)[:: 1 << max(0, dtype.bits - 13)]
    results = evaluate_arrays(graph, {code: codes})
    assert results.tolist() == [cast(all_values(dtype)[at]) for at in codes]


@pytest.mark.parametrize("other", FORMATS, ids=str)
@EACH
def test_one_narrow_float_becomes_another(dtype, other):
    code, x = coded(dtype)
    codes = all_codes(dtype)[:: 1 << max(0, dtype.bits - 11)]
    cast = meaning(Op.CAST, other, dtype)
    values = [all_values(dtype)[code] for code in codes]
    results = bits_after(x.cast(other), other, {code: codes})
    if other is not dtype:
        assert_bits(results, other, [cast(value) for value in values], values)


def codes_of(dtype, count, seed=0):
    random = np.random.default_rng(seed)
    return random.integers(0, 1 << dtype.bits, count).astype(all_codes(dtype).dtype)


@pytest.mark.parametrize("op", BINARY, ids=str)
@EACH
def test_arithmetic_is_rounded_to_the_dtype(dtype, op):
    (a, x), (b, y) = coded(dtype), coded(dtype, 1)
    left, right = codes_of(dtype, 5000), codes_of(dtype, 5000, 1)
    values = [
        (all_values(dtype)[p], all_values(dtype)[q]) for p, q in zip(left, right, strict=True)
    ]
    results = bits_after(make(op, None, (x, y)), dtype, {a: left, b: right})
    assert_bits(results, dtype, [meaning(op, dtype)(*pair) for pair in values], values)


@pytest.mark.parametrize("op", UNARY, ids=str)
@EACH
def test_one_sided_operations_are_rounded_to_the_dtype(dtype, op):
    code, x = coded(dtype)
    codes = all_codes(dtype)[:: 1 << max(0, dtype.bits - 13)]
    values = [all_values(dtype)[code] for code in codes]
    results = bits_after(make(op, None, (x,)), dtype, {code: codes})
    assert_bits(results, dtype, [meaning(op, dtype)(value) for value in values], values)


@pytest.mark.parametrize("op", COMPARISONS, ids=str)
@EACH
def test_comparisons_are_those_of_the_values(dtype, op):
    (a, x), (b, y) = coded(dtype), coded(dtype, 1)
    left, right = codes_of(dtype, 5000), codes_of(dtype, 5000, 1)
    results = evaluate_arrays(rewrite(make(op, None, (x, y)), DECOMPOSE), {a: left, b: right})
    compare = meaning(op, dtypes.bool_, dtype)
    values = all_values(dtype)
    wanted = [compare(values[p], values[q]) for p, q in zip(left, right, strict=True)]
    assert results.tolist() == wanted


@EACH
def test_multiply_add_is_rounded_once(dtype):
    (a, x), (b, y), (c, z) = coded(dtype), coded(dtype, 1), coded(dtype, 2)
    columns = [codes_of(dtype, 5000, seed) for seed in range(3)]
    values = [tuple(all_values(dtype)[code] for code in row) for row in zip(*columns, strict=True)]
    given = dict(zip((a, b, c), columns, strict=True))
    results = bits_after(make(Op.FMA, None, (x, y, z)), dtype, given)
    assert_bits(results, dtype, [meaning(Op.FMA, dtype)(*row) for row in values], values)


@EACH
def test_choices_keep_the_bits(dtype):
    (a, x), (b, y) = coded(dtype), coded(dtype, 1)
    condition = variable(dtypes.bool_, 2)
    given = {a: all_codes(dtype), b: all_codes(dtype)[::-1], condition: all_codes(dtype) % 3 == 0}
    results = bits_after(condition.where(x, y), dtype, given)
    assert (results == np.where(given[condition], given[a], given[b])).all()


def test_exponentials_saturate_where_float32_overflows():
    # exp(448) is no float32, but the largest float8_e5m2, not infinity.
    code, x = coded(dtypes.float8_e5m2)
    results = bits_after(make(Op.EXP, None, (x,)), dtypes.float8_e5m2, {code: all_codes(x.dtype)})
    values = all_values(x.dtype)
    function = meaning(Op.EXP, x.dtype)
    assert_bits(results, x.dtype, [function(value) for value in values], values)


def test_chains_of_bfloat16_pack_no_bits_between():
    x, y = variable(dtypes.float32), variable(dtypes.float32, 1)
    chain = x.cast(dtypes.bfloat16) + y.cast(dtypes.bfloat16)
    graph = rewrite(chain.cast(dtypes.float32), DECOMPOSE)
    assert not {node.dtype for node in toposort([graph])} & {dtypes.uint16, dtypes.bfloat16}


CONVERTS = Target(
    "toy",
    supported=pairs([Op.CAST, Op.BITCAST], [dtypes.float16, dtypes.float32]),
    storage=frozenset((dtypes.float16,)),
)


def test_a_target_that_converts_keeps_its_casts():
    x = variable(dtypes.float16)
    graph = rewrite((x + x).cast(dtypes.float32), DECOMPOSE_DTYPES, CONVERTS)
    wide = x.cast(dtypes.float32)
    assert graph is (wide + wide).cast(dtypes.float16).cast(dtypes.float32)


def element(dtype, number=0):
    place = make(Op.PARAM, dtype, (), ParamArg(number, 100, "toy"))
    return make(Op.INDEX, None, (place, const(dtypes.int32, 7)))


def test_storage_that_is_missing_holds_bits():
    load = make(Op.LOAD, None, (element(dtypes.bfloat16),))
    store = make(Op.STORE, None, (element(dtypes.bfloat16, 1), load))
    graph = rewrite(store, DECOMPOSE_DTYPES, CONVERTS)
    loaded = make(Op.LOAD, None, (element(dtypes.uint16),))
    assert graph is make(Op.STORE, None, (element(dtypes.uint16, 1), loaded))


def test_storage_that_is_there_stays():
    load = make(Op.LOAD, None, (element(dtypes.float16),))
    assert rewrite(load, DECOMPOSE_DTYPES, CONVERTS) is load


def test_gated_loads_give_bits_too():
    gate = variable(dtypes.bool_)
    load = make(Op.LOAD, None, (element(dtypes.bfloat16), const(dtypes.bfloat16, 1.0), gate))
    graph = rewrite(load.bitcast(dtypes.uint16), DECOMPOSE_DTYPES, CONVERTS)
    one = const(dtypes.uint16, 0x3F80)
    assert graph is make(Op.LOAD, None, (element(dtypes.uint16), one, gate))
