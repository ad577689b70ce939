"""Spellings of functions of networks: activations, losses, pooling, normalization, reshaping."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from oracle.spelling import Spelling
from oracle.spellings_arrays import as_float
from tiny_ir import dtypes
from tiny_tensor import Tensor, nn

T = Tensor


def reduced(x: T, reduction: str) -> T:
    return x.mean() if reduction == "mean" else x.sum() if reduction == "sum" else x


def many(value: Any, n: int) -> tuple[int, ...]:
    value = (value,) if isinstance(value, int) else tuple(value)
    return value * n if len(value) == 1 else value


# Activations.


def rrelu(x: T, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False) -> T:
    slope = T.uniform(*x.shape, low=lower, high=upper) if training else (lower + upper) / 2
    return (x < 0).where(x * slope, x).cast(x.dtype)


def safe_softmax(x: T, dim: int, dtype: Any = None) -> T:
    nothing = x.max(dim, True).eq(-math.inf)
    return nothing.where(0.0, nothing.where(0.0, x).softmax(dim, dtype))


def softplus(x: T, beta: float = 1, threshold: float = 20) -> T:
    return (x * beta > threshold).where(x, x.softplus(beta))


# Losses.


def plain(name: str) -> Callable[..., T]:
    """A loss without the two arguments that torch has put out of use."""

    def call(*args: Any, size_average: Any = None, reduce: Any = None, **kwargs: Any) -> T:
        return getattr(T, name)(*args, **kwargs)  # type: ignore[no-any-return]

    return call


def of_one(name: str) -> Callable[..., T]:
    """A loss of classes; torch takes one number for one class, and an axis for one target."""

    def call(x: T, y: T, *args: Any, **kwargs: Any) -> T:
        if x.ndim < 2:
            x, y = x.reshape(-1), y.reshape(-1) if "label" in name else y.reshape(())
        return plain(name)(x, y, *args, **kwargs)

    return call


def triplet_with(a: T, b: T, c: T, *, distance_function: Any = None, **kwargs: Any) -> T:
    distance = distance_function
    if isinstance(distance, torch.nn.PairwiseDistance):
        p, e = distance.norm, distance.eps
        distance = lambda u, v: u.pairwise_distance(v, p, e)  # noqa: E731
    elif distance is torch.nn.functional.pairwise_distance:
        distance = None
    elif distance is torch.nn.functional.cosine_similarity:
        distance = T.cosine_similarity
    return a.triplet_margin_loss(b, c, distance=distance, **kwargs)


def binary(x: T, y: T, weight: Any = None, reduction: str = "mean", **_: Any) -> T:
    loss = x.binary_crossentropy(y, "none")
    return reduced(loss if weight is None else loss * weight, reduction)


def binary_logits(
    x: T, y: T, weight: Any = None, reduction: str = "mean", pos_weight: Any = None, **_: Any
) -> T:
    loss = x.binary_crossentropy_logits(y, "none", pos_weight)
    return reduced(loss if weight is None else loss * weight, reduction)


def cross_entropy(
    x: T,
    y: T,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
    **_: Any,
) -> T:
    return x.cross_entropy(y, reduction, label_smoothing, weight=weight, ignore_index=ignore_index)


# Normalization.


def affine(x: T, weight: Any, bias: Any, axis: int = 1) -> T:
    shape = tuple(x.shape[axis] if i == axis else 1 for i in range(x.ndim))
    x = x if weight is None else x * weight.reshape(shape)
    return x if bias is None else x + bias.reshape(shape)


def with_parameters(layer: Any, weight: Any, bias: Any, size: Any, like: T) -> Any:
    """A layer with these parameters; ones and zeros in the place of a missing one."""
    if weight is not None or bias is not None:
        layer.weight = T.ones(*size, dtype=like.dtype) if weight is None else weight
        layer.bias = T.zeros(*size, dtype=like.dtype) if bias is None else bias
    return layer


def group_norm(x: T, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> T:
    channels = int(x.shape[1]) if x.ndim > 1 else 1
    layer = nn.GroupNorm(num_groups, channels, eps, False)
    found: T = with_parameters(layer, weight, bias, (channels,), x)(x)
    return found


def instance_norm(
    x: T,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> T:
    return affine(x.layernorm(tuple(range(2, x.ndim)), eps), weight, bias)


def batch_norm(
    x: T,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> T:
    if training:
        return affine(x.layernorm(tuple(i for i in range(x.ndim) if i != 1), eps), weight, bias)
    return x.batchnorm(weight, bias, running_mean, (running_var + eps).rsqrt())


def rms_norm(x: T, normalized_shape: Any, weight: Any = None, eps: float | None = None) -> T:
    eps = {2: 2.0**-10, 4: 2.0**-23, 8: 2.0**-52}[x.element_size()] if eps is None else eps
    wide = x.cast(dtypes.float32) if x.element_size() < 4 else x
    result = nn.RMSNorm(normalized_shape, eps, False)(wide)
    return (result if weight is None else result * weight).cast(x.dtype)


def local_response_norm(
    x: T, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> T:
    padded = x.square().pad((0, 0) * (x.ndim - 2) + (size // 2, (size - 1) // 2))
    windows = padded.unfold(1, size, 1)
    total = windows.mean(-1) if x.is_floating_point() else windows.sum(-1) // size
    return x / (k + alpha * total).pow(beta)


# Pooling and images.


def adaptive(n: int, name: str) -> Callable[..., Any]:
    def call(x: T, output_size: Any, *args: Any, **kwargs: Any) -> Any:
        sizes = (output_size,) * n if output_size is None else many(output_size, n)
        return getattr(x, name)(sizes, *args, **kwargs)

    return call


def unpool(n: int) -> Callable[..., T]:
    def call(
        x: T,
        indices: T,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        output_size: Any = None,
    ) -> T:
        alone = x.ndim == n + 1
        x, indices = (x.unsqueeze(0), indices.unsqueeze(0)) if alone else (x, indices)
        stride = None if stride in (None, (), []) else many(stride, n)
        size = None if output_size is None else tuple(output_size)[-n:]
        made = x.max_unpool2d(
            indices, many(kernel_size, n), stride, 1, many(padding, n), output_size=size
        )
        return made.squeeze(0) if alone else made

    return call


def pixel_shuffle(x: T, upscale_factor: int) -> T:
    r = upscale_factor
    *lead, c, h, w = x.shape
    x = x.reshape(*lead, c // (r * r), r, r, h, w)
    n = len(lead)
    order = (*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return x.permute(*order).reshape(*lead, c // (r * r), h * r, w * r)


def pixel_unshuffle(x: T, downscale_factor: int) -> T:
    r = downscale_factor
    *lead, c, h, w = x.shape
    x = x.reshape(*lead, c, h // r, r, w // r, r)
    n = len(lead)
    order = (*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return x.permute(*order).reshape(*lead, c * r * r, h // r, w // r)


def channel_shuffle(x: T, groups: int) -> T:
    n, c, *rest = x.shape
    return x.reshape(n, groups, c // groups, *rest).transpose(1, 2).reshape(x.shape)


def unfold(x: T, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> T:
    alone = x.ndim == 3
    x = x.unsqueeze(0) if alone else x
    made = x.unfold2d(*(many(v, 2) for v in (kernel_size, dilation, padding, stride)))
    return made.squeeze(0) if alone else made


def embedding_bag(
    table: T,
    indices: T,
    offsets: T | None = None,
    max_norm: Any = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: Any = None,
) -> T:
    if max_norm is not None:
        norm = table.norm(1, True, norm_type)
        table = (norm > max_norm).where(table * (max_norm / (norm + 1e-7)), table)
    return table.embedding_bag(
        indices, offsets, mode, per_sample_weights, padding_idx, include_last_offset
    )


def grid_sample(x: T, grid: T, align_corners: Any = None, **modes: str) -> T:
    return x.grid_sample(grid, align_corners=bool(align_corners), **modes)


def grid_sampler(x: T, grid: T, mode: int, edges: int, align_corners: bool) -> T:
    """The inside of grid_sample, which numbers the modes."""
    names = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
    return x.grid_sample(grid, names[0][mode], names[1][edges], align_corners)


def interpolate(
    x: T,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: Any = None,
    recompute_scale_factor: Any = None,
    antialias: bool = False,
) -> T:
    n = x.ndim - 2
    mode = {"bilinear": "linear", "trilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
    if size is not None:
        return x.interpolate(many(size, n), mode, bool(align_corners))
    factors = (scale_factor,) * n if isinstance(scale_factor, float | int) else scale_factor
    if recompute_scale_factor:
        size = tuple(math.floor(s * f) for s, f in zip(x.shape[2:], factors, strict=True))
        return x.interpolate(size, mode, bool(align_corners))
    return x.interpolate(None, mode, bool(align_corners), scale_factor=tuple(factors))


def bilinear(a: T, b: T, weight: T, bias: Any = None) -> T:
    made = T.einsum("...i,kij,...j->...k", a, weight, b)
    return made if bias is None else made + bias


def embedding(
    indices: T,
    weight: T,
    padding_idx: Any = None,
    max_norm: Any = None,
    norm_type: float = 2.0,
    **_: Any,
) -> T:
    if not isinstance(indices, T) or indices.is_floating_point():
        indices, weight = weight, indices
    if max_norm is not None:  # torch writes rows that are longer back, shortened
        norm = weight.norm(1, True, norm_type)
        weight = (norm > max_norm).where(weight * (max_norm / (norm + 1e-7)), weight)
    found = weight[indices]
    if padding_idx is None:
        return found
    padding_idx = padding_idx % weight.shape[0]
    return indices.eq(padding_idx).unsqueeze(-1).where(found.detach(), found)


def softmax_backward(g: T, y: T, dim: int, dtype: Any) -> T:
    """Rounded once, as the inside of one function would be."""
    wide, values = (x.cast(dtypes.promote(x.dtype, dtypes.float32)) for x in (g, y))
    found = values * (wide - (wide * values).sum(dim, True)) if y.ndim else wide * 0
    return found.cast(g.dtype)


def dropped(x: T, p: float = 0.5, training: bool = True, **_: Any) -> T:
    with T.train(training):
        return x.dropout(p)


def dropped_channels(x: T, p: float = 0.5, training: bool = True, **_: Any) -> T:
    with T.train(training):
        lead = 2 if x.ndim > 2 else 1
        return x * T.ones(*x.shape[:lead], *(1,) * (x.ndim - lead), dtype=x.dtype).dropout(p)


def layer_norm(x: T, shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> T:
    found: T = with_parameters(nn.LayerNorm(shape, eps, False), weight, bias, shape, x)(x)
    return found


def native_layer_norm(x: T, shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    axes = tuple(range(-len(shape), 0))
    return (
        layer_norm(x, shape, weight, bias, eps),
        x.mean(axes, True),
        (x.var(axes, True, correction=0) + eps).rsqrt(),
    )


def attention(
    q: T,
    k: T,
    v: T,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: Any = None,
    enable_gqa: bool = False,
) -> T:
    if scale is not None:
        q = q * (scale * math.sqrt(q.shape[-1]))
    return q.scaled_dot_product_attention(k, v, attn_mask, dropout_p, is_causal, enable_gqa)


# Masks: elements that are left out count as what changes nothing.


def masked(name: str, neutral: Any, *, first: str | None = None) -> Callable[..., T]:
    """A reduction, scan or normalization over the elements of a mask."""

    def call(x: T, *args: Any, mask: Any = None, **kwargs: Any) -> T:
        dtype = kwargs.pop("dtype", None)
        x = x if dtype is None else x.cast(dtype)
        value = neutral(x) if callable(neutral) else neutral
        kept = x if mask is None else mask.expand(*x.shape).where(x, value)
        names = ("dim", "keepdim")
        named = dict(zip(names, args, strict=False)) | kwargs
        dim = named.pop("dim", None)
        dim = None if isinstance(dim, list | tuple) and not dim else dim
        method = getattr(kept, name)
        if name in ("softmax", "log_softmax", "softmin", "cumsum", "cumprod"):
            return method(dim)
        return method(dim, named.get("keepdim") or False)

    return call


def in_own_dtype(f: Callable[..., T]) -> Callable[..., T]:
    """Torch gives the result in the dtype of the input."""

    def call(x: T, *args: Any, **kwargs: Any) -> T:
        return f(x, *args, **kwargs).cast(kwargs.get("dtype") or x.dtype)

    return call


def masked_norm(
    x: T,
    ord: float,
    dim: Any = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Any = None,
) -> T:
    x = x if dtype is None else x.cast(dtype)
    lost = math.inf if ord < 0 else 0.0
    kept = x if mask is None else mask.expand(*x.shape).where(x, lost)
    return kept.norm(None if dim in ([], ()) else dim, keepdim, ord)


def masked_spread(root: bool, mean_only: bool = False) -> Callable[..., T]:
    def call(
        x: T,
        dim: Any = None,
        unbiased: Any = None,
        *,
        keepdim: bool = False,
        dtype: Any = None,
        mask: Any = None,
        correction: Any = None,
    ) -> T:
        x = x if dtype is None else x.cast(dtype)
        x = as_float(x)
        dim = None if dim in ([], ()) else dim
        kept = T.ones(*x.shape, dtype=dtypes.bool_) if mask is None else mask.expand(*x.shape)
        count = kept.sum(dim, True)
        mean = kept.where(x, 0).sum(dim, True) / count
        if mean_only:
            return _without(mean, dim, keepdim)
        square = kept.where((x - mean).square(), 0).sum(dim, True)
        less = 1 if unbiased is None or unbiased else 0
        less = less if correction is None else correction
        value = (square / (count - less).maximum(0)).cast(x.dtype)
        return _without(value.sqrt() if root else value, dim, keepdim)

    return call


def masked_mean(
    x: T, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None
) -> T:
    return masked_spread(False, True)(x, dim, keepdim=keepdim, dtype=dtype, mask=mask)


def _without(x: T, dim: Any, keepdim: bool) -> T:
    if keepdim:
        return x
    axes = range(x.ndim) if dim is None else [dim] if isinstance(dim, int) else dim
    for axis in sorted((a % max(x.ndim, 1) for a in axes), reverse=True):
        x = x.squeeze(axis) if x.ndim else x
    return x


def masked_normalize(
    x: T,
    ord: float,
    dim: int,
    *,
    eps: float = 1e-12,
    dtype: Any = None,
    mask: Any = None,
) -> T:
    size = masked_norm(x, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    kept = x if mask is None else mask.expand(*x.shape).where(x, 0)
    return kept / size.maximum(eps)


def lowest(x: T) -> Any:
    return -math.inf if x.is_floating_point() else x.dtype.minimum


def highest(x: T) -> Any:
    return math.inf if x.is_floating_point() else x.dtype.maximum


NETWORKS: dict[str, Any] = {
    # Activations.
    "nn.functional.rrelu": Spelling(rrelu, True),
    "nn.functional.softplus": softplus,
    "nn.functional.elu": lambda x, alpha=1.0: x.elu(alpha),
    # Losses.
    **{
        f"nn.functional.{name}": plain(name)
        for name in (
            "l1_loss",
            "mse_loss",
            "smooth_l1_loss",
            "kl_div",
            "poisson_nll_loss",
            "hinge_embedding_loss",
            "margin_ranking_loss",
            "cosine_embedding_loss",
            "soft_margin_loss",
            "multilabel_soft_margin_loss",
            "triplet_margin_loss",
        )
    },
    "nn.functional.multi_margin_loss": of_one("multi_margin_loss"),
    "nn.functional.multilabel_margin_loss": of_one("multilabel_margin_loss"),
    "nn.functional.triplet_margin_with_distance_loss": triplet_with,
    "nn.functional.binary_cross_entropy": binary,
    "nn.functional.binary_cross_entropy_with_logits": binary_logits,
    "nn.functional.cross_entropy": cross_entropy,
    # Normalization.
    "nn.functional.layer_norm": layer_norm,
    "torch.ops.aten._safe_softmax.default": safe_softmax,
    "native_layer_norm": native_layer_norm,
    "nn.functional.group_norm": group_norm,
    "nn.functional.instance_norm": instance_norm,
    "nn.functional.batch_norm": batch_norm,
    "nn.functional.rms_norm": rms_norm,
    "nn.functional.local_response_norm": local_response_norm,
    # Pooling and images.
    "nn.functional.adaptive_avg_pool1d": adaptive(1, "adaptive_avg_pool2d"),
    "nn.functional.adaptive_avg_pool2d": adaptive(2, "adaptive_avg_pool2d"),
    "nn.functional.adaptive_avg_pool3d": adaptive(3, "adaptive_avg_pool2d"),
    "nn.functional.adaptive_max_pool1d": adaptive(1, "adaptive_max_pool2d"),
    "nn.functional.adaptive_max_pool2d": adaptive(2, "adaptive_max_pool2d"),
    "nn.functional.adaptive_max_pool3d": adaptive(3, "adaptive_max_pool2d"),
    "nn.functional.max_unpool1d": unpool(1),
    "nn.functional.max_unpool2d": unpool(2),
    "nn.functional.max_unpool3d": unpool(3),
    "nn.functional.pixel_shuffle": pixel_shuffle,
    "nn.functional.pixel_unshuffle": pixel_unshuffle,
    "nn.functional.channel_shuffle": channel_shuffle,
    "nn.functional.unfold": unfold,
    "nn.functional.embedding_bag": embedding_bag,
    "nn.functional.grid_sample": grid_sample,
    "grid_sampler_2d": grid_sampler,
    "grid_sampler_3d": grid_sampler,
    "nn.functional.interpolate": interpolate,
    "nn.functional.upsample_bilinear": lambda x, size=None, scale_factor=None: interpolate(
        x, size, scale_factor, "linear", True
    ),
    "nn.functional.upsample_nearest": lambda x, size=None, scale_factor=None: interpolate(
        x, size, scale_factor, "nearest"
    ),
    # Others.
    "nn.functional.bilinear": bilinear,
    "nn.functional.embedding": embedding,
    "nn.functional.dropout": Spelling(dropped, True),
    "nn.functional.dropout2d": Spelling(dropped_channels, True),
    "nn.functional.dropout3d": Spelling(dropped_channels, True),
    "nn.functional.alpha_dropout": Spelling(dropped, True),
    "nn.functional.feature_alpha_dropout": Spelling(dropped_channels, True),
    "nn.functional.scaled_dot_product_attention": Spelling(
        attention, random_when=lambda named: named.get("dropout_p", 0) > 0
    ),
    "_softmax_backward_data": softmax_backward,
    # Masks.
    "masked.sum": masked("sum", 0),
    "masked.prod": masked("prod", 1),
    "masked.amax": masked("max", lowest),
    "masked.amin": masked("min", highest),
    "masked.argmax": in_own_dtype(masked("argmax", lowest)),
    "masked.argmin": in_own_dtype(masked("argmin", highest)),
    "nn.functional.hardtanh": in_own_dtype(T.hardtanh),
    "masked.cumsum": masked("cumsum", 0),
    "masked.cumprod": masked("cumprod", 1),
    "masked.softmax": masked("softmax", -math.inf),
    "masked.log_softmax": masked("log_softmax", -math.inf),
    "masked.softmin": masked("softmin", math.inf),
    "masked.logsumexp": in_own_dtype(masked("logsumexp", -math.inf)),
    "masked.mean": masked_mean,
    "masked.var": masked_spread(False),
    "masked.std": masked_spread(True),
    "masked.norm": masked_norm,
    "masked.normalize": masked_normalize,
}
