"""Stores past the caches: of long results only, in whole registers, never of what is read again."""

from __future__ import annotations

from tiny_codegen.program.stream_stores import stream_stores
from tiny_ir import AxisKind, Op, ParamArg, RangeArg, UOp, const, dtypes, make, toposort
from tiny_plugin import Target, replace

from ..graphs import SCALAR

MACHINE: Target = replace(SCALAR, vector_nbytes=(64,), cache_nbytes=(1024, 4096))
OUTPUT = make(Op.PARAM, dtypes.float32, (), ParamArg(0, 1 << 16, ""))
INPUT = make(Op.PARAM, dtypes.float32, (), ParamArg(1, 1 << 16, ""))


def written(times: int, *, step: int = 16, memory: UOp = OUTPUT) -> UOp:
    """A kernel that copies 16 elements a turn."""
    turn = make(Op.RANGE, None, (const(dtypes.weakint, times),), RangeArg(0, AxisKind.LOOP))
    address = make(Op.INDEX, None, (memory, turn * step), 16)
    value = make(Op.LOAD, None, (make(Op.INDEX, None, (INPUT, turn * step), 16),))
    return make(Op.SINK, None, (address.store(value).end(turn),))


def is_streamed(kernel: UOp, target: Target = MACHINE) -> bool:
    stores = [node for node in toposort((stream_stores(kernel, target),)) if node.op is Op.STORE]
    return all(store.arg is not None and store.arg.is_streamed for store in stores)


def test_a_result_that_the_last_cache_does_not_keep_is_streamed() -> None:
    assert is_streamed(written(64))


def test_a_result_that_is_found_in_a_cache_again_is_not() -> None:
    assert not is_streamed(written(32))


def test_what_does_not_begin_at_a_whole_register_is_not() -> None:
    assert not is_streamed(written(64, step=20))


def test_what_the_kernel_reads_is_not() -> None:
    assert not is_streamed(written(64, memory=INPUT))


def test_a_machine_without_caches_streams_nothing() -> None:
    assert not is_streamed(written(64), replace(MACHINE, cache_nbytes=()))
