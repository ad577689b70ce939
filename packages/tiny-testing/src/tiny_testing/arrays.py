"""Evaluate a graph of elementwise nodes on NumPy arrays, many values at once.

It stands for a machine, not for the op table: what a machine leaves undefined is refused here. A
shift count out of range, a division by zero or a float that does not fit into the integer it is
cast to raises, so that a decomposition that evaluates at all is also one that machines can run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from tiny_ir import DType, Op, UOp, dtypes, toposort

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

NUMPY_DTYPES: Mapping[DType, np.dtype[Any]] = MappingProxyType(
    {
        dtypes.bool_: np.dtype(np.bool_),
        **{
            getattr(dtypes, name): np.dtype(name)
            for name in (
                *("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"),
                *("float16", "float32", "float64"),
            )
        },
    }
)


class UndefinedOnMachinesError(AssertionError):
    """A node was evaluated for values for which machines promise nothing."""


def evaluate_arrays(root: UOp, values: Mapping[UOp, Array]) -> Array:
    """Compute `root` where some nodes below it are given.

    Args:
        root: a graph of elementwise nodes, constants and the given nodes.
        values: an array for each given node, of the NumPy dtype of its own name, all as long.

    Returns:
        An array of the dtype of `root`.

    Raises:
        UndefinedOnMachinesError: a node met values for which machines promise nothing.

    Example:
        >>> from tiny_ir import RegisterArg, make
        >>> x = make(Op.REGISTER, dtypes.int8, (), RegisterArg(0, ()))
        >>> evaluate_arrays(x + 100, {x: np.array([1, 100], np.int8)}).tolist()
        [101, -56]
    """
    done: dict[UOp, Array] = dict(values)
    with np.errstate(all="ignore"):
        for node in toposort((root,)):
            if node not in done:
                done[node] = _evaluated(node, [done[source] for source in node.src])
    return done[root]


def _evaluated(node: UOp, sources: list[Array]) -> Array:
    dtype = NUMPY_DTYPES[node.dtype]
    if node.op is Op.CONST:
        return np.array(node.arg, dtype)
    if node.op is Op.CAST:
        return _cast(sources[0], dtype)
    if node.op is Op.BITCAST:
        return sources[0].view(dtype)
    return np.asarray(_FUNCTIONS[node.op](*sources)).astype(dtype, copy=False)


def _demand(holds: Any, what: str) -> None:
    if not np.all(holds):
        raise UndefinedOnMachinesError(what)


def _cast(x: Array, dtype: np.dtype[Any]) -> Array:
    if x.dtype.kind == "f" and dtype.kind in "iu":
        limits = np.iinfo(dtype)
        whole = np.trunc(x.astype(np.float64))
        fits = (whole >= float(limits.min)) & (whole < float(limits.max) + (dtype.itemsize < 8))
        _demand(fits, f"a float is cast to {dtype} and does not fit")
        return whole.astype(dtype)
    return x.astype(dtype)


def _shift(function: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    def shifted(x: Array, count: Array) -> Array:
        _demand((count >= 0) & (count < x.dtype.itemsize * 8), "a shift count is out of range")
        return function(x, count)

    return shifted


def _demand_quotient(a: Array, b: Array) -> None:
    _demand(b != 0, "an integer is divided by zero")
    if a.dtype.kind == "i":
        lowest = np.iinfo(a.dtype).min
        _demand((a != lowest) | (b != -1), "the lowest integer is divided by -1")


def _truncating_divide(a: Array, b: Array) -> Array:
    if a.dtype.kind == "f":
        return np.trunc(np.divide(a, b))
    _demand_quotient(a, b)
    quotient = a // b
    return np.asarray(quotient + ((quotient < 0) & (quotient * b != a)).astype(a.dtype))


def _truncating_modulo(a: Array, b: Array) -> Array:
    if a.dtype.kind != "f":
        _demand_quotient(a, b)
    return np.asarray(np.fmod(a, b))


def _maximum(a: Array, b: Array) -> Array:
    if a.dtype.kind != "f":
        return np.maximum(a, b)
    zeros = (a == 0) & (b == 0)
    return np.where(zeros, np.where(np.signbit(a), b, a), np.maximum(a, b))


def _minimum(a: Array, b: Array) -> Array:
    if a.dtype.kind != "f":
        return np.minimum(a, b)
    zeros = (a == 0) & (b == 0)
    return np.where(zeros, np.where(np.signbit(a), a, b), np.minimum(a, b))


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _sum_to_odd(a: Array, b: Array) -> Array:
    """Add doubles; an inexact sum becomes its neighbour whose last bit is one."""
    total, error = _two_sum(a, b)
    inexact = np.isfinite(error) & (error != 0) & (total.view(np.int64) & 1 == 0)
    return np.where(inexact, np.nextafter(total, np.where(error > 0, np.inf, -np.inf)), total)


def _halves(a: Array) -> tuple[Array, Array]:
    """Split doubles into 26 bits and the signed 26 bits that are left."""
    bits = np.ascontiguousarray(a).view(np.int64)
    high = ((bits + np.int64(1 << 26)) & np.int64(-1 << 27)).view(np.float64)
    return high, a - high


def multiply_add(a: Array, b: Array, c: Array) -> Array:
    """Compute a * b + c with one rounding.

    For float64 the product may neither overflow nor come near the smallest numbers.

    Source:
        S. Boldo, G. Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms
        using rounding to odd", IEEE Transactions on Computers 57(4), 2008.
    """
    a, b, c = np.broadcast_arrays(a, b, c)
    dtype = a.dtype
    a, b, c = (np.array(x, np.float64) for x in (a, b, c))
    if dtype != np.float64:
        return _sum_to_odd(a * b, c).astype(dtype)
    product = a * b
    (ah, al), (bh, bl) = _halves(a), _halves(b)
    rest = al * bl - (((product - ah * bh) - al * bh) - ah * bl)
    high, low = _two_sum(c, rest)
    total, error = _two_sum(product, high)
    exact = total + _sum_to_odd(low, error)
    return np.where(np.isfinite(exact), exact, a * b + c)


_FUNCTIONS: Mapping[Op, Callable[..., Array]] = MappingProxyType(
    {
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
        Op.CDIV: _truncating_divide,
        Op.CMOD: _truncating_modulo,
        Op.MAX: _maximum,
        Op.MIN: _minimum,
        Op.AND: np.bitwise_and,
        Op.OR: np.bitwise_or,
        Op.XOR: np.bitwise_xor,
        Op.SHL: _shift(np.left_shift),
        Op.SHR: _shift(np.right_shift),
        Op.CMPLT: np.less,
        Op.CMPLE: np.less_equal,
        Op.CMPEQ: np.equal,
        Op.CMPNE: np.not_equal,
        Op.WHERE: np.where,
        Op.FMA: multiply_add,
    }
)
