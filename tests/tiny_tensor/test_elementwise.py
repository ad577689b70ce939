"""Operators compute what NumPy computes in the promoted dtype, and refuse what means nothing."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tiny_ir import (
    ArgumentError,
    ArgumentTypeError,
    DTypeError,
    OutOfRangeError,
    ShapeError,
    dtypes,
)
from tiny_tensor import Tensor

pytestmark = pytest.mark.usefixtures("session")

INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
FLOATS = ["float16", "float32", "float64"]
nan, inf = math.nan, math.inf


def numbers(name: str, seed: int = 0) -> np.ndarray[Any, Any]:
    """Values of a dtype with its extremes among them."""
    dice = np.random.RandomState(seed)
    if name == "bool":
        return dice.randint(0, 2, 24) == 1
    if name in FLOATS:
        special = [0.0, -0.0, 1.0, -1.0, inf, -inf, nan, 0.5]
        return np.concatenate([special, dice.randn(16) * 10]).astype(name)
    limits = np.iinfo(name)
    special = [0, 1, limits.min, limits.max, limits.max // 2, 2, 3, 7]
    return np.array(special + dice.randint(0, 100, 16).tolist(), dtype=name)


def assert_bits(actual: Tensor, expected: np.ndarray[Any, Any]) -> None:
    """Equal dtype, shape and bits; every NaN counts as the same."""
    array = actual.numpy()
    assert array.dtype == expected.dtype
    assert array.shape == expected.shape
    if array.dtype.kind == "f":
        assert np.array_equal(np.isnan(array), np.isnan(expected))
        where = ~np.isnan(array)
        array, expected = array[where], expected[where]
        assert np.array_equal(np.signbit(array), np.signbit(expected))
    assert np.array_equal(array, expected)


ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "eq": operator.eq,
    "ne": operator.ne,
}


@pytest.mark.parametrize("name", [*INTEGERS, *FLOATS])
def test_operators_equal_numpy(name: str) -> None:
    a, b = numbers(name), np.roll(numbers(name, 1), 5)
    for word, function in ARITHMETIC.items():
        if word in ("and", "or", "xor") and name in FLOATS:
            continue
        with np.errstate(all="ignore"):
            assert_bits(function(Tensor(a), Tensor(b)), function(a, b))


@pytest.mark.parametrize("name", INTEGERS)
def test_integer_division_rounds_down_and_by_zero_gives_zero(name: str) -> None:
    a, b = numbers(name), np.roll(numbers(name, 1), 5)
    with np.errstate(all="ignore"):
        assert_bits(Tensor(a) // Tensor(b), np.where(b == 0, 0, a // np.where(b == 0, 1, b)))
        assert_bits(Tensor(a) % Tensor(b), np.where(b == 0, 0, a % np.where(b == 0, 1, b)))


@pytest.mark.parametrize("name", FLOATS)
def test_float_division_equals_numpy(name: str) -> None:
    dice = np.random.RandomState(3)
    a = np.concatenate([numbers(name), dice.randn(40) * 1000]).astype(name)
    b = np.concatenate([np.roll(numbers(name, 1), 5), dice.randn(40)]).astype(name)
    with np.errstate(all="ignore"):
        assert_bits(Tensor(a) / Tensor(b), a / b)
        assert_bits(Tensor(a) % Tensor(b), a % b)
        assert_bits(Tensor(a) // Tensor(b), a // b)
        assert_bits(Tensor(a).fmod(Tensor(b)), np.fmod(a, b))


@pytest.mark.parametrize("name", FLOATS)
def test_remainders_of_any_bits_are_exact_however_large_the_quotient(name: str) -> None:
    dice = np.random.RandomState(4)
    words = dice.randint(0, 2**16, (2, 4000, np.dtype(name).itemsize // 2)).astype("uint16")
    a, b = words.reshape(2, -1).view(name)
    limits = np.finfo(name)
    ends = np.array(
        [0.0, -0.0, 1, -1, 3, inf, -inf, nan, limits.max, limits.tiny, -limits.smallest_subnormal],
        dtype=name,
    )
    small = dice.randint(1, 40, 500).astype(name)
    multiples = small * np.arange(1, 501).astype(name)
    below = np.nextafter(multiples, ends[0])
    a = np.concatenate([a, np.repeat(ends, len(ends)), multiples, below])
    b = np.concatenate([b, np.tile(ends, len(ends)), small, small])
    with np.errstate(all="ignore"):
        assert_bits(Tensor(a).fmod(Tensor(b)), np.fmod(a, b))
        assert_bits(Tensor(a) % Tensor(b), a % b)
        assert_bits(Tensor(a) // Tensor(b), a // b)


@pytest.mark.parametrize("name", ["bfloat16", "float8_e5m2", "float8_e4m3"])
def test_remainders_of_narrow_floats_are_those_of_wider_ones(name: str) -> None:
    dice = np.random.RandomState(5)
    scales = 2.0 ** dice.randint(-14, 8, (2, 300))
    a, b = (Tensor(x).cast(name) for x in dice.randn(2, 300) * scales)
    with np.errstate(all="ignore"):
        expected = np.fmod(a.double().numpy(), b.double().numpy())
    assert_bits(a.fmod(b).double(), expected)


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_the_slopes_of_a_remainder_are_one_and_minus_the_quotient(name: str) -> None:
    x = Tensor([5.5, -5.5, 6.0, 2.0**60, 0.0, 2.0], dtype=name)
    y = Tensor([2.0, 2.0, 3.0, 8.0, 3.0, inf], dtype=name)
    slopes = [part.tolist() for part in (x % y).sum().gradient(x, y)]
    assert slopes == [[1.0] * 6, [-2.0, 3.0, -2.0, -(2.0**57), 0.0, 0.0]]


OUT_OF_RANGE: dict[str, Callable[[Tensor], Tensor]] = {
    "add": lambda x: x + 300,
    "divide": lambda x: 300 // x,
    "xor": lambda x: x ^ -1,
    "maximum": lambda x: x.maximum(-1),
    "where": lambda x: (x > 0).where(x, 300),
    "masked_fill": lambda x: x.masked_fill(x > 0, np.int64(300)),
    "pad": lambda x: x.pad((1, 1), value=300),
    "scatter": lambda x: x.scatter(0, Tensor([0]), 300),
    "full_like": lambda x: x.full_like(300),
    "assign": lambda x: x.assign(300),
}


@pytest.mark.parametrize("name", OUT_OF_RANGE)
def test_an_integer_that_the_dtype_does_not_hold_is_refused(name: str) -> None:
    with pytest.raises(OutOfRangeError, match="is not a value of uint8"):
        OUT_OF_RANGE[name](Tensor([1], dtype="uint8"))
    assert issubclass(OutOfRangeError, OverflowError)
    assert issubclass(OutOfRangeError, ArgumentError)


def test_an_integer_out_of_range_is_compared_and_divided_by_as_what_it_is() -> None:
    x = Tensor([3, 255], dtype="uint8")
    assert [(x < 300).tolist(), (x == 2**70).tolist(), (x > -1).tolist()] == [
        [True, True],
        [False, False],
        [True, True],
    ]
    assert (Tensor([2**63 - 1]) == 2**63).tolist() == [False]
    assert (x / 300).tolist() == (x.float() / 300).tolist()
    assert x.clamp(-5, 300).tolist() == [3, 255]
    assert_bits(x.logical_and(256), np.array([True, True]))


@pytest.mark.parametrize("number", [np.int64(2), np.float64(2), np.float32(2), np.bool_(True)])
def test_a_numpy_scalar_is_the_number_that_it_stands_for(number: Any) -> None:
    for name in ("int8", "float16"):
        x = Tensor([1], dtype=name)
        same = [x + number.item(), x.maximum(number.item()), (x > 0).where(number.item(), x)]
        beside = [x + number, x.maximum(number), (x > 0).where(number, x)]
        assert [y.dtype for y in beside] == [y.dtype for y in same]
        assert (number + x).dtype is same[0].dtype
    assert Tensor(number).dtype.name == number.dtype.name


def test_bools_add_to_or_and_multiply_to_and() -> None:
    a, b = Tensor([True, True, False]), Tensor([True, False, False])
    assert (a + b).tolist() == [True, True, False]
    assert (a * b).tolist() == [True, False, False]
    assert (-a).tolist() == (~a).tolist() == [False, False, True]
    assert (a ^ b).tolist() == [False, True, False]


@pytest.mark.parametrize("word", ["sub", "mod", "floordiv", "pow", "lshift"])
def test_bools_refuse_other_arithmetic(word: str) -> None:
    x = Tensor([True])
    with pytest.raises(DTypeError, match="bool"):
        getattr(operator, word)(x, x)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Tensor.__add__, "float32"),
        (lambda x, _: x + 1, "int32"),
        (lambda x, _: x + True, "int32"),
        (lambda x, _: 2.5 - x, "float32"),
        (lambda x, _: x.half() * 2.5, "float16"),
        (lambda x, _: x.cast("uint8") + 1, "uint8"),
        (lambda x, _: x.cast("int8") + x.cast("uint8"), "int16"),
        (lambda x, _: x.long() + x.cast("uint64"), "float32"),
        (lambda x, _: x / 2, "float32"),
        (lambda x, _: (x == 1) + 1, "int32"),
        (lambda x, _: x.bfloat16() + x.half(), "float32"),
        (lambda x, _: (x > 0).where(1, 0), "int32"),
        (lambda x, _: (x > 0).where(1, 2**40), "int64"),
        (lambda x, _: (x > 0).where(1, 0.5), "float32"),
        (lambda x, _: (x > 0).where(x.half(), 0.5), "float16"),
    ],
)
def test_numbers_give_way_and_tensors_promote(
    value: Callable[[Tensor, object], Tensor], expected: str
) -> None:
    assert value(Tensor([1, 2]), 0.5).dtype.name == expected


def test_operators_have_reflected_forms() -> None:
    x = Tensor([1, 2, 4])
    assert (1 - x).tolist() == [0, -1, -3]
    assert (8 / x).tolist() == [8.0, 4.0, 2.0]
    assert (9 // x).tolist() == [9, 4, 2]
    assert (9 % x).tolist() == [0, 1, 1]
    assert (2**x).tolist() == [2, 4, 16]
    assert (1 << x).tolist() == [2, 4, 16]
    assert (256 >> x).tolist() == [128, 64, 16]
    assert (3 & x).tolist() == [1, 2, 0]
    assert (3 | x).tolist() == [3, 3, 7]
    assert (3 ^ x).tolist() == [2, 1, 7]
    assert (np.array([1, 1, 1], np.int32) + x).tolist() == [2, 3, 5]
    assert (2 < x).tolist() == [False, False, True]


def test_operators_in_place_write_the_tensor_and_its_views() -> None:
    x = Tensor([1, 2, 3, 4])
    first = x
    part = x[1:3]
    x += 1
    x *= 2
    x -= 2
    x //= 2
    x %= 4
    x **= 2
    x |= 8
    x &= 12
    x ^= 1
    x <<= 2
    x >>= 1
    assert x is first
    expected = np.array([1, 2, 3, 4])
    expected = (((((((expected + 1) * 2 - 2) // 2) % 4) ** 2 | 8) & 12) ^ 1) << 2 >> 1
    assert x.tolist() == expected.tolist()
    assert part.tolist() == expected[1:3].tolist()
    y = Tensor([1.0, 2.0])
    y /= 2
    assert y.tolist() == [0.5, 1.0]
    with pytest.raises(DTypeError, match="changes no dtype"):
        x += 0.5


def test_narrow_integers_wrap_before_they_widen() -> None:
    u8, i8, i16 = "uint8", "int8", "int16"
    assert (Tensor([200], dtype=u8) + Tensor([100], dtype=u8)).int().tolist() == [44]
    assert ((Tensor([200], dtype=u8) * 2) // 2).tolist() == [72]
    assert (-Tensor([-128], dtype=i8)).int().tolist() == [-128]
    assert (Tensor([300], dtype=i16) * Tensor([300], dtype=i16)).int().tolist() == [24464]
    assert (Tensor([31], dtype=u8) << 4).int().tolist() == [240]
    assert ((Tensor([3], dtype=u8) - Tensor([5], dtype=u8)) > 0).tolist() == [True]
    assert (~Tensor([1], dtype=u8)).tolist() == [254]


def test_index_arithmetic_with_negative_numerators_is_right() -> None:
    def counted(n: int) -> np.ndarray[Any, Any]:
        return np.arange(n, dtype=np.int32)

    for n, scale, shift, divisor in [
        (12, 1, -6, 4),
        (6, 3, -10, 3),
        (6, 6, -9, 6),
        (6, -3, -15, 6),
        (5, 1, -4, -2),
        (2, 1, 0, 3),
    ]:
        mine = Tensor.arange(n) * scale + shift
        theirs = counted(n) * scale + shift
        assert_bits(mine // divisor, theirs // divisor)
        assert_bits(mine % divisor, theirs % divisor)


def test_a_number_that_the_dtype_cannot_hold_is_compared_as_it_is() -> None:
    x = Tensor([1, 200], dtype="uint8")
    assert (x < 300).tolist() == [True, True]
    assert (x > -1).tolist() == [True, True]
    assert (x == 256 + 200).tolist() == [False, False]


def test_powers() -> None:
    assert (Tensor([0, 0, 2, -2, 3]) ** Tensor([0, 64, 10, 3, 0])).tolist() == [1, 0, 1024, -8, 1]
    assert (Tensor([2, 3]) ** 0.5).numpy() == pytest.approx([2**0.5, 3**0.5], rel=1e-6)
    assert (Tensor([2, 3]) ** 0.5).dtype is dtypes.float32
    assert (2 ** Tensor([0.5])).item() == pytest.approx(2**0.5, rel=1e-6)
    assert math.isnan((Tensor([-8.0]) ** (1 / 3)).item())
    assert (Tensor([-2]) ** Tensor([3.0])).item() == -8.0
    assert (Tensor([0.0]) ** 0.0).item() == 1.0
    x = np.array([-2.5, -0.0, 3.0], np.float32)
    for exponent in range(-3, 7):
        with np.errstate(divide="ignore"):
            assert (Tensor(x) ** exponent).numpy() == pytest.approx(x**exponent, rel=2e-6)
    with pytest.raises(ArgumentError, match="power -1"):
        Tensor([2]) ** -1


def test_extremes_propagate_nan_in_either_order() -> None:
    a, b = Tensor([1.0, nan, nan, -0.0]), Tensor([nan, 1.0, nan, 0.0])
    assert_bits(a.maximum(b), np.array([nan, nan, nan, 0.0], np.float32))
    assert_bits(a.minimum(b), np.array([nan, nan, nan, -0.0], np.float32))
    assert math.isnan(Tensor([nan]).clamp(0, 1).item())
    assert math.isnan(Tensor([nan]).relu().item())


def test_no_law_of_real_numbers_is_used_on_floats() -> None:
    def one(x: Tensor) -> float:
        return x.item()  # type: ignore[return-value]

    assert math.isnan(one(Tensor([inf]) * 0))
    assert math.isnan(one(Tensor([nan]) * 0))
    x = Tensor([inf])
    assert math.isnan(one(x - x))
    zero = Tensor([0.0])
    assert math.isnan(one(zero / zero))
    assert one((Tensor([1.0]) + 1e8) - 1e8) == 0.0
    assert one(Tensor([3e38]) * 3 / 3) == inf
    y = Tensor([nan])
    assert (y == y).tolist() == [False]


def test_where_spreads_all_three() -> None:
    condition = Tensor([[True], [False]])
    assert condition.where(Tensor([1, 2]), 0).tolist() == [[1, 2], [0, 0]]
    assert Tensor([True, False]).where(1, Tensor([[5], [6]])).tolist() == [[1, 5], [1, 6]]
    with pytest.raises(DTypeError, match="condition is bool"):
        Tensor([1, 0]).where(1, 2)
    assert Tensor([1, 2]).masked_fill(Tensor([True, False]), -1).tolist() == [-1, 2]


def test_clamp_takes_numbers_and_tensors() -> None:
    x = Tensor([-2.0, 0.5, 7.0])
    assert x.clamp(-1, 1).tolist() == [-1, 0.5, 1]
    assert x.clamp(max_=Tensor([0.0, 0.0, 9.0])).tolist() == [-2, 0, 7]
    assert x.clip(1, 0).tolist() == [0, 0, 0]
    assert Tensor([1, 5]).clamp(1.5).tolist() == [1.5, 5.0]
    with pytest.raises(ArgumentError, match="no limits"):
        x.clamp()


@pytest.mark.parametrize("source", ["float32", "float64", "int32", "uint8", "int64", "bool"])
@pytest.mark.parametrize("target", ["int8", "uint8", "int32", "int64", "float32", "bool"])
def test_casts_truncate_and_wrap(source: str, target: str) -> None:
    values = np.array([0, 1, 3, 100, 200, 40]).astype(source)
    if source in FLOATS:
        values = np.array([-1.5, 300.7, -0.0, 2.9, -200.2, 1e5], source)
    expected = values.astype(np.int64) if target[0] in "iu" and source in FLOATS else values
    assert_bits(Tensor(values).cast(target), expected.astype(target))


def test_floats_become_unsigned_alike_at_every_length() -> None:
    row = np.array([-1, -1.5, -2, 255, 256, 300.7], np.float32)
    for length in (1, 7, 8, 33, 449):
        values = np.resize(row, length)
        expected = values.astype(np.int64).astype(np.uint8)
        assert_bits(Tensor(values).cast("uint8"), expected)
    assert Tensor(-1.5).cast("uint8").item() == 255


def test_bfloat16_rounds_to_nearest_even() -> None:
    values = [70000, 1 + 2**-8, 1 + 3 * 2**-8, -(1 + 2**-8), 3.3895314e38, 3.3961775e38, nan, 0.1]
    expected = [70144, 1, 1.015625, -1, 3.3895314e38, inf, nan, 0.10009765625]
    assert_bits(Tensor(values).bfloat16(), np.array(expected, np.float32))


def test_float8_saturates() -> None:
    assert Tensor([448.0, 500.0, 0.1]).cast("fp8e4m3").tolist() == [448.0, 448.0, 0.1015625]


def test_bits_are_read_as_other_dtypes() -> None:
    x = np.array([[1.0, -2.5], [nan, 0.0]], np.float32)
    assert_bits(Tensor(x).bitcast("int32"), x.view(np.int32))
    assert_bits(Tensor(x).bitcast("uint8"), x.view(np.uint8))
    assert_bits(Tensor(x).bitcast("float64"), x.view(np.float64))
    assert_bits(Tensor(x.view(np.uint8)).bitcast("float32"), x)
    with pytest.raises(ShapeError, match="last axis"):
        Tensor([1, 2, 3], dtype="uint8").bitcast("int32")
    with pytest.raises(DTypeError, match="bits of"):
        Tensor([True]).bitcast("uint8")


def test_isclose_knows_infinities_and_numbers() -> None:
    x = Tensor([1, 1 + 1e-7, 2, inf, -inf, nan])
    assert x.isclose(1.0).tolist() == [True, True, False, False, False, False]
    y = Tensor([inf, inf, nan])
    assert y.isclose(Tensor([inf, -inf, nan])).tolist() == [True, False, False]
    assert y.isclose(y, equal_nan=True).tolist() == [True, True, True]
    assert Tensor([1.0]).allclose(Tensor([1.0 + 1e-7]))
    for wrong in ({"rtol": -0.1}, {"atol": -0.1}, {"atol": nan}):
        with pytest.raises(ArgumentError, match="tol cannot be"):
            x.isclose(1.0, **wrong)


def test_lerp() -> None:
    assert Tensor([0.0, 4.0]).lerp(Tensor([2.0, 0.0]), 0.5).tolist() == [1.0, 2.0]
    assert Tensor([0, 200], dtype="uint8").lerp(Tensor([100, 0], dtype="uint8"), 0.5).tolist() == [
        50,
        100,
    ]


def test_mistakes_are_named_at_the_call() -> None:
    x = Tensor([1.0, 2.0])
    with pytest.raises(ShapeError, match=r"broadcast \(2,\) and \(3,\)"):
        x + Tensor([1.0, 2.0, 3.0])
    with pytest.raises(DTypeError, match="floats have no bits"):
        x & x
    with pytest.raises(DTypeError, match="SHL"):
        x << 1
    with pytest.raises(ArgumentError, match="count of bits"):
        Tensor([1]) << -1
    with pytest.raises(ArgumentError, match="rounding_mode"):
        x.div(2, rounding_mode="up")
    with pytest.raises(ArgumentTypeError, match="str"):
        x + "1"
    with pytest.raises(DTypeError, match="no dtype named"):
        x.cast("float17")


def test_a_tensor_is_hashed_by_identity() -> None:
    x, y = Tensor([1]), Tensor([1])
    assert len({x, y, x}) == 2


@pytest.mark.parametrize("name", ["bool", "uint8", "int8"])
def test_the_magnitude_of_an_operator_is_that_of_numpy(name: str) -> None:
    values = numbers(name)
    assert_bits(abs(Tensor(values)), abs(values))


def test_nothing_and_texts_are_told_apart_by_identity() -> None:
    x = Tensor([1, 2])
    assert ((x == None) is False, (x != None) is True) == (True, True)  # noqa: E711
    assert ((None == x) is False, (x == "auto") is False, (x != "auto") is True) == (True,) * 3  # noqa: E711
    with pytest.raises(ArgumentTypeError, match="NoneType"):
        x.eq(None)
    with pytest.raises(ArgumentTypeError):
        _ = x < None
