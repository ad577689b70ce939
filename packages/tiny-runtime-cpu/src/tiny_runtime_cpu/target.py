"""Say what the CPU of this machine can do, without asking a compiler.

The features come from what the system itself says, so that a warm start loads no LLVM; a test
compares them with what LLVM finds.
"""

from tiny_ir import DType, Op, dtypes
from tiny_plugin import FloatFacts, Space, Target, pairs
from tiny_runtime_cpu.driver import Driver

# What Linux calls a feature -> what LLVM calls it. Only features that change generated code.
_X86_FEATURES = {
    "pni": "sse3",
    "ssse3": "ssse3",
    "sse4_1": "sse4.1",
    "sse4_2": "sse4.2",
    "popcnt": "popcnt",
    "cx16": "cx16",
    "avx": "avx",
    "avx2": "avx2",
    "fma": "fma",
    "f16c": "f16c",
    "bmi1": "bmi",
    "bmi2": "bmi2",
    "abm": "lzcnt",
    "movbe": "movbe",
    "avx512f": "avx512f",
    "avx512cd": "avx512cd",
    "avx512dq": "avx512dq",
    "avx512bw": "avx512bw",
    "avx512vl": "avx512vl",
    "avx512ifma": "avx512ifma",
    "avx512vbmi": "avx512vbmi",
    "avx512_vbmi2": "avx512vbmi2",
    "avx512_vnni": "avx512vnni",
    "avx512_bitalg": "avx512bitalg",
    "avx512_vpopcntdq": "avx512vpopcntdq",
    "avx512_bf16": "avx512bf16",
    "avx512_fp16": "avx512fp16",
    "avx_vnni": "avxvnni",
    "gfni": "gfni",
    "vpclmulqdq": "vpclmulqdq",
    "vaes": "vaes",
}
_ARM_FEATURES = {
    "asimd": "neon",
    "asimdhp": "fullfp16",
    "asimddp": "dotprod",
    "atomics": "lse",
    "asimdfhm": "fp16fml",
    "i8mm": "i8mm",
    "bf16": "bf16",
    "sve": "sve",
    "sve2": "sve2",
}
# Source: System V ABI for AMD64, section 3.1.1: the levels, here as LLVM names.
_X86_LEVELS = (
    ("x86-64-v4", ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")),
    ("x86-64-v3", ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")),
    ("x86-64-v2", ("cx16", "popcnt", "sse3", "sse4.1", "sse4.2", "ssse3")),
)
_CPU_FOLDER = "/sys/devices/system/cpu/cpu0/cache"
_UNKNOWN_CACHES = (32 << 10, 1 << 20, 8 << 20)  # a small current machine
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}

_INTEGERS = (
    dtypes.int8,
    dtypes.uint8,
    dtypes.int16,
    dtypes.uint16,
    dtypes.int32,
    dtypes.uint32,
    dtypes.int64,
    dtypes.uint64,
)
_STORED = (
    dtypes.bool_,
    *_INTEGERS,
    dtypes.float8_e4m3,
    dtypes.float8_e5m2,
    dtypes.float8_e4m3fnuz,
    dtypes.float8_e5m2fnuz,
    dtypes.float16,
    dtypes.bfloat16,
    dtypes.float32,
    dtypes.float64,
)
_COMPARISONS = (Op.CMPLT, Op.CMPLE, Op.CMPEQ, Op.CMPNE)
_ANY_DTYPE = (*_COMPARISONS, Op.WHERE, Op.BITCAST)
_LOGIC = (Op.AND, Op.OR, Op.XOR)
_INTEGER_OPS = (
    *_ANY_DTYPE,
    *_LOGIC,
    Op.ADD,
    Op.SUB,
    Op.MUL,
    Op.NEG,
    Op.CDIV,
    Op.CMOD,
    Op.SHL,
    Op.SHR,
    Op.MAX,
    Op.MIN,
    Op.CAST,
)
_FLOAT_OPS = (
    *_ANY_DTYPE,
    Op.ADD,
    Op.SUB,
    Op.MUL,
    Op.NEG,
    Op.FDIV,
    Op.SQRT,
    Op.MAX,
    Op.MIN,
    Op.CAST,
)
_ROUNDINGS = (Op.TRUNC, Op.FLOOR, Op.CEIL, Op.ROUND)


def host_target(driver: Driver) -> Target:
    """What this machine can do.

    Args:
        driver: the operating system to ask.

    Returns:
        The Target "cpu". On an unknown machine it claims only what every machine of its kind has.
    """
    machine = driver.machine
    found = _found_features(driver, machine)
    features = tuple("+" + name for name in sorted(found))
    arch = _arch(machine, found)
    has_fma = machine == "aarch64" or "fma" in found
    halves = "fullfp16" in found or "avx512fp16" in found
    floats: list[DType] = [dtypes.float32, dtypes.float64]
    if halves:
        floats.append(dtypes.float16)
    supported = pairs(_INTEGER_OPS, _INTEGERS) | pairs(_FLOAT_OPS, floats)
    supported |= pairs((*_LOGIC, *_ANY_DTYPE, Op.CAST), [dtypes.bool_])
    if machine == "aarch64" or "sse4.1" in found:
        supported |= pairs(_ROUNDINGS, floats)
    if "f16c" in found:
        supported |= pairs([Op.CAST], [dtypes.float16])
    if has_fma:
        supported |= pairs([Op.FMA], floats)
    supported |= pairs([Op.PREFETCH], _STORED)
    return Target(
        name="cpu",
        arch=arch,
        form="wide",
        supported=supported,
        storage=frozenset(_STORED),
        floats=tuple(FloatFacts(dtype, fma=has_fma) for dtype in floats),
        vector_nbytes=_vector_widths(machine, found),
        vector_registers=32 if machine == "aarch64" or "avx512vl" in found else 16,
        registers=31 if machine == "aarch64" else 16,
        cache_nbytes=_caches(driver),
        line_nbytes=_line(driver),
        cores=driver.processors,
        spaces=(Space("global"), Space("scratch")),
        grid_limits=(2**31 - 1,),
        features=features,
    )


def _found_features(driver: Driver, machine: str) -> frozenset[str]:
    names = {"x86_64": _X86_FEATURES, "aarch64": _ARM_FEATURES}.get(machine, {})
    key = "flags" if machine == "x86_64" else "Features"
    for line in (driver.text("/proc/cpuinfo") or "").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return frozenset(names[word] for word in value.split() if word in names)
    return frozenset(("neon",)) if machine == "aarch64" else frozenset()


def _arch(machine: str, found: frozenset[str]) -> str:
    if machine != "x86_64":
        return machine
    needed: set[str] = set().union(*(names for _, names in _X86_LEVELS))
    for level, names in _X86_LEVELS:
        if needed <= found:
            return level
        needed -= set(names)
    return "x86-64"


def _vector_widths(machine: str, found: frozenset[str]) -> tuple[int, ...]:
    if machine == "x86_64":
        # Wide integers and masks need all four of these; a part of AVX-512 alone is not used.
        if {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= found:
            return (64, 32, 16)
        return (32, 16) if "avx2" in found else (16,)
    return (16,) if machine == "aarch64" else ()


def _caches(driver: Driver) -> tuple[int, ...]:
    sizes: dict[int, int] = {}
    for name in driver.names(_CPU_FOLDER):
        level = _fact(driver, name, "level")
        kind = _fact(driver, name, "type")
        size = _fact(driver, name, "size")
        if kind in ("Data", "Unified") and level.isdecimal() and size[:-1].isdecimal():
            sizes[int(level)] = int(size[:-1]) * _UNITS.get(size[-1], 1)
    return tuple(sizes[level] for level in sorted(sizes)) or _UNKNOWN_CACHES


def _line(driver: Driver) -> int:
    text = _fact(driver, "index0", "coherency_line_size")
    return int(text) if text.isdecimal() and int(text) else 64


def _fact(driver: Driver, cache: str, name: str) -> str:
    return (driver.text(f"{_CPU_FOLDER}/{cache}/{name}") or "").strip()
