"""A write in place becomes a value: what the memory holds afterwards.

before   AFTER(old, STORE(view, value))
after    WHERE(is_written, value at its place, old)
"""

from __future__ import annotations

from tiny_ir import GradientError, Op, UOp, const, dtypes
from tiny_tensor.gradient.movement import MOVEMENT_GRADIENTS
from tiny_tensor.gradient.rule import fitted, spread
from tiny_tensor.storage import chain_above, is_whole


def as_value(node: UOp) -> UOp:
    """The elements of memory after its writes, without the writes.

    Args:
        node: an AFTER whose effects are STOREs.

    Raises:
        GradientError: there is another effect.
    """
    old, *effects = node.src
    for effect in effects:
        if effect.op is not Op.STORE:
            raise GradientError(
                f"cannot transform a tensor after {effect!r}.",
                why="only writes of values are known as values.",
                fix="transform what was there before.",
            )
        view, value = effect.src[:2]
        chain = chain_above(view, old)
        placed = _placed(chain, value)
        if is_whole(view, old):
            old = placed
            continue
        ones = spread(const(dtypes.int32, 1), view.shape)
        old = _placed(chain, ones).ne(0).where(placed, old)
    return old


def _placed(chain: list[UOp], value: UOp) -> UOp:
    """A value for each element of a view, at its place below a chain of movement ops."""
    for step in chain:
        ((source, value),) = MOVEMENT_GRADIENTS[step.op](step, value)
        value = fitted(value, source)
    return value
