"""LOOP and SCAN walk their steps in order: what they carry and store equals Python loops."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from tiny_ir import Op, UnsupportedError, UOp, const, dtypes, make
from tiny_plugin import Target

from ..graphs import (
    TARGETS,
    VERIFIED,
    Sheet,
    full,
    loop,
    matmul,
    result,
    scan,
    softmax,
    state,
    steps,
)

Array = npt.NDArray[np.generic]

int32, float32, bool_ = dtypes.int32, dtypes.float32, dtypes.bool_
COUNT = np.arange(20, dtype=np.int32)
TABLE = np.arange(12, dtype=np.int32).reshape(3, 4)

each_target = pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)


def found(target: Target, build: Callable[[Sheet], list[UOp]]) -> list[Array]:
    """The values that `build` gives."""
    sheet = Sheet()
    slots = [sheet.output(value) for value in build(sheet)]
    after = sheet.run(target, VERIFIED)
    return [after[slot] for slot in slots]


def scatter(base: UOp, value: UOp, *positions: UOp, op: Op | None = None) -> UOp:
    return make(Op.SCATTER, None, (base, value, *positions), op)


@each_target
@pytest.mark.parametrize("rest", [(), (3,), (20,), (2, 5)])
def test_running_sums_and_their_last(target: Target, rest: tuple[int, ...]) -> None:
    array = np.arange(7 * int(np.prod(rest)), dtype=np.int32).reshape(7, *rest)

    def build(sheet: Sheet) -> list[UOp]:
        step = steps(1, 7)
        following = state(1, 0, rest, int32) + sheet.memory(array).index(step)
        sums = scan(1, step, [full(int32, 0, rest)], [following], [following])
        return [result(sums, 1), result(sums, 0)]

    sums, last = found(target, build)
    assert np.array_equal(sums, array.cumsum(0))
    assert np.array_equal(last, array.sum(0))


@each_target
def test_states_that_change_places_are_read_before_they_are_written(target: Target) -> None:
    def build(sheet: Sheet) -> list[UOp]:
        a, b = state(1, 0, (), int32), state(1, 1, (), int32)
        numbers = scan(1, steps(1, 10), [const(int32, 0), const(int32, 1)], [b, a + b], [a])
        x = sheet.memory(COUNT)
        c, d = state(2, 0, (20,), int32), state(2, 1, (20,), int32)
        swapped = loop(2, steps(2, 3), [x, x * 2], [d, c + 1])
        e, f = state(3, 0, (20,), int32), state(3, 1, (20,), int32)
        flipped = loop(3, steps(3, 3), [x, x * 2], [f.flip((0,)), e + 1])
        return [result(numbers, 2), *(result(r, k) for r in (swapped, flipped) for k in (0, 1))]

    numbers, a, b, c, d = found(target, build)
    assert numbers.tolist() == [0, 1, 1, 2, 3, 5, 8, 13, 21, 34]
    assert np.array_equal(a, COUNT * 2 + 1)
    assert np.array_equal(b, COUNT + 2)
    x, y = COUNT, COUNT * 2
    for _ in range(3):
        x, y = y[::-1], x + 1
    assert np.array_equal(c, x)
    assert np.array_equal(d, y)


@each_target
def test_outputs_have_shapes_and_dtypes_of_their_own(target: Target) -> None:
    def build(sheet: Sheet) -> list[UOp]:
        step = steps(1, 3)
        following = state(1, 0, (4,), int32) + sheet.memory(TABLE).index(step)
        spread = following.reshape((4, 1)).expand((4, 2))
        outputs = [following.reduce(Op.ADD, (0,)), spread, step.cast(int32), following < 6]
        walked = scan(1, step, [full(int32, 1, (4,))], [following], outputs)
        one = state(2, 0, (), int32)
        row = sheet.memory(COUNT) + one.reshape((1,)).expand((20,))
        powers = scan(2, steps(2, 3), [const(int32, 1)], [one * 3], [row])
        return [*(result(walked, k) for k in range(5)), result(powers, 1)]

    last, totals, spread, counts, flags, rows = found(target, build)
    sums = 1 + TABLE.cumsum(0)
    assert np.array_equal(last, sums[-1])
    assert np.array_equal(totals, sums.sum(1))
    assert np.array_equal(spread, sums[:, :, None].repeat(2, 2))
    assert counts.tolist() == [0, 1, 2]
    assert np.array_equal(flags, sums < 6)
    assert np.array_equal(rows, COUNT + np.array([[1], [3], [9]]))


@each_target
def test_states_may_differ_in_dtype(target: Target) -> None:
    def build(sheet: Sheet) -> list[UOp]:
        a, b, c = state(1, 0, (), int32), state(1, 1, (), float32), state(1, 2, (), bool_)
        initial = [const(int32, 1), const(float32, 0.5), const(bool_, False)]
        walked = loop(1, steps(1, 4), initial, [a + 1, b * a.cast(float32), c | (a.eq(3))])
        return [result(walked, k) for k in range(3)]

    assert [value.item() for value in found(target, build)] == [5, 12.0, True]


@each_target
def test_a_condition_stops_the_states_for_good(target: Target) -> None:
    def build(sheet: Sheet) -> list[UOp]:
        one = state(1, 0, (), int32)
        doubled = loop(1, steps(1, 50), [const(int32, 1)], [one * 2], one < 100)
        many = state(2, 0, (20,), int32)
        largest = many.reduce(Op.MAX, (0,))
        arrays = loop(2, steps(2, 50), [sheet.memory(COUNT)], [many * 2], largest < 100)
        step = steps(3, 10)
        count = step.cast(int32)
        below_or_above = (count < 3) | (count > 6)
        paused = loop(3, step, [const(int32, 1)], [state(3, 0, (), int32) + 1], below_or_above)
        step = steps(4, 10)
        turned = state(4, 0, (20,), int32).flip((0,)) + 1
        in_memory = loop(4, step, [sheet.memory(COUNT)], [turned], step.cast(int32).ne(3))
        return [result(each, 0) for each in (doubled, arrays, paused, in_memory)]

    doubled, arrays, paused, in_memory = found(target, build)
    assert doubled == 128
    assert np.array_equal(arrays, COUNT * 8)
    assert paused == 4, "a loop that has stopped does not go on"
    assert np.array_equal(in_memory, COUNT[::-1] + 3)


@each_target
def test_a_step_may_read_the_state_anywhere(target: Target) -> None:
    turn = np.array([3, 1, 0, 2], np.int32)
    square = np.array([[1, 1], [1, 0]], np.int32)

    def build(sheet: Sheet) -> list[UOp]:
        x = sheet.memory(turn)
        gathered = make(Op.INDEX, None, (state(1, 0, (4,), int32), x))
        turned = loop(1, steps(1, 3), [x], [gathered])
        chased = loop(2, steps(2, 3), [const(int32, 0)], [x.index(state(2, 0, (), int32))])
        m = sheet.memory(square)
        power = loop(3, steps(3, 6), [m], [matmul(state(3, 0, (2, 2), int32), m)])
        soft = state(4, 0, (4,), float32)
        softened = loop(4, steps(4, 2), [sheet.memory(turn.astype(np.float32))], [softmax(soft)])
        return [result(each, 0) for each in (turned, chased, power, softened)]

    turned, chased, power, softened = found(target, build)
    assert turned.tolist() == turn[turn[turn[turn]]].tolist()
    assert chased == 0
    assert np.array_equal(power, np.linalg.matrix_power(square, 7))
    expected = turn.astype(np.float64)
    for _ in range(2):
        expected = np.exp(expected) / np.exp(expected).sum()
    assert np.allclose(softened, expected, rtol=1e-5)


@each_target
def test_pointer_chasing_keeps_its_state_in_registers(target: Target) -> None:
    sheet = Sheet()
    nexts = np.array([3, 1, 0, 2], np.int32)
    x = sheet.memory(nexts)
    sheet.output(result(loop(1, steps(1, 3), [x], [x.index(state(1, 0, (4,), int32))]), 0))
    walked = sheet.schedule(target).steps[0].program  # type: ignore[union-attr]
    assert any(node.op is Op.REGISTER for node in walked.uops)
    assert len(walked.arguments) == 2


@each_target
def test_a_histogram_writes_one_element_a_step(target: Target) -> None:
    keys = np.array([3, 1, 3, 2, 0, 1, 9, -1], np.int32)

    def build(sheet: Sheet) -> list[UOp]:
        step = steps(1, len(keys))
        position = sheet.memory(keys).index(step).reshape((1,))
        counted = scatter(state(1, 0, (4,), int32), full(int32, 1, (1,)), position, op=Op.ADD)
        return [result(loop(1, step, [full(int32, 0, (4,))], [counted]), 0)]

    (counts,) = found(target, build)
    assert counts.tolist() == [1, 2, 1, 2]


@each_target
def test_a_radix_pass_ranks_and_places_in_order(target: Target) -> None:
    # Two states: where the next key of each digit goes, and the keys in their places. Both next
    # values need the first state as it was.
    draw = np.random.default_rng(5)
    keys = draw.integers(0, 64, 30).astype(np.int32)
    digits = keys % 4
    counts = np.bincount(digits, minlength=4)
    starts = (np.cumsum(counts) - counts).astype(np.int32)

    def build(sheet: Sheet) -> list[UOp]:
        step = steps(1, len(keys))
        key = sheet.memory(keys).index(step)
        digit = key.alu(Op.FLOORMOD, 4)
        places, sorted_ = state(1, 0, (4,), int32), state(1, 1, (30,), int32)
        place = places.index(digit)
        following = [
            scatter(places, full(int32, 1, (1,)), digit.reshape((1,)), op=Op.ADD),
            scatter(sorted_, key.reshape((1,)), place.reshape((1,))),
        ]
        walked = loop(1, step, [sheet.memory(starts), full(int32, 0, (30,))], following)
        return [result(walked, 1)]

    (ranked,) = found(target, build)
    assert np.array_equal(ranked, keys[np.argsort(digits, kind="stable")])


@each_target
def test_an_update_of_several_elements_sees_the_state_as_it_was(target: Target) -> None:
    positions = np.array([2, 0, 2, 5, 1], np.int32)
    rows = np.array([1, 0], np.int32)

    def build(sheet: Sheet) -> list[UOp]:
        at = sheet.memory(positions)
        a = state(1, 0, (6,), int32)
        around = make(Op.INDEX, None, (a.flip((0,)), at)) + 1
        walked = loop(1, steps(1, 3), [sheet.memory(COUNT[:6])], [scatter(a, around, at)])
        b = state(2, 0, (2, 3), int32)
        swapped = scatter(b, b * 2, sheet.memory(rows))
        table = sheet.memory(TABLE.reshape(-1)[:6].reshape(2, 3))
        return [result(walked, 0), result(loop(2, steps(2, 2), [table], [swapped]), 0)]

    walked, swapped = found(target, build)
    expected = COUNT[:6].copy()
    for _ in range(3):
        old = expected.copy()
        for position in positions:
            expected[position] = old[::-1][position] + 1
    assert np.array_equal(walked, expected)
    assert np.array_equal(swapped, TABLE.reshape(-1)[:6].reshape(2, 3) * 4)


@each_target
def test_updates_stop_with_the_condition(target: Target) -> None:
    def build(sheet: Sheet) -> list[UOp]:
        step = steps(1, 10)
        a = state(1, 0, (10,), int32)
        written = scatter(a, full(int32, 7, (1,)), step.cast(int32).reshape((1,)))
        walked = loop(1, step, [full(int32, 0, (10,))], [written], a.reduce(Op.ADD, (0,)) < 21)
        return [result(walked, 0)]

    (after,) = found(target, build)
    assert after.tolist() == [7, 7, 7, 0, 0, 0, 0, 0, 0, 0]


@each_target
def test_recurrences_follow_each_other_and_feed_other_kernels(target: Target) -> None:
    def running(sheet: Sheet, number: int, x: UOp) -> UOp:
        step = steps(number, 3)
        following = state(number, 0, (4,), int32) + x.index(step)
        return result(scan(number, step, [full(int32, 0, (4,))], [following], [following]), 1)

    def build(sheet: Sheet) -> list[UOp]:
        x = sheet.memory(TABLE)
        twice = running(sheet, 2, running(sheet, 1, x))
        initial = x.reduce(Op.ADD, (0,)) * 2
        grown = state(3, 0, (4,), int32) + x.reduce(Op.MAX, (0,))
        heavy = loop(3, steps(3, 3), [initial], [grown])
        return [twice, (twice * 2).reduce(Op.ADD, (1,)), result(heavy, 0)]

    twice, totals, heavy = found(target, build)
    assert np.array_equal(twice, TABLE.cumsum(0).cumsum(0))
    assert np.array_equal(totals, (TABLE.cumsum(0).cumsum(0) * 2).sum(1))
    assert np.array_equal(heavy, TABLE.sum(0) * 2 + 3 * TABLE.max(0))


@each_target
def test_no_steps_and_no_elements(target: Target) -> None:
    def build(sheet: Sheet) -> list[UOp]:
        x = sheet.memory(COUNT)
        never = loop(1, steps(1, 0), [x], [state(1, 0, (20,), int32) + 1])
        never_in_memory = loop(2, steps(2, 0), [x], [state(2, 0, (20,), int32).flip((0,))])
        empty, one = state(3, 0, (0,), int32), state(3, 1, (), int32)
        mixed = loop(3, steps(3, 2), [full(int32, 0, (0,)), const(int32, 1)], [empty, one * 3])
        padded = result(mixed, 0).pad(((0, 2),))
        return [result(never, 0), result(never_in_memory, 0), padded, result(mixed, 1)]

    never, never_in_memory, padded, one = found(target, build)
    assert np.array_equal(never, COUNT)
    assert np.array_equal(never_in_memory, COUNT)
    assert padded.tolist() == [0, 0]
    assert one == 9


def test_results_are_written_where_they_are_stored() -> None:
    # No temporary and no copy, unless something else reads or writes that memory.
    def running(sheet: Sheet) -> UOp:
        step = steps(1, 3)
        following = state(1, 0, (4,), int32) + sheet.memory(TABLE).index(step)
        return scan(1, step, [full(int32, 0, (4,))], [following], [following])

    sheet = Sheet()
    sums = running(sheet)
    slots = [sheet.output(result(sums, at)) for at in (0, 1)]
    again = sheet.output(result(sums, 1) * 2)
    schedule = sheet.schedule()
    assert len(schedule.steps) == 2
    assert all(slot.role == "input" for slot in schedule.slots)
    after = sheet.run()
    assert np.array_equal(after[slots[1]], TABLE.cumsum(0))
    assert np.array_equal(after[again], TABLE.cumsum(0) * 2)
    shared = Sheet()
    place = shared.memory(TABLE)
    old = shared.output(place + 1)
    shared.effect(place.store(result(running(shared), 1)))
    after = shared.run()
    assert np.array_equal(after[old], TABLE + 1)
    assert np.array_equal(after[0], TABLE.cumsum(0))


def test_what_needs_memory_at_every_step_is_refused() -> None:
    sheet = Sheet()
    inner = loop(2, steps(2, 3), [state(1, 0, (), int32)], [state(2, 0, (), int32) + 1])
    outer = loop(1, steps(1, 4), [const(int32, 0)], [result(inner, 0)])
    sheet.output(result(outer, 0))
    with pytest.raises(UnsupportedError, match="stands inside a recurrence"):
        sheet.schedule()


def random_recurrence(draw: random.Random, sheet: Sheet) -> tuple[UOp, list[Array]]:
    """A LOOP with random states and bodies, and its final states by a Python loop."""
    size, count = draw.choice((1, 3, 6, 9)), draw.randint(1, 3)
    starts = [np.array([draw.randint(-4, 4) for _ in range(size)], np.int32) for _ in range(count)]
    fixed = np.array([draw.randint(-2, size) for _ in range(size)], np.int32)
    x, taken = sheet.memory(fixed), draw.randint(1, 4)
    step = steps(1, taken)

    def padded(values: Array) -> Array:
        return np.concatenate([values, np.zeros(1, np.int32)])

    def expression(depth: int) -> tuple[UOp, Callable[[list[Array], int], Array]]:
        choice = draw.randrange(8) if depth else draw.randrange(3)
        if choice < 2:
            at = draw.randrange(count)
            return state(1, at, (size,), int32), lambda now, k: now[at]
        if choice == 2:
            return x, lambda now, k: fixed
        value, of = expression(depth - 1)
        other, of_other = expression(depth - 1)
        if choice == 3:
            return value + other * 2, lambda now, k: of(now, k) + of_other(now, k) * 2
        if choice == 4:
            return value.flip((0,)), lambda now, k: of(now, k)[::-1]
        if choice == 5:
            total = value.reduce(Op.ADD, (0,)).reshape((1,)).expand((size,))
            return total, lambda now, k: np.full(size, of(now, k).sum(dtype=np.int32), np.int32)
        if choice == 6:
            # Only what is not computed in the body may be indexed.
            at = draw.randrange(count)
            gathered = make(Op.INDEX, None, (state(1, at, (size,), int32), x))
            outside = np.where((fixed < 0) | (fixed >= size), size, fixed)
            return gathered, lambda now, k: padded(now[at])[outside]
        counted = value + step.cast(int32).reshape((1,)).expand((size,))
        return counted, lambda now, k: of(now, k) + np.int32(k)

    bodies = []
    for at in range(count):
        value, of = expression(2)
        if draw.random() < 0.3:
            op = draw.choice((None, Op.ADD))
            bodies.append((scatter(state(1, at, (size,), int32), value, x, op=op), (of, op)))
        else:
            bodies.append((value, (of, "all")))
    now = [np.array(start) for start in starts]
    for k in range(taken):
        following = []
        for old, (_, (of, op)) in zip(now, bodies, strict=True):
            value = of(now, k)
            new = np.array(value if op == "all" else old)
            for position, element in zip(fixed, value, strict=True) if op != "all" else ():
                if 0 <= position < size:
                    new[position] = new[position] + element if op is Op.ADD else element
            following.append(new)
        now = following
    initial = [sheet.memory(start) for start in starts]
    return loop(1, step, initial, [body for body, _ in bodies]), now


def check_recurrence(seed: int, target: Target) -> None:
    sheet = Sheet()
    walked, expected = random_recurrence(random.Random(seed), sheet)
    slots = [sheet.output(result(walked, at)) for at in range(len(expected))]
    after = sheet.run(target, VERIFIED)
    for slot, value in zip(slots, expected, strict=True):
        assert np.array_equal(after[slot], value), f"seed {seed}"


@pytest.mark.parametrize("name", TARGETS)
def test_random_recurrences_equal_python_loops(name: str) -> None:
    first = 1000 * list(TARGETS).index(name)
    for seed in range(first, first + 15):
        check_recurrence(seed, TARGETS[name])
