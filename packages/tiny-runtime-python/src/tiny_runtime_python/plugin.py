"""The plugin: the runtime "python" and its compiler "python"."""

from __future__ import annotations

from tiny_plugin import Compiler, Runtime, Target

from tiny_runtime_python.compiler import PythonCompiler
from tiny_runtime_python.runtime import PythonRuntime

TINY_API = (1, 0)


def runtime(ordinal: int) -> Runtime:
    """Open the device; all ordinals are alike and share nothing."""
    return PythonRuntime(ordinal)


def compiler(target: Target) -> Compiler:
    """Open the compiler."""
    return PythonCompiler(target)
