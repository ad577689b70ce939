"""What memory was computed from: so that a gradient does not depend on what was realized before it.

A realized tensor is memory, and its graph is gone. What is remembered of it holds no memory alive:
the graph in its canonical form, which is one node for all runs that did the same, and the
identities of the BUFFERs that it read. `origins.py` makes graphs of it again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from tiny_ir import MOVEMENT, Op, UOp, is_same_size, product, toposort
from tiny_tensor.storage import buffer_below, memory_below

if TYPE_CHECKING:
    from tiny_tensor.canonical import Canonical
    from tiny_tensor.pending import Pending
    from tiny_tensor.tensor_core import TensorCore

KEPT_STEPS = 1000
"""How many results in a row, each computed from the one before, are remembered."""


class Reads:
    """What a value is computed from.

    Attributes:
        slots: those of the PARAMs that it reads.
        marks: the numbers of the marks that it reads.
        reached: the slots that a gradient reaches.
        is_reached: whether it reaches any slot or mark.
    """

    __slots__ = ("is_reached", "marks", "reached", "slots")

    def __init__(
        self,
        slots: frozenset[int],
        marks: frozenset[int],
        reached: frozenset[int],
        is_reached: bool,
    ) -> None:
        self.slots = slots
        self.marks = marks
        self.reached = reached
        self.is_reached = is_reached


class Making:
    """How the content of a BUFFER was computed.

    Attributes:
        value: the graph, over numbered PARAMs, VARIABLEs and marks; the whole AFTER where it was
            written in place, so that copies of the same elements are told apart.
        reads: what it is computed from.
        leaves: the identity of the BUFFER of each PARAM.
        binds: the BIND of each VARIABLE.
        marks: the identity of each mark.
        past: how the BUFFERs among them were made that a gradient may flow to.
        length: how many makings stand behind one another.
        leads_on: whether a gradient flows on into the graph. Where it does not, the BUFFER is data,
            and the graph only says which part of others it was.
    """

    __slots__ = ("binds", "leads_on", "leaves", "length", "marks", "past", "reads", "value")

    def __init__(
        self,
        value: UOp,
        reads: Reads,
        leaves: tuple[int, ...],
        binds: dict[str, UOp],
        marks: tuple[int, ...],
        past: dict[int, Making],
        length: int,
        leads_on: bool,
    ) -> None:
        self.value = value
        self.reads = reads
        self.leaves = leaves
        self.binds = binds
        self.marks = marks
        self.past = past
        self.length = length
        self.leads_on = leads_on


class History:
    """How BUFFERs were made, as long as they exist."""

    def __init__(self) -> None:
        self._makings: WeakKeyDictionary[UOp, Making] = WeakKeyDictionary()
        self._reads: WeakKeyDictionary[UOp, tuple[Reads, ...]] = WeakKeyDictionary()

    def add(self, canonical: Canonical, pending: Pending, live: Iterable[TensorCore]) -> None:
        """Remember what a run computed.

        Data that was written from itself, such as a weight after a step, stays data: a gradient
        flows to it and not through it. So training does not go back through its own past.

        Args:
            canonical: the graph that ran.
            pending: what its effects are the results of.
            live: the tensors there are.
        """
        slot_of = {buffer: slot for slot, buffer in enumerate(canonical.buffers)}
        data = {
            memory_below(tensor._storage.node) or tensor._storage.node: slot_of.get(buffer)
            for tensor in live
            if tensor._storage.data is not None and (buffer := tensor._storage.data()) is not None
        }
        effects = canonical.marked.src
        reads = self._reads.get(canonical.marked)
        if reads is None:
            reads = self._reads[canonical.marked] = tuple(map(_reads_of, effects))
        leaves = tuple([buffer.arg.identity for buffer in canonical.inputs])
        marks = tuple([mark.arg for mark in canonical.marks])
        results = pending.results.items()
        for (node, result), effect, read in zip(results, effects, reads, strict=True):
            if not node.dtype.is_float:
                continue
            leads_on = read.is_reached and data.get(node) not in read.reached
            past = {
                slot: made
                for slot in read.reached
                if (made := self.making_of(canonical.inputs[slot])) is not None
            }
            length = 1 + max((made.length for made in past.values()), default=0)
            if length > KEPT_STEPS:
                past, length = {}, 1
            value = _version_of(effect) if node.op is Op.AFTER else effect.src[1]
            self._makings[buffer_below(result)] = Making(
                value, read, leaves, canonical.binds, marks, past, length, leads_on
            )

    def making_of(self, buffer: UOp) -> Making | None:
        """How a BUFFER was made; None where nothing is known that a gradient could flow to."""
        made = self._makings.get(buffer)
        return made if made is not None and made.leads_on else None

    def name_of(self, buffer: UOp) -> Making | None:
        """How a BUFFER was made, whether a gradient could flow on from it or not."""
        return self._makings.get(buffer)


def _version_of(effect: UOp) -> UOp:
    """What a write in place leaves behind: an AFTER."""
    place = effect.src[0]
    while place.op in MOVEMENT:
        place = place.src[0]
    return place.after(effect)


def is_of_whole(effect: UOp) -> bool:
    """Whether a STORE writes all of a BUFFER, in its order."""
    rows = effect.src[0]
    size = product(rows.shape)
    while rows.op in (Op.RESHAPE, Op.SHRINK):
        rows = rows.src[0]
    return rows.op not in MOVEMENT and is_same_size(size, rows.shape[0])


def _reads_of(effect: UOp) -> Reads:
    value = effect.src[1] if is_of_whole(effect) else _version_of(effect)
    reached = [node for node in _reached(value) if _identified(node)]
    below = [node for node in toposort((effect.src[1],)) if _identified(node)]
    return Reads(_slots(below), _marks(below), _slots(reached), bool(reached))


def _identified(node: UOp) -> bool:
    return node.op is Op.PARAM or (node.op is Op.CONTIGUOUS_BACKWARD and node.arg is not None)


def _slots(nodes: Iterable[UOp]) -> frozenset[int]:
    return frozenset(node.arg.slot for node in nodes if node.op is Op.PARAM)


def _marks(nodes: Iterable[UOp]) -> frozenset[int]:
    return frozenset(node.arg for node in nodes if node.op is not Op.PARAM)


def _reached(value: UOp) -> set[UOp]:
    """The nodes that a gradient of a value reaches."""
    if not value.dtype.is_float:
        return set()
    stack = [value]
    seen = {value}
    while stack:
        node = stack.pop()
        if node.op is Op.DETACH:
            continue
        for source in node.src:
            if source not in seen and (source.dtype.is_float or not source.dtype.nbytes):
                seen.add(source)
                stack.append(source)
    return seen
