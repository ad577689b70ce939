"""The plugin: the runtime "python" and its compiler "python"."""

from __future__ import annotations

from tiny_plugin import Target
from tiny_runtime_python.compiler import PythonCompiler
from tiny_runtime_python.runtime import PythonRuntime

TINY_API = (1, 0)


def runtime(ordinal: int) -> PythonRuntime:
    """Open the device; all ordinals are alike and share nothing."""
    return PythonRuntime(ordinal)


def compiler(target: Target) -> PythonCompiler:
    """Open the compiler."""
    return PythonCompiler(target)
