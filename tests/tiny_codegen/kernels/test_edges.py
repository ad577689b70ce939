"""Shapes without elements, without axes, with axes of one; every dtype through a whole kernel."""

from __future__ import annotations

import numpy as np
import pytest

from tiny_ir import DType, Op, const, dtypes, make, pack_values, unpack_values
from tiny_plugin import Options, Target
from tiny_testing.cases import specials
from tiny_testing.schedules import run_schedule

from ..graphs import PLAIN, TARGETS, VERIFIED, Sheet, computed, full, matmul, reference, softmax

each_target = pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
STORED = [dtype for dtype in dtypes.DTYPES.values() if dtype.nbytes]


@each_target
def test_rank_zero(target: Target) -> None:
    one = np.array(3, np.int32)
    assert computed(lambda x: x * 2 + 1, one, target=target) == 7
    assert computed(lambda x: x.reshape((1, 1)).expand((2, 3)), one, target=target).tolist() == [
        [3, 3, 3],
        [3, 3, 3],
    ]
    row = np.arange(40, dtype=np.int32)
    assert computed(lambda x: x.reduce(Op.ADD, (0,)), row, target=target) == 780
    assert computed(lambda x, y: x.index(y), row, np.array(7, np.int32), target=target) == 7


@each_target
def test_axes_of_one(target: Target) -> None:
    x = np.arange(6, dtype=np.int32).reshape(1, 6, 1)
    flipped = computed(lambda x: x.flip((0, 2)).permute((2, 1, 0)), x, target=target)
    assert np.array_equal(flipped, x.transpose(2, 1, 0))
    assert np.array_equal(
        computed(lambda x: x.reduce(Op.ADD, (0, 2)), x, target=target), x[0, :, 0]
    )
    assert computed(lambda x: x.reduce(Op.MAX, (1,)), x, target=target).tolist() == [[5]]
    one = np.array([[2]], np.int32)
    assert computed(matmul, one, one, target=target).tolist() == [[4]]
    single = np.array([[1.5]], np.float32)
    assert computed(softmax, single, target=target).tolist() == [[1]]


@each_target
def test_no_elements(target: Target) -> None:
    none = np.zeros((0, 4), np.float32)
    assert computed(lambda x: x * 2, none, target=target).shape == (0, 4)
    assert computed(lambda x: x.reshape((2, 0, 3)) + 1, none, target=target).shape == (2, 0, 3)
    sums = computed(lambda x: x.reduce(Op.ADD, (0,)), none, target=target)
    assert sums.tobytes() == bytes(16), "an empty sum is +0"
    assert computed(lambda x: x.reduce(Op.MUL, (0,)), none, target=target).tolist() == [1] * 4
    lowest = computed(lambda x: x.reduce(Op.MAX, (0,)), none, target=target)
    assert lowest.tolist() == [-np.inf] * 4
    padded = computed(lambda x: x.pad(((1, 1), (0, 0))), none, target=target)
    assert padded.tolist() == [[0] * 4] * 2
    empty = computed(matmul, none.T.copy(), none, target=target)
    assert empty.tolist() == [[0] * 4] * 4


@each_target
def test_reduction_of_no_axes_that_matter(target: Target) -> None:
    x = np.arange(12, dtype=np.int32).reshape(3, 1, 4)
    assert np.array_equal(computed(lambda x: x.reduce(Op.ADD, (1,)), x, target=target), x[:, 0])
    zero = np.zeros((3, 0, 4), np.int32)
    assert computed(lambda x: x.reduce(Op.MIN, (1,)), zero, target=target).max() == 2**31 - 1


def contents(dtype: DType) -> bytes:
    return pack_values(dtype, specials(dtype))


@each_target
@pytest.mark.parametrize("dtype", STORED, ids=lambda dtype: dtype.name)
def test_every_dtype_moves_unchanged(target: Target, dtype: DType) -> None:
    data = contents(dtype)
    sheet = Sheet()
    count = len(data) // dtype.nbytes
    x = sheet.memory(np.zeros(count, np.float32))  # stands for memory of any dtype
    x = make(Op.PARAM, dtype, (), x.arg)
    y = make(Op.PARAM, dtype, (), x.arg._replace(slot=1))
    sheet.effect(y.store(x.flip((0,))))
    for options in (PLAIN, VERIFIED):
        schedule = sheet.schedule(target, options)
        after = run_schedule(schedule, [data, bytes(len(data))], bench=reference())[1]
        assert repr(unpack_values(dtype, after)) == repr(unpack_values(dtype, data)[::-1])


@each_target
@pytest.mark.parametrize("dtype", STORED, ids=lambda dtype: dtype.name)
def test_every_dtype_reduces(target: Target, dtype: DType) -> None:
    op = Op.OR if dtype.is_bool else Op.MAX
    values = [value for value in specials(dtype) if value == value]
    sheet = Sheet()
    x = make(Op.PARAM, dtype, (), sheet.memory(np.zeros(len(values), np.float32)).arg)
    y = make(Op.PARAM, dtype, (), x.arg._replace(slot=1, elements=1))
    sheet.effect(y.store(x.reduce(op, (0,)).reshape((1,))))
    schedule = sheet.schedule(target)
    data = [pack_values(dtype, values), bytes(dtype.nbytes)]
    (largest,) = unpack_values(dtype, run_schedule(schedule, data, bench=reference())[1])
    assert largest == max(values)


@each_target
def test_bools_are_counted_after_a_cast(target: Target) -> None:
    flags = np.arange(40) % 3 == 0
    both = computed(
        lambda x: (x & (~x.flip((0,)))).cast(dtypes.int32).reduce(Op.ADD, (0,)),
        flags,
        target=target,
    )
    assert both == (flags & ~flags[::-1]).sum()


@each_target
def test_narrow_integers_wrap_at_every_op(target: Target) -> None:
    x = np.arange(-128, 128).astype(np.int8)
    wrapped = computed(lambda x: (x * 3 + 100).cast(dtypes.int32), x, target=target)
    assert np.array_equal(wrapped, (x * np.int8(3) + np.int8(100)).astype(np.int32))
    total = computed(lambda x: x.reduce(Op.ADD, (0,)), x[:100].copy(), target=target)
    assert total == x[:100].sum(dtype=np.int8)


@each_target
def test_sums_of_negative_zero_stay_negative(target: Target) -> None:
    x = np.full((3, 20), -0.0, np.float32)
    for axis in (0, 1):
        total = computed(lambda x, axis=axis: x.reduce(Op.ADD, (axis,)), x, target=target)
        assert np.signbit(total).all()


@each_target
def test_padding_hides_what_is_outside(target: Target) -> None:
    x = np.full((2, 5), np.nan, np.float32)
    padded = computed(lambda x: x.pad(((1, 0), (3, 8))).reduce(Op.MAX, (0,)), x, target=target)
    assert np.array_equal(np.isnan(padded), [False] * 3 + [True] * 5 + [False] * 8)


def test_graphs_without_effects_schedule_nothing() -> None:
    sheet = Sheet()
    assert sheet.schedule().steps == ()
    none = Sheet()
    none.output(full(dtypes.float32, 1, (0,)))
    assert none.schedule(options=Options()).steps == ()


def test_a_constant_is_stored() -> None:
    sheet = Sheet()
    slot = sheet.output(const(dtypes.float32, 2.5).reshape((1,)).expand((3,)))
    assert sheet.run()[slot].tolist() == [2.5] * 3
