"""The null device takes everything and computes nothing."""

from __future__ import annotations

import pytest

from tiny_ir import Op, RunError, dtypes
from tiny_plugin import Call, Registry
from tiny_runtime_null.runtime import NullRuntime
from tiny_runtime_null.target import null_target
from tiny_testing.cases import Case, batch
from tiny_testing.programs import Bench


def test_programs_are_rendered_compiled_and_launched() -> None:
    bench = Bench.open("null")
    column = tuple(map(float, range(32)))
    case = Case(Op.ADD, dtypes.float32, (dtypes.float32,) * 2, (column, column))
    program = batch(bench.runtime.target, "add", [case], 16)
    executable = bench.executable_of(program)
    memories = [bench.runtime.allocate(128) for _ in range(3)]
    for memory in memories:
        bench.runtime.copy_in(memory, bytes(128))
    mark = bench.runtime.launch(executable, memories)
    later = bench.runtime.submit((Call(executable, tuple(memories)),), (mark,))
    bench.runtime.wait(later)
    assert bench.runtime.statistics() == {"allocated_nbytes": 384, "launches": 2}


def test_the_binary_holds_the_text() -> None:
    registry, target = Registry(), null_target()
    program = batch(target, "neg", [Case(Op.NEG, dtypes.int8, (dtypes.int8,), ((1,),))])
    source = registry.open_renderer("c", target).render(program)
    binary = registry.open_compiler("null", target).compile(source)
    assert binary.data.decode() == source.text
    assert binary.program.uops == ()


def test_reading_back_says_that_there_is_nothing() -> None:
    runtime = NullRuntime()
    with pytest.raises(RunError, match="no data to read back"):
        runtime.copy_out(runtime.allocate(4), bytearray(4))


def test_memory_takes_no_room() -> None:
    runtime = NullRuntime()
    memory = runtime.allocate(1 << 60)
    assert memory.piece(1 << 59, 4).offset == 1 << 59
    runtime.free(memory)
    assert runtime.statistics()["allocated_nbytes"] == 0


def test_marks_grow() -> None:
    runtime = NullRuntime()
    first, second = (
        runtime.copy_in(runtime.allocate(4), b""),
        runtime.copy_in(runtime.allocate(4), b""),
    )
    assert second.number > first.number


def test_the_target_is_a_plausible_cpu() -> None:
    target = null_target()
    assert target.lanes(dtypes.float64) == 8
    assert target.supports(Op.FMA, dtypes.float32)
    assert not target.supports(Op.EXP, dtypes.float32)
    assert target.space("scratch") is not None
