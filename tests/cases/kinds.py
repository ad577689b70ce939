"""What stands for its kind is swept: lengths, devices, and every way to the same values.

A case says which numbers go in and which come out. Here they are put in at the lengths that take
different paths through a kernel (scalar, tail, whole vectors, several chunks), on a device that
compiles and on one that interprets, written as constants, captured, and with each step realized.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tiny_tensor import Tensor, jit

Values = Sequence[bool | int | float]
Function = Callable[..., Tensor]

LENGTHS = (1, 7, 8, 33, 449)
DEVICES = ("cpu", "python")
SHORT = 7
"""The length at which the interpreter runs: it has no vectors."""


def tensor(values: Any, dtype: str | None = None, device: str | None = None) -> Tensor:
    """Data in memory, so that nothing folds it."""
    return Tensor(values, dtype=dtype, device=device).realize()


def tiled(values: Values, length: int) -> list[bool | int | float]:
    """Values again and again, up to a length."""
    return [values[n % len(values)] for n in range(length)]


def check_same(found: Any, expected: Any, rel: float = 0.0) -> None:
    """Compare numbers: NaN with NaN, zeros by sign, and all else by value or within `rel`."""
    a, b = np.asarray(found), np.asarray(expected)
    assert a.shape == b.shape, (a.shape, b.shape)
    if a.dtype.kind != "f" and b.dtype.kind != "f":
        assert a.tolist() == b.tolist()
        return
    a, b = a.astype(np.float64), b.astype(np.float64)
    assert np.allclose(a, b, rtol=rel, atol=0, equal_nan=True), (found, expected)
    zeros = (a == 0) & (b == 0)
    assert np.array_equal(np.signbit(a[zeros]), np.signbit(b[zeros])), (found, expected)


def check_each(
    function: Function,
    columns: Sequence[tuple[Values, str]],
    expected: Values,
    *,
    dtype: str | None = None,
    rel: float = 0.0,
) -> None:
    """Check a function that works element by element, in every way.

    Args:
        function: of as many tensors as there are columns.
        columns: values of one length, each with their dtype.
        expected: the results.
        dtype: the name of their dtype; None leaves it open.
        rel: by how much they may differ; 0 compares bits.
    """
    for length in LENGTHS:
        whole = tiled(expected, length)
        inputs = [tensor(tiled(values, length), kind) for values, kind in columns]
        result = function(*inputs)
        assert dtype is None or result.dtype.name == dtype
        check_same(result.tolist(), whole, rel)
    check_same(jit(function)(*inputs).tolist(), whole, rel)
    some = [tensor(tiled(values, SHORT), kind, "python") for values, kind in columns]
    check_same(function(*some).tolist(), tiled(expected, SHORT), rel)
    for n, one in enumerate(expected):
        constants = [Tensor(values[n], dtype=kind) for values, kind in columns]
        check_same(function(*constants).tolist(), one, rel)


def check_along(
    function: Function,
    values: Values,
    expected: float,
    *,
    dtype: str = "float32",
    rel: float = 0.0,
) -> None:
    """Check a function that reduces an axis to one number, in every way.

    Args:
        function: of a tensor (n,) or of its rows (3, n), with the axis as second argument.
        values: the numbers, as they stand.
        expected: the result.
        dtype: of the numbers.
        rel: by how much it may differ.
    """
    for device in DEVICES:
        x = tensor(values, dtype, device)
        rows = tensor([list(values)] * 3, dtype, device)
        check_same(function(x, 0).item(), expected, rel)
        check_same(function(rows, 1).tolist(), [expected] * 3, rel)
        check_same(function(rows.permute(1, 0), 0).tolist(), [expected] * 3, rel)
    captured = jit(lambda x: function(x * 1, 0))
    check_same(captured(tensor(values, dtype)).item(), expected, rel)


def slope(function: Function, values: Values, dtype: str = "float32") -> Any:
    """The gradient of the sum of a function's results."""
    x = tensor(values, dtype)
    result = function(x)
    return (result.sum() if result.shape else result).gradient(x)[0].tolist()


nan, inf = math.nan, math.inf
