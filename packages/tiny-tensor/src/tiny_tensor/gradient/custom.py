"""Gradients that users wrote: those of the inputs of a CUSTOM, as the Session's function says."""

from __future__ import annotations

from tiny_ir import GradientError, UOp
from tiny_tensor.gradient.rule import Pairs
from tiny_tensor.session import current_session


def custom(node: UOp, g: UOp) -> Pairs:
    """Nothing reaches what the user function did inside; its inputs get what the user says."""
    parts = current_session().custom_gradients.parts(node, g)
    return tuple(zip(node.src[1:], parts, strict=True))


def no_gradient_of_call() -> GradientError:
    """The error about a kernel that a user wrote, and said no gradient of."""
    return GradientError(
        "a kernel of your own has no gradient.",
        why="it stands between the tensor that is differentiated and one of the targets, and "
        "nobody said how it is differentiated.",
        fix="pass grad_fxn=... to custom_kernel(), or detach() what comes out of it.",
    )
