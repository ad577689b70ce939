"""Valid graphs of every level that together hold every op: what tests read, write and mutate."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tiny_ir import (
    ELEMENTWISE,
    AxisKind,
    BufferArg,
    CallArg,
    DType,
    KernelArg,
    LoopArg,
    Op,
    ParamArg,
    RangeArg,
    RegisterArg,
    ResultArg,
    ScratchArg,
    SourceArg,
    StateArg,
    UOp,
    VariableArg,
    const,
    dtypes,
    has_meaning,
    make,
    toposort,
)

float32, int32, weakint = dtypes.float32, dtypes.int32, dtypes.weakint


@dataclass(frozen=True)
class Sample:
    """A valid graph, and the order its nodes stand in where it is a program."""

    name: str
    level: str
    root: UOp
    order: tuple[UOp, ...] = ()


def param(slot: int, dtype: DType = float32, elements: int = 64) -> UOp:
    return make(Op.PARAM, dtype, (), ParamArg(slot, elements, "cpu"))


def counted(number: int, size: int, kind: AxisKind = AxisKind.LOOP, dtype: DType = weakint) -> UOp:
    return make(Op.RANGE, None, (const(dtype, size),), RangeArg(number, kind))


def elementwise(dtype: DType) -> Sample:
    x = param(0, dtype, 12).reshape((4, 3))
    y = param(1, dtype, 12).reshape((4, 3))
    keep = param(2, dtypes.bool_, 12).reshape((4, 3))
    results = [keep.where(x, y), x.cast(dtypes.float16)]
    for op in sorted(ELEMENTWISE, key=lambda op: op.value):
        if op in (Op.CAST, Op.BITCAST, Op.WHERE) or not has_meaning(op, dtype):
            continue
        arity = 3 if op is Op.FMA else 2 if op in BINARY else 1
        results.append(make(op, None, (x, y, const(dtype, 2))[:arity]))
    if dtype is int32:
        results.append(x.bitcast(float32))
    return Sample(f"elementwise {dtype}", "graph", make(Op.SINK, None, tuple(results)))


BINARY = frozenset(
    (Op.ADD, Op.SUB, Op.MUL, Op.FDIV, Op.FLOORDIV, Op.FLOORMOD, Op.CDIV, Op.CMOD, Op.MAX, Op.MIN)
    + (Op.AND, Op.OR, Op.XOR, Op.SHL, Op.SHR, Op.POW, Op.THREEFRY)
    + (Op.CMPLT, Op.CMPLE, Op.CMPEQ, Op.CMPNE)
)


def movement() -> Sample:
    x = param(0, elements=24).reshape((2, 3, 4))
    moved = x.permute((2, 0, 1)).pad(((1, 0), (0, 0), (2, 1))).shrink(((0, 4), (0, 2), (1, 5)))
    summed = moved.flip((0, 2)).reduce(Op.ADD, (1,)).reshape((4, 1, 4)).expand((4, 5, 4))
    windows = summed.window(1, 3).fold(1, 5).reduce(Op.MAX, (0, 2))
    return Sample("movement", "graph", windows.alu(Op.SQRT))


def storage() -> Sample:
    old = make(Op.BUFFER, float32, (), BufferArg(7, 12, "cpu"))
    rows = param(0, int32, 2)
    table = old.reshape((4, 3))
    part = table.shrink(((1, 3), (0, 3)))
    gathered = table.index(rows)
    written = table.after(part.store(gathered.alu(Op.NEG)))
    added = make(Op.SCATTER, None, (written, gathered, rows), Op.ADD)
    custom = make(Op.CUSTOM, None, (make(Op.DETACH, None, (added,)), added), 0)
    marked = make(Op.CONTIGUOUS_BACKWARD, None, (custom,))
    copied = make(Op.COPY, None, (make(Op.CONTIGUOUS, None, (marked,)),), "python")
    return Sample("storage", "graph", make(Op.SINK, None, (written, copied)))


def recurrences() -> Sample:
    step = counted(0, 5, AxisKind.SERIAL)
    x = param(0, elements=15).reshape((5, 3))
    start = const(float32, 0).reshape((1,)).expand((3,))
    state = make(Op.STATE, float32, (), StateArg(1, 0, (3,)))
    following = state + x.index(step)
    scan = make(Op.SCAN, None, (step, start, following, following), LoopArg(1, 1, 1, False))
    last, all_sums = (make(Op.GET, float32, (scan,), number) for number in (0, 1))
    again = counted(1, 9, AxisKind.SERIAL)
    total = make(Op.STATE, float32, (), StateArg(2, 0, ()))
    sources = (again, const(float32, 1), total * 2.0, total < 100.0)
    loop = make(Op.LOOP, None, sources, LoopArg(2, 1, 0, True))
    doubled = make(Op.GET, float32, (loop,), 0)
    return Sample("recurrences", "graph", make(Op.SINK, None, (last, all_sums, doubled)))


def called() -> Sample:
    i = counted(0, 6)
    effect = param(0, elements=6).index(i).store(param(1, elements=6).index(i) + 1.0).end(i)
    kernel = str(make(Op.SINK, None, (effect,), KernelArg("one_more")))
    results = (ResultArg(0, float32, (2, 3)),)
    x = param(0, elements=6).reshape((2, 3))
    call = make(Op.CALL, None, (x,), CallArg(kernel, (1,), results, "cpu"))
    once = make(Op.GET, float32, (call,), 0)
    source = SourceArg("c", "f", (2,), (), 0, 0)
    text = make(Op.CALL, None, (once,), CallArg("void f() {}", (1,), results, "cpu", source))
    return Sample("called", "graph", make(Op.GET, float32, (text,), 0))


def symbolic() -> Sample:
    n = make(Op.VARIABLE, weakint, (), VariableArg("n", 1, 8))
    bound = make(Op.BIND, None, (n, const(weakint, 5)))
    x = param(0, elements=8).shrink(((0, bound),))
    return Sample("symbolic", "graph", (x + 1.0).reduce(Op.MAX, (0,)))


def matmul() -> Sample:
    i, j = counted(0, 8), counted(1, 6)
    k = counted(2, 4, AxisKind.REDUCE)
    product = param(1).index(i * 4 + k) * param(2).index(k * 6 + j, j < 5)
    total = product.reduce(Op.ADD, ranges=(k,))
    effect = param(0).index(i * 6 + j).store(total).end(i, j)
    return Sample("matmul", "kernel", make(Op.SINK, None, (effect,), KernelArg("matmul")))


def staged() -> Sample:
    group = make(Op.SPECIAL, None, (const(weakint, 4),), "grid0")
    fill, read = counted(0, 16), counted(1, 16)
    panel = make(Op.SCRATCH, float32, (), ScratchArg(0, 16, "shared"))
    filled = panel.index(fill).store(param(1).index(group * 16 + fill)).end(fill)
    ready = panel.after(make(Op.BARRIER, None, (filled,)))
    value = ready.index(read) + ready.index(const(weakint, 15) - read)
    effect = param(0).index(group * 16 + read).store(value).end(read)
    return Sample("staged", "kernel", make(Op.SINK, None, (effect,), KernelArg("staged")))


def accumulator() -> Sample:
    out, x = param(0), param(1)
    rows, columns = const(int32, 8), const(int32, 4)
    i = make(Op.RANGE, None, (rows,), RangeArg(0, AxisKind.LOOP))
    register = make(Op.REGISTER, float32, (), RegisterArg(0, ()))
    zero = const(float32, 0)
    start = make(Op.STORE, None, (register.after(i), zero))
    k = make(Op.RANGE, None, (columns,), RangeArg(1, AxisKind.REDUCE))
    before = make(Op.LOAD, None, (register.after(start, k),))
    base = i * 4
    offset = base + k
    place = x.index(offset)
    limit = const(int32, 30)
    gate = offset < limit
    value = make(Op.LOAD, None, (place, zero, gate))
    added = before + value
    keep = make(Op.STORE, None, (register, added))
    inner = make(Op.END, None, (keep, k))
    total = make(Op.LOAD, None, (register.after(inner),))
    target = out.index(i)
    stored = make(Op.STORE, None, (target, total, i < limit))
    outer = make(Op.END, None, (stored, i))
    sink = make(Op.SINK, None, (outer,), KernelArg("accumulator"))
    order = (out, x, rows, columns, limit, zero, register, i, register.after(i))
    order += (start, base, i < limit, k, register.after(start, k), before, offset, gate, place)
    order += (value, added, keep, inner, register.after(inner), total, target, stored, outer, sink)
    return Sample("accumulator", "program", sink, order)


def wide() -> Sample:
    out, x = param(0), param(1)
    zero, eight = const(int32, 0), const(int32, 8)
    i = make(Op.SPECIAL, None, (eight,), "grid0")
    start = i * 8
    address = make(Op.INDEX, None, (x, start), 8)
    lanes = make(Op.LOAD, None, (address,))
    steps = make(Op.IOTA, int32, (), 8)
    gathered = make(Op.INDEX, None, (x, steps + start))
    others = make(Op.LOAD, None, (gathered, const(float32, 1), steps < eight))
    first = make(Op.EXTRACT, None, (lanes,), 0)
    both = make(Op.STACK, None, (first, make(Op.EXTRACT, None, (others,), 7)))
    mixed = make(Op.SHUFFLE, None, (both, both), (0, 3, 1, 2) * 2)
    fused = make(Op.FMA, None, (lanes, make(Op.SPLAT, None, (first,), 8), others + mixed))
    total = fused.reduce(Op.ADD, (0,))
    target = make(Op.INDEX, None, (out, start), 8)
    effect = make(Op.STORE, None, (target, fused * total, steps < zero + i))
    next_line = make(Op.PREFETCH, None, (make(Op.INDEX, None, (out, start)),))
    sink = make(Op.SINK, None, (next_line, effect), KernelArg("wide"))
    return Sample("wide", "program", sink, tuple(toposort([sink])))


@pytest.fixture(scope="session")
def samples() -> list[Sample]:
    """Valid graphs; every op stands in one of them."""
    computing = (float32, int32, dtypes.bool_, dtypes.uint64)
    return [
        *[elementwise(dtype) for dtype in computing],
        *[movement(), storage(), recurrences(), called(), symbolic()],
        *[matmul(), staged(), accumulator(), wide()],
    ]
