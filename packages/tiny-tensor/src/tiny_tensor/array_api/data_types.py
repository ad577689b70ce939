"""dtypes of the array API: which there are, how they promote, and what they hold."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tiny_ir import ArgumentError, ArgumentTypeError, DType, DTypeError, dtypes
from tiny_tensor.session import current_session
from tiny_tensor.tensor import Tensor
from tiny_tensor.tensor_core import concrete_dtype, weak_dtype

Scalar = bool | int | float

SIGNED = (dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64)
UNSIGNED = (dtypes.uint8, dtypes.uint16, dtypes.uint32, dtypes.uint64)
FLOATS = (dtypes.float32, dtypes.float64)
KINDS: dict[str, tuple[DType, ...]] = {
    "bool": (dtypes.bool_,),
    "signed integer": SIGNED,
    "unsigned integer": UNSIGNED,
    "integral": (*SIGNED, *UNSIGNED),
    "real floating": FLOATS,
    "complex floating": (),
    "numeric": (*SIGNED, *UNSIGNED, *FLOATS),
}
"""The kinds of the standard. There are no complex dtypes: `docs/decisions/074-array-api.md`."""


@dataclass(frozen=True, slots=True)
class FloatInfo:
    """What a float dtype holds."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


@dataclass(frozen=True, slots=True)
class IntInfo:
    """What an integer dtype holds."""

    bits: int
    max: int
    min: int
    dtype: DType


def dtype_of(value: Tensor | DType | Scalar) -> DType:
    """The dtype of an array, of a dtype, or of a Python number (a weak one)."""
    if isinstance(value, Tensor):
        return value.dtype
    if isinstance(value, bool | int | float):
        return weak_dtype(value)
    return concrete_dtype(value)


def astype(x: Tensor, dtype: DType, /, *, copy: bool = True, device: str | None = None) -> Tensor:
    """Convert an array to a dtype.

    Args:
        x: the array.
        dtype: the dtype of the result.
        copy: False gives `x` itself where nothing changes.
        device: where the result lives.

    Example:
        >>> from tiny_tensor import array_api as xp
        >>> xp.astype(xp.asarray([1.5, 2.0]), xp.int32).tolist()
        [1, 2]
    """
    moved = x.to(device)
    if moved.dtype is concrete_dtype(dtype):
        return moved.clone() if copy and moved is x else moved
    return moved.cast(dtype)


def can_cast(from_: Tensor | DType, to: DType, /) -> bool:
    """Whether promotion may lead from one dtype to another.

    Example:
        >>> from tiny_tensor import array_api as xp
        >>> xp.can_cast(xp.int8, xp.int16), xp.can_cast(xp.float64, xp.float32)
        (True, False)
    """
    source, target = dtype_of(from_), concrete_dtype(to)
    if source is dtypes.uint64 and target in SIGNED:
        return False
    return dtypes.promote(source, target) is target


def finfo(type: Tensor | DType, /) -> FloatInfo:
    """What a float dtype holds.

    Raises:
        DTypeError: it is not a float.

    Example:
        >>> from tiny_tensor import array_api as xp
        >>> xp.finfo(xp.float32).eps
        1.1920928955078125e-07
    """
    dtype = dtype_of(type)
    if not dtype.is_float:
        raise _not_of_kind(dtype, "float", "iinfo")
    digits, least = _FLOAT_FACTS[dtype.name]
    largest = float(dtype.largest)
    return FloatInfo(
        dtype.bits, math.ldexp(1.0, 1 - digits), largest, -largest, math.ldexp(1.0, least), dtype
    )


_FLOAT_FACTS = {
    "float64": (53, -1022),
    "float32": (24, -126),
    "float16": (11, -14),
    "bfloat16": (8, -126),
    "float8_e4m3": (4, -6),
    "float8_e5m2": (3, -14),
    "float8_e4m3fnuz": (4, -7),
    "float8_e5m2fnuz": (3, -15),
}
"""Binary digits with the leading one, and the least exponent of a normal number."""


def iinfo(type: Tensor | DType, /) -> IntInfo:
    """What an integer dtype holds.

    Raises:
        DTypeError: it is not an integer.

    Example:
        >>> from tiny_tensor import array_api as xp
        >>> xp.iinfo(xp.int8).min
        -128
    """
    dtype = dtype_of(type)
    if not dtype.is_int:
        raise _not_of_kind(dtype, "integer", "finfo")
    return IntInfo(dtype.bits, int(dtype.maximum), int(dtype.minimum), dtype)


def _not_of_kind(dtype: DType, kind: str, other: str) -> DTypeError:
    return DTypeError(
        f"{dtype.name} is not of kind {kind}.",
        why="the limits of integers and of floats are told by two functions.",
        fix=f"use {other}, or another dtype.",
    )


def isdtype(dtype: DType, kind: DType | str | tuple[DType | str, ...]) -> bool:
    """Whether a dtype is another, or of a kind.

    Args:
        dtype: the dtype.
        kind: a dtype, "bool", "signed integer", "unsigned integer", "integral", "real floating",
            "complex floating" (never true), "numeric", or a tuple of these.

    Raises:
        ArgumentError: there is no such kind.

    Example:
        >>> from tiny_tensor import array_api as xp
        >>> xp.isdtype(xp.int8, ("integral", xp.float32))
        True
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    if isinstance(kind, DType):
        return dtype is kind
    if kind not in KINDS:
        raise ArgumentError(
            f"there is no kind {kind!r} of dtypes.",
            why=f"the kinds are {', '.join(map(repr, KINDS))}.",
            fix="pass one of them, or a dtype.",
        )
    if kind in ("real floating", "numeric") and dtype.is_float:
        return True  # also the narrow floats that the standard does not know
    return dtype in KINDS[kind]


def result_type(*arrays_and_dtypes: Tensor | DType | Scalar) -> DType:
    """The dtype in which arrays, dtypes and Python numbers meet.

    Raises:
        ArgumentTypeError: there is nothing to meet.

    Example:
        >>> from tiny_tensor import array_api as xp
        >>> xp.result_type(xp.int8, xp.uint8).name, xp.result_type(xp.float32, 1).name
        ('int16', 'float32')
    """
    if not any(not isinstance(value, bool | int | float) for value in arrays_and_dtypes):
        raise ArgumentTypeError(
            "result_type needs an array or a dtype.",
            why="Python numbers take their dtype from what stands beside them.",
            fix="pass a dtype as well.",
        )
    found = dtypes.promote(*[dtype_of(value) for value in arrays_and_dtypes])
    return current_session().default_float if found is dtypes.weakfloat else found
