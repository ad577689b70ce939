"""The chunk pool: every chunk once, in order of kernels, from many threads, across forks."""

import ctypes
import subprocess
import sys
import threading
import time
from array import array
from pathlib import Path

import pytest

from tiny_ir import SettingError
from tiny_plugin import Call
from tiny_runtime_cpu import settings
from tiny_runtime_cpu.driver import Block, Driver
from tiny_runtime_cpu.runtime import CpuRuntime

from .kernels import ADD_ONE, MIX, SCRATCH_SUM, SMALL, SPIN, compiled, compiled_c, program

HERE = Path(__file__).parent


class NoPool(Driver):
    """A system on which the pool cannot have its memory."""

    def allocate_unforked(self, nbytes: int) -> Block | None:
        return None


def thread_count() -> int:
    """How many threads this process has."""
    return len(list(Path("/proc/self/task").iterdir()))


def worked(runtime: CpuRuntime, chunks: int, steps: int) -> list[int]:
    """What MIX makes of zeros in a list of calls."""
    facts = program("mix", runtime.target, elements=chunks, chunks=chunks, dtype="int64", values=1)
    kernel = runtime.load(compiled(MIX, facts))
    memory = runtime.allocate(8 * chunks)
    runtime.copy_in(memory, bytes(8 * chunks))
    runtime.submit([Call(kernel, (memory,), (step,)) for step in range(steps)])
    return list(runtime.view(memory).cast("q"))


def expected(chunks: int, steps: int) -> list[int]:
    """The same, in Python."""
    values = [0] * chunks
    for step in range(steps):
        values = [(v * 3 + i + step + 2**63) % 2**64 - 2**63 for i, v in enumerate(values)]
    return values


@pytest.mark.parametrize("threads", [1, 2, 5, 16])
@pytest.mark.parametrize("chunks", [1, 2, 3, 7, 1000])
def test_results_do_not_depend_on_the_number_of_threads(threads: int, chunks: int) -> None:
    runtime = CpuRuntime(threads=threads)
    assert worked(runtime, chunks, 50) == expected(chunks, 50)
    runtime.close()


def test_without_the_pool_results_are_the_same() -> None:
    runtime = CpuRuntime(NoPool(), threads=4)
    assert worked(runtime, 7, 20) == expected(7, 20)
    runtime.close()


def test_more_chunks_than_a_word_can_count_each_run_once(runtime: CpuRuntime) -> None:
    assert worked(runtime, 150_001, 2) == expected(150_001, 2)


def test_every_chunk_runs_once_in_a_long_list(runtime: CpuRuntime) -> None:
    facts = program("add_one", runtime.target, elements=16 * 64, chunks=64)
    kernel = runtime.load(compiled(ADD_ONE, facts))
    memory = runtime.allocate(64 * 64)
    runtime.copy_in(memory, bytes(64 * 64))
    runtime.submit([Call(kernel, (memory,))] * 2000)
    assert set(runtime.view(memory).cast("f")) == {2000.0}


def test_small_kernels_wake_nobody() -> None:
    runtime = CpuRuntime(threads=3)
    before = thread_count()
    facts = program("add_one", runtime.target, elements=64, chunks=4, estimates=SMALL)
    kernel = runtime.load(compiled(ADD_ONE, facts))
    runtime.launch(kernel, [runtime.allocate(256)])
    assert thread_count() == before
    runtime.close()


def test_workers_start_at_the_first_big_kernel_and_end_with_the_runtime() -> None:
    before = thread_count()
    runtime = CpuRuntime(threads=3)
    worked(runtime, 8, 1)
    assert thread_count() == before + 2
    runtime.close()
    assert thread_count() == before


def test_workers_end_when_the_runtime_is_dropped() -> None:
    before = thread_count()
    worked(CpuRuntime(threads=4), 8, 3)
    assert thread_count() == before


def test_after_closing_kernels_run_on_their_caller_alone() -> None:
    runtime = CpuRuntime(threads=3)
    facts = program("mix", runtime.target, elements=8, chunks=8, dtype="int64", values=1)
    kernel = runtime.load(compiled(MIX, facts))
    runtime.launch(kernel, [runtime.allocate(64)], [1])
    runtime.close()
    runtime.close()
    before = thread_count()
    runtime.launch(kernel, [runtime.allocate(64)], [1])
    assert thread_count() == before


def test_six_python_threads_at_once_each_get_their_own_results(runtime: CpuRuntime) -> None:
    chunks, rounds = 8, 150
    facts = program("mix", runtime.target, elements=chunks, chunks=chunks, dtype="int64", values=1)
    kernel = runtime.load(compiled(MIX, facts))
    wrong: list[int] = []

    def work(number: int) -> None:
        memory = runtime.allocate(8 * chunks)
        for _ in range(rounds):
            runtime.copy_in(memory, bytes(8 * chunks))
            runtime.submit([Call(kernel, (memory,), (step,)) for step in range(6)])
            if list(runtime.view(memory).cast("q")) != expected(chunks, 6):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_six_python_threads_may_replay_one_captured_list(runtime: CpuRuntime) -> None:
    facts = program("add_one", runtime.target, elements=128, chunks=8)
    kernel = runtime.load(compiled(ADD_ONE, facts))
    memories = [runtime.allocate(512) for _ in range(6)]
    for memory in memories:
        runtime.copy_in(memory, bytes(512))
    captured = runtime.capture([Call(kernel, (memories[0],))] * 3)

    def work(number: int) -> None:
        for _ in range(100):
            runtime.replay(captured, [memories[number]] * 3)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [set(runtime.view(memory).cast("f")) for memory in memories] == [{300.0}] * 6


@pytest.mark.parametrize("way", ["submit", "capture"])
def test_every_worker_has_scratch_of_its_own(runtime: CpuRuntime, way: str) -> None:
    facts = program(
        "scratch_sum",
        runtime.target,
        elements=500,
        chunks=500,
        dtype="int64",
        scratch_nbytes=8000,
    )
    kernel = runtime.load(compiled(SCRATCH_SUM, facts))
    memory = runtime.allocate(4000)
    calls = [Call(kernel, (memory,))] * 3
    if way == "submit":
        runtime.submit(calls)
    else:
        runtime.replay(runtime.capture(calls), [memory] * 3)
    assert list(runtime.view(memory).cast("q")) == [1000 * i for i in range(500)]


def test_scratch_is_aligned_and_apart_for_threads_of_python(runtime: CpuRuntime) -> None:
    facts = program(
        "scratch_sum", runtime.target, elements=50, chunks=50, dtype="int64", scratch_nbytes=8000
    )
    kernel = runtime.load(compiled(SCRATCH_SUM, facts))
    wrong: list[int] = []

    def work(number: int) -> None:
        memory = runtime.allocate(400)
        for _ in range(60):
            runtime.launch(kernel, [memory])
            if list(runtime.view(memory).cast("q")) != [1000 * i for i in range(50)]:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize("chunks", [1, 2])
def test_python_runs_on_while_a_kernel_runs(runtime: CpuRuntime, chunks: int) -> None:
    facts = program("spin", runtime.target, elements=1, chunks=chunks, dtype="int64", values=1)
    kernel = runtime.load(compiled(SPIN, facts))
    memory = runtime.allocate(8)
    counts = [0]
    is_running = threading.Event()
    is_running.set()

    def count() -> None:
        while is_running.is_set():
            counts[0] += 1

    counter = threading.Thread(target=count)
    counter.start()
    before = counts[0]
    runtime.launch(kernel, [memory], [200_000_000])
    advanced = counts[0] - before
    is_running.clear()
    counter.join()
    # With the GIL held, the counter would get at most one switch interval in.
    assert advanced > 20_000


def test_an_idle_pool_uses_no_processor_time(runtime: CpuRuntime) -> None:
    worked(runtime, 8, 20)
    time.sleep(0.05)
    before = time.process_time()
    time.sleep(0.3)
    assert time.process_time() - before < 0.03


def test_a_flushing_mode_of_the_caller_does_not_change_results(runtime: CpuRuntime) -> None:
    text = """
    #include <stdint.h>
    void halve(const int64_t* args, int64_t chunk, int64_t worker) {
      float* p = (float*)args[0];
      p[chunk] = p[chunk] * 0.5f;
    }
    """
    if Driver().machine != "x86_64":
        pytest.skip("the mode is set with an instruction of x86")
    setter = program("set_mode", runtime.target, elements=1, chunks=1, dtype="int32")
    set_mode = compiled_c(
        "#include <stdint.h>\n"
        "void set_mode(const int64_t* args, int64_t chunk, int64_t worker)"
        "{ __builtin_ia32_ldmxcsr(*(int*)args[0]); }",
        setter,
    )
    # Called directly, past the run list, which would put the old mode back.
    direct = runtime.load(set_mode)
    call = Driver().function(direct.address, 3)
    halve = runtime.load(compiled_c(text, program("halve", runtime.target, elements=2, chunks=2)))
    memory, mode = runtime.allocate(8), runtime.allocate(4)
    smallest = 2.0**-126
    runtime.view(memory).cast("f")[0] = runtime.view(memory).cast("f")[1] = smallest
    arguments = array("q", [mode.handle])
    runtime.view(mode).cast("i")[0] = 0x9FC0  # flush results and operands to zero
    call(arguments.buffer_info()[0], 0, 0)
    try:
        runtime.launch(halve, [memory])
        is_flushing = ctypes.c_float(smallest).value * 0.5 == 0.0
    finally:
        runtime.view(mode).cast("i")[0] = 0x1F80
        call(arguments.buffer_info()[0], 0, 0)
    assert list(runtime.view(memory).cast("f")) == [smallest / 2] * 2
    assert not is_flushing  # doubles of this size are normal numbers


FORK = """
import os, sys
sys.path.insert(0, {here!r})
from kernels import MIX, compiled, program
from tiny_plugin import Call
from tiny_runtime_cpu.runtime import CpuRuntime

runtime = CpuRuntime(threads=3)
facts = program("mix", runtime.target, elements=16, chunks=16, dtype="int64", values=1)
kernel = runtime.load(compiled(MIX, facts))

def work():
    memory = runtime.allocate(128)
    runtime.copy_in(memory, bytes(128))
    runtime.submit([Call(kernel, (memory,), (step,)) for step in range(30)])
    return list(runtime.view(memory).cast("q"))

right = work()
threads = lambda: len(os.listdir("/proc/self/task"))
for generation in range(3):
    child = os.fork()
    if child == 0:
        assert threads() == 1
        assert all(work() == right for _ in range(20))
        assert threads() == 3, threads()
        if generation == 2:
            runtime.close()
            assert threads() == 1
            os._exit(0)
    else:
        assert os.waitpid(child, 0)[1] == 0
        assert all(work() == right for _ in range(20))
        os._exit(0)
"""


def test_a_forked_child_starts_workers_of_its_own() -> None:
    code = FORK.format(here=str(HERE))
    done = subprocess.run(
        [sys.executable, "-c", code], timeout=60, stderr=subprocess.PIPE, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


FORK_WHILE_BUSY = """
import os, sys, threading
sys.path.insert(0, {here!r})
from kernels import MIX, compiled, program
from tiny_plugin import Call
from tiny_runtime_cpu.runtime import CpuRuntime

runtime = CpuRuntime(threads=2)
facts = program("mix", runtime.target, elements=16, chunks=16, dtype="int64", values=1)
kernel = runtime.load(compiled(MIX, facts))

def work():
    memory = runtime.allocate(128)
    runtime.copy_in(memory, bytes(128))
    runtime.submit([Call(kernel, (memory,), (step,)) for step in range(30)])
    return list(runtime.view(memory).cast("q"))

right = work()
going = True
def always():
    while going:
        work()
busy = [threading.Thread(target=always) for _ in range(2)]
for thread in busy:
    thread.start()
for _ in range(30):
    child = os.fork()
    if child == 0:
        os._exit(0 if work() == right else 1)
    assert os.waitpid(child, 0)[1] == 0
going = False
for thread in busy:
    thread.join()
"""


def test_a_fork_in_the_middle_of_other_lists_gives_a_child_that_works() -> None:
    code = FORK_WHILE_BUSY.format(here=str(HERE))
    done = subprocess.run(
        [sys.executable, "-c", code], timeout=60, stderr=subprocess.PIPE, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


SIGNALS = """
import os, signal, sys, threading, time
sys.path.insert(0, {here!r})
from kernels import MIX, compiled, program
from tiny_plugin import Call
from tiny_runtime_cpu.runtime import CpuRuntime

runtime = CpuRuntime(threads=4)
facts = program("mix", runtime.target, elements=64, chunks=64, dtype="int64", values=1)
kernel = runtime.load(compiled(MIX, facts))
memory = runtime.allocate(512)
runtime.submit([Call(kernel, (memory,), (1,))])
masks = []
for task in os.listdir("/proc/self/task"):
    if int(task) != os.getpid():
        with open(f"/proc/self/task/{{task}}/status") as file:
            masks += [line.split()[1] for line in file if line.startswith("SigBlk")]
assert len(masks) == 3, masks
# All but the two that the C library keeps for itself, KILL and STOP.
assert all(int(mask, 16) & 0x7FFBFEFF == 0x7FFBFEFF for mask in masks), masks
caught = []
signal.signal(signal.SIGALRM, lambda *_: caught.append(threading.current_thread()))
signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
end = time.perf_counter() + 0.3
while time.perf_counter() < end:
    runtime.submit([Call(kernel, (memory,), (1,))] * 50)
signal.setitimer(signal.ITIMER_REAL, 0)
assert len(caught) > 20
assert set(caught) == {{threading.main_thread()}}
"""


def test_signals_reach_python_and_never_a_worker() -> None:
    code = SIGNALS.format(here=str(HERE))
    done = subprocess.run(
        [sys.executable, "-c", code], timeout=60, stderr=subprocess.PIPE, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_process_ends_at_once_while_workers_sleep() -> None:
    code = FORK.split("threads =", maxsplit=1)[0].format(here=str(HERE))
    subprocess.run([sys.executable, "-c", code], timeout=30, check=True)


def test_the_number_of_threads_is_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINY_THREADS", "3")
    assert CpuRuntime().threads == 3
    monkeypatch.setenv("TINY_THREADS", "0")
    runtime = CpuRuntime()
    assert runtime.threads == runtime.target.cores


@pytest.mark.parametrize("text", ["many", "-1", "1.5", "99999"])
def test_a_number_of_threads_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(SettingError, match="TINY_THREADS"):
        settings.threads(text)
