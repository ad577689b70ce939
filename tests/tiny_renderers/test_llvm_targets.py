"""What the CPU's Target claims is code on every kind of machine: nothing becomes a call."""

from __future__ import annotations

import pytest

from tiny_ir import ELEMENTWISE, DType, Op, UOp, const, dtypes, has_meaning, make
from tiny_plugin import Target
from tiny_renderers.llvm import LlvmRenderer
from tiny_runtime_cpu.compiler import LlvmCompiler
from tiny_runtime_cpu.driver import Driver
from tiny_runtime_cpu.target import host_target
from tiny_testing.cases import Case, batch
from tiny_testing.programs import load, number, parameter, program_of, store

LEVEL_2 = "pni ssse3 sse4_1 sse4_2 popcnt cx16"
LEVEL_3 = f"{LEVEL_2} avx avx2 fma f16c bmi1 bmi2 abm movbe"
LEVEL_4 = f"{LEVEL_3} avx512f avx512bw avx512cd avx512dq avx512vl"
MACHINES = {
    "oldest x86": ("x86_64", "flags : "),
    "x86 level 2": ("x86_64", f"flags : {LEVEL_2}"),
    "x86 level 3": ("x86_64", f"flags : {LEVEL_3}"),
    "x86 level 4": ("x86_64", f"flags : {LEVEL_4}"),
    "x86 with halves": ("x86_64", f"flags : {LEVEL_4} avx512_fp16 avx512_bf16"),
    "arm": ("aarch64", "Features : asimd"),
    "arm with halves": ("aarch64", "Features : asimd asimdhp"),
}
STORED = tuple(dtype for dtype in dtypes.DTYPES.values() if dtype.nbytes)


class OtherMachine(Driver):
    """A driver that says it runs elsewhere."""

    def __init__(self, machine: str, facts: str) -> None:
        super().__init__()
        self._other, self._facts = machine, facts

    @property
    def machine(self) -> str:
        return self._other

    def text(self, path: str) -> str | None:
        return self._facts if path == "/proc/cpuinfo" else super().text(path)


def claimed(target: Target) -> list[Case]:
    """One row of every op on every dtype that the target claims."""
    cases = []
    for op in sorted(ELEMENTWISE - {Op.CAST, Op.BITCAST}, key=lambda op: op.name):
        for dtype in STORED:
            if target.supports(op, dtype) and has_meaning(op, dtype):
                arity = 3 if op in (Op.WHERE, Op.FMA) else 1 if op.value < Op.ADD.value else 2
                sources = (dtypes.bool_, dtype, dtype) if op is Op.WHERE else (dtype,) * arity
                result = make(op, None, tuple(const(one, 1) for one in sources)).dtype
                cases.append(Case(op, result, sources, ((1,),) * arity))
    return cases + [
        Case(Op.CAST, dtype, (source,), ((1,),))
        for source in STORED
        for dtype in STORED
        if target.converts(source, dtype)
    ]


def accesses(dtype: DType, slot: int, lanes: int) -> list[UOp]:
    """Gated and computed accesses of a dtype."""
    source = parameter(slot + 1, dtype, 2 * lanes)
    out = parameter(slot, dtype, 2 * lanes)
    iota = make(Op.IOTA, dtypes.int32, (), lanes)
    gate = iota.alu(Op.CMPLT, 5)
    one = const(dtype, 1)
    row = load(source, number(0), lanes, otherwise=one, gate=gate)
    anywhere = load(source, iota * 2, otherwise=one, gate=gate)
    single = load(source, number(3), otherwise=one, gate=number(1) < number(2))
    return [
        store(out, number(0), row, lanes, gate=gate),
        store(out, iota * 2, anywhere, gate=gate),
        store(out, iota, load(source, iota)),
        store(out, number(1), single, gate=number(1) < number(2)),
    ]


@pytest.mark.parametrize("lanes", [0, 16], ids=["scalar", "16 lanes"])
@pytest.mark.parametrize("name", MACHINES)
def test_no_op_becomes_a_call(name: str, lanes: int) -> None:
    target = host_target(OtherMachine(*MACHINES[name]))
    cases = [case.padded(lanes) for case in claimed(target)]
    source = LlvmRenderer(target).render(batch(target, "claimed", cases, lanes))
    assert LlvmCompiler(target, flat=True).compile(source).data


@pytest.mark.parametrize("name", MACHINES)
def test_no_access_becomes_a_call(name: str) -> None:
    target = host_target(OtherMachine(*MACHINES[name]))
    writes = [w for i, dtype in enumerate(STORED) for w in accesses(dtype, 2 * i, 16)]
    source = LlvmRenderer(target).render(program_of("accesses", target, *writes))
    assert LlvmCompiler(target, flat=True).compile(source).data
