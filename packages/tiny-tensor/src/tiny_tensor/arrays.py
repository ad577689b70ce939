"""Data from Python and NumPy becomes bytes, and bytes become NumPy arrays and nested lists.

NumPy is imported here only, as is ctypes, at their first use: `import tiny_tensor` does without.
"""

from __future__ import annotations

import math
import struct
import sys
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from tiny_ir import (
    ArgumentTypeError,
    DType,
    DTypeError,
    ExchangeError,
    OutOfRangeError,
    ShapeError,
    decoder,
    dtypes,
    pack_values,
    unpack_values,
    value_in,
)

if TYPE_CHECKING:
    import numpy

    Array: TypeAlias = numpy.ndarray[tuple[int, ...], numpy.dtype[numpy.generic]]
    DTypeLike: TypeAlias = numpy.dtype[numpy.generic] | type | str | None
else:
    # Annotations are looked up under TYPED=1, which imports no NumPy either.
    Array = DTypeLike = object

Scalar: TypeAlias = bool | int | float
Nested: TypeAlias = bool | int | float | Sequence[object]
"""A number, or nested lists of numbers."""


def is_array(value: object) -> bool:
    """Whether a value is a NumPy array or scalar; without NumPy loaded there are none."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray | numpy.generic)


def number_of(value: object) -> Scalar | None:
    """The Python number that a value is, or that a NumPy scalar stands for; None for others.

    Example:
        >>> number_of(3), number_of([3])
        (3, None)
    """
    if isinstance(value, bool | int | float):
        return value
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(value, numpy.generic):
        return None
    if isinstance(value, numpy.bool_):
        return bool(value)
    if isinstance(value, numpy.integer):
        return int(value)
    return float(value) if isinstance(value, numpy.floating) else None


def check_range(value: Scalar, dtype: DType) -> None:
    """Refuse an integer that an integer dtype does not hold.

    Raises:
        OutOfRangeError: it would become another number.

    Example:
        >>> from tiny_ir import dtypes
        >>> check_range(255, dtypes.uint8)
    """
    if dtype.is_int and isinstance(value, int) and not dtype.minimum <= value <= dtype.maximum:
        raise OutOfRangeError(
            f"{value} is not a value of {dtype.name}.",
            why=f"{dtype.name} holds {dtype.minimum} to {dtype.maximum}, and a number takes the "
            "dtype of the integers that it meets.",
            fix="cast the integers to a wider dtype first, or wrap the number yourself.",
        )


def array_bytes(value: object) -> tuple[memoryview, tuple[int, ...], DType]:
    """The bytes, shape and dtype of a NumPy array, in the order of rows.

    Raises:
        DTypeError: there is no such dtype here.
    """
    import numpy

    array = numpy.asarray(value)
    dtype = dtypes.DTYPES.get(array.dtype.name)
    if dtype is None or dtype.nbytes != array.dtype.itemsize:
        raise DTypeError(
            f"a NumPy array of {array.dtype} cannot become a Tensor.",
            why="there is no dtype of that kind here.",
            fix="convert it first, for example array.astype('float32').",
        )
    native = array.astype(array.dtype.newbyteorder("="), copy=False)
    flat = numpy.ascontiguousarray(native).reshape(-1)
    return flat.view(numpy.uint8).data, array.shape, dtype


def nested_values(data: Nested) -> tuple[list[Scalar], tuple[int, ...]]:
    """The numbers of nested lists in row-major order, and their shape.

    Raises:
        ShapeError: lists of one level differ in length.
        ArgumentTypeError: there is something that is not a number.

    Example:
        >>> nested_values([[1, 2, 3], [4, 5, 6]])
        ([1, 2, 3, 4, 5, 6], (2, 3))
    """
    level: list[object] = [data]
    shape: list[int] = []
    while level and isinstance(level[0], list | tuple):
        lengths = {len(item) if isinstance(item, list | tuple) else -1 for item in level}
        if len(lengths) != 1:
            raise ShapeError(
                f"lists of different lengths, {sorted(lengths)}, stand at one level.",
                why="a Tensor is rectangular: all lists of a level have one length.",
                fix="fill up the shorter lists.",
            )
        shape.append(lengths.pop())
        level = [value for item in level for value in item]  # type: ignore[attr-defined]
    values: list[Scalar] = []
    for value in level:
        number = number_of(value)
        if number is not None:
            values.append(number)
        elif is_array(value) and getattr(value, "shape", None) == ():
            values.append(value.item())  # type: ignore[attr-defined]
        else:
            raise _not_a_number(value)
    return values, tuple(shape)


def _not_a_number(value: object) -> ArgumentTypeError | ShapeError:
    if isinstance(value, list | tuple):
        return ShapeError(
            f"a list stands beside numbers: {value!r}.",
            why="a Tensor is rectangular: a level holds lists or numbers.",
            fix="make all items of a level numbers, or all lists.",
        )
    return ArgumentTypeError(
        f"{value!r} is not a number.",
        why="a Tensor is made of Python numbers, nested lists of them, or NumPy arrays.",
        fix="convert it first.",
    )


def dtype_of_values(values: Sequence[Scalar], default_float: DType) -> DType:
    """The dtype that Python numbers get: bool, int32 (int64 or uint64 where they are large), float.

    Example:
        >>> from tiny_ir import dtypes
        >>> dtype_of_values([1, 2**31], dtypes.float32)
        dtypes.int64
    """
    kinds = {type(value) for value in values}
    if kinds == {bool}:
        return dtypes.bool_
    if not kinds or any(issubclass(kind, float) for kind in kinds):
        return default_float
    return int_dtype(min(values), max(values))


def int_dtype(minimum: Scalar, maximum: Scalar) -> DType:
    """The first of int32, int64 and uint64 that holds all values from `minimum` to `maximum`.

    Raises:
        OutOfRangeError: none does.
    """
    for dtype in (dtypes.int32, dtypes.int64, dtypes.uint64):
        if dtype.minimum <= minimum and maximum <= dtype.maximum:
            return dtype
    raise OutOfRangeError(
        f"integers from {minimum} to {maximum} fit no dtype.",
        why="the widest are int64 and uint64.",
        fix="use floats, or smaller numbers.",
    )


def packed(values: Sequence[Scalar], dtype: DType) -> bytes:
    """Python numbers as the bytes of a dtype; floats are truncated for an int dtype.

    Raises:
        OutOfRangeError: an integer does not fit the dtype.
    """
    if dtype.is_int:
        for value in values:
            check_range(value, dtype)
    try:
        if dtype.format and not dtype.is_bool:
            return struct.pack(f"<{len(values)}{dtype.format}", *values)
    except (struct.error, OverflowError):
        pass  # floats for integers are truncated, and floats out of range become infinite
    return pack_values(dtype, [value_in(dtype, value) for value in values])


def to_numpy(data: bytearray, dtype: DType, shape: tuple[int, ...]) -> Array:
    """An array over bytes of ours; dtypes that NumPy lacks become float32."""
    import numpy

    if dtype.format:
        return numpy.frombuffer(data, numpy.dtype(dtype.format)).reshape(shape)
    if dtype is dtypes.bfloat16:
        words = numpy.frombuffer(data, numpy.uint16).astype(numpy.uint32) << 16
        return words.view(numpy.float32).reshape(shape)
    value = decoder(dtype)
    table = numpy.array([value(bits) for bits in range(256)], numpy.float32)
    return table[numpy.frombuffer(data, numpy.uint8)].reshape(shape)


def constant_array(view: memoryview, dtype: DType, shape: tuple[int, ...], owner: object) -> Array:
    """A NumPy array over memory of ours, which nobody can write; it keeps `owner` alive."""
    import numpy

    array = numpy.frombuffer(view.toreadonly(), numpy.dtype(dtype.format))
    # Views of an array keep it alive, so what lives as long as it does lives long enough.
    weakref.finalize(array, _let_go, owner).atexit = False
    return array.reshape(shape)


def memory_at(address: int, nbytes: int) -> memoryview:
    """The bytes at an address of this process."""
    import ctypes

    return memoryview((ctypes.c_ubyte * nbytes).from_address(address)).cast("B")


def _let_go(owner: object) -> None:
    """The owner was held by this call's argument until now."""


def capsule_of(array: Array, max_version: tuple[int, int] | None) -> object:
    """The DLPack capsule of a NumPy array, which keeps it alive."""
    give: Callable[..., object] = array.__dlpack__  # type: ignore[misc]  # any dtype has it
    return give() if max_version is None else give(max_version=max_version)


def array_from_dlpack(source: object) -> Array:
    """A NumPy array over the memory of another library's array.

    Raises:
        ExchangeError: it cannot be had.
    """
    import numpy

    try:
        return numpy.from_dlpack(source)  # type: ignore[arg-type]
    except (AttributeError, BufferError, RuntimeError, TypeError, ValueError) as error:
        raise ExchangeError(
            f"DLPack gives no elements of this {type(source).__name__}.",
            why=str(error),
            fix="pass an array in the memory of the host, with a dtype that NumPy has; others are "
            "moved and cast, or viewed as integers and bitcast here, first.",
        ) from error


def array_text(array: Array, before: str, *, is_edges: bool = False) -> str:
    """The elements as text; lines after the first stand below what is `before`.

    Args:
        array: all of them, or with `is_edges` those at both ends of each axis, and one more where
            there are others between.
        before: what stands before the text.
        is_edges: dots stand where an axis is longer than its ends.
    """
    import numpy

    threshold = 0 if is_edges else None
    return numpy.array2string(array, separator=", ", prefix=before, threshold=threshold)


def text_limits() -> tuple[int, int]:
    """Up to how many elements NumPy writes all, and how many at each end of an axis of more."""
    import numpy

    options = numpy.get_printoptions()
    return options["threshold"], options["edgeitems"]


def to_nested(data: bytearray, dtype: DType, shape: tuple[int, ...]) -> Nested:
    """Nested lists of Python numbers; one number for shape ().

    Example:
        >>> from tiny_ir import dtypes
        >>> to_nested(bytearray([1, 2, 3, 4]), dtypes.uint8, (2, 2))
        [[1, 2], [3, 4]]
    """
    level: list[Nested] = list(unpack_values(dtype, data))
    for axis in range(len(shape) - 1, 0, -1):
        size = shape[axis]
        rows = range(math.prod(shape[:axis]))
        level = [level[row * size : (row + 1) * size] for row in rows]
    return level if shape else level[0]
