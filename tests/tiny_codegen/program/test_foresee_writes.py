"""Where a kernel counts the places it writes to, the line behind each is fetched early."""

from __future__ import annotations

import numpy as np
import pytest

from tiny_codegen.generator import Generator
from tiny_ir import Op, UOp, dtypes, make
from tiny_plugin import Launch, Options, Program, Registry, Target, pairs, replace

from ..graphs import VERIFIED, WIDE, Sheet, counting, full, loop, result, state, steps

LENGTH, DIGITS, LINE = 200, 4, 64
FETCHES = pairs([Op.PREFETCH], [dtypes.int32])
TARGET = replace(WIDE, supported=WIDE.supported | FETCHES, cache_nbytes=(512,), line_nbytes=LINE)
KEYS = np.random.default_rng(5).integers(0, DIGITS, LENGTH).astype(np.int32)
STARTS = np.searchsorted(np.sort(KEYS), np.arange(DIGITS)).astype(np.int32)


def by_counters(sheet: Sheet, step: UOp) -> int:
    """Keys that each take the next place of their kind."""
    key = sheet.memory(KEYS).index(step).reshape((1,))
    free, placed = state(1, 0, (DIGITS,), dtypes.int32), state(1, 1, (LENGTH,), dtypes.int32)
    at = free.index(key)
    moved = make(Op.SCATTER, None, (free, at + 1, key))
    stored = make(Op.SCATTER, None, (placed, step.cast(dtypes.int32).reshape((1,)), at))
    first = [sheet.memory(STARTS), full(dtypes.int32, 0, (LENGTH,))]
    return sheet.output(result(loop(1, step, first, [moved, stored]), 1))


def by_a_table(sheet: Sheet, step: UOp) -> int:
    """Places that only memory says: nothing is known of the one after each."""
    at = sheet.memory(KEYS).index(step).reshape((1,))
    placed = state(1, 0, (LENGTH,), dtypes.int32)
    stored = make(Op.SCATTER, None, (placed, step.cast(dtypes.int32).reshape((1,)), at))
    return sheet.output(result(loop(1, step, [counting(LENGTH)], [stored]), 0))


def program_of(sheet: Sheet, target: Target) -> Program:
    schedule = Generator().schedule(sheet.graph, {"cpu": target}, Options(spec=1))
    return [s.program for s in schedule.steps if isinstance(s, Launch)][-1]


def fetched(program: Program) -> list[UOp]:
    return [node for node in program.uops if node.op is Op.PREFETCH]


def test_the_next_line_of_each_stream_is_fetched() -> None:
    sheet = Sheet()
    slot = by_counters(sheet, steps(1, LENGTH))
    (fetch,) = fetched(program_of(sheet, TARGET))
    place, ahead = fetch.src[0].src[1].src
    assert ahead.arg == LINE // dtypes.int32.nbytes
    assert place.op is Op.LOAD
    assert np.array_equal(sheet.run(TARGET, VERIFIED)[slot], np.argsort(KEYS, kind="stable"))


def test_nothing_is_fetched_without_a_reason() -> None:
    sheet, table = Sheet(), Sheet()
    by_counters(sheet, steps(1, LENGTH))
    by_a_table(table, steps(1, LENGTH))
    in_cache = replace(TARGET, cache_nbytes=(LENGTH * 4,))
    without = replace(TARGET, supported=WIDE.supported)
    assert not fetched(program_of(sheet, in_cache))
    assert not fetched(program_of(sheet, without))
    assert not fetched(program_of(table, TARGET))


@pytest.mark.parametrize(
    ("name", "word"),
    [("llvm", "call void @llvm.prefetch.p0(ptr %"), ("c", "__builtin_prefetch(&"), ("python", "")],
)
def test_a_language_says_it_in_its_own_words(name: str, word: str) -> None:
    sheet = Sheet()
    by_counters(sheet, steps(1, LENGTH))
    program = program_of(sheet, TARGET)
    text = Registry().open_renderer(name, TARGET).render(program).text
    assert text.count("prefetch") == 0 if not word else word in text
