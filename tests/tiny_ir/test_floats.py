"""Rounding, wrapping and bits, against NumPy, ml_dtypes and exact fractions."""

from __future__ import annotations

import math
import random
import struct
from bisect import bisect_left
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiny_ir import DType, DTypeError, dtypes
from tiny_ir.dtypes import DTYPES
from tiny_ir.floats import (
    bits_of,
    decoder,
    encoder,
    int_rounder,
    pack_values,
    rounder,
    unpack_values,
    value_in,
    value_of,
    wrap,
    wrapper,
)

NUMPY = {
    "float8_e4m3": ml_dtypes.float8_e4m3fn,
    "float8_e5m2": ml_dtypes.float8_e5m2,
    "float8_e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "float8_e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "bfloat16": ml_dtypes.bfloat16,
    "float16": np.float16,
}
SMALL = [DTYPES[name] for name in NUMPY]
STORED = [dtype for dtype in DTYPES.values() if dtype.nbytes]
INTEGERS = [dtype for dtype in STORED if dtype.is_int]


def _all_bits(dtype: DType) -> np.ndarray:
    return np.arange(2**dtype.bits, dtype=np.uint8 if dtype.nbytes == 1 else np.uint16)


@pytest.mark.parametrize("dtype", SMALL, ids=str)
def test_every_pattern_decodes_as_elsewhere_and_encodes_back(dtype: DType) -> None:
    patterns = _all_bits(dtype)
    values = unpack_values(dtype, patterns.tobytes())
    with np.errstate(invalid="ignore"):
        expected = patterns.view(NUMPY[dtype.name]).astype(np.float64)
    assert np.array_equal(np.array(values), expected, equal_nan=True)
    assert np.array_equal(np.signbit(np.array(values)), np.signbit(expected)) or dtype.is_fnuz
    encode = encoder(dtype)
    assert [encode(value) for value in values] == patterns.tolist()
    assert pack_values(dtype, values) == patterns.tobytes()


@pytest.mark.parametrize("dtype", SMALL, ids=str)
def test_every_value_is_its_own_rounding(dtype: DType) -> None:
    rounded = rounder(dtype)
    for bits in range(2**dtype.bits):
        value = value_of(dtype, bits)
        assert rounded(value) == value or math.isnan(value)


class Nearest:
    """Rounding by search among all finite values: slow, and different from the code under test."""

    def __init__(self, dtype: DType) -> None:
        self.dtype = dtype
        top = bits_of(dtype, dtype.largest)
        self.values = [value_of(dtype, bits) for bits in range(top + 1)]

    def __call__(self, x: float | Fraction) -> float:
        size, values = abs(x), self.values
        place = bisect_left(values, size)
        if place == len(values):
            step = Fraction(values[-1]) - Fraction(values[-2])
            over = Fraction(size) - Fraction(values[-1])
            if self.dtype.nbytes == 1 or over < step / 2:
                result = values[-1]
            else:
                result = math.inf
        elif place == 0 or values[place] == size:
            result = values[place]
        else:
            below = Fraction(size) - Fraction(values[place - 1])
            above = Fraction(values[place]) - Fraction(size)
            if below == above:
                result = values[place - place % 2]  # an even pattern
            else:
                result = values[place - 1] if below < above else values[place]
        if self.dtype.is_fnuz and not result:
            return 0.0
        return math.copysign(result, x)


def _hard_doubles(dtype: DType, seed: int) -> list[float]:
    """Values of the type, the middles between neighbours, and the doubles next to both."""
    generator = random.Random(seed)
    top = bits_of(dtype, dtype.largest)
    chosen = range(top) if top < 256 else [generator.randrange(top) for _ in range(1500)]
    found = [dtype.largest * 1.5, dtype.largest * 4.0, 1e300, 5e-324, dtype.smallest / 2]
    for bits in [*chosen, 0, 1, top - 1]:
        low, high = value_of(dtype, bits), value_of(dtype, bits + 1)
        for x in (low, (low + high) / 2):
            found += [x, math.nextafter(x, math.inf), math.nextafter(x, -math.inf)]
    found += [dtype.largest + (dtype.largest - value_of(dtype, top - 1)) / 2]
    found += [math.nextafter(found[-1], 0.0), math.nextafter(found[-1], math.inf)]
    found += [math.ldexp(generator.random(), generator.randint(-160, 150)) for _ in range(500)]
    return found + [-x for x in found]


@pytest.mark.parametrize("dtype", SMALL, ids=str)
def test_a_double_rounds_to_the_nearest_value_once(dtype: DType) -> None:
    rounded, nearest = rounder(dtype), Nearest(dtype)
    for x in _hard_doubles(dtype, seed=2):
        got, expected = rounded(x), nearest(x)
        assert struct.pack("d", got) == struct.pack("d", expected), x.hex()


@given(st.floats(allow_nan=False))
def test_float32_rounds_as_numpy_does(x: float) -> None:
    with np.errstate(over="ignore"):
        assert struct.pack("d", rounder(dtypes.float32)(x)) == np.float64(np.float32(x)).tobytes()


@given(st.floats(allow_nan=False))
def test_float16_rounds_as_numpy_does(x: float) -> None:
    with np.errstate(over="ignore"):
        assert struct.pack("d", rounder(dtypes.float16)(x)) == np.float64(np.float16(x)).tobytes()


def test_bfloat16_rounds_a_double_once() -> None:
    through_float32_it_would_be_one = 1 + 2.0**-8 + 2.0**-30
    assert rounder(dtypes.bfloat16)(through_float32_it_would_be_one) == 1.0078125
    rows = {70000.0: 70144.0, 1 + 2**-8: 1.0, 1 + 3 * 2**-8: 1.015625, -(1 + 2**-8): -1.0}
    rows |= {3.3895314e38: 3.3895313892515355e38, 2.0**128 - 2**119: math.inf, 0.1: 0.10009765625}
    for x, expected in rows.items():
        assert rounder(dtypes.bfloat16)(x) == expected


def test_small_floats_saturate_and_keep_the_infinity_they_have() -> None:
    rows = [
        (dtypes.float8_e4m3, 500.0, 448.0),
        (dtypes.float8_e4m3, math.inf, 448.0),
        (dtypes.float8_e4m3, -math.inf, -448.0),
        (dtypes.float8_e5m2, 1e9, 57344.0),
        (dtypes.float8_e5m2, math.inf, math.inf),
        (dtypes.float8_e4m3fnuz, math.inf, 240.0),
        (dtypes.float8_e5m2fnuz, -math.inf, -57344.0),
    ]
    for dtype, x, expected in rows:
        assert rounder(dtype)(x) == expected
    assert value_in(dtypes.float8_e4m3, 0.1) == 0.1015625


def test_there_is_no_negative_zero_where_its_pattern_is_nan() -> None:
    for dtype in (dtypes.float8_e4m3fnuz, dtypes.float8_e5m2fnuz):
        assert math.copysign(1.0, rounder(dtype)(-0.0)) == 1.0
        assert bits_of(dtype, math.nan) == 0x80
        assert math.isnan(value_of(dtype, 0x80))


@pytest.mark.parametrize("dtype", [d for d in DTYPES.values() if d.is_float], ids=str)
def test_rounding_gives_the_one_nan(dtype: DType) -> None:
    strange = struct.unpack("<d", struct.pack("<Q", 0xFFF0000000000001))[0]
    assert struct.pack("<d", rounder(dtype)(strange)) == struct.pack("<d", math.nan)


@pytest.mark.parametrize("dtype", STORED, ids=str)
@given(st.integers(0, 2**64 - 1))
def test_bits_come_back_whatever_they_are(dtype: DType, bits: int) -> None:
    bits &= (1 << dtype.bits) - 1
    assert bits_of(dtype, value_of(dtype, bits)) == bits


@pytest.mark.parametrize(
    ("dtype", "bits"),
    [
        (dtypes.float32, 0x7F800001),
        (dtypes.float32, 0xFFC12345),
        (dtypes.float16, 0x7C01),
        (dtypes.bfloat16, 0xFF81),
        (dtypes.float64, 0x7FF0000000000001),
    ],
    ids=str,
)
def test_the_payload_of_a_nan_survives(dtype: DType, bits: int) -> None:
    assert bits_of(dtype, value_of(dtype, bits)) == bits


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@given(st.integers(-(2**70), 2**70))
def test_integers_wrap_at_their_width(dtype: DType, n: int) -> None:
    word = (n % 2**64).to_bytes(8, "little")[: dtype.nbytes]
    assert wrap(dtype, n) == np.frombuffer(word, dtype.name)[0]
    assert value_of(dtype, bits_of(dtype, n)) == wrap(dtype, n)


def test_weak_integers_do_not_wrap() -> None:
    assert wrap(dtypes.weakint, 2**100) == 2**100
    assert wrapper(dtypes.bool_)(-2) is True


@given(st.integers(-(2**66), 2**66))
def test_an_integer_rounds_to_a_float_once(n: int) -> None:
    if -(2**63) <= n < 2**63:
        assert int_rounder(dtypes.float32)(n) == float(np.int64(n).astype(np.float32))
    assert int_rounder(dtypes.float64)(n) == float(n)


BFLOAT16_NEAREST = Nearest(dtypes.bfloat16)


@given(st.integers(8, 62), st.integers(128, 255), st.sampled_from([-1, 0, 1]))
def test_an_integer_beside_a_middle_rounds_to_its_side(shift: int, n: int, aside: int) -> None:
    middle = (2 * n + 1 << shift) + aside
    assert int_rounder(dtypes.bfloat16)(middle) == BFLOAT16_NEAREST(Fraction(middle))


def test_integers_too_large_for_a_float_are_infinite() -> None:
    for dtype in (dtypes.float16, dtypes.float32, dtypes.float64):
        assert int_rounder(dtype)(10**400) == math.inf
        assert int_rounder(dtype)(-(10**400)) == -math.inf
    assert int_rounder(dtypes.float8_e5m2)(10**400) == 57344.0


@pytest.mark.parametrize("dtype", STORED, ids=str)
def test_values_pack_as_numpy_packs_them(dtype: DType) -> None:
    generator = np.random.default_rng(3)
    kind = NUMPY.get(dtype.name, dtype.name)
    values = generator.uniform(0 if dtype.is_unsigned else -100, 100, 64).astype(kind)
    assert pack_values(dtype, values.tolist()) == values.tobytes()
    assert unpack_values(dtype, values.tobytes()) == values.tolist()


@pytest.mark.parametrize("dtype", [dtypes.void, dtypes.weakint, dtypes.weakfloat], ids=str)
def test_what_is_never_stored_has_no_bits(dtype: DType) -> None:
    for function in (encoder, decoder):
        with pytest.raises(DTypeError, match="has no bits"):
            function(dtype)


def test_rounding_and_wrapping_are_told_apart() -> None:
    with pytest.raises(DTypeError):
        rounder(dtypes.int8)
    with pytest.raises(DTypeError):
        wrapper(dtypes.float16)
