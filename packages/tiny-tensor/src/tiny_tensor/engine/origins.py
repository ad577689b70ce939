"""What memory was computed from becomes a graph again, through which a gradient flows on.

A BUFFER that was read is the node of its identity, whether its bytes are still there or not. So
equal computations are one node, as they would be had nothing been realized, and a target that was
a part of what was computed is found in it by the node that it was.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from tiny_ir import (
    BufferArg,
    GradientError,
    Op,
    UOp,
    is_same_size,
    make,
    product,
    rebuild,
    substitute,
    toposort,
)
from tiny_tensor.engine.history import KEPT_STEPS, KEPT_UPDATES, Making
from tiny_tensor.engine.needs import is_of_whole
from tiny_tensor.gradient.memory import device_of
from tiny_tensor.gradient.rule import zeros
from tiny_tensor.storage import chain_above, memory_below, over

if TYPE_CHECKING:
    from tiny_tensor.session import Session


class Origins:
    """The graphs behind BUFFERs, for one differentiation.

    Args:
        session: whose BUFFERs they are.
        roots: what is differentiated.
        targets: the nodes whose gradients are wanted.
    """

    def __init__(
        self, session: Session, roots: Collection[UOp] = (), targets: Collection[UOp] = ()
    ) -> None:
        self._session = session
        self._values: dict[UOp, UOp] = {}
        self._gone: dict[UOp, None] = {}
        """BUFFERs whose bytes are gone."""
        self._again: dict[UOp, UOp] = {}
        """What computes them again."""
        self._forgotten: dict[UOp, tuple[UOp, ...]] = {}
        """For BUFFERs of which it is not known how they were made, what that was computed from."""
        self._expanded: dict[UOp, UOp] = {}
        self._views: dict[UOp, list[UOp]] = {}
        """For what a target is, down to data, the nodes that it is now."""
        self._opened: frozenset[UOp] = frozenset()
        """The BUFFERs below targets."""
        if targets:
            self._find_targets(roots, targets)

    def __call__(self, buffer: UOp) -> UOp | None:
        """The graph that a BUFFER was computed by, flat; None where none is known."""
        making = self._session.history.making_of(buffer)
        return self._unknown(buffer) if making is None else self._known(buffer, making)

    def _known(self, buffer: UOp, making: Making) -> UOp:
        """The graph that a BUFFER was computed by, flat."""
        if buffer not in self._values:
            self._values[buffer] = self._value_of(buffer, making)
        return flat(self._values[buffer], buffer)

    def _unknown(self, buffer: UOp) -> UOp | None:
        """What cannot be differentiated, in the place of a graph that was forgotten."""
        behind = self._forgotten.get(buffer)
        if not behind:
            return None
        number = self._session.custom_gradients.number_of(Origins, _refuse_forgotten)
        return make(Op.CUSTOM, None, (zeros(buffer.shape, buffer), *behind), number)

    def _name_of(self, buffer: UOp) -> Making | None:
        """How a BUFFER was made; also that of data, where a target is computed from it."""
        if buffer in self._opened:
            return self._session.history.name_of(buffer)
        return self._session.history.making_of(buffer)

    # The graph of a making, over BUFFERs.

    def _rebuilt(self, making: Making) -> UOp:
        """The graph that ran, over the BUFFERs that it read."""
        replaced: dict[UOp, UOp] = {}
        for node in toposort((making.value,)):
            if node.op is Op.PARAM:
                replaced[node] = self._leaf(making, node)
            elif node.op is Op.VARIABLE:
                replaced[node] = making.run.binds[node.arg.name]
            elif node.op is Op.CONTIGUOUS_BACKWARD and node.arg is not None:
                src = (replaced[node.src[0]],)
                replaced[node] = make(node.op, None, src, making.run.marks[node.arg])
            else:
                replaced[node] = _over(node, replaced)
        return replaced[making.value]

    def _leaf(self, making: Making, param: UOp) -> UOp:
        """The BUFFER that was read; it has its numbers again, where they were kept."""
        slot, elements, device = param.arg.slot, param.arg.elements, param.arg.device
        arg = BufferArg(making.run.leaves[slot], elements, device)
        buffer = make(Op.BUFFER, param.dtype, (), arg)
        run, history = making.run, self._session.history
        if slot in run.past:
            history.restore(buffer, run.past[slot])
        elif slot in run.forgotten and history.name_of(buffer) is None:
            nodes = [node for reference in run.forgotten[slot] if (node := reference())]
            self._forgotten[buffer] = tuple(nodes)
        if self._session.allocation_of(buffer) is None:
            held = None if making.held is None else making.held.get(slot)
            if held is not None and held.allocation is not None:
                self._session.hold(buffer, held.allocation)
                self._gone.pop(buffer, None)
            else:
                self._gone[buffer] = None
        return buffer

    def _value_of(self, buffer: UOp, making: Making) -> UOp:
        """What a BUFFER was computed by, with targets as they are now."""
        value = self._rebuilt(making)
        expanded = dict(self._expansions(value)) if self._views else {}
        done: dict[UOp, UOp] = {}
        for node in toposort((value,)):
            done[node] = _over(node, done)
            if node.op is Op.AFTER and _is_whole_write(node):
                done[node] = flat(done[node.src[1].src[1]], node.src[0])
            if self._views and node not in expanded:
                expanded[node] = _over(node, expanded)
                done[node] = self._as_it_is(expanded[node], buffer) or done[node]
        return done[value]

    def _as_it_is(self, expanded: UOp, buffer: UOp) -> UOp | None:
        """The memory that holds a target, where a node is what it was; but not in itself."""
        views = self._views.get(expanded, [])
        own = [memory_below(view) for view in views]
        at = own.index(buffer) + 1 if buffer in own else 0
        return views[at] if at < len(views) else None

    # Which targets stand in what was computed.

    def _find_targets(self, roots: Collection[UOp], targets: Collection[UOp]) -> None:
        history = self._session.history
        below = [node for node in toposort(roots) if node.op is Op.BUFFER]
        made = [buffer for buffer in below if history.making_of(buffer) is not None]
        if not made:
            return
        self._opened = frozenset(
            node
            for node in toposort(targets)
            if node.op is Op.BUFFER and history.name_of(node) is not None
        )
        if not self._opened:
            return
        read = self._identities([history.making_of(buffer) for buffer in made])
        for target in dict.fromkeys(map(_whole, targets)):
            below = _buffers(target)
            if not self._opened.isdisjoint(below) and all(self._is_part(b, read) for b in below):
                self._add_target(target)

    def _add_target(self, target: UOp) -> None:
        if target.op is Op.BUFFER:
            expanded = self._expansion(target)
            if expanded.op is not Op.AFTER:
                target = self._session.view_of(target, expanded)
        else:
            expanded = substitute(target, dict(self._expansions(target)))
        self._views.setdefault(expanded, []).append(target)

    def _is_part(self, buffer: UOp, read: Collection[int]) -> bool:
        """Whether all that a BUFFER was computed from is among what was read."""
        name = self._session.history.name_of(buffer)
        if name is None:
            return buffer.arg.identity in read
        return all(identity in read for identity in self._data_of(name))

    def _identities(self, makings: list[Making | None]) -> set[int]:
        """The identities of all data, and of all marks, that makings go back to."""
        found: set[int] = set()
        seen: set[int] = set()
        while makings:
            making = makings.pop()
            if making is None or id(making) in seen:
                continue
            seen.add(id(making))
            found.update(making.run.leaves[slot] for slot in making.reads.slots)
            found.update(making.run.marks[mark] for mark in making.reads.marks)
            makings += making.past()
        return found

    def _data_of(self, making: Making) -> Iterator[int]:
        """The identities of the data and the marks that a making reads directly."""
        past = making.run.past.keys() & making.reads.reached
        for slot in making.reads.slots - past:
            yield making.run.leaves[slot]
        for mark in making.reads.marks:
            yield making.run.marks[mark]

    def _expansions(self, value: UOp) -> Iterator[tuple[UOp, UOp]]:
        """For BUFFERs below a graph, and views of them, what they were computed by, from data."""
        for buffer in _buffers(value):
            if self._name_of(buffer) is None:
                yield buffer, buffer
                continue
            expanded = self._expansion(buffer)
            yield buffer, flat(expanded, buffer)
            yield self._session.view_of(buffer, expanded), expanded

    def _expansion(self, root: UOp) -> UOp:
        """What a BUFFER was computed by, down to data."""
        stack = [root]
        rebuilt: dict[UOp, UOp] = {}
        while stack:
            buffer = stack[-1]
            if buffer in self._expanded:
                stack.pop()
                continue
            making = self._name_of(buffer)
            assert making is not None, "only what was made is expanded"
            if buffer not in rebuilt:
                rebuilt[buffer] = self._rebuilt(making)
                missing = [
                    below
                    for below in _buffers(rebuilt[buffer])
                    if below not in self._expanded and self._name_of(below) is not None
                ]
                if missing:
                    stack += missing
                    continue
            stack.pop()
            value = rebuilt[buffer]
            self._expanded[buffer] = substitute(value, dict(self._expansions(value)))
        return self._expanded[root]

    # What comes of it.

    def settled(self, gradients: dict[UOp, UOp]) -> dict[UOp, UOp]:
        """Gradients in terms of what is in memory.

        Raises:
            GradientError: they need numbers that are gone.
        """
        if not self._values:
            return gradients
        kept = {
            value: self._session.view_of(buffer, value)
            for buffer, value in self._values.items()
            if self._session.allocation_of(buffer) is not None
        }
        return {node: self._present(substitute(g, kept)) for node, g in gradients.items()}

    def _present(self, gradient: UOp) -> UOp:
        """A gradient in which what is gone is computed again.

        Raises:
            GradientError: it cannot be.
        """
        again = self._again
        stack = self._missing_below(gradient)
        while stack:
            buffer = stack[-1]
            if buffer in again:
                stack.pop()
                continue
            making = self._session.history.name_of(buffer)
            if making is None:
                raise self._lost(buffer)
            value = self._known(buffer, making)
            missing = self._missing_below(value)
            if buffer in missing:
                raise self._lost(buffer)
            if missing:
                stack += missing
                continue
            stack.pop()
            again[buffer] = substitute(value, again)
        return self._with_places(substitute(gradient, again))

    def _missing_below(self, value: UOp) -> list[UOp]:
        """The BUFFERs below a graph that are gone, and not computed again yet."""
        return [
            node for node in toposort((value,)) if node in self._gone and node not in self._again
        ]

    def _lost(self, buffer: UOp) -> GradientError:
        return GradientError(
            "a gradient needs the numbers of a tensor that no longer exists: "
            f"{buffer.arg.elements} of {buffer.dtype.name}.",
            why="what is differentiated was realized, and since then a tensor that it was "
            "computed from was written in place, or given back because more than "
            f"{self._session.history.kept.limit} bytes were kept for gradients.",
            fix="write a clone() of that tensor, or call gradient() or backward() before it is "
            "written; or detach() what nobody differentiates.",
        )

    def _with_places(self, gradient: UOp) -> UOp:
        """Let writes to what is computed again go to memory of its own."""
        nodes = toposort((gradient,))
        if all(node.op is not Op.AFTER for node in nodes):
            return gradient
        done: dict[UOp, UOp] = {}
        for node in nodes:
            done[node] = _over(node, done)
            held = done[node].src[0] if node.op is Op.AFTER else node
            if node.op is not Op.AFTER or held.op in (Op.BUFFER, Op.AFTER):
                continue
            view, value = done[node].src[1].src
            device = device_of(done[node]) or self._session.default_device
            buffer, place = self._session.new_place(held, device)
            copy = target = buffer.after(place.store(held))
            for step in reversed(chain_above(view, held)):
                target = over(step, target)
            done[node] = copy.after(target.store(value))
        return done[gradient]


def _refuse_forgotten(node: UOp, gradient: UOp) -> Sequence[UOp]:
    raise GradientError(
        f"a gradient leads further back than {KEPT_STEPS} results, or {KEPT_UPDATES} updates.",
        why="each of them was realized and is computed from the one before, or a tensor was "
        "written so many times from its own numbers; what was before that is not remembered.",
        fix="detach() what carries on from step to step, and what a tensor is updated with.",
    )


def _over(node: UOp, done: Mapping[UOp, UOp]) -> UOp:
    src = tuple([done[source] for source in node.src])
    return node if src == node.src else rebuild(node, src)


def _whole(node: UOp) -> UOp:
    """The BUFFER that a node is a view of; the node itself where it is none."""
    memory = memory_below(node)
    return node if memory is None or memory.op is not Op.BUFFER else memory


def _buffers(value: UOp) -> list[UOp]:
    return [node for node in toposort((value,)) if node.op is Op.BUFFER]


def _is_whole_write(after: UOp) -> bool:
    stores = after.src[1:]
    return len(stores) == 1 and stores[0].op is Op.STORE and is_of_whole(stores[0])


def flat(value: UOp, buffer: UOp) -> UOp:
    """A value in the shape of the BUFFER that holds it."""
    count = product(value.shape)
    rows = value.reshape((count,))
    room = buffer.shape[0]
    return rows if is_same_size(count, room) else rows.pad([(0, room - count)])
