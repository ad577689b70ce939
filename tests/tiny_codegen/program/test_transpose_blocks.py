"""Square blocks that lanes cross are read along memory and turned; all else stays as it is."""

from __future__ import annotations

import numpy as np
import pytest

from tiny_codegen.program.transpose_blocks import transpose_blocks, transposed
from tiny_ir import Op, ParamArg, UOp, const, dtypes, make, substitute, toposort
from tiny_plugin import Launch, Options
from tiny_testing.evaluate import evaluate

from ..graphs import VERIFIED, WIDE, Sheet, full, result, scan, state, steps

int32, weakint = dtypes.int32, dtypes.weakint


def memory(slot: int) -> UOp:
    return make(Op.PARAM, int32, (), ParamArg(slot, 4096, "cpu"))


def lanes_from(slot: int, begin: int, step: int, lanes: int = 4) -> UOp:
    offset = make(Op.IOTA, weakint, (), lanes) * step + begin
    return memory(slot).index(offset)


def loaded(slot: int, begin: int, step: int) -> UOp:
    return make(Op.LOAD, None, (lanes_from(slot, begin, step),))


def sink_of(*stores: UOp) -> UOp:
    return make(Op.SINK, None, stores)


def copied(read: list[int], written: list[int], read_step: int, written_step: int) -> UOp:
    """Four lanes at a time from some offsets to others."""
    return sink_of(
        *(
            lanes_from(0, to, written_step).store(loaded(1, begin, read_step))
            for begin, to in zip(read, written, strict=True)
        )
    )


def crossed(sink: UOp) -> list[Op]:
    """The accesses whose offsets are still one a lane."""
    after = transpose_blocks(sink, WIDE)
    places = [n for n in toposort((after,)) if n.op in (Op.LOAD, Op.STORE)]
    return [node.op for node in places if node.src[0].arg is None]


BESIDE, FIRST = [7, 8, 9, 10], [0, 64, 128, 192]


def test_columns_of_a_square_are_its_rows_turned() -> None:
    for lanes in (1, 2, 8, 16):
        square = np.arange(lanes * lanes).reshape(lanes, lanes)
        rows = [make(Op.STACK, None, tuple(const(int32, int(x)) for x in row)) for row in square]
        found = [evaluate(column, {}) for column in transposed(rows)]
        assert [list(column) for column in found] == square.T.tolist()


def test_loads_and_stores_beside_each_other_are_turned() -> None:
    assert crossed(copied(BESIDE, FIRST, 64, 1)) == [Op.STORE] * 4
    assert crossed(copied(FIRST, BESIDE, 1, -64)) == [Op.LOAD] * 4
    # Each of these is a block of its own, and what it reads is not what it writes.
    assert crossed(copied(BESIDE, BESIDE, 64, 32)) == []


@pytest.mark.parametrize(
    ("read", "written", "read_step", "written_step"),
    [
        ([7, 8, 9], [0, 1, 2], 64, 64),  # not as many as there are lanes
        ([7, 8, 10, 11], [0, 1, 3, 4], 64, 64),  # a gap
        (BESIDE, BESIDE, 3, 2),  # lanes so near that blocks overlap
    ],
)
def test_what_is_no_square_stays(
    read: list[int], written: list[int], read_step: int, written_step: int
) -> None:
    sink = copied(read, written, read_step, written_step)
    assert transpose_blocks(sink, WIDE) is sink


def test_stores_that_may_meet_keep_their_order() -> None:
    two_blocks = copied(list(range(8)), list(range(8)), 64, 5)
    assert crossed(two_blocks) == [Op.STORE] * 8
    other = lanes_from(0, 64, 1).store(loaded(1, 0, 1))
    assert Op.STORE in crossed(sink_of(*copied(BESIDE, BESIDE, 1, 64).src, other))


def test_memory_that_is_written_is_read_lane_by_lane() -> None:
    same = substitute(copied(BESIDE, BESIDE, 64, 64), {memory(1): memory(0)})
    assert len(crossed(same)) == 8


def test_steps_along_memory_take_rows_at_once() -> None:
    sizes = (33, 499)  # neither is a number of whole blocks
    array = np.random.default_rng(1).integers(-9, 9, sizes).astype(np.int32)
    sheet, step = Sheet(), steps(1, sizes[1])
    value = sheet.memory(array).permute((1, 0)).index(step)
    following = state(1, 0, sizes[:1], int32) * 3 + value
    walked = scan(1, step, [full(int32, 1, sizes[:1])], [following], [following])
    slots = [sheet.output(result(walked, 1).permute((1, 0))), sheet.output(result(walked, 0))]
    launches = [s for s in sheet.schedule(WIDE, Options()).steps if isinstance(s, Launch)]
    assert any("unroll" in action for action in launches[0].program.actions)
    plain = sheet.run(WIDE, Options(optimize=False))
    found = sheet.run(WIDE, VERIFIED)
    assert all(np.array_equal(found[slot], plain[slot]) for slot in slots)


def test_a_small_kernel_stays_short() -> None:
    sheet = Sheet()
    sheet.output(sheet.memory(np.zeros((32, 32), np.int32)).permute((1, 0)) * 2)
    (launch,) = sheet.schedule(WIDE, Options()).steps
    assert isinstance(launch, Launch)
    assert not any("unroll" in action for action in launch.program.actions)
