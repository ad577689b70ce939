"""The plugin: the renderers "llvm", "c" and "python"."""

from __future__ import annotations

from tiny_plugin import Renderer, Target
from tiny_renderers.c import CRenderer
from tiny_renderers.llvm import LlvmRenderer
from tiny_renderers.python import PythonRenderer

TINY_API = (1, 0)


def renderer(name: str, target: Target) -> Renderer:
    """Open the renderer that the entry point `name` offers."""
    match name:
        case "llvm":
            return LlvmRenderer(target)
        case "c":
            return CRenderer(target)
        case _:
            return PythonRenderer(target)
