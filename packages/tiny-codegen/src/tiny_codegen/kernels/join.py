"""Kernels that follow each other and walk the same loops become one with several stores.

before   END(STORE(INDEX(m, i), x), i)      END(STORE(INDEX(p, j), ADD(INDEX(m, j), y)), j)
after    END(STORE(INDEX(m, i), x), STORE(INDEX(p, i), ADD(x, y)), i)

A step of an optimizer is one kernel a parameter in this way. Kernels join where each element that
one writes is read by the other at the same place, or not at all; then the value itself is used
instead of reading it back. Every value is read before the first store of an iteration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tiny_codegen.buffers import memory_of
from tiny_codegen.kernels.kernel import Kernel, slot_of
from tiny_ir import AxisKind, KernelArg, Op, UOp, make, rebuild, substitute, toposort

MOST_STORES = 8
"""More stores than this in one loop leave no registers for what they share."""


def join(kernels: Sequence[Kernel]) -> list[Kernel]:
    """Join neighbours, from the first to the last."""
    joined: list[Kernel] = []
    for kernel in kernels:
        both = _joined(joined[-1], kernel) if joined else None
        if both is None:
            joined.append(kernel)
        else:
            joined[-1] = both
    return joined


@dataclass(frozen=True, slots=True)
class _Nest:
    """One loop nest that stores values: the loops, and address and value of each store."""

    axes: tuple[UOp, ...]
    stores: tuple[tuple[UOp, UOp], ...]


def _nest_of(kernel: Kernel) -> _Nest | None:
    """The loops and stores of an elementwise kernel; None for any other."""
    if kernel.sink is None or kernel.is_called or len(kernel.sink.src) != 1:
        return None
    if kernel.sink.src[0].op is not Op.END:
        return None
    end = kernel.sink.src[0]
    stores = [source for source in end.src if source.op is not Op.RANGE]
    axes = tuple(source for source in end.src if source.op is Op.RANGE)
    nodes = toposort(stores)
    if any(node.op in (Op.REDUCE, Op.REGISTER, Op.END) for node in nodes):
        return None
    if any(store.op is not Op.STORE or len(store.src[0].src) != 2 for store in stores):
        return None
    if any(axis.arg.kind is not AxisKind.LOOP for axis in axes):
        return None
    return _Nest(axes, tuple((store.src[0], store.src[1]) for store in stores))


def _joined(first: Kernel, second: Kernel) -> Kernel | None:
    a, b = _nest_of(first), _nest_of(second)
    if a is None or b is None or [x.src for x in a.axes] != [x.src for x in b.axes]:
        return None
    if len(a.stores) + len(b.stores) > MOST_STORES or set(first.writes) & set(second.writes):
        return None
    moved = dict(zip(b.axes, a.axes, strict=True))
    written = {_plain(address): value for address, value in a.stores}
    stores = [(_plain(address), value) for address, value in a.stores]
    for address, value in b.stores:
        here = _read_as_written(substitute(value, moved), written, set(first.writes))
        if here is None:
            return None
        stores.append((_plain(substitute(address, moved)), here))
    if not _reads_only_its_own(a, second, moved):
        return None
    slots = {slot_of(memory_of(address)) for address, _ in stores}
    reads = [
        node
        for node in toposort([value for _, value in stores])
        if node.op is Op.INDEX and slot_of(memory_of(node)) in slots
    ]
    effects = [_after(address, reads).store(value) for address, value in stores]
    sink = make(Op.SINK, None, (make(Op.END, None, (*effects, *a.axes)),), _name(first))
    return Kernel(sink, (*first.writes, *second.writes))


def _plain(address: UOp) -> UOp:
    """An address without the order that an earlier joining gave it."""
    memory = memory_of(address)
    return memory.index(*address.src[1:])


def _after(address: UOp, reads: Sequence[UOp]) -> UOp:
    return address.src[0].after(*reads).index(*address.src[1:])


def _read_as_written(value: UOp, written: dict[UOp, UOp], slots: set[int]) -> UOp | None:
    """A value with what was just written in place of its reads; None where it reads elsewhere."""
    done: dict[UOp, UOp] = {}
    for node in toposort((value,)):
        if node.op is Op.INDEX and slot_of(memory_of(node)) in slots:
            if node not in written:
                return None
            done[node] = written[node]
            continue
        src = tuple([done[source] for source in node.src])
        done[node] = node if src == node.src else rebuild(node, src)
    return done[value]


def _reads_only_its_own(first: _Nest, second: Kernel, moved: dict[UOp, UOp]) -> bool:
    """Whether the first kernel reads what the second writes only at the place of that write."""
    assert second.sink is not None
    slots = set(second.writes)
    places = {
        _plain(substitute(node.src[0], moved))
        for node in toposort((second.sink,))
        if node.op is Op.STORE
    }
    return all(
        node in places
        for _, value in first.stores
        for node in toposort((value,))
        if node.op is Op.INDEX and slot_of(memory_of(node)) in slots
    )


def _name(kernel: Kernel) -> KernelArg:
    assert kernel.sink is not None
    argument: KernelArg = kernel.sink.arg
    return argument
