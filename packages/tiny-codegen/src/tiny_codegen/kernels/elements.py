"""Builds what a kernel does to one element: addresses, guards, reductions, and its name."""

from __future__ import annotations

from tiny_codegen.identities import identity_of
from tiny_codegen.kernels.views import (
    TRUE,
    ZERO,
    Indices,
)
from tiny_ir import (
    AxisKind,
    Op,
    UOp,
    bounds,
    const,
    dtypes,
    simplify,
    substitute,
    toposort,
)


def checked(position: UOp, size: UOp) -> tuple[UOp, UOp]:
    """A position as weakint, and the bool under which it lies in 0..size-1."""
    if bounds(position)[1] > dtypes.int64.maximum:
        # Indices become int64: what does not fit there is outside of every axis, and stays so.
        position = position.minimum(int(dtypes.int64.maximum))
    index = simplify(position.cast(dtypes.weakint))
    return index, simplify(index >= 0) & simplify(index < size)


def address_of(buffer: UOp, offset: UOp, valid: UOp) -> UOp:
    return buffer.index(offset) if valid is TRUE else buffer.index(offset, valid)


def element_at(buffer: UOp, offset: UOp, valid: UOp) -> UOp:
    """An element that matters only where `valid`: guarded, unless it can be read everywhere."""
    low, high = bounds(offset)
    if 0 <= low and high < buffer.arg.elements:
        return buffer.index(offset)
    return address_of(buffer, offset, valid)


def loops_of(ranges: Indices) -> tuple[UOp, ...]:
    return tuple(axis for axis in ranges if axis.op is Op.RANGE)


def reduced(value: UOp, op: Op, ranges: Indices) -> UOp:
    if any(axis.src[0].op is Op.CONST and axis.src[0].arg == 0 for axis in ranges):
        return const(value.dtype, 0 if op is Op.ADD else identity_of(op, value.dtype))
    loops = [axis for axis in ranges if not _is_one(axis)]
    if len(loops) < len(ranges):
        value = substitute(value, {axis: ZERO for axis in ranges if _is_one(axis)})
    total = value.reduce(op, ranges=loops)
    if op is Op.ADD and value.dtype.is_float:
        for axis in loops:
            if axis.src[0].op is not Op.CONST and bounds(axis.src[0])[0] <= 0:
                # Sums begin at -0, which no sum of terms gives but that of -0 alone.
                total = axis.src[0].eq(0).where(0, total)
    return total


def _is_one(axis: UOp) -> bool:
    return axis.src[0].op is Op.CONST and axis.src[0].arg == 1


def name_of(effect: UOp) -> str:
    """`e_` for elementwise and `r_` for reducing kernels, with the sizes of their loops."""
    ranges = [node for node in toposort((effect,)) if node.op is Op.RANGE]
    ranges.sort(key=lambda axis: (axis.arg.kind is AxisKind.REDUCE, axis.arg.number))
    sizes = [str(r.src[0].arg) if r.src[0].op is Op.CONST else "n" for r in ranges]
    reduces = any(axis.arg.kind is AxisKind.REDUCE for axis in ranges)
    return "_".join(["r" if reduces else "e", *sizes])
