"""Questions that every renderer asks of a linear list."""

from __future__ import annotations

import pytest

from tiny_ir import AxisKind, Op, UnsupportedError, VerificationError, const, dtypes, make
from tiny_plugin import Program
from tiny_renderers.listing import (
    access_of,
    closed_ranges,
    lanes_of,
    reduction_halves,
    registers_of_loops,
    scratch_offsets,
    value_of,
)
from tiny_testing.programs import load, loop, number, parameter, register, scratch, store

from .kernels import KERNELS, WIDE


def test_a_value_is_below_any_number_of_afters() -> None:
    total = register(0, dtypes.int32)
    start = make(Op.STORE, None, (total, const(dtypes.int32, 0)))
    assert value_of(total.after(start).after(start)) is total


def test_lanes_of_a_value() -> None:
    assert lanes_of(const(dtypes.int32, 1)) == 0
    assert lanes_of(make(Op.IOTA, dtypes.int32, (), 5)) == 5
    assert lanes_of(register(0, dtypes.int32, 7)) == 7


def test_a_value_of_two_axes_is_refused() -> None:
    iota = make(Op.IOTA, dtypes.int32, (), 4)
    with pytest.raises(UnsupportedError, match="one axis"):
        lanes_of(make(Op.STACK, None, (iota, iota)))


def test_accesses_are_one_element_or_contiguous_or_anywhere() -> None:
    data = parameter(0, dtypes.float32, 64)
    iota = make(Op.IOTA, dtypes.int64, (), 4)
    one, row, any_ = (
        access_of(load(data, offset, lanes).src[0])
        for offset, lanes in ((number(1), None), (number(1), 8), (iota, None))
    )
    assert (one.lanes, one.contiguous) == (0, False)
    assert (row.lanes, row.contiguous) == (8, True)
    assert (any_.lanes, any_.contiguous) == (4, False)
    assert one.storage is row.storage is data


def test_an_address_with_a_gate_of_its_own_is_refused() -> None:
    data = parameter(0, dtypes.float32, 64)
    address = make(Op.INDEX, None, (data, number(1), const(dtypes.bool_, True)))
    with pytest.raises(VerificationError, match="is not an address"):
        access_of(address)


def test_registers_written_first_carry_nothing() -> None:
    program = KERNELS["sum"]
    written, carried = registers_of_loops(program.uops)
    (axis,) = written
    assert written[axis] == carried[axis]
    total = register(0, dtypes.int32)
    i, k = loop(0, 2), loop(1, 3, AxisKind.REDUCE)
    start = make(Op.STORE, None, (total.after(i), const(dtypes.int32, 0)))
    before = make(Op.LOAD, None, (total.after(start, k),))
    step = make(Op.STORE, None, (total, before + 1))
    end = step.end(k)
    write = store(parameter(0, dtypes.int32, 2), i, make(Op.LOAD, None, (total.after(end),)))
    uops = (i, start, k, before, step, end, write.src[1], write, write.end(i))
    written, carried = registers_of_loops(uops)
    assert written == {i: (total,), k: (total,)}
    assert carried == {i: (), k: (total,)}


def test_end_closes_the_innermost_loops() -> None:
    i, j = loop(0, 2), loop(1, 2)
    write = store(parameter(0, dtypes.int64, 4), i + j, i)
    assert closed_ranges(write.end(i, j), [i, j]) == [j, i]
    with pytest.raises(VerificationError, match="closes loops"):
        closed_ranges(write.end(i), [i, j])


def test_each_scratch_begins_on_a_cache_line() -> None:
    first, second = scratch(0, dtypes.int8, 65), scratch(1, dtypes.int8, 1)
    program = Program("two", WIDE, (second, first), scratch_nbytes=192)
    assert scratch_offsets(program) == {first: 0, second: 128}


@pytest.mark.parametrize("declared", [64, 200])
def test_scratch_that_is_too_small_or_crooked_is_refused(declared: int) -> None:
    nodes = (scratch(0, dtypes.int8, 65), scratch(1, dtypes.int8, 1))
    with pytest.raises(VerificationError, match="bytes of scratch"):
        scratch_offsets(Program("two", WIDE, nodes, scratch_nbytes=declared))


@pytest.mark.parametrize("lanes", range(1, 40))
def test_halves_use_every_lane_once(lanes: int) -> None:
    left, aside = lanes, 0
    for half, is_odd in reduction_halves(lanes):
        assert left == 2 * half + is_odd
        left, aside = half, aside + is_odd
    assert left == 1
    assert aside <= lanes.bit_length()
