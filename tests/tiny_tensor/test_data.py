"""Data from Python and NumPy comes in and out unchanged."""

from __future__ import annotations

import math

import numpy
import pytest

from tiny_ir import (
    ArgumentError,
    ArgumentTypeError,
    DType,
    DTypeError,
    ShapeError,
    TinyError,
    dtypes,
)
from tiny_tensor import Session, Tensor

pytestmark = pytest.mark.usefixtures("session")

NUMPY = [
    "bool",
    *("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"),
    *("float16", "float32", "float64"),
]


@pytest.mark.parametrize("name", NUMPY)
def test_arrays_of_every_dtype_come_back(name: str) -> None:
    data = numpy.array([[0, 1, 2], [3, 100, 1]]).astype(name)
    x = Tensor(data)
    assert x.dtype.name == name
    assert x.shape == (2, 3)
    assert x.numpy().dtype == data.dtype
    assert numpy.array_equal(x.numpy(), data)


def test_arrays_in_any_order_are_read_by_rows() -> None:
    data = numpy.arange(12, dtype=numpy.int16).reshape(3, 4)
    assert Tensor(data.T).tolist() == data.T.tolist()
    assert Tensor(data[::2, ::-1]).tolist() == data[::2, ::-1].tolist()
    assert Tensor(data.astype(">i2")).tolist() == data.tolist()


def test_a_tensor_does_not_follow_its_array() -> None:
    data = numpy.ones(3, dtype=numpy.float32)
    x = Tensor(data)
    data[0] = 7
    assert x.tolist() == [1, 1, 1]
    out = x.numpy()
    out[1] = 7
    assert x.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        (True, dtypes.bool_),
        (3, dtypes.int32),
        (2**31, dtypes.int64),
        (2**63, dtypes.uint64),
        (1.5, dtypes.float32),
        ([True, False], dtypes.bool_),
        ([1, True], dtypes.int32),
        ([1, 2.5], dtypes.float32),
        ([2**31], dtypes.int64),
        ([], dtypes.float32),
        ([[], []], dtypes.float32),
        (b"ab", dtypes.uint8),
    ],
)
def test_python_numbers_get_the_dtype_that_holds_them(data: object, dtype: DType) -> None:
    assert Tensor(data).dtype is dtype


def test_large_integers_keep_their_value() -> None:
    assert Tensor([2**31]).tolist() == [2**31]
    assert Tensor(2**31).item() == 2**31
    assert Tensor.full((2,), 2**31).tolist() == [2**31] * 2
    assert Tensor([2**32 - 1], dtype="uint32").tolist() == [2**32 - 1]
    assert Tensor([2**64 - 1]).tolist() == [2**64 - 1]


def test_floats_for_an_int_dtype_are_truncated() -> None:
    assert Tensor([-3.3, 3.9], dtype="int32").tolist() == [-3, 3]


def test_special_floats_come_back() -> None:
    values = Tensor([math.nan, math.inf, -math.inf, -0.0, 1e300]).tolist()
    assert math.isnan(values[0])  # type: ignore[index, arg-type]
    assert values[1:3] == [math.inf, -math.inf]  # type: ignore[index]
    assert math.copysign(1, values[3]) == -1  # type: ignore[index, arg-type]
    assert values[4] == math.inf  # type: ignore[index]


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3", "float8_e5m2"])
def test_dtypes_that_numpy_lacks_become_float32(name: str) -> None:
    x = Tensor([1.0, -2.0, 0.1], dtype=name)
    out = x.numpy()
    assert out.dtype == numpy.float32
    assert out.tolist() == x.tolist()
    assert out[0] == 1
    with pytest.raises(DTypeError, match="memoryview"):
        x.data()


def test_nested_lists_come_back() -> None:
    data = [[[1, 2], [3, 4]], [[5, 6], [7, 8]], [[9, 10], [11, 12]]]
    x = Tensor(data)
    assert x.shape == (3, 2, 2)
    assert x.tolist() == data
    assert x.data().tolist() == data
    assert Tensor([[], []]).tolist() == [[], []]
    assert Tensor([]).tolist() == []


def test_a_tensor_of_a_tensor_shares_nothing() -> None:
    x = Tensor([1, 2])
    y = Tensor(x, dtype="float32")
    assert y.dtype is dtypes.float32
    y[0].assign(5.0)
    assert x.tolist() == [1, 2]


def test_item_is_one_python_number() -> None:
    assert Tensor([[2.5]]).item() == 2.5
    assert Tensor([True]).item() is True
    with pytest.raises(ArgumentError, match="not one number"):
        Tensor([1, 2]).item()


def test_a_tensor_is_neither_true_nor_false() -> None:
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(Tensor([1]))


def test_length_and_iteration() -> None:
    x = Tensor([[1, 2], [3, 4]])
    assert len(x) == 2
    assert [row.tolist() for row in x] == [[1, 2], [3, 4]]
    with pytest.raises(TypeError, match="no length"):
        len(Tensor(1))


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ([[1, 2], [3]], ShapeError),
        ([[1, 2], 3], ShapeError),
        ([1, [2]], ShapeError),
        (["a"], ArgumentTypeError),
        ("abc", ArgumentTypeError),
        ({1: 2}, ArgumentTypeError),
        ([2**64], ArgumentError),
        (numpy.array(["a"]), DTypeError),
        (numpy.array([1j]), DTypeError),
    ],
)
def test_wrong_data_is_refused_at_the_call(data: object, error: type[TinyError]) -> None:
    with pytest.raises(error) as caught:
        Tensor(data)
    assert caught.value.why
    assert caught.value.fix


def test_numbers_that_do_not_fit_a_dtype_are_refused() -> None:
    with pytest.raises(ArgumentError, match="300 is not a value of uint8"):
        Tensor([300], dtype="uint8")
    with pytest.raises(ArgumentError, match="-1 is not a value of uint32"):
        Tensor(-1, dtype="uint32")


def test_unknown_dtypes_and_devices_are_refused_at_the_call() -> None:
    with pytest.raises(DTypeError, match="float31"):
        Tensor([1], dtype="float31")
    with pytest.raises(DTypeError, match="weak"):
        Tensor([1], dtype=dtypes.weakint)
    with pytest.raises(ValueError, match="abacus"):
        Tensor([1], device="abacus")
    with pytest.raises(TinyError, match="device"):
        Tensor([1], device=3)  # type: ignore[arg-type]  # that is the mistake


def test_zero_elements_are_computed() -> None:
    x = Tensor.zeros(0, 3)
    assert (x + 1).numpy().shape == (0, 3)
    assert x.realize().tolist() == []


def test_devices_have_one_name(session: Session) -> None:
    assert Tensor([1], device="CPU:0").device == "cpu"
    assert session.device("cpu") is session.device("cpu")
