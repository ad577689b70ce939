"""Arrays from nothing, from Python numbers, and from arrays of others."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import SupportsIndex, TypeAlias

from tiny_ir import ArgumentError, ArgumentTypeError, DType, Size, UOp
from tiny_tensor.arrays import array_bytes, is_array
from tiny_tensor.methods.exchange import DLPackSource
from tiny_tensor.tensor import Tensor

Scalar: TypeAlias = bool | int | float
ShapeLike: TypeAlias = SupportsIndex | Sequence[Size]


def asarray(
    obj: object,
    /,
    *,
    dtype: DType | None = None,
    device: str | None = None,
    copy: bool | None = None,
) -> Tensor:
    """An array of numbers, nested sequences of them, bytes, or another array.

    Args:
        obj: what it is made of.
        dtype: the dtype; by default that of Python numbers.
        device: where it lives.
        copy: True always copies; False never does.

    Raises:
        ArgumentError: `copy` is False, and a copy is needed.

    Example:
        >>> from tiny_tensor import array_api as xp
        >>> xp.asarray([[1, 2], [3, 4]]).shape
        (2, 2)
    """
    if isinstance(obj, Tensor):
        moved = obj.to(device)
        result = moved if dtype is None else moved.cast(dtype)
        if copy is False and result is not obj:
            raise _needs_copy(obj)
        return result.clone() if copy and result is obj else result
    if isinstance(obj, bool | int | float):
        _refuse_without_copy(obj, copy)
        return Tensor(obj, device=device, dtype=dtype)
    if isinstance(obj, list | tuple):
        _refuse_without_copy(obj, copy)
        return _from_nested(obj, dtype, device)
    if is_array(obj):
        array_bytes(obj)  # names the dtypes that there are
        if copy is False:
            made = Tensor.from_dlpack(obj, device, copy=False)  # type: ignore[arg-type]
        else:
            made = Tensor(obj, device=device)
        if dtype is not None and made.dtype is not dtype:
            if copy is False:
                raise _needs_copy(obj)
            made = made.cast(dtype)
        return made
    if isinstance(obj, DLPackSource):
        made = Tensor.from_dlpack(obj, device, copy)
        return made if dtype is None else made.cast(dtype)
    if isinstance(obj, bytes | bytearray | memoryview):
        _refuse_without_copy(obj, copy)
        return _from_memory(memoryview(obj), dtype, device)
    try:
        view = memoryview(obj)  # type: ignore[arg-type]  # whoever has no buffer says so
    except TypeError as error:
        raise ArgumentTypeError(
            f"an array cannot be made of a {type(obj).__name__}.",
            why="it is made of numbers, nested sequences of them, bytes, or another array.",
            fix="convert it first.",
        ) from error
    _refuse_without_copy(obj, copy)
    return _from_memory(view, dtype, device)


def _from_memory(view: memoryview, dtype: DType | None, device: str | None) -> Tensor:
    """An array of a buffer's elements, in its format and shape."""
    if view.format in ("B", "c", "b") and view.ndim == 1 and view.format != "b":
        made = Tensor(bytes(view), device=device)
    else:
        made = Tensor(view.tolist(), device=device, dtype=_FORMATS.get(view.format))
    return made if dtype is None else made.cast(dtype)


_FORMATS = {
    "?": "bool",
    "b": "int8",
    "B": "uint8",
    "h": "int16",
    "H": "uint16",
    "i": "int32",
    "I": "uint32",
    "l": "int64",
    "L": "uint64",
    "q": "int64",
    "Q": "uint64",
    "e": "float16",
    "f": "float32",
    "d": "float64",
}
"""dtypes by the format characters of Python's buffers, on systems whose long has 64 bits."""


def _from_nested(obj: Sequence[object], dtype: DType | None, device: str | None) -> Tensor:
    """An array of nested sequences, in which arrays may stand for their elements."""

    def plain(value: object) -> object:
        if isinstance(value, Tensor):
            return value.tolist()
        return [plain(one) for one in value] if isinstance(value, list | tuple) else value

    return Tensor(plain(obj), device=device, dtype=dtype)


def _refuse_without_copy(obj: object, copy: bool | None) -> None:
    if copy is False:
        raise _needs_copy(obj)


def _needs_copy(obj: object) -> ArgumentError:
    return ArgumentError(
        f"no array can be made of this {type(obj).__name__} without a copy.",
        why="its elements have another dtype or device, or lie in no memory that can be shared.",
        fix="leave copy out.",
    )


def from_dlpack(
    x: DLPackSource, /, *, device: str | None = None, copy: bool | None = None
) -> Tensor:
    """An array over the memory of another library's array; see `Tensor.from_dlpack`."""
    return Tensor.from_dlpack(x, device, copy)


def _sizes(shape: ShapeLike) -> tuple[Size, ...]:
    """The sizes as Python's own numbers: others' arrays come with numbers of NumPy."""
    if isinstance(shape, SupportsIndex):
        return (index(shape),)
    return tuple(size if isinstance(size, UOp) else index(size) for size in shape)


def arange(
    start: int | float,
    /,
    stop: int | float | None = None,
    step: int | float = 1,
    *,
    dtype: DType | None = None,
    device: str | None = None,
) -> Tensor:
    """Evenly spaced numbers from `start` up to, and without, `stop`.

    Example:
        >>> from tiny_tensor import array_api as xp
        >>> xp.arange(2, 8, 3).tolist()
        [2, 5]
    """
    return Tensor.arange(start, stop, step, dtype=dtype, device=device)


def linspace(
    start: float,
    stop: float,
    /,
    num: int,
    *,
    dtype: DType | None = None,
    device: str | None = None,
    endpoint: bool = True,
) -> Tensor:
    """Evenly spaced numbers from `start` to `stop`.

    Args:
        start: the first number.
        stop: the last number; without `endpoint`, the one after it.
        num: how many.
        dtype: the dtype.
        device: where it lives.
        endpoint: whether `stop` is among them.

    Example:
        >>> from tiny_tensor import array_api as xp
        >>> xp.linspace(0.0, 1.0, 4, endpoint=False).tolist()
        [0.0, 0.25, 0.5, 0.75]
    """
    if endpoint:
        return Tensor.linspace(start, stop, num, dtype=dtype, device=device)
    return Tensor.linspace(start, stop, num + 1, dtype=dtype, device=device)[:num]


def empty(shape: ShapeLike, *, dtype: DType | None = None, device: str | None = None) -> Tensor:
    """An array whose elements are arbitrary."""
    return Tensor.empty(*_sizes(shape), dtype=dtype, device=device)


def zeros(shape: ShapeLike, *, dtype: DType | None = None, device: str | None = None) -> Tensor:
    """An array of zeros.

    Example:
        >>> from tiny_tensor import array_api as xp
        >>> xp.zeros((2,)).tolist()
        [0.0, 0.0]
    """
    return Tensor.zeros(*_sizes(shape), dtype=dtype, device=device)


def ones(shape: ShapeLike, *, dtype: DType | None = None, device: str | None = None) -> Tensor:
    """An array of ones."""
    return Tensor.ones(*_sizes(shape), dtype=dtype, device=device)


def full(
    shape: ShapeLike,
    fill_value: Scalar,
    *,
    dtype: DType | None = None,
    device: str | None = None,
) -> Tensor:
    """An array of one number.

    Example:
        >>> from tiny_tensor import array_api as xp
        >>> xp.full(2, 7).tolist()
        [7, 7]
    """
    return Tensor.full(_sizes(shape), fill_value, dtype=dtype, device=device)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: DType | None = None,
    device: str | None = None,
) -> Tensor:
    """A matrix with ones on a diagonal, and zeros elsewhere.

    Args:
        n_rows: rows.
        n_cols: columns; as many as rows by default.
        k: which diagonal: above 0 to the right of the main one.
        dtype: the dtype.
        device: where it lives.

    Example:
        >>> from tiny_tensor import array_api as xp
        >>> xp.eye(2, 3, k=1).tolist()
        [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    columns = n_rows if n_cols is None else n_cols
    if k == 0:
        return Tensor.eye(n_rows, columns, dtype=dtype, device=device)
    ones_ = Tensor.ones(n_rows, columns, dtype=dtype, device=device)
    return ones_.triu(k).tril(k)


def empty_like(x: Tensor, /, *, dtype: DType | None = None, device: str | None = None) -> Tensor:
    """`empty` in the shape, dtype and device of another array."""
    return empty(x.shape, dtype=dtype or x.dtype, device=device or x.device)


def zeros_like(x: Tensor, /, *, dtype: DType | None = None, device: str | None = None) -> Tensor:
    """`zeros` in the shape, dtype and device of another array."""
    return zeros(x.shape, dtype=dtype or x.dtype, device=device or x.device)


def ones_like(x: Tensor, /, *, dtype: DType | None = None, device: str | None = None) -> Tensor:
    """`ones` in the shape, dtype and device of another array."""
    return ones(x.shape, dtype=dtype or x.dtype, device=device or x.device)


def full_like(
    x: Tensor,
    /,
    fill_value: Scalar,
    *,
    dtype: DType | None = None,
    device: str | None = None,
) -> Tensor:
    """`full` in the shape, dtype and device of another array."""
    return full(x.shape, fill_value, dtype=dtype or x.dtype, device=device or x.device)


def meshgrid(*arrays: Tensor, indexing: str = "xy") -> list[Tensor]:
    """Grids of coordinates from one axis of each.

    Args:
        arrays: arrays with one axis.
        indexing: "xy" or "ij".

    Example:
        >>> from tiny_tensor import array_api as xp
        >>> [grid.shape for grid in xp.meshgrid(xp.arange(2), xp.arange(3))]
        [(3, 2), (3, 2)]
    """
    if not arrays:
        return []
    return list(arrays[0].meshgrid(*arrays[1:], indexing=indexing))


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Matrices with zeros above a diagonal."""
    return x.tril(k)


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Matrices with zeros below a diagonal."""
    return x.triu(k)
