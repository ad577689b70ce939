"""Memory, copies, launches, lists of calls and captured lists."""

import gc
import weakref
from collections.abc import Callable

import pytest

from tiny_ir import ArgumentError, Op, OutOfMemoryError, RunError, VariableArg, dtypes, make
from tiny_plugin import Binary, Call, Mark
from tiny_runtime_cpu.driver import Driver
from tiny_runtime_cpu.runtime import CpuRuntime

from .kernels import ADD_ONE, MIX, SMALL, compiled, program


@pytest.mark.parametrize("nbytes", [0, 1, 63, 64, 65, 4096, 65536, 65537, 10**6, 9 * 10**6])
def test_memory_is_aligned_and_as_large_as_asked(runtime: CpuRuntime, nbytes: int) -> None:
    memory = runtime.allocate(nbytes)
    assert memory.nbytes == nbytes
    assert isinstance(memory.handle, int)
    assert memory.handle % 64 == 0
    assert runtime.view(memory).nbytes == nbytes


def test_live_blocks_do_not_overlap(runtime: CpuRuntime) -> None:
    sizes = [1, 64, 100, 5000, 70000, 3, 200000, 65536, 65, 4096] * 5
    memories = [runtime.allocate(nbytes) for nbytes in sizes]
    for number, memory in enumerate(memories):
        runtime.view(memory)[:] = bytes([number]) * memory.nbytes
    for number, memory in enumerate(memories):
        assert set(runtime.view(memory)) == {number}


def test_freed_memory_is_used_again(runtime: CpuRuntime) -> None:
    first = runtime.allocate(100)
    runtime.free(first)
    assert runtime.allocate(128).handle == first.handle


def test_freeing_twice_is_refused(runtime: CpuRuntime) -> None:
    memory = runtime.allocate(100)
    runtime.free(memory)
    with pytest.raises(RunError, match="freed before"):
        runtime.free(memory)


def test_reading_freed_memory_is_refused(runtime: CpuRuntime) -> None:
    memory = runtime.allocate(100)
    runtime.free(memory)
    with pytest.raises(RunError, match="no live memory"):
        runtime.view(memory)


def test_a_negative_size_is_refused(runtime: CpuRuntime) -> None:
    with pytest.raises(ArgumentError, match="-1"):
        runtime.allocate(-1)


def test_more_memory_than_there_is_is_refused(runtime: CpuRuntime) -> None:
    with pytest.raises(OutOfMemoryError, match="bytes of memory"):
        runtime.allocate(1 << 62)


def test_views_of_big_blocks_outlive_them(runtime: CpuRuntime) -> None:
    memory = runtime.allocate(10**6)
    view = runtime.view(memory)
    view[:3] = b"abc"
    runtime.free(memory)
    gc.collect()
    assert bytes(view[:3]) == b"abc"


def test_statistics_count_what_is_allocated(runtime: CpuRuntime) -> None:
    memory = runtime.allocate(10**6)
    assert runtime.statistics()["allocated_nbytes"] == 10**6
    runtime.free(memory)
    assert runtime.statistics()["allocated_nbytes"] == 0
    assert runtime.statistics()["peak_nbytes"] == 10**6


@pytest.mark.parametrize("nbytes", [0, 5, 1 << 20])
def test_bytes_come_out_as_they_went_in(runtime: CpuRuntime, nbytes: int) -> None:
    data = bytes(i * 7 % 256 for i in range(min(nbytes, 1000))) * max(1, nbytes // 1000)
    memory = runtime.allocate(len(data))
    mark = runtime.copy_in(memory, data)
    runtime.wait(mark)
    out = bytearray(len(data))
    runtime.copy_out(memory, out, after=[mark])
    assert out == data


def test_copies_take_typed_views_of_several_axes(runtime: CpuRuntime) -> None:
    source = memoryview(bytearray(range(24))).cast("h", (3, 4))  # type: ignore[call-overload]  # mypy knows no list form
    memory = runtime.allocate(24)
    runtime.copy_in(memory, source)
    assert bytes(runtime.view(memory)) == bytes(range(24))


def test_copies_with_gaps_are_refused(runtime: CpuRuntime) -> None:
    with pytest.raises(ArgumentError, match="one after another"):
        runtime.copy_in(runtime.allocate(8), memoryview(bytes(16))[::2])


def test_copies_past_the_end_are_refused(runtime: CpuRuntime) -> None:
    memory = runtime.allocate(8)
    with pytest.raises(ArgumentError, match="9 bytes"):
        runtime.copy_in(memory, bytes(9))
    with pytest.raises(ArgumentError, match="9 bytes"):
        runtime.copy_out(memory, bytearray(9))


def test_copies_into_constant_bytes_are_refused(runtime: CpuRuntime) -> None:
    with pytest.raises(ArgumentError, match="cannot be written"):
        runtime.copy_out(runtime.allocate(8), memoryview(bytes(8)))


def test_pieces_are_read_and_written_at_their_offset(runtime: CpuRuntime) -> None:
    memory = runtime.allocate(16)
    runtime.copy_in(memory, bytes(16))
    runtime.copy_in(memory.piece(4, 4), b"abcd")
    runtime.copy(memory.piece(4, 4), memory.piece(10, 4))
    assert bytes(runtime.view(memory)) == b"\0\0\0\0abcd\0\0abcd\0\0"


def test_a_piece_outside_its_block_is_refused(runtime: CpuRuntime) -> None:
    from dataclasses import replace

    with pytest.raises(ArgumentError, match="not inside"):
        runtime.view(replace(runtime.allocate(64), nbytes=65))


def mixed(runtime: CpuRuntime, chunks: int = 4) -> object:
    """A kernel whose results tell in which order it ran."""
    facts = program("mix", runtime.target, elements=chunks, chunks=chunks, dtype="int64", values=1)
    return runtime.load(compiled(MIX, facts))


def expected(values: list[int], steps: list[int]) -> list[int]:
    """What the kernel MIX makes of values."""
    for step in steps:
        values = [v * 3 + i + step for i, v in enumerate(values)]
    return values


def test_values_reach_the_kernel(runtime: CpuRuntime) -> None:
    memory = runtime.allocate(32)
    runtime.copy_in(memory, bytes(32))
    runtime.launch(mixed(runtime), [memory], [1000])
    assert list(runtime.view(memory).cast("q")) == expected([0] * 4, [1000])


def test_a_list_of_calls_runs_in_order(runtime: CpuRuntime) -> None:
    kernel = mixed(runtime)
    memory = runtime.allocate(32)
    runtime.copy_in(memory, bytes(32))
    steps = [Call(kernel, (memory,), (i,)) for i in range(20)]
    mark = runtime.submit(steps)
    assert isinstance(mark, Mark)
    runtime.wait(mark)
    assert list(runtime.view(memory).cast("q")) == expected([0] * 4, list(range(20)))


def test_an_empty_list_of_calls_gives_a_mark(runtime: CpuRuntime) -> None:
    runtime.wait(runtime.submit([]))


def test_captured_calls_run_again_with_other_memories_and_values(runtime: CpuRuntime) -> None:
    kernel = mixed(runtime)
    one, two = runtime.allocate(32), runtime.allocate(32)
    for memory in (one, two):
        runtime.copy_in(memory, bytes(32))
    captured = runtime.capture([Call(kernel, (one,), (1,)), Call(kernel, (one,), (2,))])
    runtime.replay(captured, (one, one), (1, 2))
    runtime.replay(captured, (one, one), (3, 4))
    runtime.replay(captured, (two, two), (5, 6))
    runtime.replay(captured, (one, one), (7, 8))
    assert list(runtime.view(one).cast("q")) == expected([0] * 4, [1, 2, 3, 4, 7, 8])
    assert list(runtime.view(two).cast("q")) == expected([0] * 4, [5, 6])


def test_a_captured_list_of_one_call_with_one_argument_runs(runtime: CpuRuntime) -> None:
    kernel = runtime.load(
        compiled(ADD_ONE, program("add_one", runtime.target, elements=16, chunks=1))
    )
    one, two = runtime.allocate(64), runtime.allocate(64)
    runtime.copy_in(two, bytes(64))
    captured = runtime.capture([Call(kernel, (one,))])
    runtime.replay(captured, [two])
    assert list(runtime.view(two).cast("f")) == [1.0] * 16


def test_a_captured_list_refuses_another_number_of_memories(runtime: CpuRuntime) -> None:
    kernel = mixed(runtime)
    memory = runtime.allocate(32)
    captured = runtime.capture([Call(kernel, (memory,), (1,))] * 2)
    with pytest.raises(RunError, match="1 memories"):
        runtime.replay(captured, [memory], (1, 2))
    with pytest.raises(RunError, match="3 values"):
        runtime.replay(captured, [memory] * 2, (1, 2, 3))
    with pytest.raises(RunError, match="cannot replay"):
        runtime.replay("something", [memory])


@pytest.mark.parametrize("way", ["launch", "submit", "capture"])
def test_memory_that_is_too_small_is_refused(runtime: CpuRuntime, way: str) -> None:
    kernel = mixed(runtime)
    memory = runtime.allocate(31)
    call = Call(kernel, (memory,), (1,))
    ways: dict[str, Callable[[], object]] = {
        "launch": lambda: runtime.launch(kernel, [memory], [1]),
        "submit": lambda: runtime.submit([call]),
        "capture": lambda: runtime.capture([call]),
    }
    with pytest.raises(RunError, match="argument 0 of mix has 31 bytes"):
        ways[way]()


def test_a_wrong_number_of_arguments_is_refused(runtime: CpuRuntime) -> None:
    kernel = mixed(runtime)
    memory = runtime.allocate(32)
    with pytest.raises(RunError, match="2 memories"):
        runtime.launch(kernel, [memory, memory], [1])
    with pytest.raises(RunError, match="0 values"):
        runtime.launch(kernel, [memory])


def test_a_value_out_of_its_bounds_is_refused(runtime: CpuRuntime) -> None:
    kernel = mixed(runtime)
    memory = runtime.allocate(32)
    for value in (-1, 2**40 + 1, 2**70):
        with pytest.raises(RunError, match="0 to 1099511627776"):
            runtime.launch(kernel, [memory], [value])


def test_what_was_not_loaded_is_refused(runtime: CpuRuntime) -> None:
    with pytest.raises(RunError, match="cannot launch str"):
        runtime.launch("kernel", [])
    with pytest.raises(RunError, match="cannot launch int"):
        runtime.submit([Call(7, ())])


def test_a_grid_may_depend_on_a_value(runtime: CpuRuntime) -> None:
    half = make(Op.VARIABLE, dtypes.weakint, (), VariableArg("v0", 0, 2**40)) // 2
    facts = program("mix", runtime.target, elements=8, chunks=half, dtype="int64", values=1)
    kernel = runtime.load(compiled(MIX, facts))
    memory = runtime.allocate(64)
    runtime.copy_in(memory, bytes(64))
    runtime.launch(kernel, [memory], [6])
    assert list(runtime.view(memory).cast("q")) == [6, 7, 8, 0, 0, 0, 0, 0]
    captured = runtime.capture([Call(kernel, (memory,), (6,))])
    runtime.copy_in(memory, bytes(64))
    runtime.replay(captured, [memory], [2])
    assert list(runtime.view(memory).cast("q")) == [2, 0, 0, 0, 0, 0, 0, 0]


def test_an_unknown_format_is_refused_with_those_it_takes(runtime: CpuRuntime) -> None:
    facts = program("x", runtime.target, elements=1, chunks=1)
    with pytest.raises(RunError, match=r"'flat' and 'object'"):
        runtime.load(Binary(b"", "cubin", "x", facts))


def test_a_damaged_binary_is_refused_with_the_cure(runtime: CpuRuntime) -> None:
    from dataclasses import replace

    facts = program("add_one", runtime.target, elements=16, chunks=1)
    binary = compiled(ADD_ONE, facts)
    with pytest.raises(RunError, match="clear the cache"):
        runtime.load(replace(binary, data=binary.data[:-1]))
    with pytest.raises(RunError, match="no entry 'other'"):
        runtime.load(replace(binary, entry="other"))


def test_a_binary_for_another_machine_is_refused(runtime: CpuRuntime) -> None:
    class Elsewhere(Driver):
        @property
        def machine(self) -> str:
            return "aarch64" if Driver().machine == "x86_64" else "x86_64"

    facts = program("add_one", runtime.target, elements=16, chunks=1)
    with pytest.raises(RunError, match="made for machine"):
        CpuRuntime(Elsewhere(), threads=1).load(compiled(ADD_ONE, facts))


def test_an_executable_keeps_its_code_and_lets_it_go(runtime: CpuRuntime) -> None:
    facts = program("add_one", runtime.target, elements=16, chunks=1, estimates=SMALL)
    binary = compiled(ADD_ONE, facts)
    runtime.load(binary)  # the pool keeps the code of the first image
    executable = runtime.load(binary)
    gone = weakref.ref(executable.code.owner)  # type: ignore[attr-defined]  # a Block
    del executable
    gc.collect()
    assert gone() is None


def test_the_clock_goes_forward(runtime: CpuRuntime) -> None:
    assert runtime.clock() <= runtime.clock()
