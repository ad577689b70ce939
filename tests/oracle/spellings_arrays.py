"""Spellings of functions of arrays: elementwise, statistics, indexing, linear algebra, Fourier."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

from oracle.spelling import Spelling
from tiny_ir import dtypes
from tiny_tensor import Tensor

T = Tensor


def at(x: T, dim: int, key: Any) -> tuple[Any, ...]:
    """Return the index that takes `key` along one axis."""
    dim = dim + x.ndim if dim < 0 else dim
    return (slice(None),) * dim + (key,)


def as_float(x: T) -> T:
    return x if x.is_floating_point() else x.cast(dtypes.float32)


# Elementwise.


def heaviside(x: T, values: Any) -> T:
    return x.eq(0).where(values, (x > 0).cast(x.dtype) + x * 0).cast(x.dtype)


def gcd(x: T, y: Any) -> T:
    y = y if isinstance(y, T) else x.full_like(y)
    a, b = x.abs() + y * 0, y.abs() + x * 0
    for _ in range(int(x.element_size()) * 12):
        a, b = b.eq(0).where(a, b), b.eq(0).where(b, a % b.eq(0).where(1, b))
    return a


def nan_to_num(x: T, nan: Any = None, posinf: Any = None, neginf: Any = None) -> T:
    if not x.is_floating_point():
        return x
    top = float(x.dtype.maximum) if posinf is None else posinf
    low = float(x.dtype.minimum) if neginf is None else neginf
    x = x.eq(math.inf).where(top, x.eq(-math.inf).where(low, x))
    return x.isnan().where(0.0 if nan is None else nan, x)


def angle(x: T) -> T:
    x = as_float(x)
    return x.isnan().where(x, (x < 0).where(math.pi, 0.0 * x.isinf().where(0.0, x)))


def rounded(x: T, decimals: int = 0) -> T:
    if decimals == 0:
        return x.round()
    scale = 10.0 ** abs(decimals)
    return (x * scale).round() / scale if decimals > 0 else (x / scale).round() * scale


# Creation.


def logspace(
    start: Any, end: Any, steps: int, base: float = 10.0, dtype: Any = None, device: Any = None
) -> T:
    start = start.item() if isinstance(start, T) else start
    end = end.item() if isinstance(end, T) else end
    exponents = T.linspace(start, end, steps, dtype=dtypes.float64)
    return exponents.pow(float(base), True).cast(dtype or dtypes.float32)


def linspace(start: Any, end: Any, steps: int, dtype: Any = None, device: Any = None) -> T:
    start = start.item() if isinstance(start, T) else start
    end = end.item() if isinstance(end, T) else end
    return T.linspace(start, end, steps, dtype=dtype)


def arange(start: Any, end: Any = None, step: Any = 1, dtype: Any = None, device: Any = None) -> T:
    if end is None:
        start, end = 0, start
    if dtype is not None and not dtype.is_float:
        start, end, step = int(start), int(end), int(step)
    return T.arange(
        start,
        end,
        step,
        dtype=dtype
        or (None if any(isinstance(v, float) for v in (start, end, step)) else dtypes.int64),
    )


def drawn(mean: Any, std: Any, size: Any = None, dtype: Any = None, device: Any = None) -> T:
    if size is not None:
        return T.normal(*size, mean=mean, std=std, dtype=dtype)
    scale = mean * 0 + std * 0
    return scale.randn_like(dtypes.float32).cast(dtype or scale.dtype) * std + mean


def drawn_whole(*bounds: Any, dtype: Any = None, device: Any = None) -> T:
    *low, high, size = bounds
    made = T.randint(*size, low=low[0] if low else 0, high=high, dtype=dtypes.int64)
    return made.cast(dtype or dtypes.int64)


def triangle(upper: bool) -> Callable[..., T]:
    def call(row: int, col: int, offset: int = 0, dtype: Any = None, device: Any = None) -> T:
        ones = T.ones(row, col, dtype=dtypes.int32)
        kept = ones.triu(offset) if upper else ones.tril(offset)
        return kept.nonzero().transpose(0, 1).cast(dtype or dtypes.int64)

    return call


def window(values: Callable[[T, int], T]) -> Callable[..., T]:
    """A window of M numbers: `values` of positions and the length they are measured by."""

    def call(
        M: int, *, sym: bool = True, dtype: Any = None, device: Any = None, **options: Any
    ) -> T:
        kept = dtype or dtypes.float32
        if M <= 1:
            return T.ones(M, dtype=kept)
        length = M - 1 if sym else M
        places = T.arange(M, dtype=dtypes.float64)
        return values(places, length, **options).cast(kept)

    return call


def cosines(*weights: float) -> Callable[[T, int], T]:
    def call(places: T, length: int) -> T:
        total = places * 0.0
        for k, weight in enumerate(weights):
            total = total + (places * (2 * math.pi * k / length)).cos() * (weight * (-1) ** k)
        return total

    return call


# Movement.


def moved(x: T, source: Any, destination: Any) -> T:
    return x.moved(source, destination)


def diag_embed(x: T, offset: int = 0, dim1: int = -2, dim2: int = -1) -> T:
    n = x.shape[-1] + abs(offset)
    row = max(-offset, 0)
    wide = x.unsqueeze(-1) * T.eye(x.shape[-1], dtype=x.dtype)
    wide = x.unsqueeze(-1).expand(*x.shape, x.shape[-1])
    eye = T.eye(x.shape[-1], dtype=dtypes.bool_)
    wide = eye.where(wide, 0).cast(x.dtype)
    column = max(offset, 0)
    padded = wide.pad((column, n - x.shape[-1] - column, row, n - x.shape[-1] - row))
    return padded.moved((-2, -1), (dim1, dim2))


def tensor_split(x: T, parts: Any, dim: int = 0) -> Any:
    if isinstance(parts, T):
        parts = parts.tolist()
    return x.tensor_split(parts, dim)


def block_diag(*xs: T) -> T:
    xs = tuple(x.reshape(1, -1) if x.ndim < 2 else x for x in xs)
    rows, columns = sum(x.shape[0] for x in xs), sum(x.shape[1] for x in xs)
    kept = xs[0].dtype
    for x in xs[1:]:
        kept = (T.zeros(1, dtype=kept) + T.zeros(1, dtype=x.dtype)).dtype
    (
        parts,
        left,
    ) = [], 0
    for x in xs:
        parts.append(x.cast(kept).pad((left, columns - left - x.shape[1])))
        left += x.shape[1]
    assert rows >= 0
    return parts[0].cat(*parts[1:], dim=0)


def cartesian_prod(*xs: T) -> T:
    if len(xs) == 1:
        return xs[0]
    grid = [g.reshape(-1) for g in xs[0].meshgrid(*xs[1:], indexing="ij")]
    return grid[0].stack(*grid[1:], dim=1)


def combinations(x: T, r: int = 2, with_replacement: bool = False) -> T:
    pick = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    found = list(pick(range(x.shape[0]), r))
    if not found:
        return x[:0].reshape(0).expand(0) if r == 0 else x[:0].reshape(0, 1).expand(0, r)
    return x[T(found)] if r else x[:0]


def sum_to_size(x: T, *size: Any) -> T:
    size = tuple(size[0]) if size and not isinstance(size[0], int) else size
    lead = x.ndim - len(size)
    x = x.sum(tuple(range(lead))) if lead else x
    axes = tuple(i for i, n in enumerate(size) if n == 1 and x.shape[i] != 1)
    return x.sum(axes, True) if axes or not x.ndim else x  # torch adds up one number, too


# Indexing.


def as_line(x: T) -> T:
    return x.reshape(1) if x.ndim == 0 else x


def index_select(x: T, dim: int, index: T) -> T:
    return as_line(x)[at(as_line(x), dim, as_line(index))].reshape(
        x.shape if x.ndim == 0 else _replaced(x, dim, as_line(index).shape[0])
    )


def _replaced(x: T, dim: int, size: int) -> tuple[int, ...]:
    shape = list(x.shape)
    shape[dim] = size
    return tuple(shape)


def index_written(x: T, dim: int, index: T, value: Any) -> T:
    made = as_line(x).clone()
    if isinstance(value, T) and value.ndim == 0 and x.ndim > 0:
        value = value.cast(x.dtype).expand(*_replaced(made, dim, as_line(index).shape[0]))
    elif isinstance(value, T):
        value = value.cast(x.dtype)
        value = value.reshape(1) if x.ndim == 0 else value
        if index.ndim == 0 and value.ndim == made.ndim - 1:
            value = value.unsqueeze(dim)
    else:
        value = (
            x.full_like(value)[at(as_line(x), dim, slice(0, 1))]
            if x.ndim
            else T.full((1,), value, dtype=x.dtype)
        )
        value = value.expand(*_replaced(made, dim, as_line(index).shape[0]))
    return along(made, dim, index, value, None).reshape(x.shape)


def along(x: T, dim: int, index: T, value: T, reduce: str | None, include: bool = True) -> T:
    """Write slices along an axis: the index spread over the other axes."""
    dim = dim + x.ndim if dim < 0 else dim
    index = as_line(index)
    spread = index.reshape((1,) * dim + (-1,) + (1,) * (x.ndim - dim - 1)).expand(*value.shape)
    if reduce is None:
        return x.scatter(dim, spread, value)
    return x.scatter_reduce(dim, spread, value, reduce, include)


def index_add(x: T, dim: int, index: T, source: T, alpha: Any = 1) -> T:
    made = as_line(x)
    source = source.reshape(1) if x.ndim == 0 else source
    if alpha != 1:
        source = source * alpha
    return along(made, dim, index, source.cast(x.dtype), "sum").reshape(x.shape)


def index_reduce(x: T, dim: int, index: T, source: T, reduce: str, include_self: bool = True) -> T:
    made = as_line(x)
    source = source.reshape(1) if x.ndim == 0 else source
    return along(made, dim, index, source, reduce, include_self).reshape(x.shape)


def index_put(x: T, indices: Sequence[T], values: T, accumulate: bool = False) -> T:
    made = x.clone()
    if accumulate:
        flat, place = _flat_places(x, indices)
        spread = values.cast(x.dtype).expand(*place.shape).reshape(-1)
        return flat.scatter_reduce(0, place.reshape(-1), spread, "sum").reshape(x.shape)
    made[tuple(indices)] = values.cast(x.dtype)
    return made


def _flat_places(x: T, indices: Sequence[T]) -> tuple[T, T]:
    numbers = T.arange(int(x.numel())).reshape(x.shape)
    return x.reshape(-1), numbers[tuple(indices)]


def put(x: T, index: T, source: T, accumulate: bool = False) -> T:
    flat = x.reshape(-1)
    places = index.reshape(-1)
    places = (places < 0).where(places + int(x.numel()), places)
    values = source.reshape(-1)
    made = (
        flat.scatter_reduce(0, places, values, "sum")
        if accumulate
        else flat.scatter(0, places, values)
    )
    return made.reshape(x.shape)


def take(x: T, index: T) -> T:
    return x.reshape(-1)[index]


def take_along_dim(x: T, index: T, dim: int | None = None) -> T:
    if dim is None:
        return x.reshape(-1).gather(0, index.reshape(-1))
    dim = dim + x.ndim if dim < 0 else dim
    shape = [
        max(a, b) if a != 0 and b != 0 else 0 for a, b in zip(x.shape, index.shape, strict=True)
    ]
    wide, places = list(shape), list(shape)
    wide[dim], places[dim] = x.shape[dim], index.shape[dim]
    return x.expand(*wide).gather(dim, index.expand(*places))


def masked_scatter(x: T, mask: T, source: T) -> T:
    mask = mask.expand(*x.shape) if mask.ndim <= x.ndim else mask
    places = (mask.reshape(-1).cast(dtypes.int64).cumsum(0) - 1).maximum(0)
    return mask.where(source.reshape(-1)[places].reshape(mask.shape), x)


def written(x: T, key: Any, source: Any) -> T:
    made = x.clone()
    made[key] = source.cast(x.dtype) if isinstance(source, T) else source
    return made


def diagonal_scatter(x: T, source: T, offset: int = 0, dim1: int = 0, dim2: int = 1) -> T:
    made = x.clone()
    made.diagonal(offset, dim1, dim2).assign(source.cast(x.dtype))
    return made


def unravel_index(index: T, shape: Any) -> tuple[T, ...]:
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    found = []
    for size in reversed(shape):
        found.append(index % size)
        index = index // size
    return tuple(reversed(found))


# Statistics.


def without_nan(name: str) -> Callable[..., Any]:
    def call(x: T, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> T:
        x = x if dtype is None else x.cast(dtype)
        dim = None if dim in ([], ()) else dim
        kept = ~x.isnan()
        total = kept.where(x, 0).sum(dim, keepdim)
        return total / kept.sum(dim, keepdim) if name == "mean" else total

    return call


def lower_median(x: T, dim: int | None = None, keepdim: bool = False) -> Any:
    if x.ndim == 0:
        return x if dim is None else (x, x.cast(dtypes.int64) * 0)
    if dim is None:
        flat = x.reshape(-1)
        line = flat.sort(0)[0]
        middle = line[(flat.shape[0] - 1) // 2]
        return flat.isnan().any().where(math.nan, middle) if x.is_floating_point() else middle
    values, places = x.sort(dim)
    middle = slice((x.shape[dim] - 1) // 2, (x.shape[dim] - 1) // 2 + 1)
    found, place = values[at(x, dim, middle)], places[at(x, dim, middle)]
    return (found, place) if keepdim else (found.squeeze(dim), place.squeeze(dim))


def quantile(
    x: T, q: Any, dim: Any = None, keepdim: bool = False, interpolation: str = "linear"
) -> T:
    if x.ndim == 0:
        found = x.reshape(1).quantile(q, 0, False, interpolation)
        return found
    return x.quantile(q, dim, keepdim, interpolation)


def cov(x: T, correction: int = 1, fweights: Any = None, aweights: Any = None) -> T:
    found = x.cov(correction, fweights, aweights)
    return found.reshape(()) if found.numel() == 1 else found


def corrcoef(x: T) -> T:
    found = x.corrcoef()
    return found.reshape(()) if found.numel() == 1 else found


def bincount(x: T, weights: Any = None, minlength: int = 0) -> T:
    weights = weights if weights is None or weights.is_floating_point() else weights.double()
    return x.bincount(weights, minlength)


def bucketize(x: T, boundaries: T, out_int32: bool = False, right: bool = False) -> T:
    found = boundaries.searchsorted(x, "right" if right else "left")
    return found.cast(dtypes.int32 if out_int32 else dtypes.int64)


def searchsorted(
    sequence: T,
    values: Any,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: T | None = None,
) -> T:
    side = side or ("right" if right else "left")
    values = values if isinstance(values, T) else T(values)
    if sequence.ndim > 1:
        sequence = sequence if sorter is None else sequence.gather(-1, sorter)
        line, found = sequence.unsqueeze(-2), values.unsqueeze(-1)
        below = line <= found if side == "right" else line < found
        return below.sum(-1)
    return sequence.searchsorted(values, side, sorter)


def trapezoid(y: T, x: T | None = None, dx: float = 1.0, dim: int = -1) -> T:
    return y.trapezoid(x, dx, dim)


def cumulative_trapezoid(y: T, x: T | None = None, dx: float = 1.0, dim: int = -1) -> T:
    low, high = y[at(y, dim, slice(None, -1))], y[at(y, dim, slice(1, None))]
    if x is None:
        return ((low + high) * (dx / 2)).cumsum(dim)
    if x.ndim == 1 and y.ndim > 1:
        axis = dim + y.ndim if dim < 0 else dim
        x = x.reshape(-1, *(1,) * (y.ndim - axis - 1))
        steps = x[1:] - x[:-1]
    else:
        steps = x[at(x, dim, slice(1, None))] - x[at(x, dim, slice(None, -1))]
    return ((low + high) * steps * 0.5).cumsum(dim)


def isin(x: Any, elements: Any, assume_unique: bool = False, invert: bool = False) -> T:
    x = x if isinstance(x, T) else T(x)
    return x.isin(elements, invert)


def diff(x: T, n: int = 1, dim: int = -1, prepend: T | None = None, append: T | None = None) -> T:
    return x.diff(n, dim, prepend, append)


def histogram(
    x: T,
    bins: Any,
    range: Any = None,
    weight: Any = None,
    density: bool = False,
) -> Any:
    counts, edges = x.histogram(bins, range, weight, density)
    return counts.cast(x.dtype), edges.cast(x.dtype)


def histc(x: T, bins: int = 100, min: float = 0, max: float = 0) -> T:
    if min == max == 0:
        min, max = x.min().item(), x.max().item()
    if min == max:
        min, max = min - 1, max + 1
    return x.histogram(bins, (min, max))[0].cast(x.dtype)


def unique(
    x: T,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    values, _, inverse, counts = x.unique_all(dim)
    result = [values]
    if return_inverse:
        result.append(inverse)
    if return_counts:
        result.append(counts)
    return result[0] if len(result) == 1 else tuple(result)


def dist(x: T, y: T, p: float = 2) -> T:
    return (x - y).reshape(-1).norm(p=p)


def cdist(x: T, y: T, p: float = 2.0, compute_mode: Any = None) -> T:
    return minkowski(x.unsqueeze(-2) - y.unsqueeze(-3), p)


def minkowski(d: T, p: float) -> T:
    if 0 in d.shape[-1:]:
        return d.abs().sum(-1)
    if p == 0:
        return d.ne(0).cast(d.dtype).sum(-1)
    if p == math.inf:
        return d.abs().max(-1)
    return d.norm(-1, p=p)


def pdist(x: T, p: float = 2.0) -> T:
    n = x.shape[0]
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    if not pairs:
        return x.sum(1)[:0]
    first, second = (T(list(side)) for side in zip(*pairs, strict=True))
    return minkowski(x[first] - x[second], p)


def renorm(x: T, p: float, dim: int, maxnorm: float) -> T:
    axes = tuple(i for i in range(x.ndim) if i != dim % x.ndim)
    size = x.norm(axes, True, p)
    return x * (size > maxnorm).where(maxnorm / (size + 1e-7), 1.0)


# Linear algebra.


def norm(x: T, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> T:
    x = x if dtype is None else x.cast(dtype)
    if p == "nuc":
        return matrix_norm(x, "nuc", dim or (-2, -1), keepdim)
    p = 2 if p in ("fro", None) else p
    return x.norm(None if dim in ([], ()) else dim, keepdim, p)


def linalg_norm(
    x: T,
    ord: Any = None,
    dim: Any = None,
    keepdim: bool = False,
    dtype: Any = None,
) -> T:
    x = x if dtype is None else x.cast(dtype)
    is_matrix = (isinstance(dim, list | tuple) and len(dim) == 2) or (dim is None and x.ndim == 2)
    if ord is not None and is_matrix:
        return matrix_norm(x, ord, dim or (-2, -1), keepdim)
    if ord is not None and dim is None and x.ndim > 1:
        x = x.reshape(-1)
    return x.norm(dim, keepdim, 2 if ord is None else ord)


def matrix_norm(
    x: T,
    ord: Any = "fro",
    dim: Any = (-2, -1),
    keepdim: bool = False,
    dtype: Any = None,
) -> T:
    x = x if dtype is None else x.cast(dtype)
    a, b = (d % x.ndim for d in dim)
    found = x.moved((a, b), (-2, -1)).matrix_norm(ord, False)
    if keepdim:
        for axis in sorted((a, b)):
            found = found.unsqueeze(axis)
    return found


def vander(x: T, N: int | None = None) -> T:
    x = x.reshape(1) if x.ndim == 0 else x
    count = x.shape[-1] if N is None else N
    columns = [x.ones_like()]
    for _ in range(count - 1):
        columns.append(columns[-1] * x)
    return columns[0].stack(*columns[1:], dim=-1)


def multi_dot(xs: Sequence[T]) -> T:
    result = xs[0]
    for x in xs[1:]:
        result = result @ x
    return result


def inner(x: T, y: T) -> T:
    if x.ndim == 0 or y.ndim == 0:
        return x * y
    return x.tensordot(y, ([-1], [-1]))


def tensordot(a: T, b: T, dims: Any = 2) -> T:
    if isinstance(dims, int):
        return a.tensordot(b, dims)
    mine, theirs = (list(d) for d in dims)
    for i, j in zip(mine, theirs, strict=True):  # an axis of size 1 meets any size
        if a.shape[i] != b.shape[j]:
            a = a.sum(i, True) if b.shape[j] == 1 else a
            b = b.sum(j, True) if a.shape[i] == 1 else b
    return a.tensordot(b, (mine, theirs))


def eigh(x: T, UPLO: str = "L") -> Any:
    return symmetric(x, UPLO == "U").eigh()


def svd_reduced(x: T, some: bool = True, compute_uv: bool = True) -> Any:
    u, s, vh = x.svd(not some)
    return u, s, vh.transpose(-2, -1)


def symmetric(x: T, upper: bool = False) -> T:
    """One half of a matrix on both sides: torch gives slopes as if its halves moved together."""
    half = x.triu() if upper else x.tril()
    other = (x.triu(1) if upper else x.tril(-1)).transpose(-2, -1)
    together = (x + x.transpose(-2, -1)) * 0.5
    return together + (half + other - together).detach()


def cholesky(x: T, upper: bool = False) -> T:
    return symmetric(x, upper).cholesky(upper)


def cholesky_solve(b: T, factor: T, upper: bool = False) -> T:
    low = factor.transpose(-2, -1) if upper else factor
    return (low @ low.transpose(-2, -1)).solve(b)


def cholesky_inverse(factor: T, upper: bool = False) -> T:
    low = factor.transpose(-2, -1) if upper else factor
    return (low @ low.transpose(-2, -1)).inv()


def solve(a: T, b: T, left: bool = True) -> T:
    if left and b.ndim == a.ndim - 1 and b.ndim > 1 and b.shape == a.shape[:-1]:
        return a.solve(b.unsqueeze(-1)).squeeze(-1)
    if left:
        return a.solve(b)
    return a.transpose(-2, -1).solve(b.transpose(-2, -1)).transpose(-2, -1)


def solve_triangular(a: T, b: T, upper: bool, left: bool = True, unitriangular: bool = False) -> T:
    kept = a.triu() if upper else a.tril()
    if unitriangular:
        eye = T.eye(a.shape[-1], dtype=dtypes.bool_)
        kept = eye.where(1.0, kept)
    return solve(kept, b, left)


def triangular_solve(
    b: T, a: T, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    kept = a.triu() if upper else a.tril()
    if unitriangular:
        kept = T.eye(a.shape[-1], dtype=dtypes.bool_).where(1.0, kept)
    kept = kept.transpose(-2, -1) if transpose else kept
    return kept.solve(b), a


def tensorinv(x: T, ind: int = 2) -> T:
    lead, rest = x.shape[:ind], x.shape[ind:]
    return x.reshape(math.prod(lead), -1).inv().reshape(*rest, *lead)


def tensorsolve(a: T, b: T, dims: Any = None) -> T:
    if dims is not None:
        a = a.moved(tuple(dims), tuple(range(a.ndim - len(dims), a.ndim)))
    rest = a.shape[b.ndim :]
    return a.reshape(int(b.numel()), -1).solve(b.reshape(-1)).reshape(*rest)


def without_info(f: Callable[..., T]) -> Callable[..., Any]:
    """The result and a number for each matrix that says all is well."""

    def call(x: T, *args: Any, check_errors: bool = False, **kwargs: Any) -> Any:
        return f(x, *args, **kwargs), T.zeros(*x.shape[:-2], dtype=dtypes.int32)

    return call


def cond(x: T, p: Any = None) -> T:
    if p in (None, 2, -2):
        s = x.svdvals()
        first, last = s[..., 0], s[..., -1]
        return last / first if p == -2 else first / last
    return x.matrix_norm(p) * x.inv().matrix_norm(p)


def matrix_exp(x: T) -> T:
    """Scaling and squaring of the series."""
    n = x.shape[-1]
    if 0 in x.shape:
        return x
    small = x.double() * (1 / 256)
    total = T.eye(n, dtype=dtypes.float64).expand(*x.shape)
    term = total
    for k in range(1, 15):
        term = (term @ small) * (1 / k)
        total = total + term
    for _ in range(8):
        total = total @ total
    return total.cast(x.dtype)


def pinv(x: T, *args: Any, hermitian: bool = False, **kwargs: Any) -> T:
    rtol = kwargs.get("rtol", args[0] if args else None)
    return (symmetric(x) if hermitian else x).pinv(rtol)


def matrix_rank(
    x: T, tol: Any = None, hermitian: bool = False, atol: Any = None, rtol: Any = None
) -> T:
    return x.matrix_rank(rtol)


def lstsq(a: T, b: T, rcond: Any = None, driver: Any = None) -> Any:
    return a.lstsq(b)


def svd_vectors(x: T, full_matrices: bool = True) -> Any:
    return x.svd(full_matrices)


def slogdet(x: T) -> Any:
    return x.slogdet()


def logdet(x: T) -> T:
    sign, value = x.slogdet()
    return (sign < 0).where(math.nan, value)


def on_a_line(f: Callable[..., Any]) -> Callable[..., Any]:
    """Torch lets one number have an axis; here it is given one, which is then taken away."""

    def call(x: T, *args: Any, **kwargs: Any) -> Any:
        if x.ndim:
            return f(x, *args, **kwargs)

        def lined(value: Any) -> Any:
            return value.reshape(1) if isinstance(value, T) and value.ndim == 0 else value

        found = f(
            lined(x), *map(lined, args), **{name: lined(value) for name, value in kwargs.items()}
        )
        many = isinstance(found, list | tuple)
        parts = [part.reshape(part.shape[1:]) for part in (found if many else [found])]
        return parts if many else parts[0]

    return call


def gathered(x: T, dim: int, index: T, sparse_grad: bool = False) -> T:
    if x.ndim == 0:
        return x.reshape(1).gather(0, as_line(index)).reshape(index.shape)
    if index.numel() == 0:
        return x.reshape(-1)[:0].reshape(index.shape)
    return x.gather(dim, index)


def repeat_interleave(
    x: T, repeats: Any, dim: int | None = None, output_size: int | None = None
) -> T:
    if not isinstance(repeats, T):
        return x.repeat_interleave(repeats, dim)
    x, dim = (x.reshape(-1), 0) if dim is None else (x, dim)
    repeats = as_line(repeats)
    repeats = repeats.expand(x.shape[dim]) if repeats.shape[0] == 1 else repeats
    ends = repeats.cumsum(0)
    total = int(ends[-1].item()) if output_size is None else output_size
    return index_select(x, dim, ends.searchsorted(T.arange(total), "right"))


def cross(x: T, y: T, dim: int | None = None) -> T:
    if dim is None:
        dim = next(i for i, n in enumerate(x.shape) if n == 3)
    return x.cross(y, dim)


# Fourier: results are pairs of real and imaginary parts.


def fourier(name: str, *, of_pairs: bool, axes: int | None = None) -> Spelling:
    def call(x: T, *args: Any, **kwargs: Any) -> Any:
        x = as_float(x)
        x = x.complex_pairs() if of_pairs else x
        named = dict(zip(("n" if axes is None else "s", "dim", "norm"), args, strict=False))
        named |= kwargs
        if named.get("norm") is None:
            named.pop("norm", None)
        if axes is not None:
            for word in ("s", "dim"):
                if isinstance(named.get(word), int):
                    named[word] = (named[word],)
        if axes == 2:
            named.setdefault("dim", (-2, -1))
        return getattr(x, name)(**named)

    return Spelling(call)


ARRAYS: dict[str, Any] = {
    # Elementwise.
    "angle": angle,
    "copysign": lambda x, o: as_float(x).copysign(as_float(o) if isinstance(o, T) else float(o)),
    "deg2rad": lambda x: as_float(x) * (math.pi / 180),
    "rad2deg": lambda x: as_float(x) * (180 / math.pi),
    "frac": lambda x: x - x.trunc(),
    "heaviside": heaviside,
    "isneginf": lambda x: x.isinf(False, True),
    "isposinf": lambda x: x.isinf(True, False),
    "ldexp": lambda x, n: as_float(x) * (as_float(n).exp2() if isinstance(n, T) else 2.0**n),
    "gcd": gcd,
    "lcm": lambda x, y: (x // gcd(x, y) * y).abs(),
    "nan_to_num": nan_to_num,
    "round": rounded,
    "i0": T.i0,
    "logit": lambda x, eps=None: x.logit(eps),
    "polygamma": lambda n, x: x.polygamma(n) if isinstance(x, T) else n.polygamma(x),
    "special.polygamma": lambda n, x: x.polygamma(n) if isinstance(x, T) else n.polygamma(x),
    "special.modified_bessel_i0": T.i0,
    "special.modified_bessel_i1": T.i1,
    "rsub": lambda x, o, alpha=1: (o - x * alpha) if alpha != 1 else o - x,
    "where": lambda x, c, y: c.where(x, y),
    "to": lambda x, *a, copy=False, non_blocking=False, **k: next(
        (
            x.cast(v.dtype if isinstance(v, T) else v)
            for v in [*a, *k.values()]
            if type(v) is type(dtypes.int8) or isinstance(v, T)
        ),
        x,
    ),
    "allclose": lambda x, y, rtol=1e-5, atol=1e-8, equal_nan=False: T(
        x.allclose(y, rtol, atol, equal_nan)
    ),
    "equal": lambda x, y: T(x.shape == y.shape and bool(x.eq(y).all().item())),
    "item": lambda x: T(x.item()),
    "fill": lambda x, value: (
        x.full_like(value) if not isinstance(value, T) else value.cast(x.dtype).expand(*x.shape)
    ),
    "__getitem__": lambda x, *index: x[index if len(index) > 1 else index[0]],
    # Creation.
    "arange": arange,
    "linspace": linspace,
    "logspace": logspace,
    "eye": lambda n, m=None, dtype=None, device=None: T.eye(n, m, dtype=dtype),
    "tril_indices": triangle(False),
    "triu_indices": triangle(True),
    "ones_like": lambda x, dtype=None, device=None: x.ones_like(dtype),
    "zeros_like": lambda x, dtype=None, device=None: x.zeros_like(dtype),
    "full_like": lambda x, v, dtype=None, device=None: x.full_like(v, dtype),
    "rand_like": Spelling(lambda x, dtype=None, device=None: x.rand_like(dtype), True),
    "randn_like": Spelling(lambda x, dtype=None, device=None: x.randn_like(dtype), True),
    "randint": Spelling(drawn_whole, True),
    "randint_like": Spelling(
        lambda x, *a, dtype=None, device=None: T.randint(
            *x.shape, low=0, high=a[-1], dtype=dtypes.int64
        ).cast(dtype or x.dtype),
        True,
    ),
    "bernoulli": Spelling(lambda x: x.bernoulli(), True),
    "normal in_place": Spelling(
        lambda x, mean=0.0, std=1.0: T.normal(*x.shape, mean=mean, std=std, dtype=x.dtype), True
    ),
    "normal": Spelling(drawn, True),
    "histogram": histogram,
    "exponential": Spelling(
        lambda x, lambd=1.0: T.exponential(*x.shape, rate=lambd, dtype=x.dtype), True
    ),
    "log_normal": Spelling(
        lambda x, mean=1.0, std=2.0: T.log_normal(*x.shape, mean=mean, std=std, dtype=x.dtype),
        True,
    ),
    "cauchy": Spelling(
        lambda x, median=0.0, sigma=1.0: T.cauchy(
            *x.shape, median=median, sigma=sigma, dtype=x.dtype
        ),
        True,
    ),
    "geometric": Spelling(lambda x, p: T.geometric(*x.shape, p=p, dtype=x.dtype), True),
    "signal.windows.bartlett": window(lambda n, m: 1.0 - (n * (2 / m) - 1.0).abs()),
    "signal.windows.blackman": window(cosines(0.42, 0.5, 0.08)),
    "signal.windows.cosine": lambda M, sym=True, dtype=None, device=None: (
        ((T.arange(M, dtype=dtypes.float64) + 0.5) * (math.pi / (M if sym else M + 1)))
        .sin()
        .cast(dtype or dtypes.float32)
        if M
        else T.ones(0, dtype=dtype or dtypes.float32)
    ),
    "signal.windows.exponential": window(
        lambda n, m, center=None, tau=1.0: (
            -((n - (m / 2 if center is None else center)).abs()) / tau
        ).exp()
    ),
    "signal.windows.gaussian": window(
        lambda n, m, std=1.0: (-((n - m / 2) / std).square() * 0.5).exp()
    ),
    "signal.windows.general_cosine": window(lambda n, m, a: cosines(*a)(n, m)),
    "signal.windows.general_hamming": window(
        lambda n, m, alpha=0.54: cosines(alpha, 1 - alpha)(n, m)
    ),
    "signal.windows.hamming": window(lambda n, m: cosines(0.54, 0.46)(n, m)),
    "signal.windows.hann": window(cosines(0.5, 0.5)),
    "signal.windows.kaiser": window(
        lambda n, m, beta=12.0: (
            ((1.0 - (n * (2 / m) - 1.0).square()).maximum(0.0).sqrt() * beta).i0()
            / T(float(beta), dtype=dtypes.float64).i0()
        )
    ),
    "signal.windows.nuttall": window(cosines(0.3635819, 0.4891775, 0.1365995, 0.0106411)),
    # Movement.
    "H": lambda x: x.transpose(0, 1) if x.ndim == 2 else x,
    "mH": lambda x: x.transpose(-2, -1),
    "flip": lambda x, dims: x.flip(*dims),
    "movedim": moved,
    "diag_embed": diag_embed,
    "diagflat": lambda x, offset=0: diag_embed(x.reshape(-1), offset),
    "tensor_split": tensor_split,
    "block_diag": block_diag,
    "cartesian_prod": cartesian_prod,
    "combinations": combinations,
    "sum_to_size": sum_to_size,
    "squeeze": lambda x, dim=None: (
        x.squeeze(dim) if not isinstance(dim, list | tuple) else (_squeezed(x, dim))
    ),
    "repeat_interleave": repeat_interleave,
    "unfold": lambda x, dimension, size, step: (
        x.unfold(dimension, size, step) if x.ndim else x.reshape(1)[:size]
    ),
    "unfold_copy": lambda x, dimension, size, step: (
        x.unfold(dimension, size, step) if x.ndim else x.reshape(1)[:size]
    ),
    "transpose": on_a_line(T.transpose),
    "transpose_copy": on_a_line(T.transpose),
    "gather": gathered,
    "scatter": on_a_line(
        lambda x, dim, index, src, reduce=None: x.scatter(dim, index, src, reduce)
    ),
    "scatter_add": on_a_line(lambda x, dim, index, src: x.scatter_reduce(dim, index, src, "sum")),
    "scatter_reduce": on_a_line(T.scatter_reduce),
    "topk": Spelling(
        on_a_line(lambda x, k, dim=-1, largest=True, sorted=True: x.topk(k, dim, largest)),
        results=1,  # torch takes any of equal elements
    ),
    "logsumexp": on_a_line(lambda x, dim=None, keepdim=False: x.logsumexp(dim, keepdim)),
    "__radd__": lambda x, o: o + x,
    # Indexing.
    "index_select": index_select,
    "index_fill": index_written,
    "index_copy": index_written,
    "index_add": index_add,
    "index_reduce": index_reduce,
    "index_put": index_put,
    "put": put,
    "take": take,
    "take_along_dim": take_along_dim,
    "masked_scatter": masked_scatter,
    "select_scatter": lambda x, src, dim, index: written(x, at(x, dim, index), src),
    "slice_scatter": lambda x, src, dim=0, start=None, end=None, step=1: written(
        x, at(x, dim, slice(start, end, step)), src
    ),
    "diagonal_scatter": diagonal_scatter,
    "unravel_index": unravel_index,
    "_unsafe_masked_index": lambda x, mask, indices, fill: mask.where(
        x[tuple(slice(None) if i is None else i for i in indices)], fill
    ),
    # Statistics.
    "nanmean": without_nan("mean"),
    "nansum": without_nan("sum"),
    "median": lower_median,
    "kthvalue": Spelling(on_a_line(T.kthvalue), results=1),
    "quantile": quantile,
    "cov": cov,
    "corrcoef": corrcoef,
    "bincount": bincount,
    "bucketize": bucketize,
    "searchsorted": searchsorted,
    "trapezoid": trapezoid,
    "trapz": trapezoid,
    "cumulative_trapezoid": cumulative_trapezoid,
    "isin": isin,
    "diff": diff,
    "histc": histc,
    "unique": unique,
    "dist": dist,
    "cdist": cdist,
    "renorm": renorm,
    "nn.functional.pdist": pdist,
    "count_nonzero": lambda x, dim=None: x.ne(0).sum(
        None if dim in ([], ()) else dim, dtype=dtypes.int64
    ),
    # Linear algebra.
    "norm": norm,
    "norm nuc": lambda x, p="nuc", dim=None, keepdim=False: matrix_norm(
        x, "nuc", dim or (-2, -1), keepdim
    ),
    "linalg.norm": linalg_norm,
    "linalg.matrix_norm": matrix_norm,
    "linalg.vander": vander,
    "linalg.multi_dot": multi_dot,
    "linalg.cond": cond,
    "linalg.cross": lambda x, y, dim=-1: x.cross(y, dim),
    "cross": cross,
    "linalg.vecdot": lambda x, y, dim=-1: x.vecdot(y, dim),
    "inner": inner,
    "tensordot": tensordot,
    "linalg.eigh": eigh,
    "linalg.eigvalsh": lambda x, UPLO="L": symmetric(x, UPLO == "U").eigvalsh(),
    "linalg.svd": svd_vectors,
    "svd": svd_reduced,
    "linalg.slogdet": slogdet,
    "logdet": logdet,
    "cholesky": cholesky,
    "linalg.cholesky": cholesky,
    "linalg.cholesky_ex": without_info(cholesky),
    "linalg.inv_ex": without_info(T.inv),
    "cholesky_solve": cholesky_solve,
    "cholesky_inverse": cholesky_inverse,
    "linalg.solve": solve,
    "linalg.solve_ex": without_info(solve),
    "linalg.solve_triangular": solve_triangular,
    "triangular_solve": triangular_solve,
    "linalg.tensorinv": tensorinv,
    "linalg.tensorsolve": tensorsolve,
    "linalg.pinv singular": lambda a, b: (a @ b.mT).pinv(),
    "linalg.pinv": pinv,
    "pinverse": pinv,
    "linalg.matrix_rank": matrix_rank,
    "linalg.lstsq": Spelling(lstsq, results=1),
    "matrix_exp": matrix_exp,
    "linalg.qr": lambda x, mode="reduced": x.qr(mode),
    "qr": lambda x, some=True: x.qr("reduced" if some else "complete"),
    # Fourier.
    "fft.fft": fourier("fft", of_pairs=True),
    "fft.fft2": fourier("fftn", of_pairs=True, axes=2),
    "fft.fftn": fourier("fftn", of_pairs=True, axes=0),
    "fft.ifft": fourier("ifft", of_pairs=True),
    "fft.ifft2": fourier("ifftn", of_pairs=True, axes=2),
    "fft.ifftn": fourier("ifftn", of_pairs=True, axes=0),
    "fft.rfft": fourier("rfft", of_pairs=False),
    "fft.rfft2": fourier("rfftn", of_pairs=False, axes=2),
    "fft.rfftn": fourier("rfftn", of_pairs=False, axes=0),
    "fft.irfft": fourier("irfft", of_pairs=True),
    "fft.irfft2": fourier("irfftn", of_pairs=True, axes=2),
    "fft.irfftn": fourier("irfftn", of_pairs=True, axes=0),
    "fft.hfft": fourier("hfft", of_pairs=True),
    "fft.ihfft": fourier("ihfft", of_pairs=False),
    "fft.fftshift": lambda x, dim=None: x.fftshift(dim),
    "fft.ifftshift": lambda x, dim=None: x.ifftshift(dim),
}


def _squeezed(x: T, dims: Any) -> T:
    dims = [dims] if isinstance(dims, int) else dims
    for dim in sorted({d % max(x.ndim, 1) for d in dims}, reverse=True):
        x = x.squeeze(dim) if x.ndim else x
    return x
