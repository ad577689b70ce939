"""Mathematical integers get a width that every value fits."""

import pytest

from tiny_codegen.program.narrow_indices import narrow_indices
from tiny_ir import (
    AxisKind,
    Op,
    ParamArg,
    RangeArg,
    VariableArg,
    const,
    dtypes,
    make,
    toposort,
)

WEAK = dtypes.weakint


def counted(size, number=0):
    bound = size if not isinstance(size, int) else const(WEAK, size)
    return make(Op.RANGE, None, (bound,), RangeArg(number, AxisKind.LOOP))


def place(elements, dtype=dtypes.float32, slot=0):
    return make(Op.PARAM, dtype, (), ParamArg(slot, elements, "toy"))


def stored(offset, elements, *axes, valid=()):
    address = make(Op.INDEX, None, (place(elements), offset, *valid))
    store = make(Op.STORE, None, (address, const(dtypes.float32, 1.0)))
    return make(Op.SINK, None, (store.end(*axes),))


def narrowed(sink):
    result = narrow_indices(sink)
    assert not any(node.dtype is WEAK for node in toposort([result]))
    return result


def offset_of(sink):
    (index,) = [node for node in toposort([sink]) if node.op is Op.INDEX]
    return index.src[1]


def test_small_indices_are_int32():
    i = counted(1000)
    offset = offset_of(narrowed(stored(i * 4 + 1, 4000, i)))
    axis = make(Op.RANGE, None, (const(dtypes.int32, 1000),), RangeArg(0, AxisKind.LOOP))
    assert offset is axis * 4 + 1


def test_large_indices_are_int64():
    i = counted(2**20)
    offset = offset_of(narrowed(stored(i * 4096, 2**32, i)))
    assert offset.dtype is dtypes.int64


def test_loops_that_are_closed_stay_loops():
    i, j = counted(2**40), counted(3, 1)
    result = narrowed(stored(i * 3 + j, 3 * 2**40, i, j))
    (end,) = [node for node in toposort([result]) if node.op is Op.END]
    assert [axis.op for axis in end.src[1:]] == [Op.RANGE, Op.RANGE]
    assert [axis.dtype for axis in end.src[1:]] == [dtypes.int64, dtypes.int32]


def test_a_small_remainder_of_a_large_number_is_computed_wide():
    i = counted(2**20)
    result = narrowed(stored((i * 4096 + 5) % 7, 7, i))
    (modulo,) = [node for node in toposort([result]) if node.op is Op.FLOORMOD]
    assert modulo.dtype is dtypes.int64


def test_symbolic_sizes_count_with_their_largest_value():
    for maximum, dtype in ((2**20, dtypes.int32), (2**31, dtypes.int64)):
        n = make(Op.VARIABLE, WEAK, (), VariableArg("n", 1, maximum))
        i = counted(n)
        result = narrowed(stored(i * 2, 2 * maximum, i))
        assert offset_of(result).dtype is dtype


def test_lane_numbers_are_narrow_too():
    i = counted(100)
    lanes = make(Op.IOTA, WEAK, (), 16)
    offset = offset_of(narrowed(stored(i * 16 + lanes, 1600, i)))
    assert offset.dtype is dtypes.int32
    assert offset.shape == (16,)


def test_comparisons_meet_in_the_wider_type():
    i = counted(2**20)
    valid = (i * 4096) < 5
    result = narrowed(stored(i, 2**20, i, valid=(valid,)))
    (comparison,) = [node for node in toposort([result]) if node.op is Op.CMPLT]
    assert {source.dtype for source in comparison.src} == {dtypes.int64}


@pytest.mark.parametrize("dtype", [dtypes.int32, dtypes.int64], ids=str)
def test_gathers_from_small_memory_are_computed_modulo_32_bits(dtype):
    i = counted(10)
    position = make(Op.INDEX, None, (place(10, dtype, 1), i))
    row = make(Op.LOAD, None, (position,)).cast(WEAK)
    offset = make(Op.ADD, None, (row * 4096, i))
    address = make(Op.INDEX, None, (place(2**22), offset))
    store = make(Op.STORE, None, (address, const(dtypes.float32, 1.0)))
    result = narrow_indices(make(Op.SINK, None, (store.end(i),)))
    assert not any(node.dtype in (WEAK, dtypes.int64) for node in toposort([result])) or (
        dtype is dtypes.int64
    )
    found = [node for node in toposort([result]) if node.op is Op.INDEX]
    assert found[-1].src[1].dtype is dtypes.int32


def test_gathers_from_large_memory_are_computed_in_64_bits():
    i = counted(10)
    position = make(Op.INDEX, None, (place(10, dtypes.int64, 1), i))
    row = make(Op.LOAD, None, (position,)).cast(WEAK)
    address = make(Op.INDEX, None, (place(2**40), row * 4096))
    store = make(Op.STORE, None, (address, const(dtypes.float32, 1.0)))
    result = narrow_indices(make(Op.SINK, None, (store.end(i),)))
    found = [node for node in toposort([result]) if node.op is Op.INDEX]
    assert found[-1].src[1].dtype is dtypes.int64


def test_numbers_become_floats_from_their_own_width():
    i = counted(100)
    value = i.cast(dtypes.float32)
    store = make(Op.STORE, None, (place(100).index(i), value))
    result = narrowed(make(Op.SINK, None, (store.end(i),)))
    (cast,) = [node for node in toposort([result]) if node.op is Op.CAST]
    assert cast.src[0].dtype is dtypes.int32


def test_what_has_no_indices_is_left_alone():
    sink = make(Op.SINK, None, (stored(const(dtypes.int32, 3), 10),))
    assert narrow_indices(sink) is sink
