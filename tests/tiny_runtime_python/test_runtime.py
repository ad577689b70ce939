"""The reference: every op as its table row says, and every mistake of a kernel is found."""

from __future__ import annotations

import pytest

from tiny_ir import (
    ELEMENTWISE,
    ArgumentError,
    Op,
    RunError,
    UOp,
    const,
    dtypes,
    make,
    meaning,
    pack_values,
    unpack_values,
)
from tiny_plugin import Argument, Program, Target, replace
from tiny_runtime_python.runtime import PythonRuntime
from tiny_runtime_python.target import python_target
from tiny_testing.cases import batch, cases_of, contents_of
from tiny_testing.programs import (
    Bench,
    load,
    loop,
    number,
    parameter,
    program_of,
    register,
    scratch,
    store,
    variable,
)

TARGET = python_target()
OPS = sorted(ELEMENTWISE - {Op.CAST, Op.BITCAST}, key=lambda op: op.name)


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench.open("python")


def writes(value: UOp, offset: int = 0) -> Program:
    """A program that writes one value to an argument of four float32."""
    return program_of(
        "writer", TARGET, store(parameter(0, dtypes.float32, 4), number(offset), value)
    )


@pytest.mark.parametrize("lanes", [0, 4], ids=["scalar", "wide"])
@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_kernels_compute_what_the_table_says(bench: Bench, op: Op, lanes: int) -> None:
    cases = [case.padded(lanes) for case in cases_of(op, TARGET)]
    found = bench.run(batch(TARGET, "every", cases, lanes), contents_of(cases))
    slot = 0
    for case in cases:
        function = meaning(op, case.dtype, *case.sources)
        expected = [function(*row) for row in zip(*case.columns, strict=True)]
        got = unpack_values(case.dtype, found[slot])
        wanted = unpack_values(case.dtype, pack_values(case.dtype, expected))
        assert list(map(repr, got)) == list(map(repr, wanted)), case.name
        slot += 1 + len(case.sources)


@pytest.mark.parametrize("offset", [-1, 4, 1 << 40])
def test_reading_outside_an_argument_is_refused(bench: Bench, offset: int) -> None:
    source, out = parameter(1, dtypes.float32, 4), parameter(0, dtypes.float32, 4)
    program = program_of("reader", TARGET, store(out, number(0), load(source, number(offset))))
    with pytest.raises(RunError, match=rf"argument 1 of kernel 'reader'.*reads element {offset}"):
        bench.run(program, [bytes(16), bytes(16)])


@pytest.mark.parametrize("offset", [-1, 4])
def test_writing_outside_an_argument_is_refused(bench: Bench, offset: int) -> None:
    with pytest.raises(RunError, match=f"writes element {offset}"):
        bench.run(writes(const(dtypes.float32, 1.0), offset), [bytes(16)])


def test_lanes_outside_an_argument_are_refused_unless_gated(bench: Bench) -> None:
    source, out = parameter(1, dtypes.int8, 6), parameter(0, dtypes.int8, 4)
    wide = load(source, number(4), 4)
    with pytest.raises(RunError, match="reads element 6"):
        bench.run(program_of("wide", TARGET, store(out, number(0), wide, 4)), [bytes(4), bytes(6)])
    gate = make(Op.IOTA, dtypes.int64, (), 4).alu(Op.CMPLT, 2)
    gated = load(source, number(4), 4, otherwise=const(dtypes.int8, 9), gate=gate)
    program = program_of("gated", TARGET, store(out, number(0), gated, 4))
    found = bench.run(program, [bytes(4), bytes(range(6))])
    assert unpack_values(dtypes.int8, found[0]) == [4, 5, 9, 9]


def test_memory_smaller_than_declared_is_its_own_bound(bench: Bench) -> None:
    with pytest.raises(RunError, match="has 2 elements"):
        bench.run(writes(const(dtypes.float32, 1.0), 3), [bytes(8)])


def test_an_argument_is_only_read_or_written_as_it_says(bench: Bench) -> None:
    program = writes(const(dtypes.float32, 1.0))
    reading = (Argument(dtypes.float32, 4, read=True, written=False),)
    with pytest.raises(RunError, match="declared as not written"):
        bench.run(replace(program, arguments=reading), [bytes(16)])
    data = parameter(0, dtypes.float32, 4)
    program = program_of("copier", TARGET, store(data, number(1), load(data, number(0))))
    writing = (Argument(dtypes.float32, 4, read=False, written=True),)
    with pytest.raises(RunError, match="declared as not read"):
        bench.run(replace(program, arguments=writing), [bytes(16)])


def test_scratch_is_written_before_it_is_read(bench: Bench) -> None:
    fast = scratch(0, dtypes.float32, 4)
    with pytest.raises(RunError, match="before writing it"):
        bench.run(writes(load(fast, number(2))), [bytes(16)])


def test_an_accumulator_is_written_before_it_is_read(bench: Bench) -> None:
    value = make(Op.LOAD, None, (register(0, dtypes.float32),))
    with pytest.raises(RunError, match="reads an accumulator before"):
        bench.run(writes(value), [bytes(16)])


def test_the_grid_may_depend_on_variables(bench: Bench) -> None:
    n = variable("n", 1, 6)
    size = n * number(2)
    place = make(Op.SPECIAL, None, (size,), "grid0")
    out = parameter(0, dtypes.int64, 12)
    program = program_of("grid", TARGET, n, store(out, place, place + number(1)), grid=(size,))
    (found,) = bench.run(program, [bytes(96)], (2,))
    assert unpack_values(dtypes.int64, found) == [1, 2, 3, 4] + [0] * 8


@pytest.mark.parametrize("value", [0, 7])
def test_variables_stay_in_their_bounds(bench: Bench, value: int) -> None:
    n = variable("n", 1, 6)
    axis = loop(0, n)
    write = store(parameter(0, dtypes.int64, 6), axis, axis)
    program = program_of("count", TARGET, n, axis, write, write.end(axis))
    with pytest.raises(ArgumentError, match=f"was given n = {value}"):
        bench.run(program, [bytes(48)], (value,))


def test_a_launch_brings_every_argument(bench: Bench) -> None:
    runtime = bench.runtime
    executable = bench.executable_of(writes(const(dtypes.float32, 1.0)))
    with pytest.raises(ArgumentError, match="takes 1 memories and 0 values"):
        runtime.launch(executable, ())


def test_nans_keep_their_bits_on_the_way_through_a_kernel(bench: Bench) -> None:
    axis = loop(0, 3)
    source, out = parameter(1, dtypes.float32, 3), parameter(0, dtypes.float32, 3)
    program = program_of("copy", TARGET, axis, store(out, axis, load(source, axis)).end(axis))
    bits = pack_values(dtypes.uint32, [0x7F800001, 0xFFC12345, 0x7FC00000])
    assert bench.run(program, [bytes(12), bits])[0] == bits


def test_freed_memory_is_refused() -> None:
    runtime = PythonRuntime()
    memory = runtime.allocate(8)
    runtime.free(memory)
    with pytest.raises(ArgumentError, match="not allocated"):
        runtime.copy_in(memory, b"1")
    with pytest.raises(ArgumentError, match="not allocated"):
        runtime.free(memory)


def test_memory_of_another_runtime_is_refused() -> None:
    with pytest.raises(ArgumentError, match="not allocated"):
        PythonRuntime(1).copy_in(PythonRuntime(0).allocate(8), b"1")


def test_copies_stay_inside_memory() -> None:
    runtime = PythonRuntime()
    memory = runtime.allocate(4)
    with pytest.raises(ArgumentError, match="copy_in of 5 bytes"):
        runtime.copy_in(memory, bytes(5))
    with pytest.raises(ArgumentError, match="copy_out of 5 bytes"):
        runtime.copy_out(memory, bytearray(5))


def test_negative_sizes_are_refused() -> None:
    with pytest.raises(ArgumentError, match="cannot allocate -1"):
        PythonRuntime().allocate(-1)


def test_statistics_count(bench: Bench) -> None:
    runtime = PythonRuntime()
    memory = runtime.allocate(40)
    assert runtime.statistics() == {"allocated_nbytes": 40, "launches": 0}
    runtime.free(memory)
    assert runtime.statistics()["allocated_nbytes"] == 0


def test_fresh_memory_is_not_zero() -> None:
    runtime = PythonRuntime()
    found = bytearray(8)
    runtime.copy_out(runtime.allocate(8), found)
    assert found != bytes(8)


def test_the_target_claims_every_op_that_has_a_meaning() -> None:
    assert isinstance(TARGET, Target)
    for op in OPS:
        assert any(TARGET.supports(op, dtype) for dtype in TARGET.storage), op
    assert not TARGET.supports(Op.EXP, dtypes.int32)
    assert TARGET.float_facts(dtypes.bfloat16) is not None
