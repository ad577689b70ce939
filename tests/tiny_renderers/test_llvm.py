"""What stands in LLVM IR, and what never does."""

from __future__ import annotations

import pytest

from tiny_ir import AxisKind, DType, Op, UnsupportedError, VerificationError, const, dtypes, make
from tiny_plugin import Argument, FloatFacts, Program, Target, pairs
from tiny_renderers.llvm import LlvmRenderer
from tiny_runtime_cpu.compiler import LlvmCompiler
from tiny_testing.cases import Case, batch
from tiny_testing.programs import (
    load,
    loop,
    number,
    parameter,
    program_of,
    register,
    store,
    variable,
)

from .kernels import KERNELS, WIDE

FLAGS = ("fast", "nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc")


def text_of(program: Program) -> str:
    return LlvmRenderer(program.target).render(program).text


@pytest.mark.parametrize("kernel", KERNELS)
def test_nothing_is_on_the_stack_and_no_flag_loosens_floats(kernel: str) -> None:
    words = set(text_of(KERNELS[kernel]).replace("(", " ").split())
    assert not words & {"alloca", "fmuladd", *FLAGS}


def test_only_what_a_turn_hands_on_is_a_phi() -> None:
    out = parameter(0, dtypes.float32, 4)
    source = parameter(1, dtypes.float32, 12)
    i, k = loop(0, 4), loop(1, 3, AxisKind.REDUCE)
    total = register(0, dtypes.float32)
    start = make(Op.STORE, None, (total.after(i), const(dtypes.float32, 0.0)))
    before = make(Op.LOAD, None, (total.after(start, k),))
    step = make(Op.STORE, None, (total, before + load(source, i * number(3) + k)))
    end = step.end(k)
    write = store(out, i, make(Op.LOAD, None, (total.after(end),)))
    text = text_of(program_of("rows", WIDE, i, start, k, step, end, write, write.end(i)))
    assert text.count("phi float") == 1
    assert text.count("phi i64") == 2


def test_vectors_are_as_wide_as_the_target_has_them() -> None:
    assert '"prefer-vector-width"="512"' in text_of(KERNELS["add"])
    narrow = Target("cpu", form="wide", vector_nbytes=(32, 16))
    assert '"prefer-vector-width"="256"' in LlvmRenderer(narrow).render(KERNELS["add"]).text


def test_fma_is_one_rounding_and_only_where_it_stands() -> None:
    values = (1.0,)
    three = (dtypes.float32,) * 3
    fma = batch(WIDE, "fma", [Case(Op.FMA, dtypes.float32, three, (values,) * 3)])
    assert "@llvm.fma.f32" in text_of(fma)
    assert "fma" not in text_of(KERNELS["sum_x12"])


@pytest.mark.parametrize(
    ("op", "dtype", "sources"),
    [(Op.EXP, dtypes.float32, 1), (Op.POW, dtypes.float32, 2), (Op.FLOORDIV, dtypes.int32, 2)],
    ids=lambda value: getattr(value, "name", None),
)
def test_what_needs_a_library_is_refused(op: Op, dtype: DType, sources: int) -> None:
    case = Case(op, dtype, (dtype,) * sources, ((1,),) * sources)
    with pytest.raises(UnsupportedError, match=op.name):
        text_of(batch(WIDE, "function", [case]))


def test_bits_that_are_no_numbers_to_the_target_are_not_computed_with() -> None:
    case = Case(Op.ADD, dtypes.bfloat16, (dtypes.bfloat16,) * 2, ((1.0,), (2.0,)))
    with pytest.raises(UnsupportedError, match="bfloat16"):
        text_of(batch(WIDE, "sum_of_halves", [case]))


def test_a_value_is_not_used_outside_its_loop() -> None:
    out, axis = parameter(0, dtypes.int64, 4), loop(0, 4)
    value = axis * number(3)
    inside, outside = store(out, axis, value), store(out, number(0), value)
    uops = (out, number(4), axis, number(3), value, inside, inside.end(axis), outside)
    with pytest.raises(VerificationError, match="has no value"):
        text_of(Program("wrong", WIDE, uops, arguments=(Argument(dtypes.int64, 4, False, True),)))


def test_loops_nest() -> None:
    out = parameter(0, dtypes.int64, 4)
    i, j = loop(0, 2), loop(1, 2)
    write = store(out, i + j, i)
    uops = (out, number(2), i, j, i + j, write, write.end(i), write.end(j))
    with pytest.raises(VerificationError, match="closes loops"):
        text_of(Program("wrong", WIDE, uops, arguments=(Argument(dtypes.int64, 4, False, True),)))


def test_halves_are_numbers_where_the_target_computes_in_them() -> None:
    halves = (dtypes.float16,)
    target = Target(
        "cpu",
        arch="x86-64-v4",
        form="wide",
        features=("+avx512fp16",),
        vector_nbytes=(64,),
        supported=pairs([Op.ADD, Op.CAST], halves),
        floats=(FloatFacts(dtypes.float16), FloatFacts(dtypes.float64)),
    )
    ones = (1.0,) * 32
    cases = [
        Case(Op.ADD, dtypes.float16, halves * 2, (ones, ones)),
        Case(Op.MAX, dtypes.float16, halves * 2, (ones, ones)),
        Case(Op.CAST, dtypes.float64, halves, (ones,)),
        Case(Op.CAST, dtypes.float16, (dtypes.int32,), ((1,) * 32,)),
    ]
    source = LlvmRenderer(target).render(batch(target, "halves", cases, 32))
    assert "fadd <32 x half>" in source.text
    # It calls nothing: an image would not be made otherwise.
    assert LlvmCompiler(target).compile(source).data


def test_what_a_symbolic_loop_alone_wrote_is_gone_behind_it() -> None:
    n = variable("n", 0, 4)
    total = register(0, dtypes.int32)
    statements = [n]
    for number_of_loop in (0, 1):
        axis = loop(number_of_loop, n)
        start = make(Op.STORE, None, (total.after(axis), axis.cast(dtypes.int32)))
        value = make(Op.LOAD, None, (total.after(start),))
        write = store(parameter(0, dtypes.int32, 4), axis, value)
        statements += [axis, start, write, make(Op.END, None, (start, write, axis))]
    source = LlvmRenderer(WIDE).render(program_of("twice", WIDE, *statements))
    assert "phi i32" not in source.text
