"""The order of a Program's list: hard cases, each named for what once broke."""

from __future__ import annotations

from tiny_codegen.program.linearize import linearize
from tiny_ir import (
    AxisKind,
    KernelArg,
    Op,
    ParamArg,
    RangeArg,
    UOp,
    VariableArg,
    const,
    dtypes,
    make,
    verify_program,
)

float32, int32 = dtypes.float32, dtypes.int32


def memory(slot: int) -> UOp:
    return make(Op.PARAM, float32, (), ParamArg(slot, 64, ""))


def axis(number: int, size: UOp) -> UOp:
    return make(Op.RANGE, None, (size,), RangeArg(number, AxisKind.LOOP))


def listed(*effects: UOp) -> list[Op]:
    line = linearize(make(Op.SINK, None, effects, KernelArg("kernel")))
    verify_program(line)
    return [node.op for node in line]


def test_what_does_not_change_in_a_loop_is_computed_before_it() -> None:
    i = axis(0, const(int32, 4))
    fixed = make(Op.LOAD, None, (memory(1).index(const(int32, 3)),)) * 2.0
    order = listed(memory(0).index(i).store(fixed).end(i))
    assert order.index(Op.MUL) < order.index(Op.RANGE) < order.index(Op.STORE)


def test_a_store_stays_in_a_loop_that_may_turn_no_time() -> None:
    # The address does not depend on the loop; the store was made although n was 0.
    n = make(Op.VARIABLE, int32, (), VariableArg("n", 0, 4))
    i = axis(0, n)
    order = listed(memory(0).index(const(int32, 0)).store(const(float32, 1)).end(i))
    assert order.index(Op.RANGE) < order.index(Op.STORE) < order.index(Op.END)


def test_a_loop_stays_inside_a_loop_that_may_turn_no_time() -> None:
    n = make(Op.VARIABLE, int32, (), VariableArg("n", 0, 4))
    i, j = axis(0, n), axis(1, const(int32, 8))
    order = listed(memory(0).index(j).store(const(float32, 1)).end(j).end(i))
    assert [op for op in order if op in (Op.RANGE, Op.STORE, Op.END)] == [
        *(Op.RANGE, Op.RANGE, Op.STORE, Op.END, Op.END)
    ]


def test_loops_nest_by_their_numbers() -> None:
    i, j = axis(7, const(int32, 4)), axis(2, const(int32, 8))
    line = linearize(
        make(Op.SINK, None, (memory(0).index(i * 8 + j).store(const(float32, 1)).end(i, j),))
    )
    assert [node for node in line if node.op is Op.RANGE] == [j, i]
