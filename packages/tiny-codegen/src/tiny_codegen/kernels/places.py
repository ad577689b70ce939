"""Where a node is needed: the position of the element, and the loops around it."""

from __future__ import annotations

from typing import NamedTuple

from tiny_ir import AxisKind, Op, UOp, bounds, toposort


class Place(NamedTuple):
    """One element of a node, as a kernel asks for it.

    Attributes:
        kernel: the node whose kernel asks: a STORE, or a value with memory of its own.
        indices: the position, one weakint an axis.
        valid: the bool under which the value matters; loads below it are guarded by it.
        scope: the loops around, outermost first.
        is_reduced: it is asked for inside a reduction.
        is_folded: it is asked for inside a FOLD.
        is_hoisted: it was asked for in more loops, in each turn of which it is the same.
    """

    kernel: UOp
    indices: tuple[UOp, ...]
    valid: UOp
    scope: tuple[UOp, ...]
    is_reduced: bool = False
    is_folded: bool = False
    is_hoisted: bool = False

    @property
    def iterations(self) -> int:
        """How often the element is asked for at most."""
        count = 1
        for axis in self.scope:
            count *= int(bounds(axis)[1]) + 1
        return count

    def hoisted(self) -> Place:
        """The same element, in the outermost loops that it can be computed in.

        Only a stretch of inner loops is left, all of one kind: all of a reduction, or all of the
        result. What stands between an outer loop and a reduction, as a row of a matrix product
        does, stays where it is: loops over results may still be put in another order.
        """
        below = toposort((*self.indices, self.valid))
        needed = {node for node in below if node.op is Op.RANGE}
        loops = [axis for axis in self.scope if axis.op is Op.RANGE]
        count = max((at + 1 for at, axis in enumerate(loops) if axis in needed), default=0)
        kept, left = loops[:count], loops[count:]
        if not kept or len({axis.arg.kind for axis in left}) != 1:
            return self
        if any(axis.arg.kind is not AxisKind.LOOP for axis in kept):
            return self
        return Place(self.kernel, self.indices, self.valid, tuple(kept), is_hoisted=True)
