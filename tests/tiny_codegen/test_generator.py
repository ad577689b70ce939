"""The generator as a whole: what it yields is verified, equal every time, and fit to be kept."""

from __future__ import annotations

import pickle
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from tiny_codegen.generator import Generator
from tiny_ir import (
    KERNEL_LEVEL,
    PROGRAM_LEVEL,
    Op,
    UOp,
    VerificationError,
    dtypes,
    make,
    text_of,
    verify,
    verify_program,
)
from tiny_plugin import ExtraStage, Launch, Options, Program, Schedule, Target, replace

from .corpus import GRAPHS, floats, sheet_of
from .graphs import PLAIN, SCALAR, TARGETS, VERIFIED, WIDE, Sheet, matmul, softmax

each_target = pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
each_graph = pytest.mark.parametrize("name", GRAPHS)


def launches(schedule: Schedule) -> list[Launch]:
    return [step for step in schedule.steps if isinstance(step, Launch)]


def text(program: Program) -> str:
    """All that a Program says."""
    facts = replace(program, uops=(), target=Target(program.target.name))
    return f"{facts!r}\n{text_of(make(Op.SINK, None, (program.uops[-1],)))}\n" + "\n".join(
        map(repr, program.uops)
    )


def digests() -> list[str]:
    """One line a graph, for two targets."""
    found = []
    for name in GRAPHS:
        for target in (SCALAR, WIDE):
            texts = map(text, (step.program for step in launches(sheet_of(name).schedule(target))))
            digest = sha256("".join(texts).encode()).hexdigest()
            found.append(f"{name} {target.name} {digest}")
    return found


# The corpus on every target ---------------------------------------------------------------------


@each_graph
@each_target
def test_loop_actions_change_no_result(name: str, target: Target) -> None:
    sheet = sheet_of(name)
    plain = sheet.run(target, PLAIN)
    for one, other in zip(sheet.run(target, VERIFIED), plain, strict=True):
        assert np.array_equal(one, other)


@each_graph
def test_every_program_verifies(name: str) -> None:
    for target in TARGETS.values():
        sheet = sheet_of(name)
        for _, kernel in Generator().kernels(sheet.graph, {"cpu": target}, Options()):
            verify(kernel, KERNEL_LEVEL)
        for step in launches(sheet.schedule(target, Options())):
            verify_program(step.program.uops)


@each_graph
def test_arguments_say_what_is_read_and_written(name: str) -> None:
    # The reference device refuses what an argument does not declare; here the rest: no argument
    # is declared without need, and the slots fit.
    sheet = sheet_of(name)
    schedule = sheet.schedule(WIDE)
    for step in launches(schedule):
        assert len(step.slots) == len(step.program.arguments) == len(set(step.slots))
        for argument, slot in zip(step.program.arguments, step.slots, strict=True):
            assert argument.read or argument.written
            assert argument.dtype is schedule.slots[slot].dtype
            assert argument.elements <= schedule.slots[slot].elements


@each_graph
def test_temporaries_live_from_their_first_use_to_their_last(name: str) -> None:
    schedule = sheet_of(name).schedule(WIDE)
    for number, slot in enumerate(schedule.slots):
        uses = [at for at, step in enumerate(launches(schedule)) if number in step.slots]
        if slot.role == "temporary":
            assert uses, "a temporary that nothing uses"
            assert (slot.first, slot.last) == (uses[0], uses[-1])


# Equal every time -------------------------------------------------------------------------------


def test_equal_graphs_give_identical_programs() -> None:
    assert digests() == digests()
    first, second = (sheet_of("product").schedule(WIDE) for _ in range(2))
    for one, other in zip(launches(first), launches(second), strict=True):
        assert one.program.uops == other.program.uops
        assert one == other


def test_other_processes_give_identical_programs() -> None:
    # Nodes hash by their address; what is allocated before moves all of them.
    script = (
        "import sys; kept = [[] for _ in range(int(sys.argv[1]))]\n"
        "from tests.tiny_codegen.test_generator import digests\n"
        "print('\\n'.join(digests()))"
    )
    root = Path(__file__).parents[2]
    others = [
        subprocess.Popen(
            [sys.executable, "-c", script, count],
            cwd=root,
            env={"PYTHONHASHSEED": count, "PYTHONPATH": ":".join([str(root), *sys.path])},
            stdout=subprocess.PIPE,
            text=True,
        )
        for count in ("1", "77777")
    ]
    expected = digests()
    for other in others:
        printed, _ = other.communicate()
        assert printed.splitlines() == expected


def test_equal_kernels_are_lowered_once() -> None:
    sheet = Sheet()
    x = sheet.memory(floats(6, 8))
    for seed in range(3):
        sheet.output(matmul(x, sheet.memory(floats(8, 5, seed=seed))))
    programs = {id(step.program) for step in launches(sheet.schedule(WIDE))}
    assert len(sheet.schedule(WIDE).steps) == 3
    assert len(programs) == 1


def test_schedules_survive_a_pickle() -> None:
    for name in GRAPHS:
        schedule = sheet_of(name).schedule(WIDE)
        assert pickle.loads(pickle.dumps(schedule)) == schedule


def test_measured_sizes_do_not_matter() -> None:
    # The number of workers changes how work is cut, and no result: floats sum in one order.
    draw = np.random.default_rng(3)
    sheet = Sheet()
    x = sheet.memory(draw.standard_normal((48, 40), np.float32))
    y = sheet.memory(draw.standard_normal((40, 40), np.float32))
    slots = [
        sheet.output(softmax(matmul(x, y))),
        sheet.output(x.reduce(Op.ADD, (0, 1)).reshape((1,))),
    ]
    found = []
    for cores in (1, 2, 8):
        target = replace(WIDE, cores=cores, grid_limits=(1 << 30,))
        schedule = sheet.schedule(target)
        found.append([sheet.run_steps(schedule)[slot].tobytes() for slot in slots])
        if cores > 1:
            assert any(step.program.grid for step in launches(schedule))
    assert found[0] == found[1] == found[2]


def test_one_thread_gets_whole_kernels() -> None:
    sheet = Sheet()
    x = sheet.memory(floats(300, 300))
    sheet.output(x * 2 + x)
    for threads, has_grid in ((0, True), (1, False), (2, True)):
        (step,) = launches(sheet.schedule(WIDE, Options(threads=threads)))
        assert bool(step.program.grid) == has_grid


# Stages of plugins ------------------------------------------------------------------------------


def counted(seen: list[str], name: str) -> ExtraStage:
    def look(root: UOp, target: Target) -> UOp:
        seen.append(name)
        return root

    return ExtraStage(name, f"look at {name}", look)


def test_stages_of_plugins_run_in_their_slots() -> None:
    seen: list[str] = []
    slots = ("graph", "kernel", "loops", "program")
    stages = tuple(counted(seen, name) for name in reversed(slots))
    sheet_of("elementwise").schedule(WIDE, Options(spec=1, stages=stages))
    assert seen == list(slots)


def test_what_a_stage_of_a_plugin_leaves_is_verified() -> None:
    def spoil(root: UOp, target: Target) -> UOp:
        (end,) = root.src
        return make(Op.SINK, None, end.src[:1], root.arg)

    for slot in ("kernel", "loops", "program"):
        stage = ExtraStage(slot, "spoil", spoil)
        with pytest.raises(VerificationError, match="is used outside its END"):
            sheet_of("elementwise").schedule(SCALAR, Options(spec=1, stages=(stage,)))


def test_levels_hold_after_every_stage() -> None:
    reports = Generator().explain(
        Generator().kernels(sheet_of("product").graph, {"cpu": WIDE}, VERIFIED)[0][1],
        WIDE,
        VERIFIED,
    )
    verify(reports[0].root, KERNEL_LEVEL)
    verify(reports[-1].root, PROGRAM_LEVEL)
    names = [report.name for report in reports]
    assert names.index("lower reduce") < names.index("add loads") < names.index("narrow indices")
    assert all(report.seconds >= 0 for report in reports)


def test_emulated_dtypes_are_not_computed_in() -> None:
    sheet = Sheet()
    x = sheet.memory(floats(40).astype(np.float16))
    sheet.output(x * 3 + 1)
    (step,) = launches(sheet.schedule(SCALAR, Options(spec=1, emulate=("float16",))))
    computed = {node.dtype for node in step.program.uops if node.op in (Op.ADD, Op.MUL)}
    assert dtypes.float16 not in computed
