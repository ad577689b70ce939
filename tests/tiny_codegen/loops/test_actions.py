"""Loop actions refuse what is not legal, and whatever they allow computes the same."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

from tiny_codegen.generator import Generator
from tiny_codegen.loops.accesses import loads_of
from tiny_codegen.loops.actions import (
    mask,
    merge,
    pack,
    parallelize,
    peel,
    reorder,
    shift,
    split,
    unroll,
    vectorize,
)
from tiny_codegen.loops.legality import ActionError
from tiny_codegen.loops.ranges import ranges_of
from tiny_codegen.loops.steps import peel_steps, split_steps, unroll_steps, vectorize_steps
from tiny_ir import AxisKind, Op, UOp, const, dtypes, rebuild, toposort, verify
from tiny_plugin import ExtraStage, Launch, Options, Program, Schedule, Step, Target, replace

from ..corpus import GRAPHS, integers, sheet_of
from ..graphs import PLAIN, SCALAR, Sheet, variable

Draw = random.Random
LOOP, REDUCE, SERIAL = AxisKind.LOOP, AxisKind.REDUCE, AxisKind.SERIAL


# Any sequence -----------------------------------------------------------------------------------


def some_axis(draw: Draw, root: UOp) -> UOp:
    return draw.choice(ranges_of(root))


def random_split(draw: Draw, root: UOp) -> UOp:
    old = some_axis(draw, root)
    return split(root, old, draw.randint(2, 6), old.arg.kind, old.arg.kind)[0]


def random_peel(draw: Draw, root: UOp) -> UOp:
    return peel(root, some_axis(draw, root), draw.randint(2, 7))[0]


def random_shift(draw: Draw, root: UOp) -> UOp:
    return shift(root, some_axis(draw, root), draw.randint(2, 7))[0]


def random_merge(draw: Draw, root: UOp) -> UOp:
    loops = [node.src for node in toposort((root,)) if node.op in (Op.END, Op.REDUCE)]
    pairs = [pair for axes in loops for pair in pairwise(axes[1:]) if pair[0].op is Op.RANGE]
    return merge(root, *draw.choice(pairs))[0] if pairs else root


def random_reorder(draw: Draw, root: UOp) -> UOp:
    ends = [node for node in toposort((root,)) if node.op is Op.END]
    axes = [axis for axis in draw.choice(ends).src if axis.op is Op.RANGE] if ends else []
    return reorder(root, draw.sample(axes, len(axes)))


def random_reduction_order(draw: Draw, root: UOp) -> UOp:
    axes = axes_of(root, REDUCE)
    return reorder(root, draw.sample(axes, len(axes)))


def random_mask(draw: Draw, root: UOp) -> UOp:
    axes = axes_of(root, REDUCE)
    return mask(root, draw.choice(axes), draw.randint(2, 7))[0] if axes else root


def random_vectorize(draw: Draw, root: UOp) -> UOp:
    return vectorize(root, some_axis(draw, root))


def random_unroll(draw: Draw, root: UOp) -> UOp:
    return unroll(root, some_axis(draw, root))


def random_parallelize(draw: Draw, root: UOp) -> UOp:
    return parallelize(root, some_axis(draw, root), draw.randint(2, 5))


def random_pack(draw: Draw, root: UOp) -> UOp:
    loads = loads_of(root)
    if not loads:
        return root
    load = draw.choice(loads)
    axes = [node for node in toposort(load.src[1:]) if node.op is Op.RANGE]
    axes = draw.sample(axes, draw.randint(0, len(axes)))
    return pack(root, load, axes) if axes else root


def random_steps(draw: Draw, root: UOp) -> UOp:
    act = draw.choice((split_steps, peel_steps))
    steps = [axis for axis in ranges_of(root) if axis.arg.kind is SERIAL]
    return act(root, draw.choice(steps), draw.randint(2, 5))[0] if steps else root


def random_prefixes(draw: Draw, root: UOp) -> UOp:
    return vectorize_steps(root, some_axis(draw, root))


def random_chain(draw: Draw, root: UOp) -> UOp:
    return unroll_steps(root, some_axis(draw, root))


ACTIONS: tuple[Callable[[Draw, UOp], UOp], ...] = (
    *(random_split, random_peel, random_shift, random_merge, random_reorder),
    *(random_reduction_order, random_mask),
    *(random_vectorize, random_unroll, random_parallelize, random_pack),
    *(random_steps, random_prefixes, random_chain),
)


def with_random_actions(seed: object) -> Options:
    """Options under which each kernel gets a sequence of random actions, where they are legal."""

    def act(root: UOp, target: Target) -> UOp:
        draw = Draw(repr(seed))
        for _ in range(draw.randint(1, 7)):
            if not ranges_of(root):
                break
            try:
                acted = draw.choice(ACTIONS)(draw, root)
            except ActionError:
                continue
            verify(acted, "kernel")
            root = acted
        return root

    return Options(spec=1, optimize=False, stages=(ExtraStage("loops", "random actions", act),))


def check_actions(name: str, seed: object, target: Target = SCALAR) -> None:
    sheet = sheet_of(name)
    expected = sheet.run(target, PLAIN)
    schedule = sheet.schedule(target, with_random_actions(seed))
    for ordered in (schedule, with_chunks_reversed(schedule)):
        for one, other in zip(sheet.run_steps(ordered), expected, strict=True):
            assert np.array_equal(one, other), f"seed {seed}"


@pytest.mark.parametrize("name", GRAPHS)
def test_any_legal_sequence_of_actions_computes_the_same(name: str) -> None:
    for seed in range(5):
        check_actions(name, (name, seed))


def with_chunks_reversed(schedule: Schedule) -> Schedule:
    """The same work with a launch a chunk, the last chunk first: workers come in any order."""
    steps: list[Step] = []
    for step in schedule.steps:
        assert isinstance(step, Launch)
        chunks = step.program.grid or (1,)
        assert isinstance(chunks[0], int)
        steps += [replace(step, program=_chunk(step.program, n)) for n in range(chunks[0])][::-1]
    return replace(schedule, steps=tuple(steps))


def _chunk(program: Program, number: int) -> Program:
    done: dict[UOp, UOp] = {}
    for node in program.uops:
        src = tuple(done[source] for source in node.src)
        is_number = node.op is Op.SPECIAL
        done[node] = const(node.dtype, number) if is_number else rebuild(node, src)
    return replace(program, uops=tuple(dict.fromkeys(done.values())), grid=())


# Refusals ---------------------------------------------------------------------------------------


def kernel_of(build: Callable[[Sheet], object]) -> UOp:
    """The only kernel of a graph."""
    sheet = Sheet()
    build(sheet)
    ((_, kernel),) = Generator().kernels(sheet.graph, {"cpu": SCALAR}, PLAIN)
    return kernel


def kernel(name: str) -> UOp:
    """The first kernel of a graph of the corpus."""
    return Generator().kernels(sheet_of(name).graph, {"cpu": SCALAR}, PLAIN)[0][1]


def axes_of(root: UOp, kind: AxisKind = LOOP) -> list[UOp]:
    return [axis for axis in ranges_of(root) if axis.arg.kind is kind]


def symbolic_kernel() -> UOp:
    n = variable("n", 1, 12)

    def build(sheet: Sheet) -> None:
        x, y = (sheet.memory(np.zeros(12, np.int32)).shrink(((0, n),)) for _ in range(2))
        sheet.effect(y.store(x + 1))

    return kernel_of(build)


def refuses(why: str) -> pytest.RaisesExc[ActionError]:
    return pytest.raises(ActionError, match=f"why: .*{why}")


@pytest.mark.parametrize("factor", [0, 4, 7, 40])
def test_split_needs_a_factor_that_divides(factor: int) -> None:
    root = kernel("elementwise")
    with refuses("must divide"):
        split(root, axes_of(root)[1], factor, LOOP, LOOP)


@pytest.mark.parametrize("factor", [1, 2, 5, 11])
def test_peel_leaves_something_on_both_sides(factor: int) -> None:
    root = kernel("elementwise")
    with refuses("nothing would be left"):
        peel(root, axes_of(root)[1], factor)


def test_what_must_be_known_is_known() -> None:
    root = symbolic_kernel()
    (old,) = axes_of(root)
    for act in (
        lambda: split(root, old, 2, LOOP, LOOP),
        lambda: peel(root, old, 2),
        lambda: shift(root, old, 2),
        lambda: vectorize(root, old),
        lambda: unroll(root, old),
        lambda: parallelize(root, old, 2),
    ):
        with refuses("not known yet"):
            act()


def test_steps_stay_in_order() -> None:
    root = kernel("running")
    (old,) = axes_of(root, SERIAL)
    for act in (
        lambda: split(root, old, 2, SERIAL, SERIAL),
        lambda: peel(root, old, 4),
        lambda: vectorize(root, old),
        lambda: unroll(root, old),
        lambda: shift(root, old, 4),
        lambda: parallelize(root, old, 2),
        lambda: reorder(root, [old]),
    ):
        with refuses("in order"):
            act()


def test_a_decided_axis_is_no_loop_any_more() -> None:
    root = kernel("elementwise")
    root = vectorize(root, axes_of(root)[1])
    (lanes,) = axes_of(root, AxisKind.LANE)
    for act in (lambda: split(root, lanes, 2, LOOP, LOOP), lambda: unroll(root, lanes)):
        with refuses("no loop any more"):
            act()


def test_wide_values_have_one_axis() -> None:
    root = kernel("elementwise")
    wide = vectorize(root, axes_of(root)[1])
    with refuses("one axis"):
        vectorize(wide, axes_of(wide)[0])


def test_lanes_write_elements_of_their_own() -> None:
    root = kernel("gathered")
    (load, *_) = [one for one in loads_of(root) if len(one.src) == 3]
    rows, columns = axes_of(root)
    packed = pack(root, load, [columns])
    with refuses("all lanes would write"):
        vectorize(packed, rows)
    with refuses("its own"):
        unroll(packed, rows)


def test_copies_would_share_a_state() -> None:
    root = kernel("running")
    with refuses("share one state"):
        unroll(root, axes_of(root)[0])


def test_a_term_is_not_combined_twice() -> None:
    root = kernel("rows_summed")
    with refuses("combined twice"):
        shift(root, axes_of(root, REDUCE)[0], 8)


def test_elements_do_not_change_twice() -> None:
    root = kernel("in_place")
    with refuses("change twice"):
        shift(root, axes_of(root)[1], 8)


def test_steps_are_not_taken_twice() -> None:
    root = kernel("running")
    with refuses("taken twice"):
        shift(root, axes_of(root)[0], 8)


@pytest.mark.parametrize("factor", [0, 11])
def test_a_block_fits_the_axis(factor: int) -> None:
    root = kernel("elementwise")
    with refuses("no block fits"):
        shift(root, axes_of(root)[1], factor)


def test_workers_share_no_accumulator_and_no_element() -> None:
    root = kernel("rows_summed")
    with refuses("one accumulator"):
        parallelize(root, axes_of(root, REDUCE)[0], 2)
    root = kernel("turning")
    with refuses("each worker"):
        parallelize(root, axes_of(root)[0], 2)
    root = kernel("elementwise")
    rows, columns = axes_of(root)
    with refuses("two workers would write one element"):
        shifted, blocks, _ = shift(root, columns, 4)
        parallelize(shifted, blocks, 3)
    with refuses("only one chunk"):
        parallelize(root, rows, 1)
    with refuses("grid has one axis"):
        parallelize(parallelize(root, rows, 2), columns, 2)


def test_a_worker_has_both_blocks_that_overlap() -> None:
    root = kernel("elementwise")
    shifted, blocks, _ = shift(root, axes_of(root)[1], 3)
    verify(parallelize(shifted, blocks, 2), "kernel")


def test_merged_axes_always_stand_together() -> None:
    root = kernel("product")
    (i, j), (k,) = axes_of(root), axes_of(root, REDUCE)
    with refuses("not walked alike"):
        merge(root, i, k)
    root, _, _ = peel(root, j, 8)
    rows, main, tail = axes_of(root)
    with refuses("stand together"):
        merge(root, rows, main)
    with refuses("stand together"):
        merge(root, main, tail)


def test_a_reduction_stays_inside_of_its_result() -> None:
    root = kernel("product")
    with refuses("before its result"):
        reorder(root, [axes_of(root, REDUCE)[0], axes_of(root)[0]])


def test_axes_of_two_reductions_do_not_change_places() -> None:
    root = kernel("two_reductions")
    with refuses("not always inside"):
        reorder(root, axes_of(root, REDUCE))


def test_only_a_reduction_has_terms_that_change_nothing() -> None:
    root = kernel("product")
    with refuses("would be written"):
        mask(root, axes_of(root)[0], 4)
    with refuses("all full"):
        mask(root, axes_of(root, REDUCE)[0], 1)


def test_a_copy_holds_what_each_element_is_converted_to() -> None:
    def build(sheet: Sheet) -> None:
        sheet.output(sheet.memory(integers(6, 8)).cast(dtypes.float32).reduce(Op.ADD, (1,)))

    root = kernel_of(build)
    (load,) = loads_of(root)
    packed = pack(root, load, axes_of(root, REDUCE))
    (copy,) = [node for node in toposort((packed,)) if node.op is Op.SCRATCH]
    assert copy.dtype is dtypes.float32


def test_a_copy_is_what_its_readers_ask_for() -> None:
    root = kernel("in_place")
    with refuses("would be old"):
        pack(root, loads_of(root)[0], axes_of(root))
    root = kernel("running")
    (load,) = loads_of(root)
    with refuses("turn of its own"):
        pack(root, load, axes_of(root, SERIAL))
    root = kernel("product")
    wide = vectorize(root, axes_of(root)[1])
    (load,) = [one for one in loads_of(wide) if axes_of(wide, AxisKind.LANE)[0] in toposort((one,))]
    with refuses("share one copy"):
        pack(wide, load, axes_of(wide, REDUCE))


# What actions make ------------------------------------------------------------------------------


def lowered(act: Callable[[UOp], UOp], name: str = "elementwise") -> UOp:
    """The kernel after an action; the results stay the same."""
    sheet = sheet_of(name)
    stage = ExtraStage("loops", "one action", lambda root, target: act(root))
    options = Options(spec=1, optimize=False, stages=(stage,))
    for one, other in zip(sheet.run(SCALAR, PLAIN), sheet.run(SCALAR, options), strict=True):
        assert np.array_equal(one, other)
    return act(kernel(name))


def sizes(root: UOp) -> list[tuple[AxisKind, object]]:
    return [(axis.arg.kind, axis.src[0].arg) for axis in ranges_of(root)]


def test_split_makes_two_loops_of_one() -> None:
    made = lowered(lambda root: split(root, axes_of(root)[1], 5, LOOP, LOOP)[0])
    assert sizes(made) == [(LOOP, 6), (LOOP, 2), (LOOP, 5)]


def test_peel_puts_the_rest_beside() -> None:
    made = lowered(lambda root: peel(root, axes_of(root)[1], 4)[0])
    assert sizes(made) == [(LOOP, 6), (LOOP, 8), (LOOP, 2)]
    reduced = lowered(lambda root: peel(root, axes_of(root, REDUCE)[0], 16)[0], "rows_summed")
    assert sizes(reduced) == [(LOOP, 7), (REDUCE, 16), (REDUCE, 4)]


def test_shift_moves_the_last_block_back() -> None:
    made = lowered(lambda root: shift(root, axes_of(root)[1], 4)[0])
    assert sizes(made) == [(LOOP, 6), (LOOP, 3), (LOOP, 4)]


def test_merge_makes_one_loop_of_two() -> None:
    made = lowered(lambda root: merge(root, *axes_of(root))[0], "in_place")
    assert sizes(made) == [(LOOP, 60)]


def test_reorder_changes_the_nest() -> None:
    made = lowered(lambda root: reorder(root, axes_of(root)[::-1]))
    assert sizes(made) == [(LOOP, 10), (LOOP, 6)]


def test_parallelize_makes_chunks_and_the_last_may_be_shorter() -> None:
    made = lowered(lambda root: parallelize(root, axes_of(root)[1], 4))
    ((_, count),) = [pair for pair in sizes(made) if pair[0] is AxisKind.THREAD]
    assert count == 4


def test_pack_reads_from_fast_memory() -> None:
    def act(root: UOp) -> UOp:
        load = loads_of(root)[1]
        return pack(root, load, axes_of(root, REDUCE))

    made = lowered(act, "product")
    (scratch,) = [node for node in toposort((made,)) if node.op is Op.SCRATCH]
    assert scratch.arg.elements == 8
