"""What the machine can do at most: arithmetic from registers, and streams through memory.

Both are loops in LLVM's language, compiled for this machine; the calls release Python's lock, so
that threads run beside each other.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter, sleep
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numpy as np

ACCUMULATORS = 16
"""Independent sums: more than the latency of a fused multiply-add times two a cycle needs."""

STEPS = 400_000
STREAM_NBYTES = 64 << 20
ROUNDS = 15
PAUSE = 0.02
"""Seconds between rounds: who else uses the machine now may not do so then."""


class Limits(NamedTuple):
    """What can be reached with all threads.

    Attributes:
        operations: float32 operations a second; a fused multiply-add is two.
        nbytes: bytes read a second.
    """

    operations: float
    nbytes: float


def limits_of(threads: int) -> Limits:
    """Measure this machine; takes about a second."""
    lanes = _lanes()
    engine = _compiled(_arithmetic(lanes) + _reading(lanes))
    signature = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_void_p, ctypes.c_int64)
    arithmetic = signature(engine.get_function_address("arithmetic"))
    reading = signature(engine.get_function_address("reading"))
    data = np.ones(STREAM_NBYTES // 4, np.float32)
    part = data.size // threads // (4 * lanes) * (4 * lanes)
    starts = [data[part * thread :].ctypes.data for thread in range(threads)]
    with ThreadPoolExecutor(threads) as pool:

        def seconds(loop: Callable[[int, int], float], count: int) -> float:
            return min(_one(pool, loop, starts, count) for _ in range(ROUNDS))

        operations = 2.0 * lanes * ACCUMULATORS * STEPS * threads / seconds(arithmetic, STEPS)
        nbytes = 4.0 * part * threads / seconds(reading, part)
    return Limits(operations, nbytes)


def _one(
    pool: ThreadPoolExecutor, loop: Callable[[int, int], float], starts: list[int], count: int
) -> float:
    sleep(PAUSE)
    start = perf_counter()
    list(pool.map(lambda address: loop(address, count), starts))
    return perf_counter() - start


def _lanes() -> int:
    features: dict[str, bool] = llvm.get_host_cpu_features()
    if features.get("avx512f"):
        return 16
    return 8 if features.get("avx2") else 4


def _compiled(text: str) -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=3
    )
    module = llvm.parse_assembly(text)
    module.verify()
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return engine


def _loop(name: str, lanes: int, count: int, step: int, body: list[str]) -> str:
    """A loop over `count` vector sums, which it adds up at the end."""
    vector = f"<{lanes} x float>"
    starts = [
        f"  %s{i} = phi {vector} [ zeroinitializer, %entry ], [ %t{i}, %loop ]"
        for i in range(count)
    ]
    total = [f"  %u0 = fadd {vector} %t0, zeroinitializer"]
    total += [f"  %u{i} = fadd {vector} %u{i - 1}, %t{i}" for i in range(1, count)]
    return "\n".join(
        [
            f"declare float @llvm.vector.reduce.fadd.v{lanes}f32(float, {vector})",
            f"define float @{name}(ptr %data, i64 %count) {{",
            "entry:",
            "  br label %loop",
            "loop:",
            "  %i = phi i64 [ 0, %entry ], [ %next, %loop ]",
            *starts,
            *body,
            f"  %next = add i64 %i, {step}",
            "  %more = icmp slt i64 %next, %count",
            "  br i1 %more, label %loop, label %done",
            "done:",
            *total,
            f"  %r = call reassoc float @llvm.vector.reduce.fadd.v{lanes}f32("
            f"float 0.0, {vector} %u{count - 1})",
            "  ret float %r",
            "}",
            "",
        ]
    )


def _arithmetic(lanes: int) -> str:
    vector = f"<{lanes} x float>"
    body = [f"  %x = load {vector}, ptr %data, align 4"]
    body += [
        f"  %t{i} = call {vector} @llvm.fma.v{lanes}f32({vector} %s{i}, {vector} %x, {vector} %x)"
        for i in range(ACCUMULATORS)
    ]
    declared = f"declare {vector} @llvm.fma.v{lanes}f32({vector}, {vector}, {vector})\n"
    return declared + _loop("arithmetic", lanes, ACCUMULATORS, 1, body)


def _reading(lanes: int) -> str:
    vector = f"<{lanes} x float>"
    body = []
    for i in range(4):
        body += [
            f"  %o{i} = add i64 %i, {i * lanes}",
            f"  %p{i} = getelementptr float, ptr %data, i64 %o{i}",
            f"  %x{i} = load {vector}, ptr %p{i}, align 4",
            f"  %t{i} = fadd {vector} %s{i}, %x{i}",
        ]
    text = _loop("reading", lanes, 4, 4 * lanes, body)
    return text.split("\n", 1)[1]  # what it declares stands above already
