"""The records that cross a package border: frozen, with named fields, which may hold UOps."""

from __future__ import annotations

from collections.abc import Callable

from tiny_ir import ArgumentError, DType, RuleSet, UOp
from tiny_plugin.records import record, replace
from tiny_plugin.target import Target
from tiny_plugin.typed import boundary


@boundary
@record(frozen=True, slots=True)
class Argument:
    """One buffer a Program takes.

    Args:
        dtype: the dtype its bytes are read and written in.
        elements: how many elements it holds; an upper bound where sizes are symbolic.
        read: the Program loads from it.
        written: the Program stores to it.
        may_alias: it may be the same memory as another argument.
        space: the memory space it lives in, one of those of the Target.
    """

    dtype: DType
    elements: int
    read: bool
    written: bool
    may_alias: bool = False
    space: str = "global"


@boundary
@record(frozen=True, slots=True)
class Variable:
    """An integer that a Program takes at launch, with inclusive bounds."""

    name: str
    minimum: int
    maximum: int


@boundary
@record(frozen=True, slots=True)
class Estimates:
    """What one launch costs: arithmetic operations, and bytes moved to or from memory."""

    operations: int = 0
    nbytes: int = 0


@boundary
@record(frozen=True, slots=True)
class Program:
    """A kernel in its last form: what to launch, and in which order its nodes stand.

    Args:
        name: what listings and profiles call it; also the entry of its Binary.
        target: what it was made for.
        uops: sources before users; a RANGE opens a loop and END closes it. Empty in launch facts.
        grid: sizes of the grid, one per SPECIAL "grid0", "grid1", ...; a UOp where symbolic.
        workgroup: sizes of a workgroup, axis by axis; empty where the target has none.
        arguments: the buffers, in the order they are passed.
        variables: the integers, in the order they are passed, after the buffers.
        shared_nbytes: fast memory of one workgroup.
        scratch_nbytes: fast memory of one worker.
        estimates: the cost of one launch.
        actions: the loop actions that were applied, in their text form.
    """

    name: str
    target: Target
    uops: tuple[UOp, ...]
    grid: tuple[int | UOp, ...] = ()
    workgroup: tuple[int | UOp, ...] = ()
    arguments: tuple[Argument, ...] = ()
    variables: tuple[Variable, ...] = ()
    shared_nbytes: int = 0
    scratch_nbytes: int = 0
    estimates: Estimates = Estimates()
    actions: tuple[str, ...] = ()

    def launch_facts(self) -> Program:
        """The same record without its uops: all that a launch needs."""
        return self if not self.uops else replace(self, uops=())


@boundary
@record(frozen=True, slots=True)
class Source:
    """A Program as text.

    Args:
        text: the whole translation unit.
        language: which compilers take it: "llvm", "c", ...
        entry: the function to call.
        program: what it was rendered from.
    """

    text: str
    language: str
    entry: str
    program: Program


@boundary
@record(frozen=True, slots=True)
class Binary:
    """A Program that a runtime can load.

    Args:
        data: the code, or whatever the runtime takes for it.
        format: which runtimes take it: "x86_64-flat", "elf", "uops", ...
        entry: the function to call.
        program: the launch facts of what it was made from (no uops).
        fingerprint: what made it: compiler and version. Part of a cache's key.
    """

    data: bytes
    format: str
    entry: str
    program: Program
    fingerprint: str = ""


@boundary
@record(frozen=True, slots=True)
class Slot:
    """A numbered place for a buffer in a Schedule.

    Args:
        dtype: dtype of its elements.
        elements: how many; an upper bound where sizes are symbolic.
        device: the device it lives on.
        role: "input" for a PARAM of the graph (read, written or both), "temporary" for memory that
            lives only while the Schedule runs.
        first: the first step that uses a temporary.
        last: the last step that uses a temporary.
    """

    dtype: DType
    elements: int
    device: str
    role: str = "input"
    first: int = 0
    last: int = 0

    @property
    def nbytes(self) -> int:
        """Bytes of storage it needs."""
        return self.elements * self.dtype.nbytes


@boundary
@record(frozen=True, slots=True)
class Launch:
    """Run a Program: `slots[i]` is its argument `i`; variables are bound by name at launch."""

    program: Program
    slots: tuple[int, ...]


@boundary
@record(frozen=True, slots=True)
class Copy:
    """Copy `nbytes` from the start of one slot to the start of another, across devices or not."""

    source: int
    destination: int
    nbytes: int


@boundary
@record(frozen=True, slots=True)
class HostCall:
    """Let the engine do something in Python: `function` is a name the engine knows."""

    function: str
    slots: tuple[int, ...]
    arguments: tuple[int | float | str | bool, ...] = ()


@boundary
@record(frozen=True, slots=True)
class Collective:
    """An exchange among devices: operation is "all_reduce", "all_gather", "reduce_scatter", ..."""

    operation: str
    combine: str
    sources: tuple[int, ...]
    destinations: tuple[int, ...]


Step = Launch | Copy | HostCall | Collective
"""One entry of a Schedule."""


@boundary
@record(frozen=True, slots=True)
class Schedule:
    """What to do, in order.

    Args:
        slots: slots 0..n-1 are the PARAM slots of the graph; temporaries follow.
        steps: Launch, Copy, HostCall and Collective, in an order that respects every dependency.
        aliases: pairs of slots that may share memory: the second may take the first one's place.
        once: positions of steps whose result stays valid until their inputs are written.
    """

    slots: tuple[Slot, ...]
    steps: tuple[Step, ...]
    aliases: tuple[tuple[int, int], ...] = ()
    once: tuple[int, ...] = ()


@boundary
@record(frozen=True, slots=True)
class Memory:
    """A piece of a device's memory.

    Args:
        device: the device it lives on.
        handle: the runtime's own name for the block: an address, an object.
        nbytes: size of the piece.
        offset: where the piece begins in the block, in bytes.
    """

    device: str
    handle: object
    nbytes: int
    offset: int = 0

    def piece(self, offset: int, nbytes: int) -> Memory:
        """A part of this memory: `nbytes` from `offset` bytes after its start."""
        if offset < 0 or nbytes < 0 or offset + nbytes > self.nbytes:
            raise ArgumentError(
                f"bytes {offset} to {offset + nbytes} are not inside {self.nbytes} bytes of memory",
                why="a piece lies inside the memory it is cut from",
                fix="ask for an offset and a size that fit",
            )
        return Memory(self.device, self.handle, nbytes, self.offset + offset)


@boundary
@record(frozen=True, slots=True)
class Mark:
    """A point in a queue: reached when everything up to `number` has finished."""

    queue: str
    number: int


@boundary
@record(frozen=True, slots=True)
class Call:
    """One launch with everything at hand: what `Runtime.submit` and `Runtime.capture` take.

    Args:
        executable: what `Runtime.load` returned.
        memories: the arguments, in the order of the Program.
        values: the variables, in the order of the Program.
    """

    executable: object
    memories: tuple[Memory, ...]
    values: tuple[int, ...] = ()


@boundary
@record(frozen=True, slots=True)
class StageReport:
    """What one stage of a code generator left behind, for `tiny explain`.

    Args:
        name: the stage.
        root: the graph afterwards.
        fired: names of the rules that fired and how often, in the order of their first firing.
        seconds: how long the stage took.
    """

    name: str
    root: UOp
    fired: tuple[tuple[str, int], ...] = ()
    seconds: float = 0.0


@boundary
@record(frozen=True, slots=True)
class ExtraStage:
    """A stage that a plugin adds to the pipeline, in one of the slots the pipeline names.

    Args:
        slot: the name of the slot.
        name: what `explain` calls the stage.
        stage: a RuleSet, or a pure function of the whole graph that takes it and the Target.
    """

    slot: str
    name: str
    stage: RuleSet | Callable[[UOp, Target], UOp]


@boundary
@record(frozen=True, slots=True)
class Options:
    """The choices of one compilation, made by the Session and never by a stage.

    Args:
        optimize: choose loop actions; False leaves every loop as it is.
        threads: how many workers a CPU kernel may use; 0 means as many as the target has cores.
        spec: 1 verifies levels between stages, 2 also after every rule.
        search: how many candidates a search keeps; 0 chooses by rule.
        fuse: put several ops into one kernel where that is legal and good.
        deterministic: never let the order of threads change a result.
        emulate: names of dtypes to treat as if the target lacked them.
        stages: what plugins add to the pipeline, in the order of their names.
    """

    optimize: bool = True
    threads: int = 0
    spec: int = 0
    search: int = 0
    fuse: bool = True
    deterministic: bool = True
    emulate: tuple[str, ...] = ()
    stages: tuple[ExtraStage, ...] = ()
