"""What each kind of plugin promises: one Protocol per kind, each of one screen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

from tiny_ir import UnsupportedError, UOp
from tiny_plugin.artifacts import (
    Binary,
    Call,
    Mark,
    Memory,
    Options,
    Program,
    Schedule,
    Source,
    StageReport,
)
from tiny_plugin.target import Target

Method = TypeVar("Method", bound=Callable[..., object])

Measure = Callable[[Program], float]
"""Seconds that one launch of a Program takes: given by the engine to a search."""


def optional(method: Method) -> Method:
    """Mark a method of a contract that a plugin may leave out; its body is the default."""
    method.__dict__["is_optional"] = True
    return method


class CodeGenerator(Protocol):
    """From a graph to a Schedule of Programs. Opened by name, keeps no cache and no state."""

    @property
    def name(self) -> str:
        """The name of its entry point, part of cache keys."""
        ...

    def schedule(
        self,
        graph: UOp,
        targets: Mapping[str, Target],
        options: Options,
        measure: Measure | None = None,
    ) -> Schedule:
        """Turn a graph into ordered steps.

        Args:
            graph: a SINK whose buffers and bound values are numbered PARAM slots.
            targets: the Target of every device the graph names.
            options: the choices of this compilation.
            measure: seconds of one launch, for a search; None chooses by rule.
        """
        ...

    def lower(self, kernel: UOp, target: Target, options: Options) -> Program:
        """Turn one kernel-level graph into a Program."""
        ...

    @optional
    def explain(self, kernel: UOp, target: Target, options: Options) -> Sequence[StageReport]:
        """What each stage makes of one kernel-level graph; empty where there is nothing to show."""
        return ()

    @optional
    def kernels(
        self, graph: UOp, targets: Mapping[str, Target], options: Options
    ) -> Sequence[tuple[str, UOp]]:
        """The kernel-level graphs that a graph is split into, each with its device."""
        return ()


class Renderer(Protocol):
    """From a Program to text. Opened for a Target, needs no device and no compiler."""

    @property
    def name(self) -> str:
        """The name of its entry point, part of cache keys."""
        ...

    @property
    def language(self) -> str:
        """What its text is written in; the compiler that takes it names the same."""
        ...

    @property
    def target(self) -> Target:
        """What it renders for."""
        ...

    def render(self, program: Program) -> Source:
        """Turn a Program into text."""
        ...


class Compiler(Protocol):
    """From text to a Binary. Opened for a Target, needs no device."""

    @property
    def name(self) -> str:
        """The name of its entry point, part of cache keys."""
        ...

    @property
    def language(self) -> str:
        """What it takes."""
        ...

    @property
    def format(self) -> str:
        """What it yields; the runtime that loads it names the same."""
        ...

    def compile(self, source: Source) -> Binary:
        """Turn text into a Binary."""
        ...

    @optional
    def fingerprint(self) -> str:
        """What a Binary depends on besides its Source: library, version, flags. Part of cache keys.

        It is asked on every start, so it loads no library and runs no tool.
        """
        return ""


class Assembler(Protocol):
    """From a Program straight to a Binary: an interpreter or an encoder of instructions.

    It is offered in the group `tiny.compiler`; its runtime names no renderer.
    """

    @property
    def name(self) -> str:
        """The name of its entry point, part of cache keys."""
        ...

    @property
    def format(self) -> str:
        """What it yields; the runtime that loads it names the same."""
        ...

    def assemble(self, program: Program) -> Binary:
        """Turn a Program into a Binary."""
        ...

    @optional
    def fingerprint(self) -> str:
        """What a Binary depends on besides its Program: library, version, flags; part of a key.

        It is asked on every start, so it loads no library and runs no tool.
        """
        return ""


class Claimer(Protocol):
    """A vendor's library that may take a whole kernel. Asked before loop actions are chosen."""

    @property
    def name(self) -> str:
        """What listings call it, part of cache keys."""
        ...

    def claim(self, kernel: UOp, target: Target) -> Binary | None:
        """A Binary for the kernel-level graph, or None to decline."""
        ...


class Runtime(Protocol):
    """A device: memory, copies, launches and clocks.

    Every call that starts work waits for the marks in `after`, returns a Mark, and keeps the memory
    and the host bytes it was given alive until that Mark has passed.
    """

    @property
    def name(self) -> str:
        """The name of its entry point: the device."""
        ...

    @property
    def target(self) -> Target:
        """What this very machine can do."""
        ...

    @property
    def renderer(self) -> str:
        """The renderer it wants; "" where its compiler is an Assembler."""
        ...

    @property
    def compiler(self) -> str:
        """The compiler or assembler it wants."""
        ...

    def allocate(self, nbytes: int) -> Memory:
        """A raw block, aligned to at least 64 bytes; its content is arbitrary."""
        ...

    def free(self, memory: Memory) -> None:
        """Give back a block that `allocate` returned."""
        ...

    def copy_in(
        self, memory: Memory, data: bytes | bytearray | memoryview, after: Sequence[Mark] = ()
    ) -> Mark:
        """Copy host bytes to the start of `memory`."""
        ...

    def copy_out(
        self, memory: Memory, data: bytearray | memoryview, after: Sequence[Mark] = ()
    ) -> Mark:
        """Copy the start of `memory` into host bytes, as many as `data` holds."""
        ...

    def load(self, binary: Binary) -> object:
        """Make a Binary ready to launch."""
        ...

    def launch(
        self,
        executable: object,
        memories: Sequence[Memory],
        values: Sequence[int] = (),
        after: Sequence[Mark] = (),
    ) -> Mark:
        """Run what `load` returned, with arguments and variables in the order of its Program."""
        ...

    def wait(self, mark: Mark) -> None:
        """Return when `mark` has been reached."""
        ...

    def clock(self) -> float:
        """Seconds on the clock of the device, for differences only."""
        ...

    @optional
    def submit(self, steps: Sequence[Call], after: Sequence[Mark] = ()) -> Mark:
        """Run calls in order, each after the one before; without calls, a Mark for `after`."""
        if not steps:
            for passed in after:
                self.wait(passed)
            return Mark(self.name, 0)
        mark = self.launch(steps[0].executable, steps[0].memories, steps[0].values, after)
        for step in steps[1:]:
            mark = self.launch(step.executable, step.memories, step.values, (mark,))
        return mark

    @optional
    def capture(self, steps: Sequence[Call]) -> object | None:
        """Prepare calls that will run often, for `replay`; None where that gains nothing."""
        return None

    @optional
    def replay(
        self,
        captured: object,
        memories: Sequence[Memory],
        values: Sequence[int] = (),
        after: Sequence[Mark] = (),
    ) -> Mark:
        """Run what `capture` returned, with all memories and values of its calls in order."""
        raise UnsupportedError(
            f"the runtime {self.name!r} cannot replay",
            why="it captures no lists of calls",
            fix="call submit with the steps",
        )

    @optional
    def copy(self, source: Memory, destination: Memory, after: Sequence[Mark] = ()) -> Mark:
        """Copy as many bytes as `destination` holds between two memories of this device."""
        staging = bytearray(destination.nbytes)
        self.wait(self.copy_out(source, staging, after))
        return self.copy_in(destination, staging)

    @optional
    def view(self, memory: Memory) -> memoryview | None:
        """The bytes of `memory` themselves, writable; None where the host cannot reach them.

        They stay mapped while the view exists; after `free` what they hold is arbitrary.
        """
        return None

    @optional
    def adopt(self, data: memoryview) -> Memory | None:
        """Bytes of the host as memory of this device, without a copy; None where that cannot be.

        They stay where they are until `free`; the runtime keeps `data` until then.
        """
        return None

    @optional
    def statistics(self) -> Mapping[str, int]:
        """Bytes allocated, kernels launched and the like, by name."""
        return {}

    @optional
    def close(self) -> None:
        """Give back what the runtime holds; it is not used afterwards."""
        return None


class Communicator(Protocol):
    """Exchanges among the processes of a group, each of which has a rank."""

    @property
    def name(self) -> str:
        """The name of its entry point."""
        ...

    @property
    def rank(self) -> int:
        """The place of this process, from 0."""
        ...

    @property
    def size(self) -> int:
        """How many processes there are."""
        ...

    def all_reduce(self, memory: Memory, dtype: str, combine: str, after: Sequence[Mark]) -> Mark:
        """Combine `memory` of all ranks by "add", "max" or "min", element by element, in place."""
        ...

    def all_gather(self, source: Memory, destination: Memory, after: Sequence[Mark]) -> Mark:
        """Put the `source` of every rank, in the order of ranks, into every `destination`."""
        ...

    def broadcast(self, memory: Memory, root: int, after: Sequence[Mark]) -> Mark:
        """Copy the `memory` of `root` into that of all other ranks."""
        ...

    def send(self, memory: Memory, rank: int, after: Sequence[Mark]) -> Mark:
        """Send bytes to one other rank, which receives them."""
        ...

    def receive(self, memory: Memory, rank: int, after: Sequence[Mark]) -> Mark:
        """Receive bytes that one other rank sends."""
        ...


class Command(Protocol):
    """A subcommand of `tiny`."""

    @property
    def name(self) -> str:
        """The word after `tiny`."""
        ...

    @property
    def summary(self) -> str:
        """One line for `tiny --help`."""
        ...

    def run(self, arguments: Sequence[str]) -> int:
        """Do it; the result is the exit status."""
        ...


class Loader(Protocol):
    """Reads files of one format."""

    @property
    def name(self) -> str:
        """The name of its entry point."""
        ...

    @property
    def suffixes(self) -> tuple[str, ...]:
        """The endings of file names it reads, with the dot."""
        ...

    def load(self, path: str) -> Mapping[str, object]:
        """The named contents of a file."""
        ...
