"""The plugin: the runtime "null" and its compiler "null"."""

from __future__ import annotations

from tiny_plugin import Target
from tiny_runtime_null.compiler import NullCompiler
from tiny_runtime_null.runtime import NullRuntime

TINY_API = (1, 0)


def runtime(ordinal: int) -> NullRuntime:
    """Open the device; all ordinals are alike and share nothing."""
    return NullRuntime()


def compiler(target: Target) -> NullCompiler:
    """Open the compiler."""
    return NullCompiler(target)
