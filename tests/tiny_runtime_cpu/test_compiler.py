"""LLVM IR and C become Binaries that run; what cannot be compiled is refused with a cure."""

import os
import sys
from collections.abc import Sequence

import pytest

from tiny_ir import CompileError
from tiny_plugin import Memory
from tiny_runtime_cpu.compiler import CCompiler, LlvmCompiler
from tiny_runtime_cpu.driver import Driver
from tiny_runtime_cpu.image import read_image
from tiny_runtime_cpu.runtime import CpuRuntime

from .kernels import ADD_ONE, STACK_SUM, compiled, compiled_c, program

C_ADD_ONE = """
#include <stdint.h>
void add_one(const int64_t* args, int64_t chunk, int64_t worker) {
  float* p = (float*)args[0] + chunk * 16;
  for (int i = 0; i < 16; i++) p[i] = p[i] + 1.0f;
}
"""
C_LIBRARY_CALLS = """
#include <stdint.h>
float fmodf(float, float);
float expf(float);
void* memset(void*, int, unsigned long);
void calls(const int64_t* args, int64_t chunk, int64_t worker) {
  float* p = (float*)args[0];
  float big[4096];
  memset(big, (int)p[0] - 7, sizeof big);
  p[0] = fmodf(p[0], 4.0f);
  p[1] = expf(0.0f) + big[(int)p[1]];
}
"""
C_POINTERS = """
#include <stdint.h>
double sin(double); double cos(double);
static double twice(double x) { return 2 * x; }
static double (*const table[3])(double) = {sin, cos, twice};
void pick(const int64_t* args, int64_t chunk, int64_t worker) {
  double* p = (double*)args[0];
  for (int i = 0; i < 3; i++) p[i] = table[(i + args[1]) % 3](p[i]);
}
"""
C_SWITCH = """
#include <stdint.h>
void choose(const int64_t* args, int64_t chunk, int64_t worker) {
  int64_t* p = (int64_t*)args[0];
  switch (p[chunk]) {
    case 0: p[chunk] = 11; break; case 1: p[chunk] = 7; break; case 2: p[chunk] = 5; break;
    case 3: p[chunk] = 3; break; case 4: p[chunk] = 1; break; case 5: p[chunk] = p[0] / 3; break;
    default: p[chunk] = -1;
  }
}
"""


class NoTools(Driver):
    """A system without any command-line tool."""

    def find_tool(self, name: str) -> str | None:
        return None

    def names(self, folder: str) -> tuple[str, ...]:
        return ()


class SilentTool(Driver):
    """A compiler that fails without a word."""

    def run_tool(
        self, command: Sequence[str], source: str, suffix: str
    ) -> tuple[bytes | None, str]:
        return None, ""


def floats(runtime: CpuRuntime, memory: Memory) -> list[float]:
    """What a memory holds, as float32."""
    return list(runtime.view(memory).cast("f"))


def test_llvm_ir_runs(runtime: CpuRuntime) -> None:
    executable = runtime.load(
        compiled(ADD_ONE, program("add_one", runtime.target, elements=32, chunks=2))
    )
    memory = runtime.allocate(128)
    runtime.copy_in(memory, bytes(128))
    runtime.launch(executable, [memory])
    runtime.launch(executable, [memory])
    assert floats(runtime, memory) == [2.0] * 32


def test_accumulators_on_the_stack_and_constants_run(runtime: CpuRuntime) -> None:
    executable = runtime.load(
        compiled(STACK_SUM, program("stack_sum", runtime.target, elements=1, chunks=1))
    )
    memory = runtime.allocate(4)
    runtime.launch(executable, [memory])
    assert floats(runtime, memory) == [10.5]


def test_c_runs(runtime: CpuRuntime) -> None:
    facts = program("add_one", runtime.target, elements=32, chunks=2)
    executable = runtime.load(compiled_c(C_ADD_ONE, facts))
    memory = runtime.allocate(128)
    runtime.copy_in(memory, bytes(128))
    runtime.launch(executable, [memory])
    assert floats(runtime, memory) == [1.0] * 32


def test_c_may_call_the_mathematical_library(runtime: CpuRuntime) -> None:
    facts = program("calls", runtime.target, elements=2, chunks=1)
    binary = compiled_c(C_LIBRARY_CALLS, facts)
    assert set(read_image(binary.data).imports.values()) >= {"fmodf", "expf"}
    memory = runtime.allocate(8)
    runtime.view(memory).cast("f")[0] = 7.0
    runtime.view(memory).cast("f")[1] = 100.0
    runtime.launch(runtime.load(binary), [memory])
    assert floats(runtime, memory) == [3.0, 1.0]


def test_c_tables_of_functions_run(runtime: CpuRuntime) -> None:
    facts = program("pick", runtime.target, elements=3, chunks=1, dtype="float64", values=1)
    memory = runtime.allocate(24)
    for position in range(3):
        runtime.view(memory).cast("d")[position] = 0.0
    runtime.launch(runtime.load(compiled_c(C_POINTERS, facts)), [memory], [1])
    assert list(runtime.view(memory).cast("d")) == [1.0, 0.0, 0.0]


def test_c_jump_tables_run(runtime: CpuRuntime) -> None:
    facts = program("choose", runtime.target, elements=8, chunks=8, dtype="int64")
    memory = runtime.allocate(64)
    for position in range(8):
        runtime.view(memory).cast("q")[position] = position
    runtime.launch(runtime.load(compiled_c(C_SWITCH, facts)), [memory])
    values = list(runtime.view(memory).cast("q"))
    assert values[:5] + values[6:] == [11, 7, 5, 3, 1, -1, -1]


def test_objects_run_where_flat_images_do_not() -> None:
    runtime = CpuRuntime(threads=2)
    facts = program("add_one", runtime.target, elements=160, chunks=10)
    binary = compiled(ADD_ONE, facts, flat=False)
    assert binary.format == "object"
    executable = runtime.load(binary)
    memory = runtime.allocate(640)
    runtime.copy_in(memory, bytes(640))
    runtime.launch(executable, [memory])
    assert floats(runtime, memory) == [1.0] * 160
    runtime.close()


def test_a_damaged_object_is_refused(runtime: CpuRuntime) -> None:
    facts = program("add_one", runtime.target, elements=16, chunks=1)
    binary = compiled(ADD_ONE.replace("@add_one", "@other"), facts, flat=False)
    with pytest.raises(CompileError, match="add_one"):
        runtime.load(binary)


def test_compiling_twice_gives_the_same_bytes(runtime: CpuRuntime) -> None:
    facts = program("add_one", runtime.target, elements=32, chunks=2)
    assert compiled(ADD_ONE, facts).data == compiled(ADD_ONE, facts).data


def test_ir_with_a_mistake_is_refused_with_what_llvm_said(runtime: CpuRuntime) -> None:
    facts = program("bad", runtime.target, elements=1, chunks=1)
    with pytest.raises(CompileError, match="expected type"):
        compiled("define void @bad(nonsense) { ret void }", facts)


def test_ir_that_calls_a_library_is_refused_by_name(runtime: CpuRuntime) -> None:
    facts = program("k", runtime.target, elements=1, chunks=1)
    text = "declare void @outside()\ndefine void @k() { call void @outside() ret void }"
    with pytest.raises(CompileError, match="'outside'"):
        compiled(text, facts)


def test_c_that_calls_what_no_kernel_may_call_is_refused(runtime: CpuRuntime) -> None:
    facts = program("k", runtime.target, elements=1, chunks=1)
    with pytest.raises(CompileError, match="'system'"):
        compiled_c("int system(const char*); void k(void) { system(0); }", facts)


def test_c_with_a_mistake_is_refused_with_what_the_compiler_said(runtime: CpuRuntime) -> None:
    facts = program("bad", runtime.target, elements=1, chunks=1)
    with pytest.raises(CompileError, match="error"):
        compiled_c("void bad( { }", facts)


def test_a_compiler_that_says_nothing_is_reported(runtime: CpuRuntime) -> None:
    from tiny_plugin import Source

    facts = program("bad", runtime.target, elements=1, chunks=1)
    compiler = CCompiler(runtime.target, SilentTool())
    with pytest.raises(CompileError, match="it said nothing"):
        compiler.compile(Source("", "c", "bad", facts))


def test_without_a_c_compiler_the_error_says_what_to_install(runtime: CpuRuntime) -> None:
    from tiny_plugin import Source

    facts = program("add_one", runtime.target, elements=32, chunks=2)
    compiler = CCompiler(runtime.target, NoTools(), command="")
    with pytest.raises(CompileError, match="install gcc or clang"):
        compiler.compile(Source(C_ADD_ONE, "c", "add_one", facts))


def test_a_compiler_that_cc_names_and_is_not_there_is_named(
    runtime: CpuRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", "nocc --fast")
    with pytest.raises(CompileError, match="'nocc', which CC names"):
        CCompiler(runtime.target).fingerprint()


def test_fingerprints_are_found_without_importing_llvmlite(runtime: CpuRuntime) -> None:
    import subprocess

    code = (
        "import sys\n"
        "from tiny_runtime_cpu.plugin import compiler, runtime\n"
        "target = runtime().target\n"
        "print(compiler('llvm', target).fingerprint())\n"
        "assert not {'llvmlite', 'subprocess', 'numpy'} & set(sys.modules)\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        env=os.environ | {"TYPED": "0"},
        stdout=subprocess.PIPE,
        text=True,
    ).stdout.strip()
    assert said == LlvmCompiler(runtime.target).fingerprint()
    assert "llvmlite-0" in said


def test_fingerprints_differ_by_features_and_by_format(runtime: CpuRuntime) -> None:
    from dataclasses import replace

    plain = replace(runtime.target, features=())
    prints = {
        LlvmCompiler(runtime.target).fingerprint(),
        LlvmCompiler(plain).fingerprint(),
        LlvmCompiler(plain, flat=False).fingerprint(),
        CCompiler(runtime.target).fingerprint(),
    }
    assert len(prints) == 4


def test_binaries_for_another_machine_can_be_made_here(runtime: CpuRuntime) -> None:
    from dataclasses import replace

    other = "aarch64" if Driver().machine == "x86_64" else "x86-64"
    target = replace(runtime.target, arch=other, features=())
    facts = program("add_one", target, elements=32, chunks=2)
    assert read_image(compiled(ADD_ONE, facts).data).exports["add_one"]
