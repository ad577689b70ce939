"""One kernel on its way out of the graph: its sink, what it writes, what must happen before it."""

from __future__ import annotations

from dataclasses import dataclass

from tiny_ir import Op, ParamArg, UOp, toposort


@dataclass(frozen=True, slots=True)
class Version:
    """The bytes of a slot after some writes: those of the STORE nodes in `stores`, and no others."""

    slot: int
    stores: frozenset[UOp]


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel-level SINK, or the copy of a whole slot to another device (`sink` is None).

    Attributes:
        sink: stores into PARAMs whose slots are those of the whole graph.
        writes: the slot it writes.
        store: the graph's STORE that it carries out; None where it fills a temporary.
        base: what its slot holds before it runs: the writes that come first.
        copies: the slot that is copied, where `sink` is None.
    """

    sink: UOp | None
    writes: int
    store: UOp | None
    base: frozenset[UOp]
    copies: UOp | None = None

    def buffers(self) -> list[UOp]:
        """The PARAM nodes it names, in a deterministic order."""
        if self.sink is None:
            assert self.copies is not None
            return [self.copies]
        return [node for node in toposort((self.sink,)) if node.op is Op.PARAM]

    def stored_to(self) -> frozenset[UOp]:
        """The PARAM nodes it stores to."""
        if self.sink is None:
            return frozenset()
        return frozenset(
            node.src[0].src[0] for node in toposort((self.sink,)) if node.op is Op.STORE
        )

    def loaded_from(self) -> list[UOp]:
        """The PARAM nodes it reads."""
        if self.sink is None:
            assert self.copies is not None
            return [self.copies]
        nodes = toposort((self.sink,))
        targets = {node.src[0] for node in nodes if node.op is Op.STORE}
        values = {
            source
            for node in nodes
            for at, source in enumerate(node.src)
            if source.op is Op.INDEX and not (node.op is Op.STORE and at == 0)
        }
        return list(
            dict.fromkeys(
                node.src[0]
                for node in nodes
                if node.op is Op.INDEX and (node in values or node not in targets)
            )
        )


def slot_of(param: UOp) -> int:
    """The number of a PARAM."""
    argument: ParamArg = param.arg
    return argument.slot
