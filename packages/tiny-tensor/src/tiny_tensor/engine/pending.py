"""Tensors that are not computed yet become one graph: a SINK of STOREs into BUFFERs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tiny_ir import Op, UOp, make
from tiny_plugin import record
from tiny_tensor.engine.hazards import with_safe_writes
from tiny_tensor.session import Session
from tiny_tensor.storage import buffer_below, is_in_memory, memory_below


@record(frozen=True, slots=True)
class Pending:
    """A graph to run, and what is in memory once it has run.

    Args:
        sink: the effects.
        results: for each node that was computed, the view of memory that holds it then.
        moved: pairs of BUFFERs: the memory of the first, which was written in place, belongs to
            the second then. The first is a version that no longer exists.
    """

    sink: UOp
    results: dict[UOp, UOp]
    moved: tuple[tuple[UOp, UOp], ...]


def pending_of(
    devices: Mapping[UOp, str], others: Iterable[UOp], session: Session
) -> Pending | None:
    """Collect what must run so that nodes are in memory.

    Args:
        devices: the nodes, with nothing finished below them (see `Finished.resolve`), and the
            device of each.
        others: the nodes of all other live tensors, whose versions must not be lost.
        session: where memory comes from.

    Returns:
        The graph; None where everything is in memory already.
    """
    roots = [node for node in devices if not is_in_memory(node)]
    if not roots:
        return None
    safe = with_safe_writes(roots, others, session)
    effects: list[UOp] = []
    results: dict[UOp, UOp] = {}
    for node in roots:
        if memory_below(node) is not None:
            continue  # a view of a version; its write is among the effects below
        _, result = session.new_place(node, devices[node])
        effects.append(result.store(safe.get(node, node)))
        results[node] = result
    last = {buffer_below(safe[node]): node for node in safe if node.op is Op.AFTER}
    moved = []
    for buffer, version in last.items():
        newer = session.new_buffer(buffer.dtype, buffer.arg.elements, buffer.arg.device)
        effects.append(safe[version].src[1])
        results[version] = newer
        moved.append((buffer, newer))
    return Pending(make(Op.SINK, None, tuple(effects)), results, tuple(moved))
