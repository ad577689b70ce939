"""One kernel on its way out of the graph: its sink, what it writes, what must happen before it."""

from __future__ import annotations

from dataclasses import dataclass, field

from tiny_codegen.buffers import loaded_from, stored_to
from tiny_ir import Op, ParamArg, UOp, toposort


@dataclass(frozen=True, slots=True)
class Version:
    """The bytes of a slot after some writes: those of the STOREs in `stores`, and no others."""

    slot: int
    stores: frozenset[UOp]


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel-level SINK, or the copy of a whole slot to another device (`sink` is None).

    Attributes:
        sink: stores into PARAMs whose slots are those of the whole graph.
        writes: the slots it writes.
        store: the graph's STORE that it carries out; None where it fills temporaries.
        base: what its slot holds before it runs: the writes that come first.
        copies: the PARAM that is copied, where `sink` is None.
        is_called: a user wrote it: no part of it moves to another kernel.
        source: the CALL of a kernel that is text; its sink then has one place an argument, read or
            written, in the order of slots.
        reads: the PARAMs it reads.
        targets: the PARAMs it stores to.
    """

    sink: UOp | None
    writes: tuple[int, ...]
    store: UOp | None = None
    base: frozenset[UOp] = frozenset()
    copies: UOp | None = None
    is_called: bool = False
    source: UOp | None = None
    reads: tuple[UOp, ...] = field(init=False)
    targets: tuple[UOp, ...] = field(init=False)

    def __post_init__(self) -> None:
        nodes = toposort((self.sink,)) if self.sink is not None else []
        reads = (self.copies,) if self.copies is not None else tuple(loaded_from(nodes))
        object.__setattr__(self, "reads", reads)
        object.__setattr__(self, "targets", tuple(stored_to(nodes)))


def slot_of(param: UOp) -> int:
    """The number of a PARAM."""
    assert param.op is Op.PARAM
    argument: ParamArg = param.arg
    return argument.slot
