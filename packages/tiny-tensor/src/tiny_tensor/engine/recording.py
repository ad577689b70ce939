"""A captured call: a graph whose buffers are arguments, boxes, constants, or new at each replay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from weakref import ref

from tiny_ir import JitError, Op, UOp, substitute, toposort
from tiny_plugin import Memory, record
from tiny_tensor.engine.call_arguments import CallArguments
from tiny_tensor.engine.canonical import canonical_of
from tiny_tensor.engine.capture import Capture
from tiny_tensor.engine.history import Result
from tiny_tensor.engine.launch_values import bound
from tiny_tensor.engine.pending import pending_of
from tiny_tensor.engine.plan import Plan
from tiny_tensor.engine.returned import Returned
from tiny_tensor.realize import buffer_of_rows, compute, memory_of, schedules_of
from tiny_tensor.session import Session
from tiny_tensor.storage import Storage, buffer_below, is_in_memory, memory_below
from tiny_tensor.tensor_core import TensorCore


@record(frozen=True, slots=True)
class Box:
    """A box that the function reads or writes without being given it.

    Args:
        buffer: the BUFFER that stands for its bytes.
        storage: the box, not kept alive: one that is gone was replaced, which a replay cannot see.
        result: what it holds afterwards; None where it is only read.
    """

    buffer: UOp
    storage: ref[Storage]
    result: UOp | None


class Recording:
    """One captured call. Its nodes stand over BUFFERs that are given at each replay.

    Args:
        capture: the call; its boxes are still open.
        arguments: what the function was called with.
        returned: what it returned.
        session: in which it was called.
    """

    def __init__(
        self, capture: Capture, arguments: CallArguments, returned: object, session: Session
    ) -> None:
        self._session = session
        self._kept = arguments.kept
        self._numbers = arguments.numbers
        self._draws = capture.draws
        self._position, self._key = capture.position, capture.key
        self._inputs = dict(capture.inputs)
        owners = capture.owners()
        self._returned = Returned(returned, owners)
        roots = dict(zip(self._returned.boxes, self._returned.devices, strict=True))
        written = {storage: storage.newest() for storage in capture.written()}
        roots |= {node: owners[storage].arg.device for storage, node in written.items()}
        pending = pending_of(roots, (), session)
        results = {} if pending is None else pending.results
        self._moved = () if pending is None else pending.moved

        self._plan: Plan | None = None
        self._slots: tuple[UOp, ...] = ()
        self._read: tuple[UOp, ...] = ()
        """The BUFFERs of the slots, and those that only a gradient looks at."""
        self._marks: tuple[UOp, ...] = ()
        self._made: list[Result] = []
        """The results that gradients flow through."""
        self._sources: dict[int, UOp] = {}
        """The BUFFERs that these are computed from, by slot."""
        self._places: list[UOp] = []
        """The BUFFER of each result."""
        self._written: dict[UOp, int] = {}
        """For each result that is written to a box, the slot of what the box held before."""
        self._binds: Mapping[str, UOp] = {}
        if pending is not None:
            canonical = canonical_of(pending.sink)
            start = perf_counter()
            self._plan = schedules_of(session).plan_of(canonical.graph)
            session.counters.compile_seconds += perf_counter() - start
            self._slots, self._binds = canonical.buffers, canonical.binds
            self._read, self._marks = canonical.inputs, canonical.marks
            self._made = _differentiable(session.history.results_of(canonical, pending))
            below = toposort([result.value for result in self._made])
            slots = [node.arg.slot for node in below if node.op is Op.PARAM]
            self._sources = {slot: self._read[slot] for slot in slots}
            self._places = [buffer_below(result) for result in results.values()]
            slot_of = {buffer: slot for slot, buffer in enumerate(self._read)}
            for storage, node in written.items():
                before = slot_of.get(owners[storage])
                if before is not None:
                    self._written[memory_below(node) or node] = before

        self._returned.settle(results)
        after = {owners[s]: substitute(node, results) for s, node in written.items()}
        self._results = {buffer: after[buffer] for buffer in self._inputs if buffer in after}
        seen = (*after.values(), *self._returned.boxes, *self._returned.owners())
        met = self._buffers_met(seen)
        self._boxes = tuple(
            Box(buffer, ref(storage), after.get(buffer))
            for buffer, storage in capture.boxes.items()
            if buffer in met or buffer in after
        )
        self._constants = [b for b in met if session.allocation_of(b) is not None]
        given = {*self._inputs, *self._constants, *(box.buffer for box in self._boxes)}
        given |= {newer for _, newer in self._moved}
        self._fresh = [buffer for buffer in met if buffer not in given]
        self._writes = {buffer for buffer, _ in self._moved} | set(after)

    def _buffers_met(self, nodes: tuple[UOp, ...]) -> dict[UOp, None]:
        """Every BUFFER of the graph and of these nodes."""
        met = dict.fromkeys(self._read)
        met |= {node: None for node in toposort(nodes) if node.op is Op.BUFFER}
        return met

    def replay(self, arguments: CallArguments) -> object:
        """Do again what the function did, with these arguments.

        Raises:
            JitError: a tensor that the function uses is gone, or one that it writes is there twice.
        """
        session = self._session
        with session.lock:
            boxes = [(box, self._opened(box)) for box in self._boxes]
            self._compute_pending(arguments, [storage for _, storage in boxes])
            actual = {buffer: buffer for buffer in self._constants}
            for variable, bind in self._numbers.items():
                actual[bind] = arguments.numbers[variable]
            for box, storage in boxes:
                actual[box.buffer] = self._whole_buffer(storage, box.buffer.arg.device)
            for buffer, number in self._inputs.items():
                actual[buffer] = self._rows(arguments.tensors[number])
            self._check_apart(arguments, boxes)
            self._save_what_is_read(actual, arguments, boxes)
            for buffer in self._fresh:
                arg = buffer.arg
                actual[buffer] = session.new_buffer(buffer.dtype, arg.elements, arg.device)
            self._run(actual, self._bound(arguments))
            for box, storage in boxes:
                if box.result is not None:
                    storage.put(substitute(box.result, actual))
            for buffer, node in self._results.items():
                tensor = arguments.tensors[self._inputs[buffer]]
                value = substitute(node, actual)
                tensor._storage.write(tensor.uop, value, session, tensor.device)
            numbers, tensors = self._inputs, arguments.tensors
            return self._returned.made(
                actual,
                lambda buffer: tensors[numbers[buffer]] if buffer in numbers else None,
                {box.buffer: storage for box, storage in boxes},
            )

    def _opened(self, box: Box) -> Storage:
        storage = box.storage()
        if storage is None:
            raise JitError(
                "a tensor that a captured function uses no longer exists.",
                why="the function did not get it as an argument, and since then it was replaced "
                "by another one, or deleted.",
                fix="write it in place with assign(), or pass it as an argument.",
            )
        return storage

    def _compute_pending(self, arguments: CallArguments, storages: list[Storage]) -> None:
        session = self._session
        nodes = [(t.uop, t.device) for t in arguments.tensors]
        nodes += [
            (storage.node, box.buffer.arg.device)
            for box, storage in zip(self._boxes, storages, strict=True)
        ]
        pending = [(node, device) for node, device in nodes if not is_in_memory(node)]
        if pending:
            done: dict[UOp, UOp] = {}
            resolve = session.finished.resolve
            compute({resolve(node, done): device for node, device in pending}, session, done)

    def _whole_buffer(self, storage: Storage, device: str) -> UOp:
        """The BUFFER of a box, which lies in it from its start and in row-major order."""
        session = self._session
        node = storage.node
        if node.op is Op.RESHAPE and node.src[0].op is Op.BUFFER:
            return node.src[0]
        buffer, offset = buffer_of_rows(node, device, session)
        if offset:
            buffer = self._copied(buffer, offset, node)
        storage.node = session.view_of(buffer, node)
        return buffer

    def _rows(self, tensor: TensorCore) -> UOp:
        session = self._session
        buffer, offset = buffer_of_rows(tensor.uop, tensor.device, session)
        if not offset:
            return buffer
        return self._copied(buffer, offset, session.finished.resolve(tensor.uop, {}))

    def _copied(self, buffer: UOp, offset: int, node: UOp) -> UOp:
        """A BUFFER of its own for the elements of `node`, which lie in another from `offset` on."""
        session = self._session
        copy, _ = session.new_place(node, buffer.arg.device)
        destination = session.allocate(copy)
        source = memory_of(buffer, session)
        place = session.device(buffer.arg.device)
        piece = source.piece(offset * node.dtype.nbytes, destination.nbytes)
        place.mark = place.runtime.copy(piece, destination, place.marks())
        session.history.add_copy(copy, buffer, node, session)
        return copy

    def _check_apart(self, arguments: CallArguments, boxes: Sequence[tuple[Box, Storage]]) -> None:
        """Refuse tensors that share a box where one of them is written."""
        known = {storage: box.buffer for box, storage in boxes}
        for buffer, number in self._inputs.items():
            other = known.setdefault(arguments.tensors[number]._storage, buffer)
            if other is not buffer and (buffer in self._writes or other in self._writes):
                raise JitError(
                    "a captured function writes a tensor that it also gets by another way.",
                    why="two of its arguments, or an argument and a tensor that it uses by itself, "
                    "share their data.",
                    fix="pass the tensor only, or use it only, or pass a clone() of one of them.",
                )

    def _save_what_is_read(
        self,
        actual: dict[UOp, UOp],
        arguments: CallArguments,
        boxes: list[tuple[Box, Storage]],
    ) -> None:
        """Copy what is written in place where somebody else still reads the version before."""
        owners = {box.buffer: storage for box, storage in boxes}
        for buffer, number in self._inputs.items():
            owners[buffer] = arguments.tensors[number]._storage
        for buffer, _ in self._moved:
            place = actual.get(buffer)
            if place is None:
                continue  # it is new, and nobody knows it
            owner = owners.get(buffer)  # a constant has none, and stays as it is
            if owner is None or self._session.is_read_elsewhere(place, owner):
                actual[buffer] = self._copied(place, 0, place)

    def _run(self, actual: dict[UOp, UOp], binds: Mapping[str, UOp]) -> None:
        session = self._session
        if self._plan is not None:
            start = perf_counter()
            memories: list[Memory] = [memory_of(actual[slot], session) for slot in self._slots]
            values = {name: int(bind.src[1].arg) for name, bind in binds.items()}
            self._plan.run(memories, values, session)
            session.counters.run_seconds += perf_counter() - start
        for _, newer in self._moved:
            arg = newer.arg
            actual[newer] = session.new_buffer(newer.dtype, arg.elements, arg.device)
        if self._made:
            self._remember(actual, binds)
        for buffer, newer in self._moved:
            session.move(actual[buffer], actual[newer])

    def _remember(self, actual: Mapping[UOp, UOp], binds: Mapping[str, UOp]) -> None:
        """Let gradients flow through the results, as if they had been computed without capture."""
        history = self._session.history
        inputs = {slot: actual[buffer] for slot, buffer in self._sources.items()}
        places = [actual[buffer] for buffer in self._places]
        run, held = history.new_run(inputs, binds, self._marks, self._made, places, self._session)
        for result in self._made:
            history.add_result(result, run, held, self._written.get(result.node))

    def _bound(self, arguments: CallArguments) -> dict[str, UOp]:
        """The BIND of each variable, with the numbers of this replay."""
        random = self._session.random
        given = {
            self._position: bound("position", random.take(self._draws)),
            self._key: bound("key", random.key),
        }
        return {
            name: given.get(bind) or arguments.numbers.get(bind.src[0], bind)
            for name, bind in self._binds.items()
        }


def _differentiable(results: list[Result]) -> list[Result]:
    """Those through which a gradient flows, or which are parts of such."""
    parts = {number for result in results for number in result.reads.parts}
    return [result for result in results if result.reads.is_reached or result.number in parts]
