"""Registers get numbers from 0, whichever stage made them.

before   STORE(REGISTER -1, LOAD(REGISTER 7))
after    STORE(REGISTER 0, LOAD(REGISTER 1))
"""

from __future__ import annotations

from tiny_ir import Op, RegisterArg, UOp, make, substitute, toposort
from tiny_plugin import Target


def number_registers(sink: UOp, target: Target) -> UOp:
    """Number the registers in the order of the graph."""
    registers = [node for node in toposort((sink,)) if node.op is Op.REGISTER]
    numbered = {
        register: make(Op.REGISTER, register.dtype, (), RegisterArg(number, register.arg.lanes))
        for number, register in enumerate(registers)
    }
    return substitute(sink, numbered)
