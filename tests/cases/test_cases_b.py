"""Integers: signs, widths, powers and large numbers (cases 16 to 28)."""

from __future__ import annotations

import numpy as np
import pytest

from tiny_ir import ArgumentError, TinyError
from tiny_tensor import Tensor

from .kinds import check_each, check_same, inf, nan, tensor

SIGNED = ("int8", "int16", "int32", "int64")


@pytest.mark.parametrize("dtype", SIGNED)
def test_quotients_round_down_and_remainders_follow_the_divisor(dtype: str) -> None:
    columns = [([-7, 7, -7, 7, -1, 0], dtype), ([2, -2, -2, 2, 3, -5], dtype)]
    check_each(lambda x, y: x // y, columns, [-4, -4, 3, 3, -1, 0], dtype=dtype)
    check_each(lambda x, y: x % y, columns, [1, -1, -1, 1, 2, 0], dtype=dtype)


def test_remainders_of_floats_follow_the_divisor() -> None:
    columns = [([-7, 7, -0.5, 5.5], "float32"), ([2, -2, 1, 2], "float32")]
    check_each(lambda x, y: x % y, columns, [1, -1, 0.5, 1.5])


@pytest.mark.parametrize("dtype", SIGNED)
def test_divided_by_nothing_is_nothing(dtype: str) -> None:
    lowest = -(2 ** (8 * np.dtype(dtype).itemsize - 1))
    columns = [([5, -5, 0, lowest], dtype), ([0, 0, 0, -1], dtype)]
    check_each(lambda x, y: x // y, columns, [0, 0, 0, lowest], dtype=dtype)
    check_each(lambda x, y: x % y, columns, [0, 0, 0, 0], dtype=dtype)


@pytest.mark.parametrize("offset", [-12, -6, 0, 5])
@pytest.mark.parametrize("scale", [-3, 1, 6])
@pytest.mark.parametrize("divisor", [-4, 3, 6])
def test_index_arithmetic_keeps_signs(offset: int, scale: int, divisor: int) -> None:
    numbers = np.arange(12) * scale + offset
    x = Tensor.arange(12) * scale + offset
    both = (x // divisor).stack(x % divisor)
    assert np.array_equal(both.numpy(), np.stack([numbers // divisor, numbers % divisor]))


@pytest.mark.parametrize("bound", [1, 2, 5])
def test_small_numbers_are_divided_by_anything(bound: int) -> None:
    numbers = np.arange(33) % (bound + 1)
    x = Tensor.arange(33) % (bound + 1)
    memory = tensor(numbers.astype(np.int32)) % (bound + 1)
    found, expected = [], []
    for divisor in range(1, 2 * bound + 1):
        found += [x // divisor, memory // divisor]
        expected += [numbers // divisor] * 2
    assert np.array_equal(found[0].stack(*found[1:]).numpy(), np.stack(expected))


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_integers_have_integer_powers(dtype: str) -> None:
    columns = [([0, 0, 2, -2, 3], dtype), ([0, 64, 10, 3, 0], dtype)]
    check_each(lambda x, y: x**y, columns, [1, 0, 1024, -8, 1], dtype=dtype)
    check_each(lambda x: x**3, [([2, -3, 0], dtype)], [8, -27, 0], dtype=dtype)


def test_negative_powers_of_integers_are_refused_or_truncated() -> None:
    """The policy "integer powers"."""
    with pytest.raises(ArgumentError):
        Tensor([2, 1, -1, 0]) ** -1
    columns = [([2, 1, -1, 0, -1], "int32"), ([-1, -1, -1, -1, -2], "int32")]
    check_each(lambda x, y: x**y, columns, [0, 1, -1, 0, 1], dtype="int32")


def test_powers_with_a_float_are_floats() -> None:
    check_each(lambda x: x**0.5, [([2, 3], "int32")], [1.4142135, 1.7320508], rel=1e-6)
    check_each(lambda x: 2**x, [([0.5], "float32")], [1.4142135], dtype="float32", rel=1e-6)
    check_each(lambda x: x ** (1 / 3), [([-8.0], "float32")], [nan], dtype="float32")
    columns: list[tuple[list[float], str]] = [([-2], "int32"), ([3.0], "float32")]
    check_each(lambda x, y: x**y, columns, [-8.0], dtype="float32")


def test_narrow_integers_wrap_before_they_are_widened() -> None:
    u8, i8, i16 = "uint8", "int8", "int16"
    check_each(lambda x, y: (x + y).int(), [([200], u8), ([100], u8)], [44], dtype="int32")
    check_each(lambda x: (x * 2) // 2, [([200], u8)], [72], dtype=u8)
    check_each(lambda x: (-x).int(), [([-128, 5], i8)], [-128, -5])
    check_each(lambda x: (x * x).int(), [([300], i16)], [24464])
    check_each(lambda x: (x << 4).int(), [([31], u8)], [240])
    check_each(lambda x, y: (x - y) > 0, [([3], u8), ([5], u8)], [True], dtype="bool")
    check_each(lambda x: ~x, [([1, 255], u8)], [254, 0], dtype=u8)
    check_each(lambda x: x.abs().int(), [([-128, -3], i8)], [-128, 3])
    check_each(lambda x: (x + 1).float(), [([127], i8)], [-128.0])
    check_each(lambda x: (x * x).long(), [([2**31 - 1], "int32")], [1])
    check_each(lambda x: x.cast(u8).int() + 1, [([255, 256], "int32")], [256, 1])


@pytest.mark.parametrize("source", ["float32", "float64"])
def test_floats_become_unsigned_through_signed(source: str) -> None:
    """The policy "floats to integers"."""
    values = [-1, -1.5, -2, 255, 256, 300.7, nan, inf, -inf, 1e10]
    check_each(
        lambda x: x.cast("uint8"), [(values, source)], [255, 255, 254, 255, 0, 44, 0, 255, 0, 0]
    )
    signed = [-1, -1, -2, 255, 256, 300]
    check_each(lambda x: x.cast("int16"), [(values[:6], source)], signed)
    check_each(lambda x: x.cast("int64"), [(values[6:9], source)], [0, 2**63 - 1, -(2**63)])
    check_each(lambda x: x.cast("uint64"), [([inf, nan, 2.0**63], source)], [2**64 - 1, 0, 2**63])
    check_each(
        lambda x: x.cast("bool"), [([nan, 0.0, -0.0, 0.25], source)], [True, False, False, True]
    )


def test_large_python_integers_take_a_dtype_that_holds_them() -> None:
    for made in (Tensor([2**31]), Tensor(2**31), Tensor.full((2,), 2**31)):
        assert made.dtype.name == "int64"
        assert made.flatten().tolist()[0] == 2**31
    assert Tensor([2**32 - 1], dtype="uint32").tolist() == [2**32 - 1]
    assert (Tensor([-(2**31)]).dtype.name, Tensor([2**31 - 1]).dtype.name) == ("int32", "int32")
    assert Tensor([2**63], dtype="uint64").tolist() == [2**63]
    with pytest.raises(TinyError):
        Tensor([2**64])
    with pytest.raises(TinyError):
        Tensor([300], dtype="uint8")


def test_lists_of_floats_are_cut_to_integers() -> None:
    assert Tensor([-3.3, 3.9], dtype="int32").tolist() == [-3, 3]
    assert Tensor(-3.3, dtype="int8").item() == -3
    check_same(tensor([-3.3, 3.9]).cast("int32").tolist(), [-3, 3])
