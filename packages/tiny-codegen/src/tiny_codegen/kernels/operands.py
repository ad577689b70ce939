"""What a value is computed from, and how often each element of that is used."""

from __future__ import annotations

from tiny_codegen.kernels.views import elements_of
from tiny_ir import ELEMENTWISE, MOVEMENT, Op, UOp

MUCH_USED = 16
"""Uses of an element from which on a reduction is bound by arithmetic, not by memory."""


def operands_of(value: UOp) -> list[UOp]:
    """What a value is computed from, element by element and through views."""
    found: dict[UOp, None] = {}
    seen: set[UOp] = set()
    stack = [value]
    while stack:
        at = stack.pop()
        if at in seen or at.op is Op.CONST:
            continue
        seen.add(at)
        if at.op in ELEMENTWISE:
            stack += at.src
        elif at.op in MOVEMENT:
            stack.append(at.src[0])
        else:
            found[at] = None
    return list(found)


def uses_of_operands(value: UOp) -> int:
    """How often each element of the operands is used, on average."""
    elements = sum(elements_of(operand.shape) for operand in operands_of(value))
    return elements_of(value.shape) // max(1, elements)
