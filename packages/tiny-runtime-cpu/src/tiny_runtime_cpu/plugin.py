"""The plugin: the runtime "cpu" and its compilers "llvm" and "c"."""

from tiny_plugin import Compiler, Target
from tiny_runtime_cpu.compiler import CCompiler, LlvmCompiler
from tiny_runtime_cpu.runtime import CpuRuntime

TINY_API = (1, 0)


def runtime(ordinal: int = 0) -> CpuRuntime:
    """Open the CPU; there is one, so the ordinal makes no difference."""
    return CpuRuntime()


def compiler(name: str, target: Target) -> Compiler:
    """Open the compiler that the entry point `name` offers."""
    return CCompiler(target) if name == "c" else LlvmCompiler(target)
