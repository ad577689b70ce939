"""Gradients that users wrote: those of the inputs of a CUSTOM, as the Session's function says."""

from __future__ import annotations

from tiny_ir import GradientError, ShapeError, UOp, is_same_shape
from tiny_tensor.gradient.rule import Pairs, zeros
from tiny_tensor.session import current_session
from tiny_tensor.tensor_core import TensorCore


def custom(node: UOp, g: UOp) -> Pairs:
    """Nothing reaches what the user function did inside; its inputs get what the user says."""
    parts = current_session().custom_gradients.parts(node, g)
    return tuple(zip(node.src[1:], parts, strict=True))


def gradient_of_input(part: TensorCore | None, x: UOp) -> UOp:
    """What a user's function returned for an input, in its dtype; zeros for None.

    Raises:
        ShapeError: it has another shape than the input.
    """
    if part is None:
        return zeros(x.shape, x)
    if not is_same_shape(part.shape, x.shape):
        raise ShapeError(
            f"a gradient function returned {part.shape} for a tensor of shape {x.shape}.",
            why="each element has a gradient.",
            fix="sum or expand it to the shape of the tensor.",
        )
    return part.uop.cast(x.dtype)


def no_gradient_of_call() -> GradientError:
    """The error about a kernel that a user wrote, and said no gradient of."""
    return GradientError(
        "a kernel of your own has no gradient.",
        why="it stands between the tensor that is differentiated and one of the targets, and "
        "nobody said how it is differentiated.",
        fix="pass grad_fxn=... to custom_kernel(), or detach() what comes out of it.",
    )
