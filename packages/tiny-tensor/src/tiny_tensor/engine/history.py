"""What memory was computed from: so that a gradient does not depend on what was realized before it.

A realized tensor is memory, and its graph is gone. What is remembered of it is the graph in its
canonical form, which is one node for all runs that did the same, and the identities of the BUFFERs
that it read. The numbers that a gradient would read are kept as well (`kept.py`), as long as it
could be asked for: as long as something is alive that a gradient reaches. `origins.py` makes graphs
of it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, WeakSet, ref

from tiny_ir import Op, ParamArg, UOp, make, substitute
from tiny_tensor.engine.kept import Held, Kept, Witness
from tiny_tensor.engine.needs import Reads, reached_among, reads_of, version_of
from tiny_tensor.storage import Version, buffer_below, is_in_memory, memory_below

if TYPE_CHECKING:
    from tiny_tensor.engine.canonical import Canonical
    from tiny_tensor.engine.pending import Pending
    from tiny_tensor.session import Session

KEPT_STEPS = 1000
"""How many results in a row, each computed from the one before, are remembered."""
KEPT_UPDATES = 10
"""How many of them where each is what a tensor was written to from its own numbers."""


class Run:
    """One run of a graph: what its results were computed from.

    Attributes:
        leaves: the identity of the BUFFER of each PARAM, by slot.
        buffers: the BUFFERs that a gradient reaches, by slot, as long as they exist.
        results: the BUFFERs that it left, as long as they exist.
        binds: the BIND of each VARIABLE.
        marks: the identity of each mark.
        past: how the BUFFERs among them were made that gradients lead to.
        forgotten: for those whose past is too long, what a gradient reached in it.
    """

    __slots__ = ("binds", "buffers", "forgotten", "leaves", "marks", "past", "results")

    def __init__(
        self,
        inputs: Mapping[int, UOp],
        binds: Mapping[str, UOp],
        marks: tuple[int, ...],
        results: Sequence[UOp],
    ) -> None:
        self.leaves: dict[int, int] = {slot: b.arg.identity for slot, b in inputs.items()}
        self.buffers: dict[int, ref[UOp]] = {}
        self.results = tuple(map(ref, results))
        self.binds = binds
        self.marks = marks
        self.past: dict[int, Making] = {}
        self.forgotten: dict[int, tuple[ref[UOp], ...]] = {}


class Making:
    """How the content of a BUFFER was computed.

    Attributes:
        run: the run in which it was.
        value: the graph, over numbered PARAMs, VARIABLEs and marks; the whole AFTER where it was
            written in place, so that copies of the same elements are told apart.
        reads: what it is computed from.
        parts: versions of boxes that a gradient reaches too, as long as they exist.
        length: how many makings stand behind one another.
        updates: how many of these in a row are what a tensor was written to from its own numbers.
        held: the numbers that gradients of the run read, by slot; None where nothing is alive that
            a gradient of this making reaches.
        users: the makings that are kept because this one is.
    """

    __slots__ = (
        "__weakref__",
        "held",
        "length",
        "parts",
        "reads",
        "run",
        "updates",
        "users",
        "value",
    )

    def __init__(self, run: Run, value: UOp, reads: Reads, parts: tuple[ref[Version], ...]) -> None:
        self.run = run
        self.value = value
        self.reads = reads
        self.parts = parts
        self.length: int = 1 + max((made.length for made in self.past()), default=0)
        self.updates = 0
        self.held: Mapping[int, Held] | None = None
        self.users: WeakSet[Making] | None = None

    def past(self) -> list[Making]:
        """How that was made which a gradient leads to."""
        past = self.run.past
        return [past[slot] for slot in past if slot in self.reads.reached] if past else []

    def witness(self) -> Witness | Making | None:
        """Something alive that a gradient reaches."""
        run = self.run
        for slot in self.reads.reached:
            buffer = run.buffers[slot]()
            if buffer is not None:
                return buffer
        for number in self.reads.parts:
            buffer = run.results[number]()
            if buffer is not None:
                return buffer
        for part in self.parts:
            version = part()
            if version is not None:
                return version
        return next((made for made in self.past() if made.held is not None), None)

    def reached(self) -> dict[UOp, None]:
        """The BUFFERs that a gradient reaches, through all that is behind, and that exist."""
        found: dict[UOp, None] = {}
        seen: set[Making] = set()
        stack = [self]
        while stack:
            making = stack.pop()
            if making in seen:
                continue
            seen.add(making)
            run = making.run
            references = [run.buffers[slot] for slot in making.reads.reached]
            references += [run.results[number] for number in making.reads.parts]
            for slot in making.reads.reached & run.forgotten.keys():
                references += run.forgotten[slot]
            for reference in references:
                buffer = reference()
                if buffer is not None:
                    found[buffer] = None
            for part in making.parts:
                version = part()
                node = None if version is None else version.node()
                if node is not None and is_in_memory(node):
                    found[buffer_below(node)] = None
            stack += making.past()
        return found


NONE: frozenset[int] = frozenset()
FIRST = frozenset((0,))
READS_OF_COPY = Reads(FIRST, NONE, FIRST, FIRST, NONE, NONE, True)


class Result:
    """What a graph leaves in one BUFFER.

    Attributes:
        number: among the results of the graph.
        node: what was computed.
        value: the graph of it, in its canonical form.
        reads: what it is computed from.
    """

    __slots__ = ("node", "number", "reads", "value")

    def __init__(self, number: int, node: UOp, value: UOp, reads: Reads) -> None:
        self.number = number
        self.node = node
        self.value = value
        self.reads = reads


class History:
    """How BUFFERs were made, as long as they exist."""

    def __init__(self) -> None:
        self.kept = Kept()
        self._makings: WeakKeyDictionary[UOp, Making] = WeakKeyDictionary()
        self._reads: WeakKeyDictionary[UOp, tuple[Reads, ...]] = WeakKeyDictionary()

    def results_of(self, canonical: Canonical, pending: Pending) -> list[Result]:
        """What a graph leaves in memory that is of floats."""
        reads = self._reads.get(canonical.marked)
        if reads is None:
            reads = self._reads[canonical.marked] = reads_of(canonical.marked)
        effects = canonical.marked.src
        return [
            Result(
                number,
                node,
                version_of(effects[number]) if node.op is Op.AFTER else effects[number].src[1],
                reads[number],
            )
            for number, node in enumerate(pending.results)
            if node.dtype.is_float
        ]

    def add(
        self,
        canonical: Canonical,
        pending: Pending,
        session: Session,
        resolved: Mapping[UOp, UOp],
    ) -> None:
        """Remember what a graph computed. The caller holds the lock.

        Args:
            canonical: the graph that ran.
            pending: what its effects are the results of.
            session: where tensors and memory are.
            resolved: for the nodes of tensors that were part of the graph, what they were there.
        """
        results = self.results_of(canonical, pending)
        if not results:
            return
        buffers = [buffer_below(result) for result in pending.results.values()]
        run, held = self.new_run(
            dict(enumerate(canonical.inputs)),
            canonical.binds,
            canonical.marks,
            results,
            buffers,
            session,
        )
        written: dict[UOp, int] = {}
        versions: dict[UOp, Version] = {}
        if any(result.reads.is_reached for result in results):
            slot_of = {buffer: slot for slot, buffer in enumerate(canonical.buffers)}
            for tensor in session.unsettled_tensors():
                storage = tensor._storage
                if not tensor.dtype.is_float or is_in_memory(storage.node):
                    continue
                for node in {storage.node, tensor.uop} & resolved.keys():
                    if resolved[node] not in pending.results:
                        versions[resolved[node]] = storage.version
                before = None if storage.data is None else storage.data()
                if before in slot_of and storage.node in resolved:
                    whole = resolved[storage.node]
                    written[memory_below(whole) or whole] = slot_of[before]
        inside: dict[UOp, list[UOp]] = {}
        if versions:
            roots = [result.node for result in results if result.reads.is_reached]
            inside = reached_among(roots, list(versions))
        for result in results:
            parts = tuple([ref(versions[node]) for node in inside.get(result.node, ())])
            self.add_result(result, run, held, written.get(result.node), parts)

    def add_copy(self, copy: UOp, buffer: UOp, node: UOp, session: Session) -> None:
        """Remember that a BUFFER holds the elements of a view of another one."""
        if not node.dtype.is_float:
            return
        arg = ParamArg(0, buffer.arg.elements, buffer.arg.device)
        value = substitute(node, {buffer: make(Op.PARAM, buffer.dtype, (), arg)})
        result = Result(0, node, value, READS_OF_COPY)
        run, held = self.new_run({0: buffer}, {}, (), (result,), (copy,), session)
        self.add_result(result, run, held)

    def new_run(
        self,
        inputs: Mapping[int, UOp],
        binds: Mapping[str, UOp],
        marks: Sequence[UOp],
        results: Iterable[Result],
        buffers: Sequence[UOp],
        session: Session,
    ) -> tuple[Run, dict[int, Held]]:
        """A run of a graph, and the numbers that gradients of its results read, by slot.

        Args:
            inputs: the BUFFER of each slot that is read.
            binds: the BIND of each VARIABLE.
            marks: the marks.
            results: what it leaves that is of floats.
            buffers: the BUFFER of each result, whether of floats or not.
            session: where memory is.
        """
        self.settle()
        run = Run(inputs, binds, tuple([mark.arg for mark in marks]), buffers)
        reached: frozenset[int] = frozenset()
        needed: frozenset[int] = frozenset()
        for result in results:
            if result.reads.is_reached:
                reached |= result.reads.reached
                needed |= result.reads.needed
        for slot in reached:
            run.buffers[slot] = ref(inputs[slot])
            made = self._makings.get(inputs[slot])
            if made is None or not made.reads.is_reached:
                continue
            if made.length < KEPT_STEPS and made.updates < KEPT_UPDATES:
                run.past[slot] = made
            else:
                run.forgotten[slot] = tuple(map(ref, made.reached()))
        held = {
            slot: self.kept.hold(inputs[slot], allocation)
            for slot in needed
            if (allocation := session.allocation_of(inputs[slot])) is not None
        }
        return run, held

    def add_result(
        self,
        result: Result,
        run: Run,
        held: Mapping[int, Held],
        written: int | None = None,
        parts: tuple[ref[Version], ...] = (),
    ) -> None:
        """Remember one result of a run.

        Args:
            result: what the graph leaves.
            run: which run it was.
            held: the numbers that gradients of the run read.
            written: the slot of what its box held before, where it is written.
            parts: versions of boxes that a gradient reaches.
        """
        reads = result.reads
        making = Making(run, result.value, reads, parts)
        if written is not None and written in reads.reached_by_value:
            before = run.past.get(written)
            making.updates = 1 + (0 if before is None else before.updates)
        buffer = run.results[result.number]()
        assert buffer is not None, "who remembers a result has it"
        self._makings[buffer] = making
        if reads.is_reached:
            making.held = held
            self._find_witness(making)

    def settle(self) -> None:
        """Give back what is kept for gradients that nobody can ask for any more."""
        for making in self.kept.bereaved():
            if making.held is not None:
                self._find_witness(making)

    def _find_witness(self, making: Making) -> None:
        """Let something alive that a gradient reaches show that it may be asked for."""
        stack = [making]
        while stack:
            making = stack.pop()
            witness = making.witness()
            if isinstance(witness, Making):
                if witness.users is None:
                    witness.users = WeakSet()
                witness.users.add(making)
            elif witness is not None:
                self.kept.watch(witness, making)
            else:
                making.held = None
                stack += [user for user in making.users or () if user.held is not None]
                making.users = None

    def making_of(self, buffer: UOp) -> Making | None:
        """How a BUFFER was made; None where nothing is alive that a gradient would flow to."""
        made = self._makings.get(buffer)
        return made if made is not None and made.held is not None else None

    def name_of(self, buffer: UOp) -> Making | None:
        """How a BUFFER was made, whether a gradient could flow on from it or not."""
        return self._makings.get(buffer)

    def restore(self, buffer: UOp, making: Making) -> None:
        """Remember again how a BUFFER was made that had been gone."""
        self._makings.setdefault(buffer, making)
