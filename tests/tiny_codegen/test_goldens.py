"""What becomes of real kernels, in the language of tiny: goldens under tests/golden/.

Each file shows the kernels of one graph, and the Program that each becomes with lanes of 64 bytes.
A refactor changes none of them.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tiny_codegen.generator import Generator
from tiny_ir import Op, UOp, text_of
from tiny_plugin import Launch, Options, Program

from .corpus import floats, sheet_of
from .graphs import WIDE, Sheet, layernorm, softmax

Golden = Callable[[str, str], None]


def softmaxed(sheet: Sheet) -> None:
    sheet.output(softmax(sheet.memory(floats(3, 20))))


def normalized(sheet: Sheet) -> None:
    sheet.output(layernorm(sheet.memory(floats(3, 32))))


GRAPHS: dict[str, Callable[[], Sheet]] = {
    **{
        name: lambda name=name: sheet_of(name)
        for name in (
            *("elementwise", "transposed", "rows_summed", "product", "pooled", "one_hot"),
            *("gathered", "scattered", "running", "running_rows", "turning", "ranked", "placed"),
        )
    },
    **{build.__name__: lambda build=build: _built(build) for build in (softmaxed, normalized)},
}


def _built(build: Callable[[Sheet], None]) -> Sheet:
    sheet = Sheet()
    build(sheet)
    return sheet


def listing(program: Program) -> str:
    """The list of a Program: one line a node, indented by the loops around it."""
    names = {node: f"%{number}" for number, node in enumerate(program.uops)}
    depth = 0
    lines = [f"# {program.name}: {', '.join(program.actions) or 'no actions'}"]
    for node in program.uops:
        if node.op is Op.END:
            depth -= sum(source.op is Op.RANGE for source in node.src)
        lines.append("    " * depth + _line(node, names))
        depth += node.op is Op.RANGE
    return "\n".join(lines)


def _line(node: UOp, names: dict[UOp, str]) -> str:
    shape = "x".join(map(str, node.shape))
    kind = f"{node.op.name.lower()}.{node.dtype.name}" + (f"[{shape}]" if shape else "")
    parts = [names[node], "=", kind, *(names[source] for source in node.src)]
    return " ".join(parts if node.arg is None else [*parts, repr(node.arg)])


@pytest.mark.parametrize("name", GRAPHS)
def test_kernels_are_as_they_were(golden: Golden, name: str) -> None:
    sheet = GRAPHS[name]()
    kernels = Generator().kernels(sheet.graph, {"cpu": WIDE}, Options())
    programs = [s.program for s in sheet.schedule(WIDE, Options()).steps if isinstance(s, Launch)]
    parts = [
        f"# kernel {number}\n{text_of(kernel)}\n\n{listing(program)}\n"
        for number, ((_, kernel), program) in enumerate(zip(kernels, programs, strict=True))
    ]
    golden(f"{name}.txt", "\n".join(parts))
