"""The table: each name of torch's database, and how it is spelled here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oracle.samples import entries
from oracle.spelling import Spelling, method
from oracle.spellings_arrays import ARRAYS
from oracle.spellings_networks import NETWORKS
from oracle.spellings_special import SPECIAL
from oracle.unmapped import UNMAPPED
from tiny_ir import dtypes
from tiny_tensor import Tensor

T = Tensor
DEVICE = {"device": "cpu"}


def _tensor(value: Any, like: Tensor) -> Tensor:
    return value if isinstance(value, Tensor) else T(value, device=like.device)


def _together(f: Any) -> Any:
    """The same call with the tensors one by one, where torch takes a list."""
    return lambda xs, *args, **kwargs: f(*xs, *args, **kwargs)


# Elementwise.


def with_alpha(f: Any) -> Any:
    def call(x: T, other: Any, alpha: Any = None) -> Any:
        return f(x, other if alpha is None else other * alpha)

    return call


def div(x: T, other: Any, rounding_mode: str | None = None) -> T:
    return x.div(other, rounding_mode=rounding_mode)


def nan_to_num(x: T, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> T:
    return x.nan_to_num(nan if nan is not None else 0.0, posinf, neginf)


# Products.


def scaled(name: str) -> Spelling:
    """Torch takes any number as a factor, and cuts it where the result is of integers."""

    def call(x: T, a: T, b: T, **factors: Any) -> Any:
        whole = not any(side.is_floating_point() for side in (x, a, b))
        factors = {k: int(v) if whole else v for k, v in factors.items()}
        return getattr(x, name)(a, b, **factors)

    return Spelling(call)


def tensordot(a: T, b: T, dims: Any = 2) -> T:
    return a.tensordot(b, dims)


# Reductions.


def reduced(name: str, **renamed: str) -> Spelling:
    return method(name, **renamed)


def spread_of(name: str) -> Spelling:
    def call(
        x: T,
        dim: Any = None,
        unbiased: Any = None,
        *,
        correction: Any = None,
        keepdim: bool = False,
    ) -> Any:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        if correction is None:
            correction = 1 if unbiased is None or unbiased else 0
        dim = None if dim == [] or dim == () else dim
        return getattr(x, name)(dim, keepdim, correction=correction)

    return Spelling(call)


def extreme(name: str) -> Spelling:
    def call(x: T, dim: Any = None, keepdim: bool = False) -> Any:
        if isinstance(dim, Tensor):
            return getattr(x, name + "imum")(dim)
        if dim is None:
            return getattr(x, name)()
        return getattr(x, name)(dim, keepdim), getattr(x, "arg" + name)(dim, keepdim)

    return Spelling(call)


def all_axes(name: str) -> Spelling:
    """Torch takes an empty tuple of axes for all of them."""

    def call(x: T, dim: Any = None, keepdim: bool = False, **kwargs: Any) -> Any:
        dim = None if isinstance(dim, list | tuple) and not dim else dim
        return getattr(x, name)(dim, keepdim, **kwargs)

    return Spelling(call)


def mean(x: T, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> T:
    x = x if dtype is None else x.cast(dtype)
    return x.mean(None if dim in ([], ()) else dim, keepdim)


def cumulative(name: str) -> Spelling:
    def call(x: T, dim: int = 0, dtype: Any = None) -> Any:
        return getattr(x if dtype is None else x.cast(dtype), name)(dim)

    return Spelling(call)


def soft(name: str) -> Spelling:
    def call(x: T, dim: int = -1, dtype: Any = None) -> Any:
        return getattr(x, name)(dim, dtype)

    return Spelling(call)


def count_nonzero(x: T, dim: Any = None) -> T:
    return x.ne(0).sum(dim, dtype=dtypes.int64)


def vector_norm(
    x: T,
    ord: Any = 2,
    dim: Any = None,
    keepdim: bool = False,
    dtype: Any = None,
) -> T:
    x = x if dtype is None else x.cast(dtype)
    return x.norm(dim, keepdim, 2 if ord is None else ord)


# Creation.


def made(name: str) -> Spelling:
    def call(*args: Any, **kwargs: Any) -> Any:
        return getattr(T, name)(*args, **kwargs)

    return Spelling(call)


def random_made(name: str) -> Spelling:
    return Spelling(made(name).call, is_random=True)


# Movement.


def shape_of(x: Any) -> Sequence[int]:
    return x.shape


def _each(xs: Sequence[Any], rank: int) -> Any:
    xs = xs[0] if len(xs) == 1 else xs
    if isinstance(xs, list | tuple):
        return [_at_least(x, rank) for x in xs]
    return _at_least(xs, rank)


def _at_least(x: T, rank: int) -> T:
    if x.ndim >= rank:
        return x
    if rank == 3:
        x = _at_least(x, 2)
        return x.unsqueeze(2)
    return x.reshape(*[1] * (rank - x.ndim), *x.shape)


def _joined_all(xs: Sequence[T], dim: int = 0) -> T:
    """Torch leaves out tensors of shape (0,), whatever the others are."""
    kept = [x for x in xs if not isinstance(x, T) or x.shape != (0,)] or xs
    return T.cat(kept, dim=dim)  # type: ignore[arg-type]  # a list in the place of a tensor


def _joined(xs: Sequence[T], rank: int, dim: int) -> T:
    xs = [_at_least(x, rank) for x in xs]
    return xs[0].cat(*xs[1:], dim=dim)


def _at(x: T, dim: int, key: Any) -> tuple[Any, ...]:
    dim = dim + x.ndim if dim < 0 else dim
    return (slice(None),) * dim + (key,)


def _narrowed(x: T, dim: int, start: Any, length: int) -> T:
    return x.narrow(dim, start.item() if isinstance(start, T) else start, length)


def _grid(xs: Sequence[Any], indexing: str) -> Any:
    xs = xs[0] if isinstance(xs[0], list | tuple) else xs
    return xs[0].meshgrid(*xs[1:], indexing=indexing)


def _together_shape(xs: Sequence[T]) -> list[T]:
    rank = max(x.ndim for x in xs)
    shapes = [(1,) * (rank - x.ndim) + tuple(x.shape) for x in xs]
    shape = [next((s for s in sizes if s != 1), 1) for sizes in zip(*shapes, strict=True)]
    return [x.expand(*shape) for x in xs]


def _dropped(x: T, p: float, training: bool) -> T:
    with T.train(training):
        return x.dropout(p)


def _many(value: Any, n: int) -> tuple[int, ...]:
    value = (value,) if isinstance(value, int) else tuple(value)
    return value * n if len(value) == 1 else value


def _pooled(
    x: T,
    n: int,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: Any = None,
) -> T:
    stride = None if stride in (None, (), []) else _many(stride, n)
    sides = _pairs(padding, n)
    return x.avg_pool2d(
        _many(kernel_size, n), stride, 1, sides, ceil_mode, count_include_pad, divisor_override
    )


def _pairs(padding: Any, n: int) -> Any:
    return _many(padding, n)


def _largest(
    x: T,
    n: int,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    stride = None if stride in (None, (), []) else _many(stride, n)
    return x.max_pool2d(
        _many(kernel_size, n),
        stride,
        _many(dilation, n),
        _many(padding, n),
        ceil_mode,
        return_indices,
    )


def _convolved(
    n: int,
    x: T,
    weight: T,
    bias: T | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> T:
    batched = x.ndim == n + 2
    x = x if batched else x.unsqueeze(0)
    padding = padding if isinstance(padding, str) else _many(padding, n)
    result = x.conv2d(weight, bias, groups, _many(stride, n), _many(dilation, n), padding)
    return result if batched else result.squeeze(0)


def _transposed(
    n: int,
    x: T,
    weight: T,
    bias: T | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> T:
    batched = x.ndim == n + 2
    x = x if batched else x.unsqueeze(0)
    result = x.conv_transpose2d(
        weight,
        bias,
        groups,
        _many(stride, n),
        _many(dilation, n),
        _many(padding, n),
        _many(output_padding, n),
    )
    return result if batched else result.squeeze(0)


def _affine(x: T, weight: T | None, bias: T | None) -> T:
    x = x if weight is None else x * weight
    return x if bias is None else x + bias


SPELLINGS: dict[str, Spelling] = {
    name: call if isinstance(call, Spelling) else Spelling(call)
    for name, call in {
        "H": lambda x: x.transpose(0, 1) if x.ndim == 2 else x,
        "T": lambda x: x.permute(*reversed(range(x.ndim))),
        "__rdiv__": lambda x, o: x.div(o, True),
        "__rmatmul__": lambda x, o: o.matmul(x),
        "add": with_alpha(T.add),
        "sub": with_alpha(T.sub),
        "rsub": with_alpha(lambda x, o: o - x),
        "div": div,
        "true_divide": div,
        "floor_divide": lambda x, o: x // o,
        "remainder": lambda x, o: x % o,
        "pow": lambda x, o: x**o,
        "float_power": lambda x, o: x.double() ** (o.double() if isinstance(o, T) else o),
        "ge": lambda x, o: x >= o,
        "gt": lambda x, o: x > o,
        "le": lambda x, o: x <= o,
        "lt": lambda x, o: x < o,
        "equal": lambda x, o: x.shape == o.shape and x.eq(o).all(),
        "bitwise_left_shift": lambda x, o: x << o,
        "bitwise_right_shift": lambda x, o: x >> o,
        "positive": lambda x: +x,
        "clamp": lambda x, min=None, max=None: x.clamp(min, max),
        "clamp_min": lambda x, low: x.clamp(low, None),
        "clamp_max": lambda x, high: x.clamp(None, high),
        "where": lambda c, x, y: c.where(x, y),
        "isreal": lambda x: x.eq(x) | True,
        "resolve_conj": lambda x: x,
        "resolve_neg": lambda x: x,
        "conj": lambda x: x,
        "conj_physical": lambda x: x,
        "real": lambda x: x,
        "sgn": T.sign,
        "byte": lambda x: x.cast(dtypes.uint8),
        "char": lambda x: x.cast(dtypes.int8),
        "to": lambda x, *a, **k: next(
            (x.cast(v) for v in [*a, *k.values()] if type(v) is type(dtypes.int8)), x
        ),
        # Products.
        "addmm": scaled("addmm"),
        "addmm decomposed": scaled("addmm"),
        "addmv": scaled("addmv"),
        "baddbmm": scaled("baddbmm"),
        "addbmm": scaled("addbmm"),
        "addr": scaled("addr"),
        "bmm": T.matmul,
        "mm": T.matmul,
        "mv": T.matmul,
        "dot": T.matmul,
        "vdot": T.matmul,
        # Reductions.
        "amax": all_axes("max"),
        "amin": all_axes("min"),
        "aminmax": lambda x, dim=None, keepdim=False: (x.min(dim, keepdim), x.max(dim, keepdim)),
        "sum": all_axes("sum"),
        "prod": lambda x, dim=None, keepdim=False, dtype=None: x.prod(dim, keepdim, dtype),
        "nansum": lambda x, dim=None, keepdim=False: (
            x.isnan().where(0, x).sum(None if dim in ([], ()) else dim, keepdim)
        ),
        "mean": mean,
        "max": extreme("max"),
        "min": extreme("min"),
        "var": spread_of("var"),
        "std": spread_of("std"),
        "var_mean": spread_of("var_mean"),
        "std_mean": spread_of("std_mean"),
        "all": all_axes("all"),
        "any": all_axes("any"),
        "logsumexp": all_axes("logsumexp"),
        "count_nonzero": count_nonzero,
        "cumsum": cumulative("cumsum"),
        "cumprod": cumulative("cumprod"),
        "softmax": soft("softmax"),
        "log_softmax": soft("log_softmax"),
        "nn.functional.softmin": soft("softmin"),
        "torch.ops.aten._safe_softmax.default": soft("softmax"),
        "linalg.vector_norm": vector_norm,
        # Movement.
        "alias_copy": lambda x: x,
        "view_copy": lambda x, *s: x.view(*s),
        "broadcast_to": lambda x, *s: x.expand(*s),
        "expand_copy": lambda x, *s: x.expand(*s),
        "expand_as": lambda x, o: x.expand(o.shape),
        "reshape_as": lambda x, o: x.reshape(o.shape),
        "view_as": lambda x, o: x.reshape(o.shape),
        "atleast_1d": lambda *xs: _each(xs, 1),
        "atleast_2d": lambda *xs: _each(xs, 2),
        "atleast_3d": lambda *xs: _each(xs, 3),
        "cat": _joined_all,
        "stack": lambda xs, dim=0: xs[0].stack(*xs[1:], dim=dim),
        "hstack": T.hstack,
        "vstack": T.vstack,
        "dstack": T.dstack,
        "column_stack": lambda xs: _joined(
            [x.reshape(-1, 1) if x.ndim < 2 else x for x in xs], 2, 1
        ),
        "diagonal": T.diagonal,
        "diagonal_copy": T.diagonal,
        "linalg.diagonal": lambda x, offset=0, dim1=-2, dim2=-1: x.diagonal(offset, dim1, dim2),
        "fliplr": lambda x: x.flip(1),
        "flipud": lambda x: x.flip(0),
        "narrow": lambda x, dim, start, length: _narrowed(x, dim, start, length),
        "narrow_copy": lambda x, dim, start, length: _narrowed(x, dim, start, length),
        "permute_copy": method("permute"),
        "ravel": lambda x: x.reshape(-1),
        "select": lambda x, dim, index: x[_at(x, dim, index)],
        "slice": lambda x, dim=0, start=None, end=None, step=1: x[
            _at(x, dim, slice(start, end, step))
        ],
        "split": lambda x, sizes, dim=0: x.split(sizes, dim),
        "split_with_sizes": lambda x, split_sizes, dim=0: x.split(split_sizes, dim),
        "split_with_sizes_copy": lambda x, split_sizes, dim=0: x.split(split_sizes, dim),
        "unsafe_split": lambda x, sizes, dim=0: x.split(sizes, dim),
        "chunk": lambda x, chunks, dim=0: x.chunk(chunks, dim),
        "unsafe_chunk": lambda x, chunks, dim=0: x.chunk(chunks, dim),
        "squeeze_copy": method("squeeze"),
        "t_copy": T.t,
        "transpose": lambda x, dim0, dim1: x.transpose(dim0, dim1),
        "transpose_copy": lambda x, dim0, dim1: x.transpose(dim0, dim1),
        "unbind_copy": method("unbind"),
        "unfold": lambda x, dimension, size, step: x.unfold(dimension, size, step),
        "unfold_copy": lambda x, dimension, size, step: x.unfold(dimension, size, step),
        "unsqueeze_copy": method("unsqueeze"),
        "meshgrid": lambda *xs, indexing="ij": _grid(xs, indexing),
        "broadcast_tensors": lambda *xs: _together_shape(xs),
        "constant_pad_nd": lambda x, pad, value=0: x.pad(pad, value=value),
        "nn.functional.pad": lambda x, pad, mode="constant", value=None: x.pad(
            pad, mode, 0 if value is None else value
        ),
        "repeat": lambda x, *s: x.repeat(*s),
        "tile": lambda x, dims: x.repeat(*([1] * (x.ndim - len(dims)) + list(dims))),
        "einsum": lambda xs, formula: T.einsum(formula, *xs),
        "to_sparse": None,
        # Indexing.
        "__getitem__": lambda x, index: x[tuple(index) if isinstance(index, list) else index],
        "gather": lambda x, dim, index, sparse_grad=False: x.gather(dim, index),
        "scatter": lambda x, dim, index, src, reduce=None: x.scatter(dim, index, src, reduce),
        "scatter_add": lambda x, dim, index, src: x.scatter_reduce(dim, index, src, "sum"),
        "argsort": lambda x, dim=-1, descending=False, stable=False: x.argsort(dim, descending),
        "sort": lambda x, dim=-1, descending=False, stable=False: x.sort(dim, descending),
        "msort": lambda x: x.sort(0)[0],
        "argwhere": lambda x: x.nonzero(),
        "nonzero": lambda x, as_tuple=False: (
            tuple(p.squeeze(1) for p in _at_least(x, 1).nonzero().split(1, 1))
            if as_tuple
            else x.nonzero()
        ),
        "nonzero_static": lambda x, size, fill_value=-1: x.nonzero(size, fill_value),
        # Creation.
        "zeros_like": method("zeros_like"),
        "new_zeros": lambda x, s, dtype=None, device=None: T.zeros(*s, dtype=dtype or x.dtype),
        "new_ones": lambda x, s, dtype=None, device=None: T.ones(*s, dtype=dtype or x.dtype),
        "new_full": lambda x, s, v, dtype=None, device=None: T.full(
            tuple(s), v, dtype=dtype or x.dtype
        ),
        "zeros": lambda s, **k: T.zeros(*s, **k),
        "ones": lambda s, **k: T.ones(*s, **k),
        "full": lambda s, v, **k: T.full(tuple(s), v, **k),
        "fill": lambda x, v: (
            x.full_like(v) if not isinstance(v, T) else v.cast(x.dtype).expand(x.shape)
        ),
        "zero_": lambda x: x.zeros_like(),
        "scalar_tensor": lambda v, **k: T(v, **k),
        "empty": Spelling(lambda s, **k: T.empty(*s, **k), is_random=True),
        "empty_like": Spelling(method("empty_like").call, is_random=True),
        "new_empty": Spelling(
            lambda x, s, dtype=None, device=None: T.empty(*s, dtype=dtype or x.dtype),
            is_random=True,
        ),
        "rand_like": Spelling(method("rand_like").call, is_random=True),
        "randn_like": Spelling(method("randn_like").call, is_random=True),
        "randn": Spelling(lambda s, **k: T.randn(*s, **k), is_random=True),
        "uniform": Spelling(
            lambda x, low=0.0, high=1.0: T.uniform(*x.shape, low=low, high=high, dtype=x.dtype),
            is_random=True,
        ),
        "multinomial": Spelling(
            lambda x, n, replacement=False: x.multinomial(n, replacement), is_random=True
        ),
        "nn.functional.dropout": Spelling(
            lambda x, p=0.5, training=True: _dropped(x, p, training), is_random=True
        ),
        # Networks.
        "nn.functional.linear": lambda x, weight, bias=None: x.linear(weight.T, bias),
        "nn.functional.celu": lambda x, alpha=1.0: x.celu(alpha),
        "nn.functional.gelu": lambda x, approximate="none": x.gelu(approximate),
        "nn.functional.hardtanh": lambda x, min_val=-1.0, max_val=1.0: x.hardtanh(min_val, max_val),
        "nn.functional.softplus": method("softplus"),
        "nn.functional.avg_pool1d": lambda x, *a, **n: _pooled(x, 1, *a, **n),
        "nn.functional.avg_pool2d": lambda x, *a, **n: _pooled(x, 2, *a, **n),
        "nn.functional.avg_pool3d": lambda x, *a, **n: _pooled(x, 3, *a, **n),
        "nn.functional.max_pool1d": lambda x, *a, **n: _largest(x, 1, *a, **n),
        "nn.functional.max_pool2d": lambda x, *a, **n: _largest(x, 2, *a, **n),
        "nn.functional.max_pool3d": lambda x, *a, **n: _largest(x, 3, *a, **n),
        "nn.functional.conv1d": lambda *a, **k: _convolved(1, *a, **k),
        "nn.functional.conv2d": lambda *a, **k: _convolved(2, *a, **k),
        "nn.functional.conv3d": lambda *a, **k: _convolved(3, *a, **k),
        "nn.functional.conv_transpose1d": lambda *a, **k: _transposed(1, *a, **k),
        "nn.functional.conv_transpose2d": lambda *a, **k: _transposed(2, *a, **k),
        "nn.functional.conv_transpose3d": lambda *a, **k: _transposed(3, *a, **k),
        "nn.functional.unfold": None,
        "nn.functional.nll_loss": lambda x, y, weight=None, ignore_index=-100, reduction="mean": (
            x.nll_loss(y, weight, ignore_index, reduction)
        ),
        "nn.functional.cross_entropy": method("cross_entropy"),
        "nn.functional.layer_norm": lambda x, shape, weight=None, bias=None, eps=1e-5: _affine(
            x.layernorm(tuple(range(-len(shape), 0)), eps), weight, bias
        ),
        "nn.functional.normalize": lambda x, p=2.0, dim=1, eps=1e-12: x.normalize(p, dim, eps),
        "nn.functional.embedding": lambda i, w, padding_idx=None, **k: w[i],
    }.items()
    if call is not None
}


def spelling_of(key: str) -> Spelling | None:
    """Return how an entry is spelled here, or None when it is not mapped."""
    name = entries()[key].name
    if name in UNMAPPED:
        return None
    for word in (key, name):
        for table in (NETWORKS, ARRAYS, SPECIAL, SPELLINGS):
            found = table.get(word)
            if found is not None:
                return found if isinstance(found, Spelling) else Spelling(found)
    last = name.split(".")[-1]
    return method(last) if "masked." not in name and hasattr(T, last) else None
