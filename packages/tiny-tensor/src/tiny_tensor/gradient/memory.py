"""Gradients of writes, copies and markers."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tiny_ir import GradientError, Op, UOp, const, make, toposort
from tiny_tensor.gradient.movement import MOVEMENT_GRADIENTS
from tiny_tensor.gradient.rule import GradientRule, Pairs, fitted, spread
from tiny_tensor.storage import chain_above, over


def same(node: UOp, g: UOp) -> Pairs:
    """The op does nothing to the values."""
    return ((node.src[0], g),)


def contiguous_backward(node: UOp, g: UOp) -> Pairs:
    """The gradient gets memory of its own."""
    return ((node.src[0], make(Op.CONTIGUOUS, None, (g,))),)


def copy(node: UOp, g: UOp) -> Pairs:
    """The gradient goes back to the device that the copy came from."""
    source = node.src[0]
    device = device_of(source)
    return ((source, g if device is None else make(Op.COPY, None, (g,), device)),)


def write(node: UOp, g: UOp) -> Pairs:
    """What was written gets the gradient of its place; what stood there before has no part.

    before   AFTER(old, STORE(view, value))
    """
    old, *effects = node.src
    pairs: list[tuple[UOp, UOp]] = []
    for effect in effects:
        if effect.op is not Op.STORE:
            raise GradientError(
                f"cannot differentiate a tensor after {effect!r}.",
                why="only writes of values have gradients.",
                fix="detach() it, or differentiate what was there before.",
            )
        view, value = effect.src[:2]
        chain = chain_above(view, old)
        part = g
        for step in reversed(chain):
            part = over(step, part)
        pairs.append((value, part))
        is_written = _pulled_back(chain, spread(const(g.dtype, 1), view.shape)).ne(0)
        g = is_written.where(const(g.dtype, 0), g)
    return (*pairs, (old, g))


def _pulled_back(chain: list[UOp], value: UOp) -> UOp:
    """A value for each element of a view, at its place below a chain of movement ops."""
    for step in chain:
        ((source, value),) = MOVEMENT_GRADIENTS[step.op](step, value)
        value = fitted(value, source)
    return value


def device_of(node: UOp) -> str | None:
    """Where a node's elements are; None where it depends on no memory."""
    for at in reversed(toposort((node,))):
        if at.op is Op.COPY:
            return str(at.arg)
        if at.op is Op.BUFFER:
            return str(at.arg.device)
    return None


MEMORY_GRADIENTS: Mapping[Op, GradientRule] = MappingProxyType(
    {
        Op.CONTIGUOUS: same,
        Op.CONTIGUOUS_BACKWARD: contiguous_backward,
        Op.COPY: copy,
        Op.AFTER: write,
    }
)
