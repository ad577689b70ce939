"""A long reduction to few elements becomes many short ones and a last one: workers share it.

before   REDUCE(big, axis 0, axis 1; ADD)      4096 rows of 4096
after    REDUCE(REDUCE(RESHAPE(big, 256, 16, 4096), axis 1, axis 2; ADD), axis 0; ADD)

The inner reduction is a kernel of its own (`fuse.py` stores what a reduction reduces). How it is
cut depends on the sizes alone, so that a sum has one order on every machine.
"""

from __future__ import annotations

from tiny_codegen.kernels.views import elements_of
from tiny_ir import Op, RuleSet, UOp, node, rule

FEW_ELEMENTS = 128
"""Results below this many leave workers idle."""
LONG_REDUCTION = 1 << 16
"""Terms above which a second kernel costs less than it gains."""
PARTS = range(256, 7, -1)
"""How many short reductions there may be, best first."""


@rule(node(Op.REDUCE, name="reduce"))
def long_reduction_is_cut_in_parts(reduce: UOp) -> UOp | None:
    """Reduce parts of one axis first, then the results of the parts."""
    value, axes = reduce.src[0], reduce.arg.axes
    if len(reduce.src) > 1 or elements_of(reduce.shape) > FEW_ELEMENTS:
        return None
    if elements_of(value.shape) < LONG_REDUCTION * max(1, elements_of(reduce.shape)):
        return None
    for axis in axes:
        size = value.shape[axis]
        parts = next((n for n in PARTS if isinstance(size, int) and size % n == 0), None)
        if parts is None:
            continue
        assert isinstance(size, int)
        shape = (*value.shape[:axis], parts, size // parts, *value.shape[axis + 1 :])
        inner = tuple(at + 1 if at > axis else at for at in axes if at != axis)
        short = value.reshape(shape).reduce(reduce.arg.op, sorted((axis + 1, *inner)))
        kept = [at for at in range(len(shape)) if at == axis or at not in (axis + 1, *inner)]
        return short.reduce(reduce.arg.op, (kept.index(axis),))
    return None


SPLIT_REDUCE = RuleSet((long_reduction_is_cut_in_parts,))
