"""A long reduction to few elements becomes many short ones and a last one: workers share it.

before   REDUCE(big, axis 0, axis 1; ADD)      4096 rows of 4096
after    REDUCE(REDUCE(RESHAPE(big, 256, 16, 4096), axis 1, axis 2; ADD), axis 0; ADD)

The inner reduction is a kernel of its own (`fuse.py` stores what a reduction reduces). How it is
cut depends on the sizes alone, so that a sum has one order on every machine.

A reduction that uses each element of its operands many times is cut too, where they are more than a
cache holds: each part of them is read from memory once, and used while it is in a cache.
"""

from __future__ import annotations

from tiny_codegen.kernels.operands import MUCH_USED, operands_of, uses_of_operands
from tiny_codegen.kernels.views import elements_of
from tiny_ir import Op, RuleSet, UOp, node, rule

FEW_ELEMENTS = 128
"""Results below this many leave workers idle."""
LONG_REDUCTION = 1 << 16
"""Terms above which a second kernel costs less than it gains."""
PARTS = range(256, 7, -1)
"""How many short reductions there may be, best first."""


CACHED_NBYTES = 1 << 19
"""What the operands of one part may take of a core's own cache."""
TERMS_A_RESULT = 1024
"""Terms of a part for each of its results, which is written and read once more."""


@rule(node(Op.REDUCE, name="reduce"))
def long_reduction_is_cut_in_parts(reduce: UOp) -> UOp | None:
    """Reduce parts of one axis first, then the results of the parts."""
    if len(reduce.src) > 1 or elements_of(reduce.shape) > FEW_ELEMENTS:
        return None
    if elements_of(reduce.src[0].shape) < LONG_REDUCTION * max(1, elements_of(reduce.shape)):
        return None
    for axis in reduce.arg.axes:
        size = reduce.src[0].shape[axis]
        parts = next((n for n in PARTS if isinstance(size, int) and size % n == 0), None)
        if parts is not None:
            return _in_parts(reduce, axis, parts)
    return None


@rule(node(Op.REDUCE, name="reduce"))
def reduction_of_much_that_is_used_often_is_cut_in_parts(reduce: UOp) -> UOp | None:
    """Cut the outermost axis, so that the operands of each part fit in a cache."""
    value, results = reduce.src[0], elements_of(reduce.shape)
    if len(reduce.src) > 1 or not reduce.arg.axes or not results:
        return None
    terms, axis = elements_of(value.shape) // results, reduce.arg.axes[0]
    size = value.shape[axis]
    if terms < 2 * TERMS_A_RESULT or not isinstance(size, int):
        return None
    nbytes = sum(elements_of(x.shape) * x.dtype.nbytes for x in operands_of(value))
    if uses_of_operands(value) < MUCH_USED or nbytes <= 2 * CACHED_NBYTES:
        return None
    most = min(size, terms // TERMS_A_RESULT)
    wanted = -(-nbytes // CACHED_NBYTES)
    fitting = [n for n in range(2, most + 1) if size % n == 0]
    parts = next((n for n in fitting if n >= wanted), fitting[-1] if fitting else 1)
    return _in_parts(reduce, axis, parts) if 2 * parts >= wanted else None


def _in_parts(reduce: UOp, axis: int, parts: int) -> UOp:
    value, axes = reduce.src[0], reduce.arg.axes
    size = value.shape[axis]
    assert isinstance(size, int)
    shape = (*value.shape[:axis], parts, size // parts, *value.shape[axis + 1 :])
    inner = tuple(at + 1 if at > axis else at for at in axes if at != axis)
    short = value.reshape(shape).reduce(reduce.arg.op, sorted((axis + 1, *inner)))
    kept = [at for at in range(len(shape)) if at == axis or at not in (axis + 1, *inner)]
    return short.reduce(reduce.arg.op, (kept.index(axis),))


SPLIT_REDUCE = RuleSet(
    (
        long_reduction_is_cut_in_parts,
        reduction_of_much_that_is_used_often_is_cut_in_parts,
    )
)
