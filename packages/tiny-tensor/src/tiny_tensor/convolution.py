"""Sliding windows over Tensors: convolution and pooling."""

from __future__ import annotations

from typing import Self

from tiny_ir import ArgumentError
from tiny_tensor.tensor_core import TensorCore


class ConvolutionMethods(TensorCore):
    """Convolution, pooling, and the windows they are made of."""

    __slots__ = ()

    def unfold(self, dim: int, size: int, step: int) -> Self:
        """Slide a window over an axis; positions in the window become a new last axis.

        Args:
            dim: the axis.
            size: elements of a window.
            step: from one window to the next.

        Returns:
            A view with (length - size) // step + 1 windows in place of the axis.

        Raises:
            ArgumentError: the size or the step is less than 1.
            ShapeError: a window is longer than the axis.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor.arange(5).unfold(0, 3, 2).tolist()
            [[0, 1, 2], [2, 3, 4]]
        """
        if size < 1 or step < 1:
            raise ArgumentError(
                f"a window of {size} cannot move by {step}.",
                why="size and step are at least 1.",
                fix="choose positive numbers.",
            )
        return self._view(self.uop.window(self._resolve_axis(dim), size, step))
