"""What ops mean on single values, against NumPy, exact fractions and published vectors."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiny_ir import ELEMENTWISE, DType, DTypeError, Op, dtypes, has_meaning, meaning
from tiny_ir.dtypes import DTYPES
from tiny_ir.floats import bits_of, rounder, value_of
from tiny_ir.meaning import threefry

INTEGERS = [d for d in DTYPES.values() if d.is_int and not d.is_weak]
FLOATS = [d for d in DTYPES.values() if d.is_float and not d.is_weak]
VALUES = [d for d in DTYPES.values() if d is not dtypes.void]
NUMPY_FLOATS = [dtypes.float16, dtypes.float32, dtypes.float64]
inf, nan = math.inf, math.nan


def same(a: object, b: object) -> bool:
    """Equal to the bit, except that all NaNs are one."""
    if isinstance(a, float) and isinstance(b, float):
        if math.isnan(a) or math.isnan(b):
            return math.isnan(a) and math.isnan(b)
        return a == b and math.copysign(1, a) == math.copysign(1, b)
    return a == b and type(a) is type(b)


def values_of(dtype: DType) -> st.SearchStrategy[bool | int | float]:
    """Values of a dtype, with the ends of its range more often than not."""
    if dtype.is_bool:
        return st.booleans()
    if dtype is dtypes.weakint:
        return st.integers(-(2**70), 2**70)
    if dtype.is_int:
        ends = [0, 1, 2, 3, dtype.minimum, dtype.maximum, dtype.maximum - 1]
        return st.sampled_from(ends) | st.integers(int(dtype.minimum), int(dtype.maximum))
    rounded = rounder(dtype)
    ends = [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, inf, -inf, nan]
    ends += [dtype.largest, -dtype.largest, dtype.smallest, -dtype.smallest]
    chosen = st.sampled_from(ends) | st.floats() | st.floats(-100, 100)
    return chosen.map(rounded)


NUMPY_OPS = {
    Op.NEG: np.negative,
    Op.ADD: np.add,
    Op.SUB: np.subtract,
    Op.MUL: np.multiply,
    Op.MAX: np.maximum,
    Op.MIN: np.minimum,
    Op.AND: np.bitwise_and,
    Op.OR: np.bitwise_or,
    Op.XOR: np.bitwise_xor,
    Op.CMPLT: np.less,
    Op.CMPLE: np.less_equal,
    Op.CMPEQ: np.equal,
    Op.CMPNE: np.not_equal,
    Op.FLOORDIV: np.floor_divide,
    Op.FLOORMOD: np.remainder,
}


@pytest.mark.parametrize("op", NUMPY_OPS, ids=lambda op: op.name)
@given(data=st.data())
def test_integers_compute_as_numpy_does(op: Op, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(INTEGERS))
    sources = data.draw(st.tuples(values_of(dtype), values_of(dtype)))[: 1 if op is Op.NEG else 2]
    got = meaning(op, dtype, dtype)(*sources)
    with np.errstate(all="ignore"):
        expected = NUMPY_OPS[op](*[np.array(x, dtype.name) for x in sources])
    assert same(got, expected.item())


@given(data=st.data())
def test_truncating_division_cuts_towards_zero(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(INTEGERS))
    a, b = data.draw(st.tuples(values_of(dtype), values_of(dtype)))
    quotient = int(Fraction(a) / b) if b else 0
    word = bits_of(dtype, quotient)
    assert meaning(Op.CDIV, dtype)(a, b) == value_of(dtype, word)
    assert meaning(Op.CMOD, dtype)(a, b) == (a - b * quotient if b else 0)


FLOAT_OPS = {
    Op.NEG: np.negative,
    Op.SQRT: np.sqrt,
    Op.TRUNC: np.trunc,
    Op.FLOOR: np.floor,
    Op.CEIL: np.ceil,
    Op.ROUND: np.rint,
    Op.ADD: np.add,
    Op.SUB: np.subtract,
    Op.MUL: np.multiply,
    Op.FDIV: np.divide,
    Op.CMPLT: np.less,
    Op.CMPLE: np.less_equal,
    Op.CMPEQ: np.equal,
    Op.CMPNE: np.not_equal,
}


@pytest.mark.parametrize("op", FLOAT_OPS, ids=lambda op: op.name)
@given(data=st.data())
def test_floats_compute_as_numpy_does(op: Op, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(NUMPY_FLOATS))
    function = FLOAT_OPS[op]
    sources = data.draw(st.tuples(values_of(dtype), values_of(dtype)))[: function.nin]
    got = meaning(op, dtype, dtype)(*sources)
    with np.errstate(all="ignore"):
        expected = function(*[np.array(x, dtype.name) for x in sources])
    assert same(got, expected.item())


@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.bfloat16, dtypes.float8_e4m3], ids=str)
@pytest.mark.parametrize("op", [Op.ADD, Op.SUB, Op.MUL, Op.FDIV], ids=lambda op: op.name)
@given(data=st.data())
def test_narrow_floats_round_the_exact_result_once(
    op: Op, dtype: DType, data: st.DataObject
) -> None:
    a, b = data.draw(st.tuples(values_of(dtype), values_of(dtype)))
    if not (math.isfinite(a) and math.isfinite(b)) or (op is Op.FDIV and not b):
        return
    x, y = Fraction(a), Fraction(b)
    exact = {Op.ADD: x + y, Op.SUB: x - y, Op.MUL: x * y}[op] if op is not Op.FDIV else x / y
    got = meaning(op, dtype)(a, b)
    if dtype.smallest_normal <= abs(exact) < dtype.largest:
        assert Fraction(got) == nearest(exact, dtype)


def nearest(x: Fraction, dtype: DType) -> Fraction:
    """Round to the digits of a dtype, to nearest even, in fractions only."""
    size = abs(x)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** exponent > size:
        exponent -= 1
    step = Fraction(2) ** (exponent - dtype.mantissa_bits)
    return round(x / step) * step


@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.float64, dtypes.float16], ids=str)
@given(data=st.data())
def test_multiply_add_rounds_once(dtype: DType, data: st.DataObject) -> None:
    part = st.floats(-200, 200).map(rounder(dtype))
    a, b = data.draw(part), data.draw(part)
    c = data.draw(part | st.just(rounder(dtype)(-a * b)))
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if dtype.smallest_normal <= abs(exact) < dtype.largest:
        assert Fraction(meaning(Op.FMA, dtype)(a, b, c)) == nearest(exact, dtype)


def test_multiply_add_keeps_digits_that_two_roundings_lose() -> None:
    a = 1 + 2.0**-12
    assert meaning(Op.FMA, dtypes.float32)(a, a, -1.0) == 2.0**-11 + 2.0**-24
    # A double sum would round to a tie, and the tie to the wrong side.
    big, tiny = 1.0 + 2.0**-23, 2.0**-80
    assert meaning(Op.FMA, dtypes.float32)(1.0, 2.0**-24, 1.0) == 1.0
    assert meaning(Op.FMA, dtypes.float32)(1.0, 2.0**-24, big) == 1.0 + 2.0**-22
    assert meaning(Op.FMA, dtypes.float32)(tiny, -tiny, big) == big
    assert meaning(Op.FMA, dtypes.float64)(1 + 2.0**-30, 1 - 2.0**-30, -1.0) == -(2.0**-60)


MULTIPLY_ADDS = [
    (inf, 0.0, 1.0, nan),
    (inf, 1.0, -inf, nan),
    (inf, -1.0, 5.0, -inf),
    (1e300, 1e300, -inf, -inf),
    (1e300, 1e300, 0.0, inf),
    (1e300, -1e300, 0.0, -inf),
    (1e300, 1e300, nan, nan),
    (nan, 1.0, 1.0, nan),
    (-0.0, 1.0, -0.0, -0.0),
    (-0.0, 1.0, 0.0, 0.0),
    (2.0, 3.0, -6.0, 0.0),
    (1e-300, -1e-300, 0.0, -0.0),
    (1e-300, 1e-300, 5e-324, 5e-324),
]


@pytest.mark.parametrize(("a", "b", "c", "expected"), MULTIPLY_ADDS)
def test_multiply_add_at_the_edges(a: float, b: float, c: float, expected: float) -> None:
    assert same(meaning(Op.FMA, dtypes.float64)(a, b, c), expected)


def test_maximum_and_minimum_order_zeros_and_keep_nan() -> None:
    for dtype in FLOATS:
        larger, smaller = meaning(Op.MAX, dtype), meaning(Op.MIN, dtype)
        for a, b in itertools.permutations((1.0, nan)):
            assert math.isnan(larger(a, b))
            assert math.isnan(smaller(a, b))
    for a, b in itertools.permutations((0.0, -0.0)):
        assert same(meaning(Op.MAX, dtypes.float32)(a, b), 0.0)
        assert same(meaning(Op.MIN, dtypes.float32)(a, b), -0.0)


CASTS = [
    ("float32", "uint8", [-1, -1.5, -2, 255, 256, 300.7], [255, 255, 254, 255, 0, 44]),
    ("float32", "int32", [-3.3, 3.9, nan, 2.0**31, -(2.0**40)], [-3, 3, 0, -(2**31), 0]),
    ("float64", "int64", [inf, -inf, 2.0**63, nan], [2**63 - 1, -(2**63), 2**63 - 1, 0]),
    ("float32", "int32", [inf, -inf, 1e30], [-1, 0, -1]),
    ("float32", "uint64", [inf, -1.0, 2.0**63, -inf], [2**64 - 1, 2**64 - 1, 2**63, 2**63]),
    ("float32", "bool", [0.0, -0.0, nan, 0.5], [False, False, True, True]),
    ("bool", "float16", [True, False], [1.0, 0.0]),
    ("bool", "int8", [True, False], [1, 0]),
    ("int32", "int8", [200, -129, 128], [-56, 127, -128]),
    ("int8", "uint64", [-1], [2**64 - 1]),
    ("int64", "float32", [2**24 + 1, 2**60 + 2**36 + 1], [16777216.0, 2.0**60 + 2.0**37]),
    ("uint64", "float64", [2**64 - 1], [2.0**64]),
    ("float64", "bfloat16", [1 + 2.0**-8 + 2.0**-30], [1.0078125]),
    ("float64", "float16", [1e6, 2049.0], [inf, 2048.0]),
    ("weakint", "uint8", [300], [44]),
    ("float32", "weakint", [2.5], [2]),
]


@pytest.mark.parametrize(("source", "target", "values", "expected"), CASTS)
def test_casts(source: str, target: str, values: list[float], expected: list[float]) -> None:
    convert = meaning(Op.CAST, DTYPES[target], DTYPES[source])
    for value, wanted in zip(values, expected, strict=True):
        assert same(convert(value), wanted), value


def test_narrow_integers_wrap_before_anything_else_sees_them() -> None:
    assert meaning(Op.ADD, dtypes.uint8)(200, 100) == 44
    assert meaning(Op.NEG, dtypes.int8)(-128) == -128
    assert meaning(Op.MUL, dtypes.int16)(300, 300) == 24464
    assert meaning(Op.SHL, dtypes.uint8)(31, 4) == 240
    assert meaning(Op.SUB, dtypes.uint8)(3, 5) == 254
    assert meaning(Op.FLOORDIV, dtypes.int8)(-128, -1) == -128
    assert meaning(Op.CDIV, dtypes.int8)(-128, -1) == -128
    assert meaning(Op.FMA, dtypes.int8)(100, 2, 100) == 44


def test_division_by_zero_has_a_value() -> None:
    for dtype in [*INTEGERS, dtypes.weakint]:
        for op in (Op.FLOORDIV, Op.FLOORMOD, Op.CDIV, Op.CMOD):
            assert meaning(op, dtype)(5, 0) == 0
    divide = meaning(Op.FDIV, dtypes.float32)
    assert [divide(1.0, 0.0), divide(1.0, -0.0), divide(-1.0, 0.0)] == [inf, -inf, -inf]
    assert math.isnan(divide(0.0, 0.0))


def test_shifts_beyond_the_width_leave_zeros_or_the_sign() -> None:
    for dtype in INTEGERS:
        left, right = meaning(Op.SHL, dtype), meaning(Op.SHR, dtype)
        assert left(1, dtype.bits) == 0
        assert right(int(dtype.maximum), dtype.bits) == 0
        assert right(int(dtype.minimum), dtype.bits) == (0 if dtype.is_unsigned else -1)
        assert left(3, dtype.bits - 1) == (dtype.minimum or 1 << dtype.bits - 1)
        if not dtype.is_unsigned:
            assert left(1, -1) == 0
            assert right(-5, -1) == -1


@given(st.data())
def test_an_integer_power_wraps(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(INTEGERS))
    a, b = data.draw(values_of(dtype)), data.draw(st.integers(0, 100))
    assert meaning(Op.POW, dtype)(a, b) == value_of(dtype, bits_of(dtype, a**b))


def test_powers() -> None:
    power = meaning(Op.POW, dtypes.int32)
    rows = [(0, 0, 1), (0, 64, 0), (2, 10, 1024), (-2, 3, -8), (3, 0, 1)]
    rows += [(2, -1, 0), (1, -1, 1), (-1, -1, -1), (-1, -2, 1), (0, -1, 0)]
    assert [power(a, b) for a, b, _ in rows] == [expected for *_, expected in rows]
    power = meaning(Op.POW, dtypes.float32)
    assert same(power(-8.0, 1 / 3), nan)
    assert power(-2.0, 3.0) == -8.0
    assert power(0.0, 0.0) == 1.0
    assert power(nan, 0.0) == 1.0
    assert power(1.0, nan) == 1.0


@given(st.data())
def test_a_float_power_is_that_of_c(data: st.DataObject) -> None:
    part = values_of(dtypes.float64)
    a, b = data.draw(part), data.draw(part | st.sampled_from([-3.0, -2.0, 3.0, 2.0]))
    with np.errstate(all="ignore"):
        expected = np.power(np.float64(a), np.float64(b)).item()
    got = meaning(Op.POW, dtypes.float64)(a, b)
    assert same(got, expected) or math.isclose(got, expected, rel_tol=1e-15)


FUNCTIONS = {
    Op.EXP: np.exp,
    Op.EXP2: np.exp2,
    Op.EXPM1: np.expm1,
    Op.LOG: np.log,
    Op.LOG2: np.log2,
    Op.LOG1P: np.log1p,
    Op.SIN: np.sin,
    Op.COS: np.cos,
    Op.TAN: np.tan,
    Op.ASIN: np.arcsin,
    Op.ACOS: np.arccos,
    Op.ATAN: np.arctan,
    Op.SINH: np.sinh,
    Op.COSH: np.cosh,
    Op.TANH: np.tanh,
}
EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -0.4, 2.0, -2.0, 1e300, -1e300, 1e4, -1e4, 5e-324, -5e-324]
EDGES += [inf, -inf, nan]


@pytest.mark.parametrize("op", FUNCTIONS, ids=lambda op: op.name)
def test_functions_at_the_edges_are_those_of_c(op: Op) -> None:
    for x in EDGES:
        with np.errstate(all="ignore"):
            expected = FUNCTIONS[op](np.float64(x)).item()
        got = meaning(op, dtypes.float64)(x)
        close = math.isclose(got, expected, rel_tol=1e-14) and expected != 0 and got != 0
        assert same(got, expected) or close, (x, got, expected)


def test_erf_at_the_edges() -> None:
    erf = meaning(Op.ERF, dtypes.float32)
    for x, expected in [(0.0, 0.0), (-0.0, -0.0), (inf, 1.0), (-inf, -1.0), (nan, nan)]:
        assert same(erf(x), expected)


def test_functions_of_narrow_floats_round_once() -> None:
    exp, log, cos = (meaning(op, dtypes.bfloat16) for op in (Op.EXP, Op.LOG, Op.COS))
    assert (exp(12.0), log(12.0), cos(12.0)) == (162816.0, 2.484375, 0.84375)
    exp = meaning(Op.EXP, dtypes.float32)
    assert [exp(-inf), exp(inf), exp(-104.0), exp(88.8)] == [0.0, inf, 0.0, inf]


def test_rounding_to_whole_numbers_keeps_zeros_and_large_values() -> None:
    rows = [(0.5, 0.0), (1.5, 2.0), (2.5, 2.0), (-0.5, -0.0), (-1.5, -2.0), (1e30, 1e30)]
    for x, expected in rows:
        assert same(meaning(Op.ROUND, dtypes.float64)(x), expected)
    assert same(meaning(Op.CEIL, dtypes.float32)(-0.4), -0.0)
    assert same(meaning(Op.FLOOR, dtypes.float32)(3e9), 3e9)


THREEFRY_VECTORS = [
    (0, 0, 0x99BA4EFE6B200159),
    (2**64 - 1, 2**64 - 1, 0xBB002BE71CB996FC),
    (0x85A308D3243F6A88, 0x0370734413198A2E, 0x483DF7A0C4923A9C),
]


@pytest.mark.parametrize(("counter", "key", "expected"), THREEFRY_VECTORS)
def test_threefry_gives_the_published_vectors(counter: int, key: int, expected: int) -> None:
    assert threefry(counter, key) == expected
    assert meaning(Op.THREEFRY, dtypes.uint64)(counter, key) == expected


@given(st.integers(0, 2**32 - 1))
def test_bitcast_reads_the_same_bits(bits: int) -> None:
    to_float = meaning(Op.BITCAST, dtypes.float32, dtypes.uint32)
    to_int = meaning(Op.BITCAST, dtypes.uint32, dtypes.float32)
    assert to_int(to_float(bits)) == bits
    assert meaning(Op.BITCAST, dtypes.int32, dtypes.uint32)(bits) & 0xFFFFFFFF == bits


UNARY = {Op.NEG, Op.SQRT, Op.TRUNC, Op.FLOOR, Op.CEIL, Op.ROUND, Op.ERF, *FUNCTIONS}


def _is_value(dtype: DType, value: object) -> bool:
    if dtype.is_bool:
        return type(value) is bool
    if dtype.is_float:
        return type(value) is float and same(value, rounder(dtype)(value))
    return type(value) is int and dtype.minimum <= value <= dtype.maximum


KEEPING = sorted(ELEMENTWISE - {Op.CAST, Op.BITCAST}, key=lambda op: op.name)


@pytest.mark.parametrize("op", KEEPING, ids=lambda op: op.name)
@given(data=st.data())
def test_every_op_gives_a_value_of_its_dtype_and_never_raises(op: Op, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from([d for d in VALUES if has_meaning(op, d)]))
    arity = 1 if op in UNARY else 3 if op in (Op.WHERE, Op.FMA) else 2
    sources = [data.draw(values_of(dtype)) for _ in range(arity)]
    if op is Op.WHERE:
        sources[0] = data.draw(st.booleans())
    if dtype is dtypes.weakint and op in (Op.SHL, Op.SHR, Op.POW):
        sources[1] = data.draw(st.integers(-3, 100))
    is_comparison = op in (Op.CMPLT, Op.CMPLE, Op.CMPEQ, Op.CMPNE)
    result = meaning(op, dtype, dtype)(*sources)
    assert _is_value(dtypes.bool_ if is_comparison else dtype, result), (dtype, sources, result)


@given(data=st.data())
def test_every_cast_gives_a_value_of_its_dtype_and_never_raises(data: st.DataObject) -> None:
    source, target = (data.draw(st.sampled_from(VALUES)) for _ in range(2))
    value = data.draw(values_of(source))
    assert _is_value(target, meaning(Op.CAST, target, source)(value)), (source, target, value)


@pytest.mark.parametrize(
    ("op", "dtype"),
    [
        (Op.EXP, dtypes.int8),
        (Op.AND, dtypes.float32),
        (Op.ADD, dtypes.void),
        (Op.SINK, dtypes.void),
        (Op.ADD, dtypes.bool_),
        (Op.FDIV, dtypes.int32),
        (Op.FLOORMOD, dtypes.float32),
        (Op.THREEFRY, dtypes.uint32),
        (Op.SHL, dtypes.float16),
        (Op.CAST, dtypes.int8),
    ],
    ids=str,
)
def test_an_op_without_a_meaning_says_so(op: Op, dtype: DType) -> None:
    with pytest.raises(DTypeError, match="has no meaning"):
        meaning(op, dtype)


def test_a_bitcast_keeps_the_width() -> None:
    with pytest.raises(DTypeError, match="another size"):
        meaning(Op.BITCAST, dtypes.int16, dtypes.float32)
