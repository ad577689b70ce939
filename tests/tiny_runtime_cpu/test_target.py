"""The Target of this machine, and of machines that a stand-in driver describes."""

import subprocess
import sys

import llvmlite.binding as llvm
import pytest

from tiny_ir import Op, dtypes
from tiny_runtime_cpu.driver import Driver
from tiny_runtime_cpu.target import host_target


class OtherMachine(Driver):
    """A driver for a machine that is not here."""

    def __init__(self, machine: str, words: str, caches: dict[str, tuple[str, str, str]]) -> None:
        super().__init__()
        self.words = words
        self.described = machine
        self.caches = caches

    @property
    def machine(self) -> str:
        return self.described

    @property
    def processors(self) -> int:
        return 12

    def names(self, folder: str) -> tuple[str, ...]:
        return tuple(self.caches)

    def text(self, path: str) -> str | None:
        if path == "/proc/cpuinfo":
            key = "Features" if self.described == "aarch64" else "flags"
            return f"processor : 0\n{key}\t: {self.words}\n\nprocessor : 1\n{key} : other\n"
        *_, cache, fact = path.split("/")
        level, kind, size = self.caches.get(cache, ("", "", ""))
        return {"level": level, "type": kind, "size": size, "coherency_line_size": "128"}.get(fact)


V3 = "pni ssse3 sse4_1 sse4_2 popcnt cx16 avx avx2 fma f16c bmi1 bmi2 abm movbe"
CACHES = {
    "index0": ("1", "Data", "32K\n"),
    "index1": ("1", "Instruction", "64K\n"),
    "index2": ("2", "Unified", "1M\n"),
}


def test_the_host_has_the_features_that_llvm_finds() -> None:
    ours = set(host_target(Driver()).features)
    theirs = {name for name, has in llvm.get_host_cpu_features().items() if has}
    known = {name for name in llvm.get_host_cpu_features() if "+" + name in ours}
    assert {f"+{name}" for name in known} == ours
    assert known <= theirs


def test_llvm_finds_no_feature_we_know_that_we_do_not_find() -> None:
    from tiny_runtime_cpu.target import _ARM_FEATURES, _X86_FEATURES

    table = _ARM_FEATURES if Driver().machine == "aarch64" else _X86_FEATURES
    theirs = {name for name, has in llvm.get_host_cpu_features().items() if has}
    assert {f"+{name}" for name in theirs & set(table.values())} == set(
        host_target(Driver()).features
    )


def test_the_host_target_is_read_without_llvmlite_and_numpy() -> None:
    code = (
        "import sys\n"
        "from tiny_runtime_cpu.driver import Driver\n"
        "from tiny_runtime_cpu.target import host_target\n"
        "assert host_target(Driver()).cores\n"
        "assert not {'llvmlite', 'numpy'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_two_reads_give_one_key() -> None:
    assert host_target(Driver()).key() == host_target(Driver()).key()


def test_a_machine_with_avx2_has_32_byte_vectors_and_16_registers() -> None:
    target = host_target(OtherMachine("x86_64", V3, CACHES))
    assert target.arch == "x86-64-v3"
    assert target.vector_nbytes == (32, 16)
    assert target.vector_registers == 16
    assert target.has_fma(dtypes.float32)
    assert target.cores == 12


def test_avx512_needs_all_its_parts() -> None:
    whole = V3 + " avx512f avx512bw avx512cd avx512dq avx512vl"
    assert host_target(OtherMachine("x86_64", whole, CACHES)).arch == "x86-64-v4"
    assert host_target(OtherMachine("x86_64", whole, CACHES)).vector_nbytes[0] == 64
    part = V3 + " avx512f avx512cd"
    assert host_target(OtherMachine("x86_64", part, CACHES)).vector_nbytes[0] == 32


def test_a_machine_with_nothing_has_what_every_x86_has() -> None:
    target = host_target(OtherMachine("x86_64", "fpu sse sse2", {}))
    assert target.arch == "x86-64"
    assert target.vector_nbytes == (16,)
    assert not target.has_fma(dtypes.float32)
    assert not target.supports(Op.FLOOR, dtypes.float32)
    assert target.cache_nbytes[0] > 0


def test_a_machine_that_says_nothing_still_has_a_target() -> None:
    silent = OtherMachine("riscv64", "", {})
    target = host_target(silent)
    assert target.arch == "riscv64"
    assert target.vector_nbytes == ()


def test_an_arm_machine_has_neon_and_its_half_floats() -> None:
    target = host_target(OtherMachine("aarch64", "fp asimd asimdhp asimddp", CACHES))
    assert target.vector_nbytes == (16,)
    assert target.vector_registers == 32
    assert target.has_fma(dtypes.float16)
    assert target.features == ("+dotprod", "+fullfp16", "+neon")


def test_data_caches_are_listed_nearest_first() -> None:
    target = host_target(OtherMachine("x86_64", V3, CACHES))
    assert target.cache_nbytes == (32 << 10, 1 << 20)
    assert target.line_nbytes == 128


@pytest.mark.parametrize("dtype", [dtypes.bfloat16, dtypes.float8_e4m3])
def test_small_floats_are_stored_but_not_computed_with(dtype: dtypes.DType) -> None:
    target = host_target(OtherMachine("x86_64", V3, CACHES))
    assert target.stores(dtype)
    assert not target.supports(Op.ADD, dtype)
