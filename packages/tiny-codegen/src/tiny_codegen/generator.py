"""The code generator: graph -> Schedule of Programs, and kernel -> Program. It keeps nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from time import perf_counter

from tiny_codegen.buffers import loaded_from, memory_of, stored_to
from tiny_codegen.canonical import canonical
from tiny_codegen.kernels.kernel import Kernel
from tiny_codegen.kernels.order import Ordered, order
from tiny_codegen.kernels.rangeify import rangeify
from tiny_codegen.loops.choose import choose
from tiny_codegen.loops.work import operations_of
from tiny_codegen.pipeline import GRAPH_PIPELINE, KERNEL_PIPELINE
from tiny_codegen.program.linearize import linearize
from tiny_codegen.stage import LoopChoice, PluginSlot, Row, Stage
from tiny_ir import Op, Rule, UOp, make, observing, toposort, verify, verify_program
from tiny_plugin import (
    Argument,
    Copy,
    Estimates,
    Launch,
    Measure,
    Options,
    Program,
    Schedule,
    Slot,
    StageReport,
    Step,
    Target,
    Variable,
    replace,
)

CACHE_LINE = 64
"""Bytes at whose multiples every packed copy starts; scratch memory is aligned to as much."""


class Generator:
    """The CodeGenerator of tiny.

    Example:
        >>> Generator().name
        'tiny'
    """

    name = "tiny"

    def schedule(
        self,
        graph: UOp,
        targets: Mapping[str, Target],
        options: Options,
        measure: Measure | None = None,
    ) -> Schedule:
        """Turn a SINK of stores into ordered steps; see `tiny_plugin.CodeGenerator`."""
        ordered = _ordered(graph, targets, options)
        programs: dict[tuple[UOp, str], Program] = {}
        steps: list[Step] = []
        devices = _devices_of(graph, ordered)
        for kernel in ordered.kernels:
            if kernel.sink is None:
                steps.append(_copy_of(kernel))
                continue
            device = devices[kernel.writes[0]]
            if kernel.source is not None:
                steps.append(_launch_of_source(kernel, kernel.source, targets[device]))
                continue
            sink, slots = canonical(kernel.sink)
            key = (sink, device)
            if key not in programs:
                programs[key] = self.lower(sink, targets[device], options)
            steps.append(Launch(programs[key], slots))
        return Schedule(_slots_of(graph, ordered, steps), tuple(steps))

    def lower(self, kernel: UOp, target: Target, options: Options) -> Program:
        """Turn one kernel-level SINK into a Program; see `tiny_plugin.CodeGenerator`."""
        root = kernel
        actions: tuple[str, ...] = ()
        computed = _without(target, options.emulate)
        for row in _rows(KERNEL_PIPELINE, options):
            root, chosen = _run(row, root, computed, options)
            actions += chosen
        line = linearize(root)
        if options.spec:
            verify_program(line)
        return program_of(kernel, line, target, actions)

    def explain(self, kernel: UOp, target: Target, options: Options) -> Sequence[StageReport]:
        """What each stage makes of one kernel; see `tiny_plugin.CodeGenerator`."""
        reports: list[StageReport] = []
        root = kernel
        computed = _without(target, options.emulate)
        for row in _rows(KERNEL_PIPELINE, options):
            fired: dict[str, int] = {}

            def count(rule: Rule, before: UOp, after: UOp, fired: dict[str, int] = fired) -> None:
                fired[rule.name] = fired.get(rule.name, 0) + 1

            started = perf_counter()
            with observing(count):
                root, chosen = _run(row, root, computed, options)
            fired |= dict.fromkeys(chosen, 1)
            seconds = perf_counter() - started
            reports.append(StageReport(row.name, root, tuple(fired.items()), seconds))
        return reports

    def kernels(
        self, graph: UOp, targets: Mapping[str, Target], options: Options
    ) -> Sequence[tuple[str, UOp]]:
        """The kernels that a graph is split into; see `tiny_plugin.CodeGenerator`."""
        ordered = _ordered(graph, targets, options)
        devices = _devices_of(graph, ordered)
        return [
            (devices[kernel.writes[0]], canonical(kernel.sink)[0])
            for kernel in ordered.kernels
            if kernel.sink is not None and kernel.source is None
        ]


def _ordered(graph: UOp, targets: Mapping[str, Target], options: Options) -> Ordered:
    """The kernels of a graph, in order; devices without a name in the graph are the first one."""
    device, target = next(iter(targets.items()))
    for row in _rows(GRAPH_PIPELINE, options):
        graph, _ = _run(row, graph, target, options)
    return order(rangeify(graph, device, fuses=options.fuse), joins=options.fuse)


def _rows(table: Sequence[Row], options: Options) -> Iterator[Stage | LoopChoice]:
    """The pipeline with the stages of plugins in their slots."""
    for row in table:
        if isinstance(row, PluginSlot):
            for extra in options.stages:
                if extra.slot == row.name:
                    yield Stage(extra.name, extra.stage, row.level)
        else:
            yield row


def _run(
    row: Stage | LoopChoice, root: UOp, target: Target, options: Options
) -> tuple[UOp, tuple[str, ...]]:
    """Run one row, and verify what it leaves where the options ask for it."""
    actions: tuple[str, ...] = ()
    if isinstance(row, LoopChoice):
        root, actions = choose(root, target, options)
    else:
        root = row.run(root, target)
    if options.spec:
        verify(root, row.level, allow_weak=isinstance(row, Stage) and row.allows_weak)
    if options.spec and isinstance(row, Stage):
        left = {node.op for node in toposort((root,))} & row.removes
        assert not left, f"{row.name} leaves {left}"
    return root, actions


def _without(target: Target, emulated: tuple[str, ...]) -> Target:
    """The target as if it did not compute in the named dtypes."""
    if not emulated:
        return target
    return replace(
        target,
        supported=frozenset(pair for pair in target.supported if pair[1].name not in emulated),
        floats=tuple(facts for facts in target.floats if facts.dtype.name not in emulated),
    )


def _devices_of(graph: UOp, ordered: Ordered) -> dict[int, str]:
    devices = {t.slot: t.device for t in ordered.temporaries}
    return devices | {
        node.arg.slot: node.arg.device for node in toposort((graph,)) if node.op is Op.PARAM
    }


def program_of(
    kernel: UOp, line: tuple[UOp, ...], target: Target, actions: tuple[str, ...]
) -> Program:
    """The record of a finished kernel: its list and its launch facts."""
    nodes = toposort((kernel,))
    params = sorted((n for n in nodes if n.op is Op.PARAM), key=lambda n: int(n.arg.slot))
    stored = stored_to(nodes)
    loaded = loaded_from(nodes)
    # Memory that the target does not store is accessed as bits, in another dtype.
    accessed = {node.arg.slot: node for node in line if node.op is Op.PARAM}
    arguments = tuple(
        Argument(a.dtype, int(a.arg.elements), p in loaded, p in stored)
        for p in params
        for a in (accessed.get(p.arg.slot, p),)
    )
    variables = sorted({n.arg for n in nodes if n.op is Op.VARIABLE})
    specials = sorted((n for n in line if n.op is Op.SPECIAL), key=lambda n: str(n.arg))
    grid = tuple(n.src[0].arg if n.src[0].op is Op.CONST else n.src[0] for n in specials)
    return Program(
        name=kernel.arg.name if kernel.arg is not None else "kernel",
        target=target,
        uops=line,
        grid=grid,
        arguments=arguments,
        scratch_nbytes=sum(
            -(-n.arg.elements * n.dtype.nbytes // CACHE_LINE) * CACHE_LINE
            for n in line
            if n.op is Op.SCRATCH and n.arg.space == "scratch"
        ),
        variables=tuple(Variable(*variable) for variable in variables),
        estimates=Estimates(
            operations_of(kernel),
            sum(argument.elements * argument.dtype.nbytes for argument in arguments),
        ),
        actions=actions,
    )


def _launch_of_source(kernel: Kernel, call: UOp, target: Target) -> Launch:
    """A kernel that is text already: its Program has the CALL, without inputs, as its one node."""
    assert kernel.sink is not None
    memories = [memory_of(at.src[0] if at.op is Op.STORE else at) for at in kernel.sink.src]
    source = call.arg.source
    program = Program(
        name=source.entry,
        target=target,
        uops=(make(Op.CALL, None, (), call.arg._replace(inputs=())),),
        grid=source.grid,
        workgroup=source.workgroup,
        arguments=tuple(
            Argument(
                memory.dtype, memory.arg.elements, memory in kernel.reads, memory in kernel.targets
            )
            for memory in memories
        ),
        shared_nbytes=source.shared_nbytes,
        scratch_nbytes=source.scratch_nbytes,
    )
    return Launch(program, tuple(int(memory.arg.slot) for memory in memories))


def _copy_of(kernel: Kernel) -> Copy:
    assert kernel.copies is not None
    param = kernel.copies
    return Copy(int(param.arg.slot), kernel.writes[0], param.arg.elements * param.dtype.nbytes)


def _slots_of(graph: UOp, ordered: Ordered, steps: list[Step]) -> tuple[Slot, ...]:
    """The graph's own slots, and the temporaries with their first and last use."""
    slots: dict[int, Slot] = {
        n.arg.slot: Slot(n.dtype, n.arg.elements, n.arg.device)
        for n in toposort((graph,))
        if n.op is Op.PARAM
    }
    uses: dict[int, list[int]] = {}
    for number, step in enumerate(steps):
        used = step.slots if isinstance(step, Launch) else ()
        if isinstance(step, Copy):
            used = (step.source, step.destination)
        for slot in used:
            uses.setdefault(slot, []).append(number)
    for t in ordered.temporaries:
        used_at = uses.get(t.slot, [0])
        slots[t.slot] = Slot(t.dtype, t.elements, t.device, "temporary", used_at[0], used_at[-1])
    return tuple(slots[number] for number in range(len(slots)))
