"""Runs a Schedule on a device: from the bytes of its slots before to the bytes after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tiny_plugin import Copy, Launch, Program, Schedule
from tiny_testing.programs import Bench


def run_schedule(
    schedule: Schedule,
    contents: Sequence[bytes],
    values: Mapping[str, int] | None = None,
    *,
    bench: Bench,
) -> list[bytes]:
    """Run every step in order, all slots on one device, and return what the slots hold.

    Args:
        schedule: what a code generator made, for any target that the bench's renderer can spell.
        contents: the bytes of the graph's own slots; temporaries begin with arbitrary bytes.
        values: of the variables, by name.
        bench: the device.

    Raises:
        NotImplementedError: a step is neither a Launch nor a Copy.

    Example:
        >>> from tiny_testing.cases import Case, batch, contents_of
        >>> from tiny_testing.programs import Bench
        >>> from tiny_ir import Op, dtypes
        >>> from tiny_plugin import Slot
        >>> bench = Bench.open("python")
        >>> int8 = dtypes.int8
        >>> case = Case(Op.ADD, int8, (int8, int8), ((1, 2), (10, 127)))
        >>> add = batch(bench.runtime.target, "add", [case])
        >>> slots = (Slot(int8, 2, "python"),) * 3
        >>> schedule = Schedule(slots, (Launch(add, (0, 1, 2)),))
        >>> list(run_schedule(schedule, contents_of([case]), bench=bench)[0])
        [11, 129]
    """
    given = values or {}
    runtime = bench.runtime
    memories = [runtime.allocate(max(1, slot.nbytes)) for slot in schedule.slots]
    for memory, content in zip(memories, contents, strict=False):
        runtime.wait(runtime.copy_in(memory, content))
    executables: dict[int, object] = {}
    for step in schedule.steps:
        match step:
            case Launch(program=program, slots=slots):
                executable = executables.get(id(program))
                if executable is None:
                    executable = executables[id(program)] = bench.executable_of(program)
                arguments = [memories[slot] for slot in slots]
                runtime.wait(runtime.launch(executable, arguments, _values_of(program, given)))
            case Copy(source=source, destination=destination, nbytes=nbytes):
                staged = bytearray(nbytes)
                runtime.wait(runtime.copy_out(memories[source], staged))
                runtime.wait(runtime.copy_in(memories[destination], staged))
            case _:
                raise NotImplementedError(f"{step} needs an engine")
    results = [bytearray(slot.nbytes) for slot in schedule.slots]
    for memory, result in zip(memories, results, strict=True):
        runtime.wait(runtime.copy_out(memory, result))
        runtime.free(memory)
    return [bytes(result) for result in results]


def _values_of(program: Program, given: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(given[variable.name] for variable in program.variables)
