"""The process of `tiny doctor` for one plugin: opens it, and prints how that went as one line."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence

from tiny_ir import TinyError
from tiny_plugin.registry import Registry

__all__ = ["ANSWER", "main"]

ANSWER = "tiny doctor answer: "
"""What the line with the answer begins with; a plugin may print lines of its own."""


def main(arguments: Sequence[str]) -> None:
    """Open the plugin `arguments[1]` of the group `arguments[0]`, and print the answer.

    `arguments[2]` is a runtime that asks for it, whose target it is opened for; "" where none does.
    """
    group, name, asker = arguments
    registry = Registry()
    start = time.perf_counter()
    try:
        answer = _open(registry, group, name, asker)
        answer["seconds"] = time.perf_counter() - start
        answer["good"] = True
        answer["lines"] = [[p.subject, p.good, p.text, p.fix] for p in registry.hooks.probe()]
    except TinyError as error:
        answer = {"good": False, "text": error.what, "fix": error.fix}
    sys.stdout.write(f"\n{ANSWER}{json.dumps(answer)}\n")


def _open(registry: Registry, group: str, name: str, asker: str) -> dict[str, object]:
    """Open one plugin as far as that can be done here."""
    match group:
        case "tiny.runtime":
            runtime = registry.open_runtime(name)
            target = runtime.target
            text = f"opened: {target.name} {target.arch}, {target.cores} at a time"
            return {"text": text, "renderer": runtime.renderer, "compiler": runtime.compiler}
        case "tiny.renderer" if asker:
            registry.open_renderer(name, registry.open_runtime(asker).target)
            return {"text": f"opened for {asker}"}
        case "tiny.compiler" if asker:
            runtime = registry.open_runtime(asker)
            if runtime.renderer:
                registry.open_compiler(name, runtime.target)
            else:
                registry.open_assembler(name, runtime.target)
            return {"text": f"opened for {asker}"}
        case "tiny.codegen":
            registry.open_codegen(name)
        case "tiny.command":
            registry.open_command(name)
        case "tiny.loader":
            registry.open_loader(name)
        case "tiny.hooks":
            registry.open_hooks(name)
        case _:
            registry.load(group, name)
            return {"text": "imported; no runtime here asks for it"}
    return {"text": "opened"}
