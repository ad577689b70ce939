"""Sliding windows over Tensors: convolution and its adjoint."""

from __future__ import annotations

from typing import Self

from tiny_ir import ArgumentError, DType, Op, ShapeError, Size, UOp, dtypes, is_same_size
from tiny_plugin import boundary
from tiny_tensor.broadcast import broadcast
from tiny_tensor.methods.linear_algebra import LinearAlgebraMethods, product_dtype
from tiny_tensor.methods.windows import (
    NamedSides,
    Numbers,
    Sides,
    Windows,
    numbers_for,
    sides,
    windowed,
    windows,
)
from tiny_tensor.tensor_core import concrete_dtype


@boundary
class ConvolutionMethods(LinearAlgebraMethods):
    """Convolutions over any number of spatial axes. Float sums are kept in at least float32."""

    __slots__ = ()

    def conv2d(
        self,
        weight: Self,
        bias: Self | None = None,
        groups: int = 1,
        stride: Numbers = 1,
        dilation: Numbers = 1,
        padding: NamedSides = 0,
        dtype: DType | str | None = None,
    ) -> Self:
        """Slide weights over the spatial axes and add up the products.

        Args:
            weight: (out, channels / groups, *kernel), with one kernel axis for each spatial axis.
            bias: (out,), or None.
            groups: channels are divided into as many groups, each with weights of its own.
            stride: from one place of the kernel to the next.
            dilation: the distance of neighbours in the kernel.
            padding: zeros at the edges: one number, one for each axis, or two for each axis; or
                "same" for as many as keep the sizes, or "valid" for none.
            dtype: the dtype to add in and to return.

        Returns:
            (batch, out, *spatial) for self of (batch, channels, *spatial), in the promoted dtype.

        Raises:
            ShapeError: channels, groups, weights and bias do not fit, or the kernel does not.
            ArgumentError: a stride or a dilation is less than 1, padding is negative, or it is
                "same" with a stride.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor.arange(8).reshape(1, 1, 8).conv2d(Tensor([[[1, 1]]]), stride=3).tolist()
            [[[1, 7, 13]]]
        """
        kernel = self._kernel_of(weight, "conv2d")
        _check_channels(self.shape, weight.shape, groups, is_transposed=False)
        of = windows(kernel, stride, dilation, sides(padding, kernel, stride, dilation))
        result, kept = self._result_dtypes(weight, dtype)
        batch, channels = self.shape[:2]
        spatial = len(kernel)
        x = self.uop.cast(kept).pad([(0, 0), (0, 0), *of.padding])
        x = windowed(x, 2, of)
        places = x.shape[2 : 2 + spatial]
        inside = _quotient(channels, groups)
        outside = _quotient(weight.shape[0], groups)
        # (batch, groups, 1, places..., channels in a group, kernel...)
        x = x.reshape((batch, groups, inside, *places, *kernel))
        order = (0, 1, *range(3, 3 + spatial), 2, *range(3 + spatial, 3 + 2 * spatial))
        x = x.permute(order).reshape((batch, groups, 1, *places, inside, *kernel))
        w = weight.uop.cast(kept).reshape((1, groups, outside, *(1,) * spatial, inside, *kernel))
        shape = (batch, groups, outside, *places, inside, *kernel)
        terms = broadcast(x, shape) * broadcast(w, shape)
        total = terms.reduce(Op.ADD, tuple(range(3 + spatial, len(shape))))
        total = total.reshape((batch, weight.shape[0], *places)).cast(result)
        return self._with_bias(total, bias)

    def conv_transpose2d(
        self,
        weight: Self,
        bias: Self | None = None,
        groups: int = 1,
        stride: Numbers = 1,
        dilation: Numbers = 1,
        padding: Sides = 0,
        output_padding: Numbers = 0,
    ) -> Self:
        """Lay weights at each place, times its element, and add up what overlaps.

        It is the adjoint of `conv2d`: it brings its result back to the shape it came from.

        Args:
            weight: (channels, out / groups, *kernel).
            bias: (out,), or None.
            groups: channels are divided into as many groups.
            stride: from one place of the kernel to the next in the result.
            dilation: the distance of neighbours in the kernel.
            padding: how much is cut off at the edges.
            output_padding: how much is added at the end of each axis; beyond the last window there
                is nothing but the bias.

        Returns:
            (batch, out, *spatial), in the promoted dtype.

        Raises:
            ShapeError: channels, groups, weights and bias do not fit.
            ArgumentError: a stride or a dilation is less than 1.

        Example:
            >>> from tiny_tensor import Tensor
            >>> x = Tensor([[[1, 2]]])
            >>> x.conv_transpose2d(Tensor([[[1, 10]]]), stride=2).tolist()
            [[[1, 10, 2, 20]]]
        """
        kernel = self._kernel_of(weight, "conv_transpose2d")
        _check_channels(self.shape, weight.shape, groups, is_transposed=True)
        of = windows(kernel, stride, dilation, padding)
        extra = numbers_for(len(kernel), output_padding, "output_padding", 0)
        result, kept = self._result_dtypes(weight, None)
        batch, channels, *places = self.shape
        spatial = len(kernel)
        inside, outside = _quotient(channels, groups), weight.shape[1]
        # (batch, groups, out in a group, places..., kernel..., channels in a group)
        ones = (1,) * spatial
        x = self.uop.cast(kept).reshape((batch, groups, inside, *places))
        x = x.permute((0, 1, *range(3, 3 + spatial), 2))
        x = x.reshape((batch, groups, 1, *places, *ones, inside))
        w = weight.uop.cast(kept).reshape((groups, inside, outside, *kernel))
        w = w.permute((0, 2, *range(3, 3 + spatial), 1))
        w = w.reshape((1, groups, outside, *ones, *kernel, inside))
        shape = (batch, groups, outside, *places, *kernel, inside)
        total = (broadcast(x, shape) * broadcast(w, shape)).reduce(Op.ADD, (len(shape) - 1,))
        total = total.reshape((batch, groups * outside, *places, *kernel))
        total = laid_down(total, of, extra, self._spatial_lengths(spatial))
        return self._with_bias(total.cast(result), bias)

    def _spatial_lengths(self, spatial: int) -> tuple[int, ...]:
        return tuple(self._length(2 + n) for n in range(spatial))

    def _kernel_of(self, weight: Self, name: str) -> tuple[int, ...]:
        weight = self._wrap(weight)
        if self.ndim < 3 or weight.ndim != self.ndim:
            raise ShapeError(
                f"{name} cannot slide weights of {weight.shape} over {self.shape}.",
                why="there is a batch, channels, and at least one spatial axis, and the weights "
                "have as many axes.",
                fix="insert axes of size 1 with unsqueeze().",
            )
        return tuple(weight._length(axis) for axis in range(2, weight.ndim))

    def _result_dtypes(self, weight: Self, dtype: DType | str | None) -> tuple[DType, DType]:
        """The dtype of the result, and the one that sums are kept in."""
        if dtype is not None:
            return concrete_dtype(dtype), concrete_dtype(dtype)
        result = dtypes.promote(self.dtype, weight.dtype)
        if result.is_bool:
            result = dtypes.int32
        return result, product_dtype(result)

    def _with_bias(self, node: UOp, bias: Self | None) -> Self:
        total = self._apply(node)
        if bias is None:
            return total
        channels = total.shape[1]
        if bias.ndim != 1 or not is_same_size(bias.shape[0], channels):
            raise ShapeError(
                f"a bias of shape {bias.shape} does not fit {channels} channels.",
                why="it adds one number to each channel of the result.",
                fix=f"give it the shape ({channels},).",
            )
        return total + bias.reshape((1, -1, *(1,) * (total.ndim - 2)))


def _check_channels(
    x: tuple[Size, ...], weight: tuple[Size, ...], groups: int, *, is_transposed: bool
) -> None:
    if groups < 1:
        raise ArgumentError(
            f"there cannot be {groups} groups.",
            why="all channels together are one group.",
            fix="choose a number of 1 or more.",
        )
    channels = x[1]
    if is_transposed:
        fits = is_same_size(weight[0], channels) and _divides(groups, channels)
        expected = f"({channels}, out / {groups}, ...)"
    else:
        fits = _divides(groups, channels) and is_same_size(weight[1], _quotient(channels, groups))
        fits = fits and _divides(groups, weight[0])
        expected = f"(out, {channels} / {groups}, ...)"
    if not fits:
        raise ShapeError(
            f"weights of {weight} do not fit {channels} channels in {groups} groups.",
            why=f"they have shape {expected}, and groups divide all channels evenly.",
            fix="choose other weights or another number of groups.",
        )


def _divides(number: int, size: Size) -> bool:
    return number == 1 or (isinstance(size, int) and size % number == 0)


def _quotient(size: Size, number: int) -> Size:
    return size if number == 1 else size // number


def laid_down(node: UOp, of: Windows, extra: tuple[int, ...], lengths: tuple[int, ...]) -> UOp:
    """Sum windows back over their axes; then cut the padding off and add what is asked for."""
    spatial = len(of.sizes)
    parts: list[tuple[Size, Size]] = [(0, size) for size in node.shape[:2]]
    grown: list[tuple[Size, Size]] = [(0, 0), (0, 0)]
    for n in reversed(range(spatial)):
        covered = (lengths[n] - 1) * of.strides[n] + of.reach[n] if lengths[n] else 0
        node = node.fold(2 + n, covered, of.strides[n], of.dilations[n])
    for n in range(spatial):
        covered = (lengths[n] - 1) * of.strides[n] + of.reach[n] if lengths[n] else 0
        before, after = of.padding[n]
        end = covered - after + extra[n]
        if end < before:
            raise ShapeError(
                f"padding of {of.padding[n]} leaves nothing of an axis of {covered}.",
                why="padding is cut off the result of a transposed convolution.",
                fix="choose a smaller padding.",
            )
        grown.append((0, max(0, end - covered)))
        parts.append((before, end))
    return node.pad(grown).shrink(parts)
