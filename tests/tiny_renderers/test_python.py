"""The Python text: one readable line a node, every op by the name of what it means."""

from __future__ import annotations

import ast

import pytest

from tiny_ir import Op, UnsupportedError, dtypes, make
from tiny_plugin import Program
from tiny_renderers.python import PythonRenderer
from tiny_testing.cases import Case, batch
from tiny_testing.programs import loop, parameter, program_of

from .kernels import KERNELS, WIDE


def text_of(program: Program) -> str:
    return PythonRenderer(program.target).render(program).text


@pytest.mark.parametrize("kernel", KERNELS)
def test_text_is_python(kernel: str) -> None:
    tree = ast.parse(text_of(KERNELS[kernel]))
    assert isinstance(tree.body[-1], ast.FunctionDef)
    assert tree.body[-1].name == KERNELS[kernel].name


def test_every_function_is_bound_once_in_the_header() -> None:
    header, _, body = text_of(KERNELS["sum_x12"]).partition("\n\n\n")
    assert header.count("ADD_float32 = meaning(Op.ADD, dtypes.float32, dtypes.float32)") == 1
    assert "meaning" not in body


def test_a_conversion_says_from_what() -> None:
    case = Case(Op.CAST, dtypes.int8, (dtypes.bool_,), ((True,),))
    assert "CAST_int8_from_bool = meaning(Op.CAST, dtypes.int8, dtypes.bool_)" in text_of(
        batch(WIDE, "cast", [case])
    )


def test_an_empty_loop_is_still_a_loop() -> None:
    axis = loop(0, 3)
    end = make(Op.END, None, (make(Op.BARRIER), axis))
    assert "        pass" in text_of(Program("empty", WIDE, (axis.src[0], axis, *end.src[:1], end)))


def test_what_belongs_to_graphs_is_refused() -> None:
    data = parameter(0, dtypes.float32, 4)
    with pytest.raises(UnsupportedError, match="FLIP"):
        text_of(Program("flipped", WIDE, (data, data.flip((0,)))))


def test_a_program_without_nodes_does_nothing() -> None:
    assert text_of(program_of("nothing", WIDE, make(Op.SINK))).endswith("    pass\n")
