"""Finds tensors that are computed with a write: they share its work, and read what it ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tiny_ir import Op, UOp, toposort
from tiny_tensor.session import Session
from tiny_tensor.storage import is_in_memory

if TYPE_CHECKING:
    from tiny_tensor.tensor_core import TensorCore


def readers_of_old_versions(
    tensors: Sequence[TensorCore], wanted: Mapping[UOp, str], session: Session
) -> dict[UOp, str]:
    """What else is computed where tensors are written.

    A loss reads the parameters that a step of an optimizer writes, and the step computes most of
    it. Computed later, it would take all of that work again, and keep the old parameters until
    then. What shares no work is left alone: it may never be asked for.

    Args:
        tensors: what was asked for.
        wanted: their nodes, with what is finished below them replaced by memory.
        session: where tensors are.

    Returns:
        Nodes of live tensors that read a version which a write among these ends, and share a
        reduction with them; and the device of each.
    """
    order = toposort(wanted)
    ended = {node.src[0] for node in order if node.op is Op.AFTER}
    for tensor in tensors:
        before = None if tensor._storage.data is None else tensor._storage.data()
        if before is not None:
            ended.add(before)
    work = {node for node in order if node.op is Op.REDUCE}
    if not ended or not work:
        return {}
    done: dict[UOp, UOp] = {}
    live = {
        session.finished.resolve(tensor.whole, done): tensor.device
        for tensor in session.unsettled_tensors()
    }
    reading: set[UOp] = set()
    sharing: set[UOp] = set()
    for node in toposort(live):
        is_newer = node.op is Op.AFTER and node.src[0] in ended
        if node in ended or (not is_newer and not reading.isdisjoint(node.src)):
            reading.add(node)
        if node in work or not sharing.isdisjoint(node.src):
            sharing.add(node)
    return {
        node: device
        for node, device in live.items()
        if node in reading and node in sharing and node not in wanted and not is_in_memory(node)
    }
