"""Floats to integers, decomposed into conversions that machines define, against the op table."""

import numpy as np
import pytest

from tiny_codegen.program.decompose_casts import DECOMPOSE_CASTS
from tiny_ir import Op, RegisterArg, const, dtypes, make, meaning, rewrite, toposort
from tiny_plugin import Target
from tiny_testing.accuracy import floats_of_every_size, special_floats
from tiny_testing.arrays import NUMPY_DTYPES, UndefinedOnMachinesError, evaluate_arrays

TARGETS = [dtype for dtype in NUMPY_DTYPES if dtype.is_int or dtype.is_bool]
FLOATS = (dtypes.float32, dtypes.float64)


def variable(dtype, number=0):
    return make(Op.REGISTER, dtype, (), RegisterArg(number, ()))


def numbers(dtype):
    random = np.random.default_rng(0)
    kind = NUMPY_DTYPES[dtype]
    powers = np.array([sign * 2.0**k for k in range(66) for sign in (1, -1)], kind)
    near = [powers, np.nextafter(powers, kind.type(np.inf)), np.nextafter(powers, kind.type(0))]
    spans = [random.uniform(-span, span, 1500) for span in (300, 2.0**33, 2.0**65)]
    halves = [powers - 0.5, powers + 1.5]
    parts = [*near, *spans, *halves, floats_of_every_size(dtype, 3000), special_floats(dtype)]
    return np.concatenate([part.astype(kind) for part in parts])


@pytest.mark.parametrize("source", FLOATS, ids=str)
@pytest.mark.parametrize("dtype", TARGETS, ids=str)
def test_floats_become_the_integer_of_the_op_table(dtype, source):
    x = variable(source)
    values = numbers(source)
    graph = rewrite(x.cast(dtype), DECOMPOSE_CASTS)
    cast = meaning(Op.CAST, dtype, source)
    results = evaluate_arrays(graph, {x: values})
    wanted = np.array([cast(float(value)) for value in values], NUMPY_DTYPES[dtype])
    wrong = np.nonzero(results != wanted)[0]
    assert not len(wrong), [(values[at], results[at], wanted[at]) for at in wrong[:5]]


def test_negative_numbers_wrap_into_unsigned_ones():
    x = variable(dtypes.float32)
    values = np.array([-1, -1.5, -2, 255, 256, 300.7], np.float32)
    graph = rewrite(x.cast(dtypes.uint8), DECOMPOSE_CASTS)
    assert evaluate_arrays(graph, {x: values}).tolist() == [255, 255, 254, 255, 0, 44]


@pytest.mark.parametrize("source", [dtypes.int8, dtypes.uint64, *FLOATS], ids=str)
def test_truth_is_a_comparison(source):
    x = variable(source)
    assert rewrite(x.cast(dtypes.bool_), DECOMPOSE_CASTS) is x.ne(0)


def test_a_choice_that_looks_like_a_guard_is_guarded_all_the_same():
    # A user's own where(x < 2**31, x, 0) lets numbers below -2**31 through.
    x = variable(dtypes.float32)
    chosen = (x < 2.0**31).where(x, 0.0)
    graph = rewrite(chosen.cast(dtypes.int32), DECOMPOSE_CASTS)
    low = np.array([-1e20, np.nan, 5.5], np.float32)
    cast = meaning(Op.CAST, dtypes.int32, dtypes.float32)
    expected = [cast(value) for value in (float(np.float32(-1e20)), 0.0, 5.5)]
    assert evaluate_arrays(graph, {x: low}).tolist() == expected


def test_casts_of_what_fits_are_found_once():
    x = variable(dtypes.float32)
    once = rewrite(x.cast(dtypes.int16), DECOMPOSE_CASTS)
    assert rewrite(once, DECOMPOSE_CASTS) is once
    assert sum(node.op is Op.CAST for node in toposort([once])) == 2


def test_without_it_the_machine_does_not_say_what_happens():
    x = variable(dtypes.float32)
    with pytest.raises(UndefinedOnMachinesError):
        evaluate_arrays(x.cast(dtypes.int32), {x: np.array([1e20], np.float32)})


def test_a_target_that_follows_the_op_table_keeps_its_casts():
    total = Target("toy", features=("total",))
    for dtype in (dtypes.int32, dtypes.bool_):
        cast = variable(dtypes.float32).cast(dtype)
        assert rewrite(cast, DECOMPOSE_CASTS, total) is cast


def test_integers_and_constants_wrap_as_before():
    x = const(dtypes.int32, 300).cast(dtypes.uint8)
    assert rewrite(x, DECOMPOSE_CASTS) is x
