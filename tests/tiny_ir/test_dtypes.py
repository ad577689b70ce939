"""Element types: limits, promotion, and what converts without loss."""

from __future__ import annotations

import copy
import itertools
import math
import pickle

import ml_dtypes
import numpy as np
import pytest

from tiny_ir import DType, DTypeError, dtypes
from tiny_ir.dtypes import (
    ALIASES,
    DTYPES,
    can_losslessly_cast,
    dtype_named,
    float_dtype,
    promote,
    sum_dtype,
)

NUMPY = {
    "bool": np.bool_,
    "float8_e4m3": ml_dtypes.float8_e4m3fn,
    "float8_e5m2": ml_dtypes.float8_e5m2,
    "float8_e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "float8_e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "bfloat16": ml_dtypes.bfloat16,
}
NUMPY |= {name: np.dtype(name).type for name in ("int8", "uint8", "int16", "uint16", "int32")}
NUMPY |= {name: np.dtype(name).type for name in ("uint32", "int64", "uint64")}
NUMPY |= {name: np.dtype(name).type for name in ("float16", "float32", "float64")}
VALUES = [dtype for dtype in DTYPES.values() if dtype is not dtypes.void]
FLOATS = [dtype for dtype in VALUES if dtype.is_float and not dtype.is_weak]


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_a_dtype_is_one_object_however_it_is_reached(dtype: DType) -> None:
    assert pickle.loads(pickle.dumps(dtype)) is dtype
    assert copy.deepcopy(dtype) is dtype
    assert dtype_named(dtype.name) is dtype


def test_aliases_name_the_same_objects() -> None:
    assert dtype_named("half") is dtypes.float16
    assert dtype_named("int") is dtypes.int32
    assert all(DTYPES[dtype.name] is dtype for dtype in ALIASES.values())


def test_an_unknown_name_lists_the_choices() -> None:
    with pytest.raises(DTypeError, match="float31") as raised:
        dtype_named("float31")
    assert "float32" in str(raised.value)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_the_limits_of_floats_are_those_of_numpy(dtype: DType) -> None:
    info = ml_dtypes.finfo(NUMPY[dtype.name])
    assert dtype.largest == float(info.max)
    assert dtype.smallest == float(info.smallest_subnormal)
    assert dtype.smallest_normal == float(info.smallest_normal)
    assert dtype.epsilon == float(info.eps)
    assert dtype.bits == info.bits
    assert (dtype.maximum == math.inf) == dtype.has_infinity
    assert dtype.minimum == -dtype.maximum


@pytest.mark.parametrize("dtype", [d for d in VALUES if d.is_int and not d.is_weak], ids=str)
def test_the_limits_of_integers_are_those_of_numpy(dtype: DType) -> None:
    info = np.iinfo(NUMPY[dtype.name])
    assert (dtype.minimum, dtype.maximum, dtype.bits) == (info.min, info.max, info.bits)


def test_sizes_are_those_of_numpy() -> None:
    for dtype in VALUES:
        if not dtype.is_weak:
            assert dtype.nbytes == np.dtype(NUMPY[dtype.name]).itemsize


PROMOTIONS = """
bool bool -> bool
bool uint8 -> uint8
int8 uint8 -> int16
int16 uint16 -> int32
int32 uint32 -> int64
int64 uint64 -> float32
uint8 uint32 -> uint32
int8 uint32 -> int64
int8 uint64 -> float32
int64 float16 -> float16
int64 float8_e4m3 -> float8_e4m3
float8_e4m3 float8_e5m2 -> float16
float8_e4m3fnuz float8_e4m3 -> float16
float16 bfloat16 -> float32
float16 float64 -> float64
bool float32 -> float32
uint8 weakint -> uint8
bool weakint -> int32
bool weakfloat -> float32
int32 weakfloat -> float32
float16 weakfloat -> float16
float8_e5m2 weakfloat -> float8_e5m2
weakint weakint -> weakint
weakint weakfloat -> weakfloat
"""


@pytest.mark.parametrize("line", PROMOTIONS.strip().splitlines())
def test_two_types_meet(line: str) -> None:
    a, b, _, expected = line.split()
    assert promote(DTYPES[a], DTYPES[b]) is DTYPES[expected]


@pytest.mark.parametrize("dtype", VALUES, ids=str)
def test_promotion_is_symmetric_and_keeps_one_type(dtype: DType) -> None:
    assert promote(dtype) is dtype
    assert promote(dtype, dtype, dtype) is dtype
    for other in VALUES:
        assert promote(dtype, other) is promote(other, dtype)


def test_promotion_of_three_types_does_not_depend_on_their_order() -> None:
    for three in itertools.combinations(VALUES, 3):
        assert len({promote(*order) for order in itertools.permutations(three)}) == 1


def test_only_weak_types_meet_in_a_weak_type() -> None:
    for a, b in itertools.product(VALUES, VALUES):
        assert promote(a, b).is_weak == (a.is_weak and b.is_weak)


def test_the_default_float_is_a_choice() -> None:
    assert promote(dtypes.int64, dtypes.uint64, default_float=dtypes.float16) is dtypes.float16
    assert float_dtype(dtypes.int8, default_float=dtypes.float64) is dtypes.float64


def test_effects_have_no_type_to_meet_in() -> None:
    with pytest.raises(DTypeError):
        promote(dtypes.int8, dtypes.void)
    with pytest.raises(DTypeError):
        promote()
    with pytest.raises(DTypeError):
        float_dtype(dtypes.void)


def test_sums_widen() -> None:
    expected = {
        "bool": "int32",
        "int8": "int32",
        "int64": "int64",
        "uint8": "uint32",
        "uint64": "uint64",
        "float8_e4m3": "float32",
        "float16": "float32",
        "bfloat16": "float32",
        "float32": "float32",
        "float64": "float64",
        "weakint": "weakint",
        "weakfloat": "weakfloat",
    }
    for name, wide in expected.items():
        assert sum_dtype(DTYPES[name]) is DTYPES[wide]


def _all_values(dtype: DType) -> np.ndarray:
    patterns = np.arange(2**dtype.bits, dtype=np.uint8 if dtype.nbytes == 1 else np.uint16)
    if dtype.is_bool:
        return np.array([False, True])
    return patterns.view(NUMPY[dtype.name])


@pytest.mark.parametrize("source", [d for d in VALUES if 0 < d.nbytes <= 2], ids=str)
def test_a_lossless_cast_keeps_every_value(source: DType) -> None:
    with np.errstate(invalid="ignore"):
        exact = _all_values(source).astype(np.float64)
    for target in VALUES:
        if target.is_weak or target.is_bool:
            continue
        limits = np.nan_to_num(exact, nan=0.0, posinf=0.0, neginf=0.0)
        fits = target.is_float or bool(
            np.all((limits >= target.minimum) & (limits <= target.maximum))
        )
        with np.errstate(all="ignore"):
            there = exact.astype(NUMPY[target.name]).astype(np.float64)
        kept = fits and np.array_equal(exact, there, equal_nan=target.is_float)
        assert can_losslessly_cast(source, target) == kept, (source, target)


def test_wide_integers_lose_digits_in_floats() -> None:
    assert can_losslessly_cast(dtypes.int32, dtypes.float64)
    assert not can_losslessly_cast(dtypes.int64, dtypes.float64)
    assert not can_losslessly_cast(dtypes.uint32, dtypes.float32)
    assert not can_losslessly_cast(dtypes.int64, dtypes.uint64)
    assert can_losslessly_cast(dtypes.uint32, dtypes.weakint)
    assert not can_losslessly_cast(dtypes.weakint, dtypes.int64)
