"""Graphs as text, records, pickles and keys come back as the very same nodes."""

from __future__ import annotations

import math
import pickle
import random
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiny_ir import (
    ELEMENTWISE,
    OP_TABLE,
    AxisKind,
    DType,
    KernelArg,
    Op,
    ParamArg,
    ParseError,
    RangeArg,
    UOp,
    const,
    dtypes,
    from_records,
    has_meaning,
    key,
    make,
    parse,
    text_of,
    to_records,
    toposort,
)

VALUES = [dtype for dtype in dtypes.DTYPES.values() if dtype is not dtypes.void]
COMPUTING = sorted(
    ELEMENTWISE - {Op.CAST, Op.BITCAST, Op.WHERE, Op.THREEFRY}, key=lambda op: op.value
)


def arity_of(op: Op) -> int:
    return OP_TABLE[op].minimum_arity


@st.composite
def graphs(draw: st.DrawFn) -> UOp:
    """A random graph of shape (2, 3), with sharing, all dtypes, and movement."""
    generator = random.Random(draw(st.integers(0, 2**32)))
    numbers = st.floats() | st.integers(-(2**70), 2**70)
    pool: list[UOp] = []
    for slot in range(draw(st.integers(1, 4))):
        dtype = draw(st.sampled_from([dtype for dtype in VALUES if not dtype.is_weak]))
        pool.append(make(Op.PARAM, dtype, (), ParamArg(slot, 6, "cpu")).reshape((2, 3)))
    for _ in range(draw(st.integers(0, 30))):
        x = generator.choice(pool)
        alike = [other for other in pool if other.dtype is x.dtype]
        match generator.randrange(5):
            case 0:
                number = draw(numbers)
                if not x.dtype.is_float and not math.isfinite(number):
                    number = 1
                alike.append(const(x.dtype, number))
                node = make(Op.WHERE, None, (x.ne(x), x, alike[-1]))
            case 1:
                node = x.cast(generator.choice(VALUES[:4] + VALUES[-6:]))
            case 2:
                node = x.permute((1, 0)).flip((0,)).permute((1, 0)).pad(((1, 0), (0, 0)))
                node = node.shrink(((0, 2), (0, 3)))
            case 3:
                node = x.reduce(Op.MAX, (1,)).reshape((2, 1)).expand((2, 3))
            case _:
                able = [op for op in COMPUTING if has_meaning(op, x.dtype)]
                op = generator.choice(able)
                node = make(op, None, tuple(generator.choices(alike, k=arity_of(op))))
        pool.append(node)
    return make(Op.SINK, None, tuple(pool[-3:]))


@given(graphs())
def test_text_comes_back_as_the_same_node(graph: UOp) -> None:
    assert parse(str(graph)) is graph


@given(graphs())
def test_records_and_pickles_come_back_as_the_same_node(graph: UOp) -> None:
    assert from_records(to_records(graph)) is graph
    assert pickle.loads(pickle.dumps(graph)) is graph


@given(graphs(), graphs())
def test_two_graphs_have_one_key_only_if_they_are_one(a: UOp, b: UOp) -> None:
    assert (key(a) == key(b)) == (a is b)
    assert (str(a) == str(b)) == (a is b)


def test_every_op_comes_back(samples: list) -> None:
    for sample in samples:
        assert parse(str(sample.root)) is sample.root
        assert pickle.loads(pickle.dumps(sample.root)) is sample.root
        for node in toposort([sample.root]):
            assert parse(text_of(node)) is node


@pytest.mark.parametrize("dtype", VALUES, ids=str)
@given(st.floats() | st.integers(-(2**70), 2**70))
def test_every_constant_comes_back(dtype: DType, number: float) -> None:
    if not dtype.is_float and isinstance(number, float) and not math.isfinite(number):
        number = 0
    node = const(dtype, number)
    assert parse(str(node)) is node


def test_text_is_for_reading() -> None:
    x = make(Op.PARAM, dtypes.float32, (), ParamArg(0, 16, "cpu"))
    i = make(Op.RANGE, None, (const(dtypes.weakint, 16),), RangeArg(0, AxisKind.LOOP))
    doubled = x.index(i) * 2.0
    kernel = make(Op.SINK, None, (x.index(i).store(doubled).end(i),), KernelArg("double"))
    assert str(kernel).splitlines() == [
        "%0 = param.float32 ParamArg(slot=0, elements=16, device='cpu')",
        "%1 = const.weakint 16",
        "%2 = range.weakint %1 RangeArg(number=0, kind=AxisKind.LOOP)",
        "%3 = index.float32 %0 %2",
        "%4 = const.float32 2.0",
        "%5 = mul.float32 %3 %4",
        "%6 = store.void %3 %5",
        "%7 = end.void %6 %2",
        "%8 = sink.void %7 KernelArg(name='double')",
    ]


def test_comments_and_empty_lines_are_skipped() -> None:
    assert parse("# a constant\n\n  %0 = const.int8 3\n") is const(dtypes.int8, 3)


def test_shared_nodes_stand_once() -> None:
    x = const(dtypes.float32, 3.0)
    for _ in range(60):
        x = make(Op.ADD, None, (x, x))
    assert len(str(x).splitlines()) == 61
    assert parse(str(x)) is x


def test_depth_has_no_limit() -> None:
    x = make(Op.PARAM, dtypes.float32, (), ParamArg(0, 1, "cpu"))
    for n in range(50_000):
        x = x + float(n)
    assert parse(str(x)) is x
    assert pickle.loads(pickle.dumps(x)) is x
    assert len(key(x)) == 64


def test_the_key_is_the_same_in_every_process() -> None:
    code = (
        "from tiny_ir import *; x = make(Op.PARAM, dtypes.float32, (), ParamArg(0, 4, 'cpu'));"
        "print(key((x * 2.0 + x).reduce(Op.ADD, (0,))))"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        )
        for seed in ("1", "2")
    ]
    x = make(Op.PARAM, dtypes.float32, (), ParamArg(0, 4, "cpu"))
    expected = key((x * 2.0 + x).reduce(Op.ADD, (0,)))
    assert [run.stdout.decode().strip() for run in runs] == [expected, expected]


BAD = [
    ("hello", "does not have the form"),
    ("%0 = add.int32 %1 %1", "%1 is not defined above it"),
    ("%0 = foo.int32", "'FOO' is not known"),
    ("%0 = const.int31 1", "'int31' is not known"),
    ("%0 = const.int32 __import__('os')", "not known"),
    ("%0 = const.int32 [1]", "not known"),
    ("%0 = const.int32 (lambda: 1)()", "not known"),
    ("%0 = const.int32 'a'", "is a number"),
    ("%0 = const.float32 'nan'", "is a number"),
    ("%0 = const.int32", "is a number"),
    ("%0 = add.int32", "cannot be built"),
    ("%0 = range.weakint", "here are 0|not an arg|cannot be built"),
    ("%0 = param.int8 3", "cannot be built"),
    ("%0 = param.int8 ParamArg(zoo=1)", "not known"),
    ("%0 = const.int32 1\n%0 = const.int32 2", "line 2.*defined twice"),
    ("%0 = const.int32 1\n%1 = const.int8 1\n%2 = add.int32 %0 %1", "int32 and int8"),
    ("", "no node"),
    ("# nothing", "no node"),
]


@pytest.mark.parametrize(("text", "why"), BAD)
def test_text_that_is_no_graph_is_refused(text: str, why: str) -> None:
    with pytest.raises(ParseError, match=f"(?s){why}"):
        parse(text)
