"""Copies a part of a kernel so that the copy can stand beside it: no loop has two ENDs.

What is kept in registers and scratch memory inside is kept in others, too: the two parts may be
computed at different times.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

from tiny_codegen.buffers import memory_of, read_memory
from tiny_ir import Op, RangeArg, UOp, make, substitute, toposort

_MEMORY = (Op.REGISTER, Op.SCRATCH)


@dataclass(slots=True)
class FreeNumbers:
    """Numbers that no loop, no register and no scratch memory of a kernel has."""

    next_axis: int
    next_memory: int

    @staticmethod
    def of(kernel: UOp) -> FreeNumbers:
        """The free numbers of a kernel."""
        nodes = toposort((kernel,))
        axes = (node.arg.number for node in nodes if node.op is Op.RANGE)
        memory = (node.arg.number for node in nodes if node.op in _MEMORY)
        return FreeNumbers(1 + max(axes, default=-1), 1 + max(memory, default=-1))

    def another(self, node: UOp) -> UOp:
        """A RANGE, REGISTER or SCRATCH like `node` with a number of its own."""
        if node.op is Op.RANGE:
            arg = RangeArg(self.next_axis, node.arg.kind)
            self.next_axis += 1
        else:
            arg = node.arg._replace(number=self.next_memory)
            self.next_memory += 1
        return make(node.op, node.dtype, node.src, arg)


def with_own_loops(part: UOp, around: Iterable[UOp], numbers: FreeNumbers) -> UOp:
    """The part with loops, registers and scratch memory of its own inside the loops `around`.

    What it only waits for, and does not depend on those loops, happens once for both.

    Args:
        part: an effect or a value.
        around: RANGEs that it depends on.
        numbers: those that the kernel has not given yet.
    """
    own: dict[UOp, UOp] = {}
    find_own_loops(part, around, numbers, own)
    return substitute(part, own)


def find_own_loops(
    part: UOp, around: Iterable[UOp], numbers: FreeNumbers, own: dict[UOp, UOp]
) -> None:
    """Add to `own` what takes the place of the loops and memory inside the loops `around`."""
    nodes = toposort((part,))
    read = read_memory(nodes)
    known = -1
    while known < len(own):
        known = len(own)
        # A loop that is replaced stands around others, which must be replaced then.
        _find_inside(nodes, read, {*around, *own}, numbers, own)


def _find_inside(
    nodes: Sequence[UOp],
    read: Container[UOp],
    inside: set[UOp],
    numbers: FreeNumbers,
    own: dict[UOp, UOp],
) -> None:
    for node in nodes:
        if inside.isdisjoint(node.src):
            continue
        inside.add(node)
        found: list[UOp] = []
        if node.op is Op.END:
            found = [source for source in node.src if source.op is Op.RANGE]
        elif node.op is Op.STORE:
            memory = memory_of(node.src[0])
            # What is only written here is read by others, who know it by its number.
            found = [memory] if memory.op in _MEMORY and memory in read else []
        for old in found:
            if old not in own:
                own[old] = numbers.another(old)
