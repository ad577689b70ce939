"""Where a node is needed: the position of the element, and the loops around it."""

from __future__ import annotations

from typing import NamedTuple

from tiny_ir import UOp


class Place(NamedTuple):
    """One element of a node, as a kernel asks for it.

    Attributes:
        kernel: the node whose kernel asks: a STORE, or a value with memory of its own.
        indices: the position, one weakint an axis.
        valid: the bool under which the value matters; loads below it are guarded by it.
        scope: the loops around, outermost first.
        is_reduced: it is asked for inside a reduction.
        is_folded: it is asked for inside a FOLD.
    """

    kernel: UOp
    indices: tuple[UOp, ...]
    valid: UOp
    scope: tuple[UOp, ...]
    is_reduced: bool = False
    is_folded: bool = False
