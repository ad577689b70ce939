"""A Tensor's whole way: graph -> kernels -> Program -> Source -> Binary -> run."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING

from tiny_ir import Op, RunError, UOp, make
from tiny_plugin import Memory
from tiny_tensor.engine.canonical import canonical_of
from tiny_tensor.engine.expectations import check
from tiny_tensor.engine.pending import Pending, pending_of
from tiny_tensor.engine.readers import readers_of_old_versions
from tiny_tensor.engine.schedule_cache import ScheduleCache
from tiny_tensor.session import Session
from tiny_tensor.sizes import concrete_shape
from tiny_tensor.storage import piece_of_memory

if TYPE_CHECKING:
    from tiny_ir import DType
    from tiny_tensor.tensor_core import TensorCore


def realize(tensors: Sequence[TensorCore], session: Session) -> None:
    """Compute tensors together: afterwards their data is in memory.

    Inside a captured function this does nothing: its results are computed when it returns.
    """
    if session.capture is not None:
        return
    with session.lock:
        done: dict[UOp, UOp] = {}
        tensors = (*tensors, *session.expectations.tensors())
        wanted = {session.finished.resolve(tensor.whole, done): tensor.device for tensor in tensors}
        wanted |= readers_of_old_versions(tensors, wanted, session)
        compute(wanted, session, done)


def compute(
    wanted: dict[UOp, str], session: Session, resolved: Mapping[UOp, UOp]
) -> dict[UOp, UOp]:
    """Run what is missing for graph nodes, each on a device. The caller holds the lock.

    Here is the whole way, in its own words.

    Args:
        wanted: the nodes, with what is finished below them replaced by memory.
        session: in which they are.
        resolved: for nodes as tensors have them, what they are after that.

    Returns:
        For each node that was computed, the view of memory that holds its elements.
    """
    # Tensor -> graph
    pending = pending_of(wanted, live_nodes(session), session)
    if pending is None:
        return {}
    canonical = canonical_of(pending.sink)

    # graph -> kernels -> Program -> Source -> Binary: from memory, from disk, or made now
    start = perf_counter()
    plan = schedules_of(session).plan_of(canonical.graph)
    ready = perf_counter()

    # Binary -> run
    memories = [memory_of(buffer, session) for buffer in canonical.buffers]
    plan.run(memories, canonical.values(), session)
    session.history.add(canonical, pending, session, resolved)
    settle(pending, session)

    session.counters.realizes += 1
    session.counters.compile_seconds += ready - start
    session.counters.run_seconds += perf_counter() - ready
    return pending.results


def live_nodes(session: Session) -> Iterator[UOp]:
    """What live tensors may be asked for, with what is finished replaced by memory.

    That is each view, and the box it belongs to: a view may be in memory where its box is not, and
    a later write through it reads the box.
    """
    done: dict[UOp, UOp] = {}
    for tensor in session.live_tensors():
        yield session.finished.resolve(tensor.uop, done)
        yield session.finished.resolve(tensor._storage.newest(), done)


def schedules_of(session: Session) -> ScheduleCache:
    """The Session's Plans."""
    if session.schedules is None:
        session.schedules = ScheduleCache(session)
    return session.schedules


def memory_of(buffer: UOp, session: Session) -> Memory:
    """The memory of a BUFFER; one that has none yet gets some."""
    allocation = session.allocation_of(buffer)
    if allocation is not None:
        return allocation.memory
    if not session.owns(buffer):
        raise RunError(
            "a tensor belongs to another Session.",
            why="its memory is that of the Session it was made in.",
            fix="use it in that Session, or take its data along: Tensor(x.numpy()).",
        )
    if session.finished.is_overwritten(buffer):
        raise RunError(
            "a version of a tensor is asked for that no longer exists.",
            why="its memory was written in place, and nothing alive said that it is still needed.",
            fix="keep the Tensor itself instead of its graph node.",
        )
    return session.allocate(buffer)


def settle(pending: Pending, session: Session) -> None:
    """Let tensors find their data: their nodes lead to memory now, and old versions are gone."""
    for buffer, newer in pending.moved:
        session.move(buffer, newer)
    for node, result in pending.results.items():
        session.finished.add(node, result)
    done: dict[UOp, UOp] = {}
    # What is in memory stays there, but for the BUFFERs that a newer version has now.
    for tensor in session.live_tensors() if pending.moved else session.unsettled_tensors():
        tensor.settle(session, done)


def upload(
    data: bytes | bytearray | memoryview, dtype: DType, device: str, session: Session
) -> UOp:
    """A BUFFER on a device with these bytes."""
    elements = memoryview(data).nbytes // dtype.nbytes
    buffer = session.new_buffer(dtype, elements, device)
    with session.lock:
        place = session.device(device)
        memory = session.allocate(buffer)
        if elements:
            place.mark = place.runtime.copy_in(memory, data, place.marks())
        session.counters.copies += 1
        session.counters.copied_nbytes += memory.nbytes
    if session.capture is not None:
        session.capture.makes(buffer)
    return buffer


def read_bytes(tensor: TensorCore, session: Session) -> tuple[bytearray, tuple[int, ...]]:
    """The elements of a tensor in row-major order, and its shape in numbers.

    Raises:
        ShapeError: as many values were written through a mask as it has no places.
    """
    if session.capture is not None:
        session.capture.reads(tensor)
    with session.lock:
        realize((tensor,), session)
        fault = session.expectations.take(tensor.device)
        if fault is not None and session.capture is None:
            data, _ = read_bytes(fault, session)
            check(int.from_bytes(data, sys.byteorder))
        shape = concrete_shape(tensor.shape)
        memory = rows_of(tensor.uop, tensor.device, session)
        data = bytearray(memory.nbytes)
        if data:
            place = session.device(tensor.device)
            mark = place.runtime.copy_out(memory, data, place.marks())
            place.runtime.wait(mark)
        session.counters.copies += 1
        session.counters.copied_nbytes += len(data)
    return data, shape


def rows_of(node: UOp, device: str, session: Session) -> Memory:
    """Memory with exactly the elements of a node in row-major order. The caller holds the lock.

    It may be used until the lock is given back.
    """
    buffer, offset = buffer_of_rows(node, device, session)
    size = node.dtype.nbytes
    nbytes = math.prod(concrete_shape(node.shape)) * size
    return memory_of(buffer, session).piece(offset * size, nbytes)


def buffer_of_rows(node: UOp, device: str, session: Session) -> tuple[UOp, int]:
    """The BUFFER, and the position in it, where the elements of a node lie in row-major order.

    Where they lie otherwise they are copied. The caller holds the lock.
    """
    found = piece_of_memory(node) or piece_of_memory(session.finished.resolve(node, {}))
    if found is None:
        done: dict[UOp, UOp] = {}
        copy = session.finished.resolve(make(Op.CONTIGUOUS, None, (node,)), done)
        results = compute({copy: device}, session, done)
        found = piece_of_memory(results[copy])
        assert found is not None, "what was just computed lies in row-major order"
    return found
