"""Registers and scratch memory get numbers from 0, whichever stage made them.

before   STORE(REGISTER -1, LOAD(REGISTER 7))
after    STORE(REGISTER 0, LOAD(REGISTER 1))
"""

from __future__ import annotations

from tiny_ir import Op, UOp, make, substitute, toposort
from tiny_plugin import Target


def number_memory(sink: UOp, target: Target) -> UOp:
    """Number registers, and scratch memory, in the order of the graph."""
    nodes = toposort((sink,))
    numbered: dict[UOp, UOp] = {}
    for op in (Op.REGISTER, Op.SCRATCH):
        found = (node for node in nodes if node.op is op)
        for number, node in enumerate(found):
            numbered[node] = make(op, node.dtype, (), node.arg._replace(number=number))
    return substitute(sink, numbered)
