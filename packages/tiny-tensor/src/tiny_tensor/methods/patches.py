"""Windows of pictures as columns of a matrix, and back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self

from tiny_ir import ShapeError, Size, is_same_size
from tiny_plugin import boundary
from tiny_tensor.methods.convolution import ConvolutionMethods, laid_down
from tiny_tensor.methods.windows import Numbers, Sides, windowed, windows


@boundary
class PatchMethods(ConvolutionMethods):
    """Pictures are (batch, channels, *spatial); windows have one number for each spatial axis."""

    __slots__ = ()

    def unfold2d(
        self,
        kernel_size: Numbers,
        dilation: Numbers = 1,
        padding: Sides = 0,
        stride: Numbers = 1,
    ) -> Self:
        """The elements of each window, one window a column.

        Args:
            kernel_size: the size of a window on each spatial axis; one number stands for all.
            dilation: the distance of neighbours in a window.
            padding: zeros at the edges: one number, one for each axis, or two for each axis.
            stride: from one window to the next.

        Returns:
            (batch, channels * elements of a window, windows).

        Raises:
            ShapeError: there are no spatial axes, or a window does not fit.
            ArgumentError: a number is too small.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([[[1, 2, 3]]]).unfold2d((2,)).tolist()
            [[[1, 2], [2, 3]]]
        """
        spatial = self.ndim - 2
        if spatial < 1:
            raise ShapeError(
                f"a tensor of shape {self.shape} has no windows.",
                why="it is (batch, channels, *spatial).",
                fix="insert axes of size 1 with unsqueeze().",
            )
        of = windows(_kernel(kernel_size, spatial), stride, dilation, padding)
        node = windowed(self.uop.pad([(0, 0), (0, 0), *of.padding]), 2, of)
        order = (0, 1, *range(2 + spatial, 2 + 2 * spatial), *range(2, 2 + spatial))
        places = node.shape[2 : 2 + spatial]
        count: Size = 1
        for size in places:
            count = count * size
        rows = self.shape[1] * math.prod(of.sizes)
        return self._apply(node.permute(order).reshape((self.shape[0], rows, count)))

    def fold2d(
        self,
        output_size: Sequence[int],
        kernel_size: Numbers,
        dilation: Numbers = 1,
        padding: Sides = 0,
        stride: Numbers = 1,
    ) -> Self:
        """Lay windows back where `unfold2d` took them, and add up what overlaps.

        Args:
            output_size: the sizes of the spatial axes.
            kernel_size, dilation, padding, stride: those of the windows.

        Returns:
            (batch, channels, *output_size), for columns (batch, channels * elements, windows).

        Raises:
            ShapeError: there are not as many rows or columns as the numbers say.
            ArgumentError: a number is too small.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([[[1, 2], [2, 3]]]).fold2d((3,), (2,)).tolist()
            [[[1, 4, 3]]]
        """
        spatial = len(output_size)
        of = windows(_kernel(kernel_size, spatial), stride, dilation, padding)
        places = tuple(
            (size + sum(of.padding[n]) - of.reach[n]) // of.strides[n] + 1
            for n, size in enumerate(output_size)
        )
        elements = math.prod(of.sizes)
        fits = self.ndim == 3 and min(places, default=0) > 0
        rows = self._length(1) if fits else 0
        if not fits or rows % elements or not is_same_size(self.shape[2], math.prod(places)):
            raise ShapeError(
                f"columns of shape {self.shape} do not fill {tuple(output_size)}.",
                why=f"windows have {elements} elements, and stand at {places} places.",
                fix="pass the numbers that unfold2d() got.",
            )
        channels = rows // elements
        node = self.uop.reshape((self.shape[0], channels, *of.sizes, *places))
        order = (0, 1, *range(2 + spatial, 2 + 2 * spatial), *range(2, 2 + spatial))
        extra = tuple(
            size + sum(of.padding[n]) - ((places[n] - 1) * of.strides[n] + of.reach[n])
            for n, size in enumerate(output_size)
        )
        return self._apply(laid_down(node.permute(order), of, extra, places))


def _kernel(kernel_size: Numbers, spatial: int) -> tuple[int, ...]:
    return (kernel_size,) * spatial if isinstance(kernel_size, int) else tuple(kernel_size)
