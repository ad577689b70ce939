"""Layers that bring elements to mean 0 and variance 1: over the batch, a layer, or groups."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tiny_ir import ArgumentError, ShapeError, dtypes, product
from tiny_plugin import boundary
from tiny_tensor.explained import explained_methods
from tiny_tensor.nn.parameters import checked_size, parameter
from tiny_tensor.tensor import Tensor


@explained_methods
@boundary
class BatchNorm:
    """Normalize each channel over the batch, and over all axes after the channels.

    In training mode (`Tensor.train()`) by the statistics of the batch, which also move the running
    ones; else by the running ones.

    Args:
        num_features: the number of channels, axis 1 of the input.
        eps: added to the variance.
        affine: scale by a weight and add a bias.
        track_running_stats: keep running statistics; without, those of the batch are used always.
        momentum: how far the running statistics move to those of a batch.

    Attributes:
        weight: (num_features,), ones at first; None where not affine.
        bias: (num_features,), zeros at first; None where not affine.
        running_mean: (num_features,), zeros at first; None where not tracked.
        running_var: (num_features,), ones at first, of unbiased variances; None where not tracked.
        num_batches_tracked: (), int32; None where not tracked.

    Example:
        >>> BatchNorm(2)(Tensor.ones(3, 2, 4, 4)).shape
        (3, 2, 4, 4)
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        affine: bool = True,
        track_running_stats: bool = True,
        momentum: float = 0.1,
    ) -> None:
        checked_size("num_features", num_features)
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.weight = parameter(Tensor.ones(num_features)) if affine else None
        self.bias = parameter(Tensor.zeros(num_features)) if affine else None
        tracks = track_running_stats
        self.running_mean = Tensor.zeros(num_features).clone() if tracks else None
        self.running_var = Tensor.ones(num_features).clone() if tracks else None
        count = Tensor.zeros(1, dtype=dtypes.int32).reshape(())
        self.num_batches_tracked = count.clone() if tracks else None

    def __call__(self, x: Tensor) -> Tensor:
        self._check(x)
        if Tensor.training or self.running_mean is None or self.running_var is None:
            mean, variance = self._statistics(x)
        else:
            mean, variance = self.running_mean, self.running_var
        return x.batchnorm(self.weight, self.bias, mean, (variance + self.eps).rsqrt())

    def _statistics(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance of the batch; the running ones follow in training mode."""
        axes = tuple(axis for axis in range(x.ndim) if axis != 1)
        count = math.prod(size for axis, size in enumerate(x.shape) if axis != 1)
        if Tensor.training and count == 1:
            raise ShapeError(
                f"batch norm cannot train on a tensor of shape {x.shape}.",
                why="there is one value a channel, which has no variance.",
                fix="use larger batches, or leave training mode.",
            )
        wide = x.cast(dtypes.sum_dtype(x.dtype))
        mean = wide.mean(axes)
        variance = wide.var(axes, correction=0)
        if Tensor.training and self.running_mean is not None and self.running_var is not None:
            unbiased = variance.detach() * (count / (count - 1))
            self._follow(self.running_mean, mean.detach())
            self._follow(self.running_var, unbiased)
            if self.num_batches_tracked is not None:
                self.num_batches_tracked.assign(self.num_batches_tracked + 1)
        return mean, variance

    def _follow(self, running: Tensor, batch: Tensor) -> None:
        moved = running.detach() * (1 - self.momentum) + batch * self.momentum
        running.assign(moved.cast(running.dtype))

    def _check(self, x: Tensor) -> None:
        if x.ndim < 2 or x.shape[1] != self.num_features:
            raise ShapeError(
                f"batch norm of {self.num_features} channels cannot take shape {x.shape}.",
                why="the channels are axis 1.",
                fix=f"pass (batch, {self.num_features}, ...).",
            )


BatchNorm2d = BatchNorm3d = BatchNorm


@explained_methods
@boundary
class LayerNorm:
    """Normalize over the last axes, and scale.

    Args:
        normalized_shape: the sizes of those axes.
        eps: added to the variance.
        elementwise_affine: scale by a weight and add a bias.

    Attributes:
        weight: of shape `normalized_shape`, ones at first; None where not affine.
        bias: likewise, zeros at first.

    Example:
        >>> LayerNorm(4)(Tensor.ones(2, 3, 4)).shape
        (2, 3, 4)
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
    ) -> None:
        self.normalized_shape = _sizes(normalized_shape)
        self.eps = eps
        shape = self.normalized_shape
        self.weight = parameter(Tensor.ones(*shape)) if elementwise_affine else None
        self.bias = parameter(Tensor.zeros(*shape)) if elementwise_affine else None

    def __call__(self, x: Tensor) -> Tensor:
        _check_last(x, self.normalized_shape, "layer norm")
        axes = tuple(range(-len(self.normalized_shape), 0))
        y = x.cast(dtypes.sum_dtype(x.dtype)).layernorm(axes, self.eps)
        return _scaled(y, x, self.weight, self.bias, self.normalized_shape)


@explained_methods
@boundary
class LayerNorm2d(LayerNorm):
    """Normalize over the channels, axis 1, of (batch, channels, height, width).

    Example:
        >>> LayerNorm2d(3)(Tensor.ones(2, 3, 4, 4)).shape
        (2, 3, 4, 4)
    """

    def __call__(self, x: Tensor) -> Tensor:
        return super().__call__(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


@explained_methods
@boundary
class GroupNorm:
    """Normalize groups of channels, and scale each channel.

    Args:
        num_groups: how many groups.
        num_channels: the size of axis 1 of the input.
        eps: added to the variance.
        affine: scale by a weight and add a bias.

    Attributes:
        weight: (num_channels,), ones at first; None where not affine.
        bias: (num_channels,), zeros at first; None where not affine.

    Example:
        >>> GroupNorm(2, 4)(Tensor.ones(1, 4, 8, 8)).shape
        (1, 4, 8, 8)
    """

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True
    ) -> None:
        if checked_size("num_channels", num_channels) % checked_size("num_groups", num_groups):
            raise ArgumentError(
                f"{num_channels} channels cannot be divided into {num_groups} groups.",
                why="each group has as many channels as the others.",
                fix="choose a number of groups that divides the number of channels.",
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.weight = parameter(Tensor.ones(num_channels)) if affine else None
        self.bias = parameter(Tensor.zeros(num_channels)) if affine else None

    def __call__(self, x: Tensor) -> Tensor:
        if x.ndim < 2 or x.shape[1] != self.num_channels:
            raise ShapeError(
                f"a norm of {self.num_channels} channels cannot take shape {x.shape}.",
                why="the channels are axis 1.",
                fix=f"pass (batch, {self.num_channels}, ...).",
            )
        size = product(x.shape[1:]) // self.num_groups
        grouped = x.cast(dtypes.sum_dtype(x.dtype)).reshape(x.shape[0], self.num_groups, size)
        y = grouped.layernorm(-1, self.eps).reshape(x.shape)
        shape = (self.num_channels, *(1 for _ in x.shape[2:]))
        return _scaled(y, x, self.weight, self.bias, shape)


@explained_methods
@boundary
class InstanceNorm(GroupNorm):
    """Normalize each channel of each instance by itself.

    Args:
        num_features: the size of axis 1 of the input.
        eps: added to the variance.
        affine: scale by a weight and add a bias.

    Example:
        >>> InstanceNorm(4)(Tensor.ones(1, 4, 8, 8)).shape
        (1, 4, 8, 8)
    """

    def __init__(self, num_features: int, eps: float = 1e-5, affine: bool = True) -> None:
        super().__init__(num_features, num_features, eps, affine)


@explained_methods
@boundary
class RMSNorm:
    """Divide by the root of the mean square of the last axes, and scale. Computed in float32.

    Args:
        dim: the size of the last axis, or the sizes of several.
        eps: added to the mean square.
        elementwise_affine: scale by a weight.

    Attributes:
        weight: of shape `dim`, ones at first; None where not affine.

    Example:
        >>> RMSNorm(4)(Tensor([[2.0, 2.0, 2.0, 2.0]])).numpy().round(3).tolist()
        [[1.0, 1.0, 1.0, 1.0]]
    """

    def __init__(
        self, dim: int | Sequence[int], eps: float = 1e-6, elementwise_affine: bool = True
    ) -> None:
        self.dim = dim
        self.normalized_shape = _sizes(dim, "dim")
        self.eps = eps
        ones = Tensor.ones(*self.normalized_shape)
        self.weight = parameter(ones) if elementwise_affine else None

    def __call__(self, x: Tensor) -> Tensor:
        _check_last(x, self.normalized_shape, "RMS norm")
        axes = tuple(range(-len(self.normalized_shape), 0))
        wide = x.cast(dtypes.sum_dtype(x.dtype))
        y = (wide * (wide.square().mean(axes, keepdim=True) + self.eps).rsqrt()).cast(x.dtype)
        return y if self.weight is None else y * self.weight


def _scaled(
    y: Tensor, x: Tensor, weight: Tensor | None, bias: Tensor | None, shape: tuple[int, ...]
) -> Tensor:
    """What was made of x, times a weight and with a bias of a shape, rounded once."""
    if weight is None or bias is None:
        return y.cast(x.dtype if x.dtype.is_float else y.dtype)
    result = dtypes.promote(x.dtype, weight.dtype, bias.dtype)
    return (y * weight.reshape(shape) + bias.reshape(shape)).cast(result)


def _sizes(shape: int | Sequence[int], name: str = "normalized_shape") -> tuple[int, ...]:
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    for size in sizes:
        checked_size(name, size)
    if not sizes:
        raise ArgumentError(
            f"{name} is empty.",
            why="at least one axis is normalized.",
            fix="pass the sizes of the last axes.",
        )
    return sizes


def _check_last(x: Tensor, sizes: tuple[int, ...], what: str) -> None:
    if x.shape[-len(sizes) :] != sizes:
        raise ShapeError(
            f"{what} over {sizes} cannot take shape {x.shape}.",
            why="the last axes must have these sizes.",
            fix=f"pass (..., {', '.join(map(str, sizes))}).",
        )
