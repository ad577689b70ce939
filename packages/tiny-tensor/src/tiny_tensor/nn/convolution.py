"""Layers that slide over axes: Conv1d, Conv2d and their transposes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tiny_ir import ArgumentError
from tiny_plugin import boundary
from tiny_tensor.explained import explained_methods
from tiny_tensor.methods.windows import padding_for, sides
from tiny_tensor.nn.parameters import checked_size, uniform
from tiny_tensor.tensor import Tensor

Sizes = int | Sequence[int]
Padding = int | Sequence[int] | str


class _Convolution:
    """What convolutions over any number of axes have in common."""

    def __init__(
        self,
        axes: int,
        channels: tuple[int, int],
        kernel_size: Sizes,
        stride: Sizes,
        padding: Sizes,
        dilation: Sizes,
        groups: int,
    ) -> None:
        for name, value in zip(("in_channels", "out_channels"), channels, strict=True):
            checked_size(name, value)
            if value % checked_size("groups", groups):
                raise ArgumentError(
                    f"{name} {value} cannot be divided into {groups} groups.",
                    why="each group has as many channels as the others.",
                    fix="choose a number of groups that divides both numbers of channels.",
                )
        self.kernel_size = _per_axis("kernel_size", kernel_size, axes, 1)
        self.stride = _per_axis("stride", stride, axes, 1)
        self.dilation = _per_axis("dilation", dilation, axes, 1)
        self.padding = padding
        self.groups = groups


def _per_axis(name: str, sizes: Sizes, axes: int, least: int) -> tuple[int, ...]:
    found = (sizes,) * axes if isinstance(sizes, int) else tuple(sizes)
    if len(found) != axes:
        raise ArgumentError(
            f"{name} has {len(found)} numbers.",
            why=f"the layer slides over {axes} axes.",
            fix="pass one number for all axes, or one for each.",
        )
    for size in found:
        checked_size(name, size, least)
    return found


def _padding(
    padding: Padding, axes: int, kernel_size: Sizes, stride: Sizes, dilation: Sizes
) -> Sizes:
    """The padding in numbers; where sides differ, (before, after) of each axis, last axis first."""
    if isinstance(padding, int):
        return checked_size("padding", padding, 0)
    if not isinstance(padding, str):
        return [checked_size("padding", size, 0) for size in padding]
    kernel = _per_axis("kernel_size", kernel_size, axes, 1)
    steps = _per_axis("stride", stride, axes, 1)
    gaps = _per_axis("dilation", dilation, axes, 1)
    pairs = padding_for(axes, sides(padding, kernel, steps, gaps))
    return [part for pair in reversed(pairs) for part in pair]


@explained_methods
@boundary
class ConvNd(_Convolution):
    """A convolution over the last axes; see `Conv1d` and `Conv2d`."""

    axes = 2

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Padding = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
    ) -> None:
        numbers = _padding(padding, self.axes, kernel_size, stride, dilation)
        channels = (in_channels, out_channels)
        super().__init__(self.axes, channels, kernel_size, stride, numbers, dilation, groups)
        shape = (out_channels, in_channels // groups, *self.kernel_size)
        fan_in = math.prod(shape[1:])
        self.weight = uniform(shape, fan_in)
        self.bias = uniform((out_channels,), fan_in) if bias else None

    def __call__(self, x: Tensor) -> Tensor:
        return x.conv2d(
            self.weight, self.bias, self.groups, self.stride, self.dilation, self.padding
        )


class Conv1d(ConvNd):
    """A convolution over one axis.

    Args:
        in_channels: the size of axis 1 of the input, (batch, in_channels, length).
        out_channels: that of the output.
        kernel_size: how many places a filter covers.
        stride: places from one to the next.
        padding: zeros on both sides, or 'same' for a result as long as the input (stride 1 only).
        dilation: places from one element of a filter to the next.
        groups: parts of the channels that do not see each other.
        bias: add one.

    Attributes:
        weight: (out_channels, in_channels / groups, kernel_size).
        bias: (out_channels,); None without one.

    Example:
        >>> Conv1d(2, 4, 3, padding=1)(Tensor.ones(1, 2, 8)).shape
        (1, 4, 8)
    """

    axes = 1


class Conv2d(ConvNd):
    """A convolution over two axes.

    Args:
        in_channels: the size of axis 1 of the input, (batch, in_channels, height, width).
        out_channels: that of the output.
        kernel_size: how many places a filter covers: one number, or one for each axis.
        stride: places from one to the next.
        padding: zeros on both sides, or 'same' for a result as large as the input (stride 1 only).
        dilation: places from one element of a filter to the next.
        groups: parts of the channels that do not see each other.
        bias: add one.

    Attributes:
        weight: (out_channels, in_channels / groups, *kernel_size).
        bias: (out_channels,); None without one.

    Example:
        >>> Conv2d(3, 8, 3, padding="same")(Tensor.ones(1, 3, 8, 8)).shape
        (1, 8, 8, 8)
    """


@explained_methods
@boundary
class ConvTransposeNd(_Convolution):
    """A transposed convolution over the last axes; see `ConvTranspose1d` and `ConvTranspose2d`."""

    axes = 2

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
    ) -> None:
        padding = _per_axis("padding", padding, self.axes, 0)
        channels = (in_channels, out_channels)
        super().__init__(self.axes, channels, kernel_size, stride, padding, dilation, groups)
        self.output_padding = _per_axis("output_padding", output_padding, self.axes, 0)
        shape = (in_channels, out_channels // groups, *self.kernel_size)
        fan_in = math.prod(shape[1:])
        self.weight = uniform(shape, fan_in)
        self.bias = uniform((out_channels,), fan_in) if bias else None

    def __call__(self, x: Tensor) -> Tensor:
        return x.conv_transpose2d(
            self.weight,
            self.bias,
            self.groups,
            self.stride,
            self.dilation,
            self.padding,
            self.output_padding,
        )


class ConvTranspose1d(ConvTransposeNd):
    """The transpose of a convolution over one axis: every element spreads over a filter.

    Args:
        in_channels: the size of axis 1 of the input, (batch, in_channels, length).
        out_channels: that of the output.
        kernel_size: how many places a filter covers.
        stride: places in the output from one element of the input to the next.
        padding: places that are cut off on both sides.
        output_padding: places that are added at the end.
        dilation: places from one element of a filter to the next.
        groups: parts of the channels that do not see each other.
        bias: add one.

    Attributes:
        weight: (in_channels, out_channels / groups, kernel_size).
        bias: (out_channels,); None without one.

    Example:
        >>> ConvTranspose1d(2, 4, 3, stride=2)(Tensor.ones(1, 2, 8)).shape
        (1, 4, 17)
    """

    axes = 1


class ConvTranspose2d(ConvTransposeNd):
    """The transpose of a convolution over two axes: every element spreads over a filter.

    Args:
        in_channels: the size of axis 1 of the input, (batch, in_channels, height, width).
        out_channels: that of the output.
        kernel_size: how many places a filter covers: one number, or one for each axis.
        stride: places in the output from one element of the input to the next.
        padding: places that are cut off on both sides.
        output_padding: places that are added at the end.
        dilation: places from one element of a filter to the next.
        groups: parts of the channels that do not see each other.
        bias: add one.

    Attributes:
        weight: (in_channels, out_channels / groups, *kernel_size).
        bias: (out_channels,); None without one.

    Example:
        >>> ConvTranspose2d(2, 4, 3, stride=2)(Tensor.ones(1, 2, 8, 8)).shape
        (1, 4, 17, 17)
    """
