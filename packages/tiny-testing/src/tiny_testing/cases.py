"""One case for each op and dtype: rows of values where mistakes hide, and a Program for them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tiny_ir import DType, Op, UOp, dtypes, has_meaning, make, pack_values, unpack_values
from tiny_plugin import Program, Target
from tiny_testing.programs import Scalar, load, loop, number, parameter, program_of, store

STORED = tuple(dtype for dtype in dtypes.DTYPES.values() if dtype.nbytes)
"""The dtypes that lie in memory."""

COMPARISONS = (Op.CMPLT, Op.CMPLE, Op.CMPEQ, Op.CMPNE)
_TERNARY = (Op.WHERE, Op.FMA)
_MOST_ROWS = 700
"""Rows of a case: all pairs of special values, or every so many of them."""


@dataclass(frozen=True, slots=True)
class Case:
    """One op on rows of values.

    Args:
        op: an elementwise op.
        dtype: of the result.
        sources: dtypes of the sources.
        columns: the values of each source; all columns are equally long.
    """

    op: Op
    dtype: DType
    sources: tuple[DType, ...]
    columns: tuple[tuple[Scalar, ...], ...]

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"{self.op.name} {[source.name for source in self.sources]} -> {self.dtype.name}"

    def padded(self, lanes: int) -> Case:
        """The same rows, the last one repeated until they fill whole vectors."""
        missing = -len(self.columns[0]) % max(1, lanes)
        columns = tuple(column + column[-1:] * missing for column in self.columns)
        return Case(self.op, self.dtype, self.sources, columns)


def batch(target: Target, name: str, cases: Sequence[Case], lanes: int = 0) -> Program:
    """`out[i] = op(in1[i], in2[i], ...)` for each case, one element or `lanes` of them a turn.

    The arguments are those of the first case, result first, then those of the next.
    """
    statements: list[UOp] = []
    slot = 0
    for position, case in enumerate(cases):
        elements = len(case.columns[0])
        axis = loop(position, elements // max(1, lanes))
        offset = axis * number(lanes) if lanes else axis
        output = parameter(slot, case.dtype, elements)
        inputs = [
            load(parameter(slot + 1 + i, source, elements), offset, lanes or None)
            for i, source in enumerate(case.sources)
        ]
        slot += 1 + len(inputs)
        value = make(case.op, case.dtype, tuple(inputs))
        write = store(output, offset, value, lanes or None)
        statements += [axis, write, write.end(axis)]
    return program_of(name, target, *statements)


def contents_of(cases: Sequence[Case]) -> list[bytes]:
    """What the arguments of a batch hold before the launch: zeros, then the rows of the sources."""
    contents: list[bytes] = []
    for case in cases:
        contents.append(bytes(len(case.columns[0]) * case.dtype.nbytes))
        contents += [
            pack_values(source, column)
            for source, column in zip(case.sources, case.columns, strict=True)
        ]
    return contents


def specials(dtype: DType) -> list[Scalar]:
    """Values where mistakes hide: limits, their neighbours, zeros, halves, NaN and infinities."""
    if dtype.is_bool:
        return [False, True]
    if dtype.is_int:
        low, high = int(dtype.minimum), int(dtype.largest)
        found = [0, 1, 2, 3, 5, 7, 100, high, high - 1, high // 2, high // 2 + 1, high // 3]
        return [*found, low, low + 1, -1, -2, -7, low // 2] if low else [*found]
    top, tiny = float(dtype.largest), float(dtype.smallest)
    normal = float(dtype.smallest_normal)
    half_ways = [0.5, 1.5, 2.5, 0.49, 3.75]
    sizes = [0.0, 1.0, 3.0, *half_ways, top, top / 2, tiny, 3 * tiny, normal, 1 + dtype.epsilon]
    values = sizes + [-size for size in sizes] + [float("nan")]
    values += [float("inf"), float("-inf")] if dtype.has_infinity else []
    # What rounding made equal stays once; zeros of both signs stay.
    kept = unpack_values(dtype, pack_values(dtype, values))
    return list({repr(value): value for value in kept}.values())


def cases_of(op: Op, target: Target) -> list[Case]:
    """A case for each dtype in which the target claims an op: special values, all defined."""
    return [
        _case(op, dtype)
        for dtype in STORED
        if target.supports(op, dtype) and target.stores(dtype) and has_meaning(op, dtype)
    ]


def _case(op: Op, dtype: DType) -> Case:
    result = dtypes.bool_ if op in COMPARISONS else dtype
    sources = (dtypes.bool_, dtype, dtype) if op is Op.WHERE else (dtype,) * _arity(op)
    domains = [specials(source) for source in sources]
    if op in (Op.SHL, Op.SHR):
        domains[1] = [0, 1, 2, dtype.bits // 2, dtype.bits - 1]
    elif op is Op.THREEFRY:
        domains = [[0, 1, 2**32 - 1, 2**32, 2**64 - 1]] * 2
    rows = [row for row in _rows(domains) if _is_defined(op, dtype, row)]
    assert rows, f"{op.name} has no arguments among the special values of {dtype.name}"
    return Case(op, result, sources, tuple(zip(*rows, strict=True)))


def _arity(op: Op) -> int:
    return 3 if op in _TERNARY else 2 if op in _BINARY else 1


_BINARY = frozenset(
    (Op.ADD, Op.SUB, Op.MUL, Op.FDIV, Op.FLOORDIV, Op.FLOORMOD, Op.CDIV, Op.CMOD, Op.MAX, Op.MIN)
    + (Op.AND, Op.OR, Op.XOR, Op.SHL, Op.SHR, Op.POW, Op.THREEFRY, *COMPARISONS)
)


def _rows(domains: Sequence[Sequence[Scalar]]) -> Iterator[tuple[Scalar, ...]]:
    """All combinations, or every so many of them where there are too many."""
    total = 1
    for domain in domains:
        total *= len(domain)
    step = -(-total // _MOST_ROWS)
    # A step that shares no factor with the sizes visits every value of every domain.
    while any(math.gcd(len(domain), step) > 1 for domain in domains):
        step += 1
    return itertools.islice(itertools.product(*domains), 0, None, step)


def _is_defined(op: Op, dtype: DType, row: Sequence[Scalar]) -> bool:
    """Whether the program level gives an op a meaning here: stages before see to the rest."""
    if dtype.is_int and op in (Op.CDIV, Op.CMOD):
        return row[1] != 0 and not (row[0] == dtype.minimum and row[1] == -1)
    return True


def casts_of(source: DType, target: Target) -> list[Case]:
    """A case for each dtype that the target converts values of `source` to."""
    cases: list[Case] = []
    if not (target.supports(Op.CAST, source) and target.stores(source)):
        return cases
    for dtype in STORED:
        if target.converts(source, dtype) and target.stores(dtype):
            values = tuple(v for v in specials(source) if _converts(v, source, dtype))
            cases.append(Case(Op.CAST, dtype, (source,), (values,)))
    return cases


def _converts(value: Scalar, source: DType, dtype: DType) -> bool:
    """Whether a float is in the range of an integer type: the program level takes that as given."""
    if not (source.is_float and dtype.is_int):
        return True
    return value == value and abs(value) < 2.0**70 and dtype.minimum <= int(value) <= dtype.maximum
