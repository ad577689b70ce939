"""Which memory a kernel reads and writes."""

from __future__ import annotations

from collections.abc import Sequence

from tiny_ir import Op, UOp


def memory_of(address: UOp) -> UOp:
    """The PARAM, SCRATCH or REGISTER that an address or register belongs to."""
    while address.op in (Op.INDEX, Op.AFTER):
        address = address.src[0]
    return address


def stored_to(nodes: Sequence[UOp]) -> list[UOp]:
    """The PARAMs that are written, in the order of the list, each once."""
    found = (memory_of(node.src[0]) for node in nodes if node.op is Op.STORE)
    return list(dict.fromkeys(memory for memory in found if memory.op is Op.PARAM))


def loaded_from(nodes: Sequence[UOp]) -> list[UOp]:
    """The PARAMs that are read, in the order of the list, each once."""
    return [memory for memory in read_memory(nodes) if memory.op is Op.PARAM]


def read_memory(nodes: Sequence[UOp]) -> dict[UOp, None]:
    """The memory that is read, of every kind, in the order of the list."""
    targets = {node.src[0] for node in nodes if node.op is Op.STORE}
    values = {
        source
        for node in nodes
        for at, source in enumerate(node.src)
        if source.op is Op.INDEX and not (node.op is Op.STORE and at == 0)
    }
    return dict.fromkeys(
        memory_of(node.src[0])
        for node in nodes
        if node.op is Op.LOAD or (node.op is Op.INDEX and (node in values or node not in targets))
    )
