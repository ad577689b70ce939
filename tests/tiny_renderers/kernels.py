"""The kernels whose texts are goldens: small, and together they show every form of text."""

from __future__ import annotations

from tiny_ir import AxisKind, Op, const, dtypes, make
from tiny_plugin import FloatFacts, Program, Target
from tiny_testing.cases import Case, batch
from tiny_testing.programs import (
    load,
    loop,
    number,
    parameter,
    program_of,
    reductions,
    scratch,
    store,
    variable,
)

WIDE = Target(
    "cpu",
    form="wide",
    vector_nbytes=(64, 32, 16),
    floats=(FloatFacts(dtypes.float32, fma=True), FloatFacts(dtypes.float64, fma=True)),
)


def add(lanes: int = 0) -> Program:
    """An elementwise sum."""
    column = tuple(map(float, range(32)))
    case = Case(Op.ADD, dtypes.float32, (dtypes.float32,) * 2, (column, column))
    return batch(WIDE, f"add_x{lanes}" if lanes else "add", [case], lanes)


def total(lanes: int = 0) -> Program:
    """A sum of floats."""
    return reductions(WIDE, Op.ADD, [(dtypes.float32, 96)], lanes)


def padded() -> Program:
    """A copy of what is inside of bounds, to memory of known size, up to a symbolic length."""
    n = variable("n", 0, 10)
    axis = loop(0, n)
    source, out = parameter(1, dtypes.bool_, 10), parameter(0, dtypes.int8, 10)
    offset = axis - number(2)
    inside = number(0).alu(Op.CMPLE, offset)
    value = load(source, offset, otherwise=const(dtypes.bool_, True), gate=inside)
    write = store(out, axis, value.cast(dtypes.int8), gate=axis < number(8))
    return program_of("padded", WIDE, n, axis, write, write.end(axis))


def staged() -> Program:
    """Rows through scratch, one a grid position."""
    row = make(Op.SPECIAL, None, (number(6),), "grid0")
    fast = scratch(0, dtypes.float64, 8)
    source, out = parameter(1, dtypes.float64, 48), parameter(0, dtypes.float64, 48)
    i, j = loop(0, 8, AxisKind.LOOP), loop(1, 8, AxisKind.LOOP)
    fill = store(fast, i, load(source, row * number(8) + i))
    filled = fill.end(i)
    value = load(fast.after(filled), number(7) - j)
    write = store(out, row * number(8) + j, value.alu(Op.MAX, const(dtypes.float64, 0.5)))
    return program_of("staged", WIDE, row, i, fill, filled, j, write, write.end(j), grid=(6,))


KERNELS = {
    "add": add(),
    "add_x16": add(16),
    "sum": total(),
    "sum_x12": total(12),
    "padded": padded(),
    "staged": staged(),
}
