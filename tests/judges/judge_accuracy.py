"""Functions of floats are as near to exact values as their bounds say, whatever the argument.

Arguments are random bits of every exponent and random numbers where the function bends; of the
types of two bytes, all values. Errors are found with the digits of long double, and the largest
ones of each case again with mpmath.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import mpmath
import numpy as np

from tiny_codegen.program.decompose import DECOMPOSE
from tiny_codegen.program.decompose_math import FUNCTIONS
from tiny_ir import DType, Op, RegisterArg, UOp, dtypes, make, rewrite, value_of
from tiny_plugin import FloatFacts, Target, pairs
from tiny_testing.accuracy import floats_of_every_size, special_floats, ulps
from tiny_testing.arrays import NUMPY_DTYPES, Array, evaluate_arrays

PARTS = 16  # of a function's arguments; each part is a case
PART_SIZES = {dtypes.float32: 62_500, dtypes.float64: 8_000}
SLOWEST = 400  # arguments of a function that only mpmath knows in more digits
RECHECKED = 20  # arguments of a case whose exact values are computed with mpmath
WIDEST = {dtypes.float32: 2.0, dtypes.float64: 2.0, dtypes.float16: 1.0, dtypes.bfloat16: 1.0}
LEAST_EXACT = 0.999  # of the values of the types of two bytes

BASIC = (
    Op.ADD,
    Op.SUB,
    Op.MUL,
    Op.FDIV,
    Op.NEG,
    Op.SQRT,
    Op.TRUNC,
    Op.FLOOR,
    Op.CEIL,
    Op.ROUND,
) + (Op.CDIV, Op.CMOD, Op.MAX, Op.MIN, Op.CAST)
WIDE = (dtypes.float32, dtypes.float64)
TARGETS = {
    "yes": Target(
        "judge",
        supported=pairs(BASIC, NUMPY_DTYPES) | pairs([Op.FMA], WIDE),
        floats=tuple(FloatFacts(dtype, fma=True) for dtype in WIDE),
    ),
    "no": Target("judge", supported=pairs(BASIC, NUMPY_DTYPES)),
}
# Where a function is neither 0, 1, infinite nor its argument.
SPANS = {
    Op.EXP: {dtypes.float32: 104.0, dtypes.float64: 745.0},
    Op.EXP2: {dtypes.float32: 150.0, dtypes.float64: 1075.0},
    Op.SINH: {dtypes.float32: 89.5, dtypes.float64: 710.5},
    Op.COSH: {dtypes.float32: 89.5, dtypes.float64: 710.5},
}
ONES = (Op.ASIN, Op.ACOS)


class Case(NamedTuple):
    """What is judged: a function, a dtype, with or without multiply-adds, and which arguments."""

    op: Op
    dtype: DType
    fused: str
    part: int


def all_cases() -> list[Case]:
    """Every case, in the order of their numbers."""
    ops = (*FUNCTIONS, Op.POW)
    wide = itertools.product(ops, WIDE, TARGETS, range(PARTS))
    narrow = itertools.product(FUNCTIONS, (dtypes.float16, dtypes.bfloat16), ("yes",), (0,))
    return [Case(*case) for case in itertools.chain(wide, narrow)]


CASES = len(all_cases())


def judge(case: int) -> dict[str, str | float]:
    """Measure the errors of one function on some arguments.

    Raises:
        AssertionError: one is larger than the bound.
    """
    op, dtype, fused, part = all_cases()[case]
    if dtype in WIDE:
        columns = arguments_of(op, dtype, part)
        results = evaluated(op, dtype, TARGETS[fused], columns)
    else:
        columns, results = all_halves(op, dtype)
    errors = ulps(results, exact_values(op, dtype, columns), dtype)
    largest = recheck(op, dtype, columns, results, errors)
    exact = float(np.mean(errors <= 0.5))
    assert largest <= WIDEST[dtype], (op, dtype, largest)
    assert dtype in WIDE or exact >= LEAST_EXACT, (op, dtype, exact)
    return {
        "function": op.name.lower(),
        "dtype": dtype.name,
        "multiply-add": fused,
        "largest error, ulp": largest,
        "not exactly rounded, %": 100 * (1 - exact),
    }


def variable(dtype: DType, number: int = 0) -> UOp:
    """A node whose values are given."""
    return make(Op.REGISTER, dtype, (), RegisterArg(number, ()))


@functools.cache
def graph_of(op: Op, dtype: DType, target: Target, count: int) -> tuple[tuple[UOp, ...], UOp]:
    """A function, decomposed."""
    sources = tuple(variable(dtype, number) for number in range(count))
    return sources, rewrite(make(op, None, sources), DECOMPOSE, target)


def evaluated(op: Op, dtype: DType, target: Target, columns: Sequence[Array]) -> Array:
    """What the decomposition gives for the arguments."""
    sources, graph = graph_of(op, dtype, target, len(columns))
    return evaluate_arrays(graph, dict(zip(sources, columns, strict=True)))


def all_halves(op: Op, dtype: DType) -> tuple[list[Array], Array]:
    """All values of a type of two bytes, and the function of them."""
    codes = np.arange(1 << 16, dtype=np.uint16)
    code = variable(dtypes.uint16)
    graph = make(op, None, (code.bitcast(dtype),)).bitcast(dtypes.uint16)
    results = evaluate_arrays(rewrite(graph, DECOMPOSE, TARGETS["yes"]), {code: codes})
    values = np.array([value_of(dtype, int(code)) for code in codes])
    return [values], values[results]


def arguments_of(op: Op, dtype: DType, part: int) -> list[Array]:
    """Arguments of a case; a power has two columns."""
    count = PART_SIZES[dtype]
    kind = NUMPY_DTYPES[dtype]
    if op is Op.ERF and dtype is dtypes.float64:
        count = SLOWEST
    random = np.random.default_rng(part)
    if op is Op.POW:
        bases = np.exp2(random.uniform(1 - dtype.bias, dtype.bias, count // 2))
        gentle = random.uniform(-2, 2, count // 2)
        near_one = random.uniform(0.5, 2, count // 2)
        steep = random.uniform(-dtype.bias, dtype.bias, count // 2)
        pairs_of = (np.concatenate([bases, near_one]), np.concatenate([gentle, steep]))
        return [column.astype(kind) for column in pairs_of]
    span = SPANS.get(op, {}).get(dtype, 1.0 if op in ONES else 8.0)
    parts = [
        floats_of_every_size(dtype, count // 2, part),
        random.uniform(-span, span, count // 4),
        random.uniform(-2, 2, count // 4),
        special_floats(dtype),
    ]
    return [np.concatenate([values.astype(kind) for values in parts])]


def exact_values(op: Op, dtype: DType, columns: Sequence[Array]) -> Array:
    """The function in more digits than the dtype has; for float64 in long double."""
    wide = np.longdouble if dtype is dtypes.float64 else np.float64
    if op is Op.ERF:
        return np.array([_erf(value, wide) for value in columns[0]], wide)
    names = {Op.ASIN: "arcsin", Op.ACOS: "arccos", Op.ATAN: "arctan", Op.POW: "power"}
    function: Callable[..., Array] = getattr(np, names.get(op, op.name.lower()))
    with np.errstate(all="ignore"):
        return function(*(column.astype(wide) for column in columns))


def _erf(value: float, wide: type) -> Any:
    """erf, which NumPy does not have; mpmath has no negative zero."""
    if wide is np.float64 or value == 0:
        return math.erf(value)
    return _two_words(exact(Op.ERF, value))


def _two_words(value: Any) -> np.longdouble:
    high = float(value)
    if not np.isfinite(high):
        return np.longdouble(high)
    return np.longdouble(high) + np.longdouble(float(value - high))


def exact(op: Op, *arguments: float) -> Any:
    """The function of a few numbers, in as many digits as it takes."""
    with mpmath.workprec(1300 if op in (Op.SIN, Op.COS, Op.TAN) else 200):
        numbers = [mpmath.mpf(float(number)) for number in arguments]
        functions = {
            Op.EXP2: lambda x: mpmath.power(2, x),
            Op.LOG2: lambda x: mpmath.log(x, 2),
            Op.POW: mpmath.power,
        }
        function = functions.get(op) or getattr(mpmath, op.name.lower())
        return function(*numbers)


def recheck(op: Op, dtype: DType, columns: Sequence[Array], results: Array, errors: Array) -> float:
    """The largest error, found again from exact values, unless it is infinite."""
    worst = np.argsort(-errors)[:RECHECKED]
    if not np.isfinite(errors[worst[0]]):
        return float(errors[worst[0]])
    largest = 0.0
    for at in worst:
        result = mpmath.mpf(float(results[at]))
        if errors[at] == 0 or not mpmath.isfinite(result):
            continue
        value = exact(op, *(float(column[at]) for column in columns))
        exponent = max(int(mpmath.floor(mpmath.log(abs(value), 2))), 1 - dtype.bias)
        unit = mpmath.mpf(2) ** (exponent - dtype.mantissa_bits)
        largest = max(largest, float(abs(result - value) / unit))
    return largest
