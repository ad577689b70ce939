"""Refuses loop actions that would change what a kernel computes: what may be done to which axis."""

from __future__ import annotations

from collections.abc import Sequence

from tiny_codegen.buffers import loaded_from, memory_of, stored_to
from tiny_codegen.loops.ranges import size_of_axis
from tiny_codegen.scopes import scopes_of
from tiny_ir import ArgumentError, AxisKind, Op, UOp, toposort

LANES = (AxisKind.LANE, AxisKind.REDUCE_LANE, AxisKind.SCAN_LANE)
_WALKED = (AxisKind.LOOP, AxisKind.REDUCE)


class ActionError(ArgumentError):
    """A loop action that is not legal on this kernel."""


def refused(what: str, why: str) -> ActionError:
    """The error of an action."""
    return ActionError(f"cannot {what}.", why=f"{why}.", fix="choose another axis or factor.")


def known_size(old: UOp) -> int:
    """The iterations of an axis, which must be known."""
    size = size_of_axis(old)
    if size is None:
        raise refused("change an axis of symbolic size", "its iterations are not known yet")
    return size


def check_walked(old: UOp, action: str) -> None:
    """Only loops that may run in any order, and are loops still, can be changed."""
    if old.arg.kind is AxisKind.SERIAL:
        raise refused(f"{action} an axis that carries state", "its iterations run in order")
    if old.arg.kind not in _WALKED:
        kind = old.arg.kind.value
        raise refused(f"{action} an axis of kind {kind}", "it is no loop any more")


def check_lanes(root: UOp, old: UOp) -> None:
    """Lanes stand side by side: inside of no others, each with elements of its own to write."""
    if known_size(old) < 2:
        raise refused("vectorize an axis of one iteration", "there is nothing to make wide")
    nodes = toposort((root,))
    scopes = scopes_of(nodes)
    for node in nodes:
        if old not in scopes[node]:
            continue
        if any(axis.arg.kind in LANES for axis in scopes[node]):
            raise refused("vectorize inside of lanes", "a wide value has one axis")
        if node.op is Op.RANGE and node is not old:
            raise refused("vectorize around another size", "lanes take turns together")
        is_memory = node.op is Op.STORE and memory_of(node.src[0]).op is not Op.REGISTER
        if is_memory and old not in scopes[node.src[0]]:
            raise refused("vectorize around one element", "all lanes would write it")


def check_copies(root: UOp, old: UOp) -> None:
    """Copies stand side by side in one loop: nothing between them may be done once each."""
    nodes = toposort((root,))
    if any(node.op is Op.REGISTER for node in nodes):
        raise refused("unroll beside a recurrence", "its copies would share one state")
    scopes = scopes_of(nodes)
    for node in nodes:
        if node.op is Op.RANGE and node is not old and old in scopes[node]:
            raise refused("unroll around another size", "the copies share their loops")
        if node.op is Op.AFTER and any(old in scopes[effect] for effect in node.src[1:]):
            raise refused("unroll around a loop that is waited for", "each copy needs its own")


def check_overlap(root: UOp, old: UOp) -> None:
    """Elements may be computed twice if that changes nothing."""
    if old.arg.kind is not AxisKind.LOOP:
        raise refused("shift a reduction", "terms would be combined twice")
    nodes = toposort((root,))
    if any(node.op is Op.REGISTER or _is_serial(node) for node in nodes):
        raise refused("shift beside a recurrence", "steps would be taken twice")
    if set(stored_to(nodes)) & set(loaded_from(nodes)):
        raise refused("shift a kernel that reads what it writes", "elements would change twice")


def check_workers(root: UOp, old: UOp) -> None:
    """Each worker writes elements of its own, and waits for nobody."""
    if old.arg.kind is not AxisKind.LOOP:
        raise refused("parallelize a reduction", "workers would write one accumulator")
    nodes = toposort((root,))
    if any(node.op is Op.RANGE and node.arg.kind is AxisKind.THREAD for node in nodes):
        raise refused("parallelize twice", "a grid has one axis here")
    shared = [effect for effect in root.src if old in effect.src[1:]]
    if not shared:
        raise refused("parallelize an inner loop", "what stands around it would run in each worker")
    scopes = scopes_of(nodes)
    for node in toposort(shared):
        is_shared = node.op is Op.STORE and memory_of(node.src[0]).op is Op.PARAM
        if is_shared and old not in scopes[node.src[0]]:
            raise refused("parallelize around one element", "all workers would write it")


def check_together(root: UOp, outer: UOp, inner: UOp) -> None:
    """Two axes can be one where they always stand beside each other."""
    if outer.arg.kind is not inner.arg.kind:
        raise refused("merge axes of different kinds", "they are not walked alike")
    for node in toposort((root,)):
        axes = node.src[1:]
        if node.op in (Op.END, Op.REDUCE) and (outer in axes) != (inner in axes):
            raise refused("merge axes of different loops", "they do not always stand together")


def check_one_reduction(root: UOp, axes: Sequence[UOp]) -> None:
    """Axes of reductions change places within one reduction only."""
    for node in toposort((root,)):
        reduced = [axis for axis in axes if axis in node.src[1:]] if node.op is Op.REDUCE else []
        if reduced and len(reduced) < len(axes):
            raise refused("reorder axes of two reductions", "one is not always inside the other")


def check_pack(root: UOp, load: UOp, axes: Sequence[UOp]) -> None:
    """A copy holds what its readers ask for: nothing writes it, and no lane stays outside."""
    turns = (AxisKind.SERIAL, AxisKind.SCAN_LANE, AxisKind.THREAD)
    if any(axis.arg.kind in turns for axis in axes):
        raise refused("pack along steps or workers", "each has a turn of its own")
    nodes = toposort((root,))
    if memory_of(load) in stored_to(nodes):
        raise refused("pack what the kernel writes", "the copy would be old")
    if memory_of(load).op is not Op.PARAM:
        raise refused("pack what is packed", "it is in fast memory already")
    inside = toposort(load.src[1:])
    if any(node.op is Op.AFTER for node in inside):
        raise refused("pack by positions that are packed", "one copy would wait for the other")
    below = [node for node in inside if node.op is Op.RANGE]
    kinds = (*LANES, AxisKind.UNROLL)
    if any(axis.arg.kind in kinds and axis not in axes for axis in below):
        raise refused("pack for each lane or copy", "they would share one copy")


def _is_serial(node: UOp) -> bool:
    return node.op is Op.RANGE and node.arg.kind is AxisKind.SERIAL
