"""An operand that a long reduction reads across memory is laid out along the reduction first.

before   REDUCE(MUL(a, b), axis 1; ADD)              a walks down a column of memory
after    REDUCE(MUL(a', b), axis 1; ADD)             a' is PERMUTE(CONTIGUOUS(PERMUTE(a)))

A product with a transposed left matrix, as every gradient of a weight is, reads that matrix once
for each block of columns. Steps as long as a power of two meet in few places of a cache: copying it
once costs less than the first of those reads. So does converting once what is read one element at a
time, and would be converted at each use: a wider copy is made of it.
"""

from __future__ import annotations

from math import prod

from tiny_codegen.kernels.views import elements_of, flat_offset, source_position
from tiny_codegen.loops.accesses import stride
from tiny_ir import (
    ELEMENTWISE,
    MOVEMENT,
    AxisKind,
    Op,
    RangeArg,
    RuleSet,
    UOp,
    make,
    node,
    rule,
    simplify,
    size_node,
    substitute,
)

MUCH_USED = 64
"""Uses of an element that pay for copying it."""
LONG_NBYTES = 1 << 17
"""An operand below this stays in a core's own cache, however it is walked."""
LONG_STEP_NBYTES = 1 << 10
"""Steps from which on each read is in a line, and nearly in a page, of its own."""


@rule(node(Op.REDUCE, name="reduce"))
def what_is_read_across_memory_is_laid_along(reduce: UOp) -> UOp | None:
    """Copy one operand so that its reduced axis is the innermost."""
    value = reduce.src[0]
    if len(reduce.src) > 1 or reduce.arg.op is not Op.ADD or value.op is not Op.MUL:
        return None
    if any(not isinstance(size, int) for size in value.shape):
        return None
    for factor in value.src:
        laid = (
            _laid_along(factor, reduce)
            or _converted_once(factor, reduce)
            or _padded_once(factor, reduce)
        )
        if laid is not None:
            return substitute(reduce, {factor: laid})
    return None


def _converted_once(factor: UOp, reduce: UOp) -> UOp | None:
    """The factor over a wider copy of narrow memory; None where lanes convert it."""
    chain = _views_of(factor)
    wide = chain[-1]
    if wide.op is not Op.CAST or wide.src[0].dtype.nbytes >= wide.dtype.nbytes:
        return None
    elements = elements_of(wide.shape)
    if not wide.dtype.is_float or elements_of(factor.shape) < MUCH_USED * elements:
        return None
    if elements * wide.dtype.nbytes < LONG_NBYTES or _step_of_lanes(chain, factor, reduce) != 0:
        return None
    return substitute(factor, {wide: make(Op.CONTIGUOUS, None, (wide,))})


def _padded_once(factor: UOp, reduce: UOp) -> UOp | None:
    """The factor over padded memory; None where lanes read it, and ask for its edges together."""
    chain = _views_of(factor, _VIEWS | {Op.WINDOW})
    padded = chain[-1]
    if padded.op is not Op.PAD:
        return None
    elements = elements_of(padded.shape)
    if elements_of(factor.shape) < MUCH_USED * elements:
        return None
    if elements * padded.dtype.nbytes < LONG_NBYTES:
        return None
    if _step_of_lanes(chain, factor, reduce) in (None, 0, 1):
        return None
    return substitute(factor, {padded: make(Op.CONTIGUOUS, None, (padded,))})


def _step_of_lanes(chain: list[UOp], factor: UOp, reduce: UOp) -> int | None:
    """The step of the last axis that stays; None where all are reduced."""
    steps = _steps_of(chain, factor)
    return next(
        (steps[at] for at in reversed(range(len(steps))) if at not in reduce.arg.axes), None
    )


_VIEWS = frozenset((Op.RESHAPE, Op.EXPAND, Op.PERMUTE))


def _views_of(factor: UOp, views: frozenset[Op] = _VIEWS) -> list[UOp]:
    """The factor, what it is a view of, and so on."""
    chain = [factor]
    while chain[-1].op in views:
        chain.append(chain[-1].src[0])
    return chain


def _laid_along(factor: UOp, reduce: UOp) -> UOp | None:
    """The factor over a copy of its memory; None where that gains nothing."""
    chain = _views_of(factor)
    leaf = chain[-1]
    if leaf.op in ELEMENTWISE or leaf.op in MOVEMENT or leaf.op in (Op.CONST, Op.CONTIGUOUS):
        return None
    rows = leaf if len(leaf.shape) > 1 else chain[max(len(chain) - 2, 0)]
    elements = elements_of(rows.shape)
    if elements * leaf.dtype.nbytes < LONG_NBYTES or len(rows.shape) < 2:
        return None
    if rows.op is Op.EXPAND or elements_of(factor.shape) < MUCH_USED * elements:
        return None
    steps = _steps_of(chain, factor)
    reduced = [steps[axis] for axis in reduce.arg.axes if steps[axis]]
    last = max(at for at in range(len(steps)) if at not in reduce.arg.axes)
    if not reduced or min(reduced) * leaf.dtype.nbytes < LONG_STEP_NBYTES or steps[last] == 1:
        return None
    own = [prod(rows.shape[at + 1 :]) for at in range(len(rows.shape))]
    along = [at for at in range(len(own)) if own[at] in reduced]
    order = [at for at in range(len(own)) if at not in along] + along
    back = [order.index(at) for at in range(len(order))]
    laid = make(Op.CONTIGUOUS, None, (rows.permute(order),)).permute(back)
    return substitute(factor, {rows: laid})


def _steps_of(chain: list[UOp], factor: UOp) -> list[int]:
    """How far apart neighbours along each axis are in memory; 0 where that is not constant."""
    ranges = tuple(
        make(Op.RANGE, None, (size_node(size),), RangeArg(at, AxisKind.LOOP))
        for at, size in enumerate(factor.shape)
    )
    indices = ranges
    for view in chain[:-1]:
        indices, _ = source_position(view, indices)
    offset = simplify(flat_offset(indices, chain[-1].shape))
    return [stride(offset, axis) or 0 for axis in ranges]


LAY_OPERANDS = RuleSet((what_is_read_across_memory_is_laid_along,))
