"""Gradients: rules per op, the walk that applies them, and the methods of Tensor."""

from tiny_tensor.gradient.differentiate import GRADIENTS, gradients_of
from tiny_tensor.gradient.methods import GradientMethods

__all__ = ["GRADIENTS", "GradientMethods", "gradients_of"]
