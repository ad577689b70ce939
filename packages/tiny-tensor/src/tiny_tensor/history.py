"""What memory was computed from: so that a gradient does not depend on what was realized before it.

A realized tensor is memory, and its graph is gone. What is remembered of it holds no memory alive:
the graph in its canonical form, which is one node for all runs that did the same, and weak
references to the BUFFERs that it read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, ref

from tiny_ir import MOVEMENT, GradientError, Op, UOp, is_same_size, product, substitute, toposort
from tiny_tensor.storage import buffer_below, memory_below

if TYPE_CHECKING:
    from tiny_tensor.canonical import Canonical
    from tiny_tensor.pending import Pending
    from tiny_tensor.session import Session
    from tiny_tensor.tensor_core import TensorCore

KEPT_STEPS = 1000
"""How many results in a row, each computed from the one before, are remembered."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Making:
    """How the content of a BUFFER was computed.

    Attributes:
        value: the graph, over numbered PARAMs and VARIABLEs.
        leaves: the BUFFER of each PARAM.
        binds: the BIND of each VARIABLE.
        marks: the node of each mark.
        past: how the BUFFERs among them were made that a gradient may flow to.
        length: how many makings stand behind one another.
    """

    value: UOp
    leaves: tuple[ref[UOp], ...]
    binds: dict[str, UOp]
    marks: tuple[ref[UOp], ...]
    past: dict[int, Making]
    length: int


class History:
    """How BUFFERs were made, as long as they exist."""

    def __init__(self) -> None:
        self._makings: WeakKeyDictionary[UOp, Making] = WeakKeyDictionary()
        self._slots: WeakKeyDictionary[UOp, tuple[frozenset[int], ...]] = WeakKeyDictionary()

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
        slots = self._slots.get(canonical.marked)
        if slots is None:
            slots = tuple(map(_slots_a_gradient_reaches, effects))
            self._slots[canonical.marked] = slots
        leaves: tuple[ref[UOp], ...] | None = None
        marks: tuple[ref[UOp], ...] = ()
        results = pending.results.items()
        for (node, result), effect, reached in zip(results, effects, slots, strict=True):
            if not reached or data.get(node) in reached:
                continue
            if leaves is None:
                leaves = tuple(map(ref, canonical.inputs))
                marks = tuple(map(ref, canonical.marks))
            past = {
                slot: made
                for slot in reached
                if (made := self._makings.get(canonical.inputs[slot])) is not None
            }
            length = 1 + max((made.length for made in past.values()), default=0)
            if length > KEPT_STEPS:
                past, length = {}, 1
            making = Making(_value_of(effect), leaves, canonical.binds, marks, past, length)
            self._makings[buffer_below(result)] = making

    def making_of(self, buffer: UOp) -> Making | None:
        """How a BUFFER was made; None where nothing is known that a gradient could flow to."""
        return self._makings.get(buffer)


def _value_of(effect: UOp) -> UOp:
    """What a STORE leaves behind: its value, or the whole of what it writes a part of."""
    view, value = effect.src
    rows = view
    while rows.op in (Op.RESHAPE, Op.SHRINK):
        rows = rows.src[0]
    if rows.op is Op.PARAM and is_same_size(product(view.shape), rows.shape[0]):
        return value
    place = view
    while place.op in MOVEMENT:
        place = place.src[0]
    return place.after(effect)


def _slots_a_gradient_reaches(effect: UOp) -> frozenset[int]:
    value = _value_of(effect)
    if not value.dtype.is_float:
        return frozenset()
    found: set[int] = set()
    stack = [value]
    seen = {value}
    while stack:
        node = stack.pop()
        if node.op is Op.PARAM:
            found.add(node.arg.slot)
        if node.op is Op.DETACH:
            continue
        for source in node.src:
            if source not in seen and (source.dtype.is_float or not source.dtype.nbytes):
                seen.add(source)
                stack.append(source)
    return frozenset(found)


class Origins:
    """The graphs behind BUFFERs, for one differentiation.

    Args:
        session: whose BUFFERs they are.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._values: dict[UOp, UOp] = {}
        self._makings: dict[UOp, Making] = {}
        """Of BUFFERs that stand for others, which are gone."""
        self._lost: set[UOp] = set()

    def __call__(self, buffer: UOp) -> UOp | None:
        """The graph that a BUFFER was computed by, flat; None where none is known."""
        if buffer not in self._values:
            making = self._makings.get(buffer) or self._session.history.making_of(buffer)
            if making is None:
                return None
            self._values[buffer] = self._rebuilt(making)
        return flat(self._values[buffer], buffer)

    def _rebuilt(self, making: Making) -> UOp:
        replaced: dict[UOp, UOp] = {}
        for node in toposort((making.value,)):
            if node.op is Op.PARAM:
                replaced[node] = self._leaf(making, node)
            elif node.op is Op.VARIABLE:
                replaced[node] = making.binds[node.arg.name]
            elif node.op is Op.CONTIGUOUS_BACKWARD and node.arg is not None:
                mark = making.marks[node.arg]()
                if mark is not None:
                    replaced[node] = mark
        return substitute(making.value, replaced)

    def _leaf(self, making: Making, param: UOp) -> UOp:
        """The BUFFER that was read, or one that stands for it."""
        arg = param.arg
        present: UOp | None = making.leaves[arg.slot]()
        if present is not None and not self._session.finished.is_overwritten(present):
            return present
        stand_in = self._session.new_buffer(param.dtype, arg.elements, arg.device)
        made = making.past.get(arg.slot)
        if made is None:
            self._lost.add(stand_in)
        else:
            self._makings[stand_in] = made
        return stand_in

    def settled(self, gradients: dict[UOp, UOp]) -> dict[UOp, UOp]:
        """Gradients in terms of what is in memory.

        Raises:
            GradientError: they need numbers that are gone.
        """
        if not self._values:
            return gradients
        session = self._session
        kept = {
            value: session.view_of(buffer, value)
            for buffer, value in self._values.items()
            if buffer not in self._makings and not session.finished.is_overwritten(buffer)
        }
        return {node: self._present(substitute(g, kept)) for node, g in gradients.items()}

    def _present(self, gradient: UOp) -> UOp:
        while True:
            below = toposort((gradient,))
            again = {
                node: flat(self._values.get(node) or self._rebuilt(self._makings[node]), node)
                for node in below
                if node in self._makings
            }
            if not again:
                break
            gradient = substitute(gradient, again)
        for node in below:
            if node in self._lost:
                raise GradientError(
                    "a gradient needs the numbers of a tensor that no longer exists.",
                    why="what is differentiated was realized, and since then a tensor that it was "
                    "computed from was deleted or written in place.",
                    fix="differentiate first, or keep the tensor, or detach() what came of it.",
                )
        return gradient


def flat(value: UOp, buffer: UOp) -> UOp:
    """A value in the shape of the BUFFER that holds it."""
    count = product(value.shape)
    rows = value.reshape((count,))
    room = buffer.shape[0]
    return rows if is_same_size(count, room) else rows.pad([(0, room - count)])
