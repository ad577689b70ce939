"""A box with the newest version of some data: what a Tensor and all its views share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tiny_ir import MOVEMENT, Op, UOp, WriteError, bounds, product, rebuild

if TYPE_CHECKING:
    from tiny_tensor.session import Session


class Storage:
    """The box. A write puts a newer version into it, which every view then reads.

    Args:
        node: the newest version.
    """

    __slots__ = ("__weakref__", "node")

    def __init__(self, node: UOp) -> None:
        self.node = node

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
        chain = chain_above(view, self.node)
        _check_writable(chain)
        if 0 in view.shape:
            return
        if all(node.op in _INVERSES for node in chain):
            # The whole is written: the value is the newer version.
            for node in chain:
                value = _INVERSES[node.op](node, value)
            self.node = value
            return
        held = memory_of_whole(self.node)
        if held is None:
            elements = product(self.node.shape)
            place = session.new_buffer(self.node.dtype, most(elements), device)
            held = place.after(place.store(flat(self.node)))
        place = held.reshape(self.node.shape)
        for node in reversed(chain):
            place = over(node, place)
        self.node = held.after(place.store(value)).reshape(self.node.shape)


def over(node: UOp, source: UOp) -> UOp:
    """A movement node over another source of the same shape."""
    return rebuild(node, (source, *node.src[1:]))


def flat(node: UOp) -> UOp:
    """All elements, one after another."""
    return node.reshape((product(node.shape),))


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


def memory_of_rows(node: UOp) -> UOp | None:
    """The BUFFER that starts with the elements of `node`, in the same order; None without one."""
    while node.op is Op.RESHAPE:
        node = node.src[0]
    if node.op is Op.SHRINK and node.src[0].op is Op.BUFFER and node.src[1].arg == 0:
        node = node.src[0]
    return node if node.op is Op.BUFFER else None


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
