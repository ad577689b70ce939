"""A Schedule with its Programs loaded becomes a list of steps that runs as often as one likes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tiny_ir import UnsupportedError
from tiny_plugin import Call, Copy, Launch, Mark, Memory, Program, Schedule
from tiny_tensor.engine.memory import ALIGNMENT, Allocation
from tiny_tensor.session import Device, Session


class Batch:
    """Launches on one device, one after another.

    Args:
        device: its name.
        launches: the executable, the slots and the names of the variables of each.
        programs: the names of what is launched.
    """

    def __init__(
        self,
        device: str,
        launches: list[tuple[object, tuple[int, ...], tuple[str, ...]]],
        programs: list[str],
    ) -> None:
        self.device = device
        self._programs = programs
        self._launches = launches
        self._slots = [slot for _, slots, _ in launches for slot in slots]
        self._names = [name for _, _, names in launches for name in names]
        self._runs = 0
        self._captured: object | None = None

    def run(self, places: Sequence[Memory], values: Mapping[str, int], session: Session) -> None:
        """Launch them; what runs a second time is captured, so that it costs one call."""
        device = session.device(self.device)
        runtime = device.runtime
        if session.is_listened_to:
            self._run_each(device, self._calls(places, values), session)
            return
        self._runs += 1
        if self._runs == 2:
            self._captured = runtime.capture(self._calls(places, values))
        if self._captured is None:
            device.mark = runtime.submit(self._calls(places, values), device.marks())
            return
        device.mark = runtime.replay(
            self._captured,
            [places[slot] for slot in self._slots],
            [values[name] for name in self._names],
            device.marks(),
        )

    def _run_each(self, device: Device, calls: list[Call], session: Session) -> None:
        """Launch them one by one, each with its own time."""
        for name, call in zip(self._programs, calls, strict=True):
            start = device.runtime.clock()
            device.mark = device.runtime.submit([call], device.marks())
            device.runtime.wait(device.mark)
            seconds = device.runtime.clock() - start
            session.tell("launch", name, self.device, start, seconds)

    def _calls(self, places: Sequence[Memory], values: Mapping[str, int]) -> list[Call]:
        return [
            Call(
                executable,
                tuple([places[slot] for slot in slots]),
                tuple([values[name] for name in names]),
            )
            for executable, slots, names in self._launches
        ]


class Plan:
    """What a graph does, ready to run.

    Args:
        schedule: its Programs need only their launch facts.
        executables: what the runtime loaded for each Program, by identity of the record.
    """

    def __init__(self, schedule: Schedule, executables: Mapping[int, object]) -> None:
        self.slots = schedule.slots
        self.inputs = sum(1 for slot in schedule.slots if slot.role == "input")
        self.steps = _batches(schedule, executables)
        self.offsets, self.nbytes = _places(schedule)
        programs = [step.program for step in schedule.steps if isinstance(step, Launch)]
        self.kernels = len(programs)
        self.operations = sum(program.estimates.operations for program in programs)
        self.moved_nbytes = sum(program.estimates.nbytes for program in programs)

    def run(self, memories: Sequence[Memory], values: Mapping[str, int], session: Session) -> None:
        """Run all steps.

        Args:
            memories: the memory of each slot of the graph.
            values: the number of each variable.
            session: opens devices, counts, and lends memory for temporaries.
        """
        places = [*memories]
        lent = self._temporaries(session)
        for slot, (name, offset) in zip(self.slots[self.inputs :], self.offsets, strict=True):
            places.append(lent[name].memory.piece(offset, slot.nbytes))
        for step in self.steps:
            if isinstance(step, Batch):
                step.run(places, values, session)
            else:
                _copy(
                    session.device(self.slots[step.source].device),
                    places[step.source].piece(0, step.nbytes),
                    session.device(self.slots[step.destination].device),
                    places[step.destination].piece(0, step.nbytes),
                )
                session.counters.copies += 1
                session.counters.copied_nbytes += step.nbytes
        session.counters.kernels += self.kernels
        session.counters.operations += self.operations
        session.counters.nbytes += self.moved_nbytes

    def _temporaries(self, session: Session) -> dict[str, Allocation]:
        """Memory for all temporaries of this run, one piece a device."""
        return {device: session.room(device, nbytes) for device, nbytes in self.nbytes.items()}


def _copy(source: Device, origin: Memory, target: Device, destination: Memory) -> None:
    """Copy between two memories, through the host where the devices differ."""
    if source is target:
        source.mark = source.runtime.copy(origin, destination, source.marks())
        return
    staging = bytearray(origin.nbytes)
    read: Mark = source.runtime.copy_out(origin, staging, source.marks())
    source.runtime.wait(read)
    target.mark = target.runtime.copy_in(destination, staging, target.marks())


def _batches(schedule: Schedule, executables: Mapping[int, object]) -> tuple[Batch | Copy, ...]:
    """The steps, with neighbouring launches on one device put together."""
    steps: list[Batch | Copy] = []
    waiting: list[Launch] = []

    def close() -> None:
        if waiting:
            launches = [
                (
                    executables[id(launch.program)],
                    launch.slots,
                    tuple(variable.name for variable in launch.program.variables),
                )
                for launch in waiting
            ]
            names = [launch.program.name for launch in waiting]
            steps.append(Batch(_device_of(waiting[0], schedule), launches, names))
            waiting.clear()

    for step in schedule.steps:
        if isinstance(step, Launch):
            if waiting and _device_of(step, schedule) != _device_of(waiting[0], schedule):
                close()
            waiting.append(step)
        elif isinstance(step, Copy):
            close()
            steps.append(step)
        else:
            raise UnsupportedError(
                f"the engine cannot run a {type(step).__name__}.",
                why="it runs launches and copies.",
                fix="use a code generator that yields only these.",
            )
    close()
    return tuple(steps)


def _device_of(step: Launch, schedule: Schedule) -> str:
    return schedule.slots[step.slots[0]].device


def device_of_program(program: Program, schedule: Schedule) -> str:
    """The device on which a Schedule launches one of its Programs."""
    for step in schedule.steps:
        if isinstance(step, Launch) and step.program is program:
            return _device_of(step, schedule)
    raise KeyError(program.name)


def _places(schedule: Schedule) -> tuple[list[tuple[str, int]], dict[str, int]]:
    """Where each temporary lies in its device's piece, and how large these pieces are.

    Temporaries whose lifetimes do not meet share bytes. The largest are placed first, each at the
    lowest offset where nothing that lives at the same time is in the way.
    """
    slots = [(at, slot) for at, slot in enumerate(schedule.slots) if slot.role != "input"]
    offsets: dict[int, int] = {}
    totals: dict[str, int] = {}
    placed: dict[str, list[tuple[int, int, int, int]]] = {}
    for at, slot in sorted(slots, key=lambda item: (-item[1].nbytes, item[0])):
        size = -(-slot.nbytes // ALIGNMENT) * ALIGNMENT
        others = placed.setdefault(slot.device, [])
        offset = 0
        for begin, end, first, last in sorted(others):
            if last < slot.first or slot.last < first:
                continue
            if offset + size <= begin:
                break
            offset = max(offset, end)
        others.append((offset, offset + size, slot.first, slot.last))
        offsets[at] = offset
        totals[slot.device] = max(totals.get(slot.device, 0), offset + size)
    return [(slot.device, offsets[at]) for at, slot in slots], totals
