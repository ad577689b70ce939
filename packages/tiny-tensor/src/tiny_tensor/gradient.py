"""Gradients of Tensor: what flows back through each op."""

from __future__ import annotations

from typing import Self

from tiny_ir import Op, make
from tiny_tensor.tensor_core import TensorCore


class GradientMethods(TensorCore):
    """Differentiation."""

    __slots__ = ()

    def detach(self) -> Self:
        """The same elements, through which no gradient flows."""
        return self._apply(make(Op.DETACH, None, (self.uop,)))
