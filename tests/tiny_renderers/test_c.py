"""What stands in C: nothing undefined, nothing that a compiler warns about."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tiny_ir import Op, UnsupportedError, dtypes
from tiny_plugin import FloatFacts, Program, Target, pairs
from tiny_renderers.c import CRenderer
from tiny_testing.cases import Case, batch, cases_of, contents_of
from tiny_testing.programs import Bench

from .kernels import KERNELS, WIDE

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
NEEDS_COMPILER = pytest.mark.skipif(COMPILER is None, reason="this machine has no C compiler")
TRAPS = ["-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"]
INTEGERS = tuple(dtype for dtype in dtypes.DTYPES.values() if dtype.is_int and dtype.nbytes)
INTEGER_OPS = (Op.ADD, Op.SUB, Op.MUL, Op.NEG, Op.CDIV, Op.CMOD, Op.MAX, Op.MIN, Op.SHL, Op.SHR) + (
    Op.AND,
    Op.OR,
    Op.XOR,
    Op.CMPLT,
    Op.WHERE,
)
CHECKED = Target("cpu", supported=pairs(INTEGER_OPS, INTEGERS), storage=frozenset(INTEGERS))


def text_of(program: Program) -> str:
    return CRenderer(program.target).render(program).text


def with_main(program: Program, contents: list[bytes]) -> str:
    """A whole program: it launches the kernel once and writes out all arguments."""
    lines = ["#include <stdio.h>", text_of(program)]
    for i, content in enumerate(contents):
        values = ", ".join(map(str, content))
        lines.append(f"static _Alignas(8) unsigned char bytes{i}[] = {{{values}}};")
    addresses = ", ".join(f"(int64)bytes{i}" for i in range(len(contents)))
    writes = "".join(f"fwrite(bytes{i}, sizeof bytes{i}, 1, stdout);" for i in range(len(contents)))
    lines.append(f"int main(void) {{ int64 arguments[] = {{{addresses}}};")
    lines.append(f"{program.name}(arguments, 0, 0); {writes} return 0; }}")
    return "\n".join(lines)


@NEEDS_COMPILER
@pytest.mark.parametrize("op", INTEGER_OPS, ids=lambda op: op.name)
def test_integers_have_no_undefined_behaviour(op: Op, tmp_path: Path) -> None:
    cases = cases_of(op, CHECKED)
    program, contents = batch(CHECKED, "every", cases), contents_of(cases)
    source, binary = tmp_path / "kernel.c", tmp_path / "kernel"
    source.write_text(with_main(program, contents), encoding="utf-8")
    command = [str(COMPILER), "-std=c11", "-O1", *TRAPS, str(source), "-o", str(binary)]
    subprocess.run(command, check=True)
    found = subprocess.run([str(binary)], check=True, capture_output=True).stdout
    assert found == b"".join(Bench.open("python").run(program, contents))


@NEEDS_COMPILER
@pytest.mark.parametrize("kernel", KERNELS)
def test_compilers_have_nothing_to_say(kernel: str, tmp_path: Path) -> None:
    source = tmp_path / "kernel.c"
    source.write_text(text_of(KERNELS[kernel]), encoding="utf-8")
    flags = ["-std=c11", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror", "-fsyntax-only"]
    subprocess.run([str(COMPILER), *flags, str(source)], check=True)


def test_functions_are_refused() -> None:
    case = Case(Op.EXP, dtypes.float32, (dtypes.float32,), ((1.0,),))
    with pytest.raises(UnsupportedError, match="EXP of"):
        text_of(batch(WIDE, "function", [case]))


def test_bits_that_are_no_numbers_to_the_target_are_not_computed_with() -> None:
    for dtype in (dtypes.float16, dtypes.bfloat16, dtypes.float8_e5m2):
        case = Case(Op.ADD, dtype, (dtype, dtype), ((1.0,), (2.0,)))
        with pytest.raises(UnsupportedError, match=dtype.name):
            text_of(batch(WIDE, "sum", [case]))


def test_halves_are_numbers_where_the_target_computes_in_them() -> None:
    half = dtypes.float16
    target = Target("cpu", floats=(FloatFacts(half),))
    text = text_of(batch(target, "sum", [Case(Op.ADD, half, (half, half), ((1.0,), (2.0,)))]))
    assert "typedef _Float16 float16;" in text
    assert "typedef _Float16 float16;" not in text_of(KERNELS["add"])
