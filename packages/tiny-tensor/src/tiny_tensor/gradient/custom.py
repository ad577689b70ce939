"""Gradients that users wrote: those of the inputs of a CUSTOM, as the Session's function says."""

from __future__ import annotations

from tiny_ir import UOp
from tiny_tensor.gradient.rule import Pairs
from tiny_tensor.session import current_session


def custom(node: UOp, g: UOp) -> Pairs:
    """Nothing reaches what the user function did inside; its inputs get what the user says."""
    parts = current_session().custom_gradients.parts(node, g)
    return tuple(zip(node.src[1:], parts, strict=True))
