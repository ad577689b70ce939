"""`tiny explain`: shows what each stage of the compiler makes of an expression."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from tiny_ir import ArgumentError, UOp, dtypes
from tiny_plugin import CodeGenerator, Program, Renderer, StageReport, Target
from tiny_tensor import nn
from tiny_tensor.engine.canonical import canonical_of
from tiny_tensor.engine.pending import pending_of
from tiny_tensor.session import Session
from tiny_tensor.tensor import Tensor

TINY_API = (1, 0)
EXAMPLE = "(Tensor.empty(64, 64) @ Tensor.empty(64, 64)).relu()"


class Explain:
    """The command."""

    name = "explain"
    summary = "show what each stage of the compiler makes of an expression"

    def run(self, arguments: Sequence[str]) -> int:
        """Print the kernels of an expression, and how each became a Program."""
        parsed = _parser().parse_args(arguments)
        with Session(device=parsed.device, cache_folder="") as session:
            graph = _graph_of(parsed.expression, session)
            device = session.device(session.default_device)
            generator = session.registry.open_codegen(session.codegen_name)
            kernels = generator.kernels(graph, {device.name: device.target}, session.options)
            print(f"{len(kernels)} {'kernel' if len(kernels) == 1 else 'kernels'}")
            for _, kernel in kernels:
                _explain(generator, kernel, device.target, session, parsed.stage)
                if parsed.source and device.runtime.renderer:
                    renderer = session.registry.open_renderer(
                        device.toolchain.renderer_name, device.target
                    )
                    _print_source(generator, renderer, kernel, session)
        return 0


def command() -> Explain:
    """Make the command."""
    return Explain()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("tiny explain", description=f"{Explain.summary}.")
    parser.add_argument(
        "expression",
        nargs="?",
        default=EXAMPLE,
        help=f"Python that gives a Tensor; it knows Tensor, nn and dtypes. Default: {EXAMPLE}",
    )
    parser.add_argument("--stage", help="print the whole graph after this stage")
    parser.add_argument("--source", action="store_true", help="print what the renderer writes")
    parser.add_argument("--device", default=None, help="what to compile for")
    return parser


def _graph_of(expression: str, session: Session) -> UOp:
    """The canonical graph of what an expression gives."""
    # What the user of the command line writes is as trusted as the command itself.
    value = eval(expression, {"Tensor": Tensor, "nn": nn, "dtypes": dtypes})
    if not isinstance(value, Tensor):
        raise ArgumentError(
            f"{expression} is no Tensor.",
            why=f"it gives a {type(value).__name__}.",
            fix=f"write an expression such as {EXAMPLE}",
        )
    pending = pending_of({value.uop: value.device}, (), session)
    if pending is None:
        raise ArgumentError(
            f"{expression} computes nothing.",
            why="its data is in memory already.",
            fix=f"write an expression such as {EXAMPLE}",
        )
    return canonical_of(pending.sink).graph


def _explain(
    generator: CodeGenerator, kernel: UOp, target: Target, session: Session, stage: str | None
) -> None:
    """Print what each stage did with one kernel."""
    program = generator.lower(kernel, target, session.options)
    print(f"\n{_title(program)}")
    before = kernel
    reports = generator.explain(kernel, target, session.options)
    for report in reports:
        if report.root is not before:
            print(f"  {report.name:<22} {report.seconds * 1e3:7.1f} ms   {_fired(report)}".rstrip())
        before = report.root
        if stage == report.name:
            print(report.root)
    names = [report.name for report in reports]
    if stage is not None and stage not in names:
        raise ArgumentError(
            f"there is no stage {stage!r}.",
            why=f"the code generator {generator.name!r} names its stages otherwise.",
            fix=f"choose one of {', '.join(names)}.",
        )


def _title(program: Program) -> str:
    estimates = program.estimates
    grid = " x ".join(map(str, program.grid)) or "1"
    return (
        f"{program.name}: {len(program.uops)} nodes, grid {grid}, "
        f"{estimates.operations} operations, {estimates.nbytes} bytes"
    )


def _fired(report: StageReport, most: int = 4) -> str:
    """The rules that fired, most often first, with how often."""
    ordered = sorted(report.fired, key=lambda pair: -pair[1])
    texts = [name if count == 1 else f"{name} x{count}" for name, count in ordered[:most]]
    if len(ordered) > most:
        texts.append(f"and {len(ordered) - most} more")
    return ", ".join(texts)


def _print_source(
    generator: CodeGenerator, renderer: Renderer, kernel: UOp, session: Session
) -> None:
    program = generator.lower(kernel, renderer.target, session.options)
    source = renderer.render(program)
    print(f"\n  {source.language}:\n{source.text}")
