"""A box with the newest version of some data: what a Tensor and all its views share."""

from __future__ import annotations

import math
from collections.abc import Callable
from threading import get_ident
from typing import TYPE_CHECKING
from weakref import ref

from tiny_ir import MOVEMENT, Op, UOp, WriteError, bounds, rebuild

if TYPE_CHECKING:
    from tiny_tensor.session import Session


class Version:
    """Stands for one version of a box: it is gone when the box is, or is written.

    Args:
        storage: the box.
    """

    __slots__ = ("__weakref__", "_storage")

    def __init__(self, storage: Storage) -> None:
        self._storage = ref(storage)

    def node(self) -> UOp | None:
        """What the box holds now; None where it is gone."""
        storage = self._storage()
        return None if storage is None else storage.node


class Storage:
    """The box. A write puts a newer version into it, which every view then reads.

    Args:
        node: the newest version.
    """

    __slots__ = ("__weakref__", "_version", "data", "node", "traced")

    def __init__(self, node: UOp) -> None:
        self.node = node
        self.data: ref[UOp] | None = None
        """The BUFFER that it was in when it was written last."""
        self._version: Version | None = None
        self.traced: tuple[int, UOp] | None = None
        """While a thread captures a function: that thread, and what it sees in place of `node`."""

    def newest(self) -> UOp:
        """The newest version, as this thread sees it."""
        traced = self.traced
        return self.node if traced is None or traced[0] != get_ident() else traced[1]

    @property
    def version(self) -> Version:
        """What stands for the newest version."""
        if self._version is None:
            self._version = Version(self)
        return self._version

    def put(self, node: UOp) -> None:
        """Make `node` the newest version, as this thread sees it."""
        traced = self.traced
        if traced is None or traced[0] != get_ident():
            self.node = node
            self._version = None
        else:
            self.traced = (traced[0], node)

    def write(self, view: UOp, value: UOp, session: Session, device: str) -> None:
        """Make a newer version, in which `value` stands where `view` looks.

        Args:
            view: a chain of movement ops over the newest version.
            value: of the shape and dtype of the view. It may read the version before.
            session: where memory comes from.
            device: where the data lives.

        Raises:
            WriteError: several elements of the view share one place, or have none.
        """
        newest = self.newest()
        chain = chain_above(view, newest)
        _check_writable(chain)
        if 0 in view.shape:
            return
        if is_in_memory(newest):
            self.data = ref(buffer_below(newest))
        if is_whole(view, newest):
            # The whole is written: the value is the newer version.
            for node in chain:
                value = _INVERSES[node.op](node, value)
            self.put(value)
            return
        held = memory_of_whole(newest)
        if held is None:
            buffer, place = session.new_place(newest, device)
            held = buffer.after(place.store(newest))
        place = held.reshape(newest.shape)
        for node in reversed(chain):
            place = over(node, place)
        self.put(held.after(place.store(value)).reshape(newest.shape))


def over(node: UOp, source: UOp) -> UOp:
    """A movement node over another source of the same shape."""
    return rebuild(node, (source, *node.src[1:]))


def most(size: int | UOp) -> int:
    """The upper bound of a size: how much memory it takes."""
    return size if isinstance(size, int) else int(bounds(size)[1])


def chain_above(view: UOp, base: UOp) -> list[UOp]:
    """The movement nodes from `view` down to `base`, which is not among them."""
    chain: list[UOp] = []
    while view is not base:
        chain.append(view)
        view = view.src[0]
    return chain


def is_whole(view: UOp, base: UOp) -> bool:
    """Whether a view of `base` has all of its elements, each once."""
    return all(node.op in _INVERSES for node in chain_above(view, base))


def memory_below(node: UOp) -> UOp | None:
    """The BUFFER or AFTER under a chain of movement ops; None where the chain ends elsewhere."""
    while node.op in MOVEMENT:
        node = node.src[0]
    return node if node.op is Op.BUFFER or node.op is Op.AFTER else None


def is_in_memory(node: UOp) -> bool:
    """Whether a node is a view of memory that no pending write stands before."""
    memory = memory_below(node)
    return memory is not None and memory.op is Op.BUFFER


def memory_of_whole(node: UOp) -> UOp | None:
    """The flat BUFFER or AFTER whose elements are those of `node`, in the same order."""
    while node.op is Op.RESHAPE:
        node = node.src[0]
    return node if node.op is Op.BUFFER or node.op is Op.AFTER else None


def piece_of_memory(node: UOp) -> tuple[UOp, int] | None:
    """The BUFFER, and the position in it, where the elements of `node` lie in row-major order.

    None where they lie otherwise, or depend on a pending write.
    """
    offset = 0
    while node.op is not Op.BUFFER:
        if node.op is Op.SHRINK:
            start = _row_offset(node)
            if start is None:
                return None
            offset += start
        elif node.op is not Op.RESHAPE:
            return None
        node = node.src[0]
    return node, offset


def _row_offset(node: UOp) -> int | None:
    """Where a SHRINK that keeps rows together begins; None where it does not."""
    source = node.src[0].shape
    begins = node.src[1 : 1 + len(source)]
    cut = [axis for axis, size in enumerate(source) if size != node.shape[axis]]
    if not cut:
        return 0
    inner = source[cut[-1] + 1 :]
    one_each = all(size == 1 for size in node.shape[: cut[-1]])
    begin = begins[cut[-1]]
    if begin.op is Op.CONST and begin.arg == 0 and cut == [0]:
        return 0
    numbers = all(isinstance(size, int) for size in source)
    if not one_each or not numbers or any(begin.op is not Op.CONST for begin in begins):
        return None
    offset, stride = 0, math.prod(inner)
    for axis in range(cut[-1], -1, -1):
        offset += begins[axis].arg * stride
        stride *= source[axis]
    return offset


def buffer_below(node: UOp) -> UOp:
    """The BUFFER that a version stands on."""
    while node.op is not Op.BUFFER:
        node = node.src[0]
    return node


def _check_writable(chain: list[UOp]) -> None:
    for node in chain:
        if node.op is Op.EXPAND:
            raise WriteError(
                f"cannot write through a view that was expanded to {node.shape}.",
                why=f"several of its elements are one element of {node.src[0].shape}.",
                fix="write the tensor it was made from, or copy the view first: contiguous().",
            )
        if node.op is Op.PAD:
            raise WriteError(
                f"cannot write through a view that was padded to {node.shape}.",
                why="the padding has no place in memory.",
                fix="write the tensor it was made from, or copy the view first: contiguous().",
            )
        if node.op is Op.WINDOW and node.arg.stride <= node.arg.dilation * (node.arg.size - 1):
            raise WriteError(
                "cannot write through overlapping windows.",
                why="several of their elements are one element of the tensor.",
                fix="copy the windows first: contiguous().",
            )


def _back_permute(node: UOp, value: UOp) -> UOp:
    order = node.arg
    return value.permute([order.index(axis) for axis in range(len(order))])


_INVERSES: dict[Op, Callable[[UOp, UOp], UOp]] = {
    Op.RESHAPE: lambda node, value: value.reshape(node.src[0].shape),
    Op.PERMUTE: _back_permute,
    Op.FLIP: lambda node, value: value.flip(node.arg),
}
