"""Kernels run in an order in which every read sees the version of memory that it asked for."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tiny_ir import Op, make
from tiny_plugin import Options, Target

from ..graphs import PLAIN, SCALAR, TARGETS, VERIFIED, WIDE, Sheet
from ..histories import History


def check_history(seed: int, target: Target, options: Options) -> None:
    draw = random.Random(seed)
    history = History.of(draw, draw.randint(2, 14))
    found = history.sheet.run(target, options)
    for slot, expected in history.expected().items():
        assert np.array_equal(found[slot], expected), (
            f"seed {seed}, slot {slot}: {found[slot]} is not {expected}"
        )


@pytest.mark.parametrize("first", range(0, 90, 30))
def test_histories_of_reads_and_writes_equal_numpy(first: int) -> None:
    for seed in range(first, first + 30):
        check_history(seed, SCALAR, PLAIN)


@pytest.mark.parametrize("name", TARGETS)
def test_histories_equal_numpy_on_every_target(name: str) -> None:
    first = 1000 * (1 + list(TARGETS).index(name))
    for seed in range(first, first + 12):
        check_history(seed, TARGETS[name], VERIFIED)


def test_a_read_before_a_write_sees_the_old_bytes() -> None:
    sheet = Sheet()
    x = sheet.memory(np.array([1, 2, 3], np.int32))
    store = sheet.effect(x.shrink(((0, 1),)).store(make(Op.CONST, x.dtype, (), 9).reshape((1,))))
    before, after = sheet.output(x + 10), sheet.output(x.after(store) + 10)
    found = sheet.run()
    assert found[before].tolist() == [11, 12, 13]
    assert found[after].tolist() == [19, 12, 13]
    assert found[0].tolist() == [9, 2, 3]


def test_one_value_of_both_versions_needs_a_copy_of_the_old_bytes() -> None:
    sheet = Sheet()
    x = sheet.memory(np.array([1, 2, 3, 4], np.int32))
    store = sheet.effect(x.store(x * 2))
    now = x.after(store).reshape((4, 1)).expand((4, 4))
    slot = sheet.output((now * x.reshape((1, 4)).expand((4, 4))).reduce(Op.ADD, (1,)))
    assert sheet.run()[slot].tolist() == [20, 40, 60, 80]
    # The old bytes are copied in the loop that writes the new ones.
    assert len(sheet.schedule().steps) == 2


def test_overlapping_parts_of_one_memory_are_read_before_they_are_written() -> None:
    sheet = Sheet()
    x = sheet.memory(np.arange(6, dtype=np.int32))
    sheet.effect(x.shrink(((1, 6),)).store(x.shrink(((0, 5),))))
    assert sheet.run(WIDE)[0].tolist() == [0, 0, 1, 2, 3, 4]


def test_a_write_in_place_that_reads_an_older_version_reads_a_copy() -> None:
    # The read and the write have one address, so that only one of them may move to the copy.
    sheet = Sheet()
    x = sheet.memory(np.array([1, 2, 3], np.int32))
    store = sheet.effect(x.shrink(((0, 1),)).store(x.shrink(((1, 2),)) * 7))
    newer = x.after(store)
    sheet.effect(newer.store(x * 10 + newer))
    assert sheet.run()[0].tolist() == [24, 22, 33]


def test_a_value_that_is_stored_whole_is_computed_once() -> None:
    sheet = Sheet()
    x = sheet.memory(np.arange(8, dtype=np.int32))
    value = x * 3 + 1
    stored = sheet.output(value)
    total = sheet.output((value * 2).reduce(Op.ADD, (0,)))
    found = sheet.run()
    assert found[stored].tolist() == [1, 4, 7, 10, 13, 16, 19, 22]
    assert found[total] == 184
    assert len(sheet.schedule().steps) == 2
