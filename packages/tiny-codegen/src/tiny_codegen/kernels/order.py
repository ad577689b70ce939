"""Puts kernels in an order in which every one reads what the graph says it reads.

A kernel comes after those that write the temporaries it reads and after the writes that its version
of a slot includes. It comes before every other write to that slot. Where the two contradict each
other, the old bytes are copied first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tiny_codegen.kernels.find_places import Temporary
from tiny_codegen.kernels.join import join
from tiny_codegen.kernels.kernel import Kernel, Version, slot_of
from tiny_codegen.kernels.rangeify import Kernels
from tiny_ir import (
    AxisKind,
    KernelArg,
    Op,
    ParamArg,
    RangeArg,
    UOp,
    const,
    dtypes,
    make,
    rebuild,
    substitute,
    toposort,
)


@dataclass(frozen=True, slots=True)
class Ordered:
    """Kernels in order, with every PARAM numbered by the slot it is read from."""

    kernels: tuple[Kernel, ...]
    temporaries: tuple[Temporary, ...]


def order(found: Kernels, *, joins: bool = True) -> Ordered:
    """Order kernels by what they read and write, adding copies of old bytes where needed.

    Args:
        found: what rangeify found.
        joins: make one kernel of neighbours that walk the same loops.
    """
    kernels = list(found.kernels)
    temporaries = list(found.temporaries)
    while True:
        after = _dependencies(kernels, found.versions)
        late = _overwritten_readers(kernels, found.versions, after)
        if not late:
            break
        reader, buffer = late
        _snapshot(kernels, temporaries, found, reader, buffer)
    sequence = _sorted(kernels, _with_reads_before_writes(kernels, found.versions, after))
    ordered = [_with_slots(kernels[at], found.versions) for at in sequence]
    return Ordered(tuple(join(ordered) if joins else ordered), tuple(temporaries))


def _version(buffer: UOp, versions: dict[UOp, Version]) -> Version:
    return versions.get(buffer) or Version(slot_of(buffer), frozenset())


def _dependencies(kernels: list[Kernel], versions: dict[UOp, Version]) -> list[set[int]]:
    """For each kernel, those it must come after because it reads what they write."""
    of_store = {kernel.store: at for at, kernel in enumerate(kernels) if kernel.store is not None}
    of_slot: dict[int, list[int]] = {}
    for at, kernel in enumerate(kernels):
        if kernel.store is None:
            for slot in kernel.writes:
                of_slot.setdefault(slot, []).append(at)
    after: list[set[int]] = []
    for at, kernel in enumerate(kernels):
        needed = {of_store[store] for store in kernel.base if store in of_store}
        for buffer in (*kernel.reads, *kernel.targets):
            version = _version(buffer, versions)
            needed.update(of_store[store] for store in version.stores if store in of_store)
            writers = of_slot.get(version.slot, [])
            # Kernels that write one temporary run in the order they were made.
            needed.update(w for w in writers if w < at or version.slot not in kernel.writes)
        needed.discard(at)
        after.append(needed)
    return after


def _late_writes(
    kernels: list[Kernel], versions: dict[UOp, Version]
) -> list[tuple[int, UOp, list[int]]]:
    """For each reader and what it reads the writes to it that it must not see."""
    writers: dict[int, list[int]] = {}
    for at, kernel in enumerate(kernels):
        for slot in kernel.writes if kernel.store is not None else ():
            writers.setdefault(slot, []).append(at)
    found: list[tuple[int, UOp, list[int]]] = []
    for reader, kernel in enumerate(kernels):
        for buffer in kernel.reads:
            version = _version(buffer, versions)
            late = [
                at
                for at in writers.get(version.slot, ())
                if at != reader and kernels[at].store not in version.stores
            ]
            if late:
                found.append((reader, buffer, late))
    return found


def _overwritten_readers(
    kernels: list[Kernel], versions: dict[UOp, Version], after: list[set[int]]
) -> tuple[int, UOp] | None:
    """A reader of old bytes that cannot come before the write that replaces them, if any."""
    stuck = _in_cycles(_with_reads_before_writes(kernels, versions, after))
    if not stuck:
        return None
    for reader, buffer, late in _late_writes(kernels, versions):
        if reader in stuck and not stuck.isdisjoint(late):
            return reader, buffer
    return None


def _with_reads_before_writes(
    kernels: list[Kernel], versions: dict[UOp, Version], after: list[set[int]]
) -> list[set[int]]:
    edges = [set(needed) for needed in after]
    for reader, _, late in _late_writes(kernels, versions):
        for writer in late:
            edges[writer].add(reader)
    return edges


def _in_cycles(after: list[set[int]]) -> set[int]:
    """Kernels that can never become ready."""
    waiting = {at: set(needed) for at, needed in enumerate(after)}
    ready = [at for at, needed in waiting.items() if not needed]
    users: dict[int, list[int]] = {}
    for at, needed in waiting.items():
        for other in needed:
            users.setdefault(other, []).append(at)
    while ready:
        done = ready.pop()
        waiting.pop(done, None)
        for user in users.get(done, ()):
            if user in waiting:
                waiting[user].discard(done)
                if not waiting[user]:
                    ready.append(user)
    return set(waiting)


def _snapshot(
    kernels: list[Kernel],
    temporaries: list[Temporary],
    found: Kernels,
    reader: int,
    buffer: UOp,
) -> None:
    """Let `reader` read a copy of a slot, made before the slot is written again."""
    slot = 1 + max(
        [temporary.slot for temporary in temporaries]
        + [slot_of(buffer) for kernel in kernels for buffer in kernel.reads]
        + [slot for kernel in kernels for slot in kernel.writes]
    )
    arg: ParamArg = buffer.arg
    copy = make(Op.PARAM, buffer.dtype, (), ParamArg(slot, arg.elements, arg.device))
    temporaries.append(Temporary(slot, buffer.dtype, arg.elements, arg.device))
    old = kernels[reader]
    if old.sink is None:
        kernels[reader] = replace(old, copies=copy)
    else:
        sink = _with_reads_from(old.sink, buffer, copy)
        kernels[reader] = replace(old, sink=sink)
    axis = make(Op.RANGE, None, (const(dtypes.weakint, arg.elements),), RangeArg(0, AxisKind.LOOP))
    effect = copy.index(axis).store(buffer.index(axis)).end(axis)
    sink = make(Op.SINK, None, (effect,), KernelArg(f"copy_{arg.elements}"))
    kernels.append(Kernel(sink, (slot,)))


def _with_reads_from(sink: UOp, buffer: UOp, copy: UOp) -> UOp:
    """The kernel that reads `copy` in place of `buffer`, and writes what it wrote."""
    done: dict[UOp, UOp] = {buffer: copy}
    for node in toposort((sink,)):
        if node in done:
            continue
        src = [done[source] for source in node.src]
        if node.op is Op.STORE and buffer in node.src[0].src[:1]:
            offsets = [done[source] for source in node.src[0].src[1:]]
            src[0] = rebuild(node.src[0], (buffer, *offsets))
        done[node] = rebuild(node, tuple(src))
    return done[sink]


def _sorted(kernels: list[Kernel], after: list[set[int]]) -> list[int]:
    """A topological order that keeps the order of making where it can."""
    placed: set[int] = set()
    sequence: list[int] = []
    stack = list(reversed(range(len(kernels))))
    entered: set[int] = set()
    while stack:
        at = stack[-1]
        missing = sorted((n for n in after[at] if n not in placed), reverse=True)
        if at in placed:
            stack.pop()
        elif not missing:
            placed.add(at)
            sequence.append(at)
            stack.pop()
        else:
            assert at not in entered or missing, "kernels wait for each other"
            entered.add(at)
            stack += missing
    return sequence


def _with_slots(kernel: Kernel, versions: dict[UOp, Version]) -> Kernel:
    """Replace the stand-ins of versions by the PARAM of their slot."""
    replacements = {}
    for buffer in dict.fromkeys((*kernel.reads, *kernel.targets)):
        version = versions.get(buffer)
        if version is not None:
            arg = ParamArg(version.slot, buffer.arg.elements, buffer.arg.device)
            replacements[buffer] = make(Op.PARAM, buffer.dtype, (), arg)
    if not replacements:
        return kernel
    if kernel.sink is None:
        assert kernel.copies is not None
        return replace(kernel, copies=replacements[kernel.copies])
    return replace(kernel, sink=substitute(kernel.sink, replacements))
