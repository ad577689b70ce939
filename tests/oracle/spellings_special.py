"""Spellings of functions that few know: orthogonal polynomials, modes, Hermitian transforms."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from oracle.spelling import Spelling
from oracle.spellings_arrays import as_float, at, on_a_line
from oracle.spellings_networks import group_norm
from tiny_ir import dtypes
from tiny_tensor import Tensor

T = Tensor
Step = Callable[[int, T, T, T], T]


def polynomial(first: Callable[[T], T], step: Step, shifted: bool = False) -> Callable[..., T]:
    """The polynomial of a degree: 1, `first` of x, and on by `step` of k, x, and the last two."""

    def call(x: Any, n: Any) -> T:
        x = x if isinstance(x, T) else T(float(x))
        n = n if isinstance(n, T) else T(n)
        x, degree = as_float(x), n.cast(dtypes.int32)
        x = x * 2 - 1 if shifted else x
        before, now = x * 0 + 1, first(x)
        found = degree.eq(0).where(before, degree.eq(1).where(now, 0.0))
        most = int(degree.max().item()) if degree.numel() else 0
        for k in range(1, most):
            before, now = now, step(k, x, now, before)
            found = degree.eq(k + 1).where(now, found)
        return found

    return call


def chebyshev(k: int, x: T, now: T, before: T) -> T:
    return now * x * 2 - before


POLYNOMIALS: dict[str, tuple[Callable[[T], T], Step]] = {
    "chebyshev_polynomial_t": (lambda x: x, chebyshev),
    "chebyshev_polynomial_u": (lambda x: x * 2, chebyshev),
    "chebyshev_polynomial_v": (lambda x: x * 2 - 1, chebyshev),
    "chebyshev_polynomial_w": (lambda x: x * 2 + 1, chebyshev),
    "hermite_polynomial_h": (lambda x: x * 2, lambda k, x, p, q: x * p * 2 - q * (2 * k)),
    "hermite_polynomial_he": (lambda x: x, lambda k, x, p, q: x * p - q * k),
    "laguerre_polynomial_l": (
        lambda x: 1 - x,
        lambda k, x, p, q: ((2 * k + 1 - x) * p - q * k) / (k + 1),
    ),
    "legendre_polynomial_p": (
        lambda x: x,
        lambda k, x, p, q: (x * p * (2 * k + 1) - q * k) / (k + 1),
    ),
}


def median_of_numbers(x: T, dim: Any = None, keepdim: bool = False) -> Any:
    """The lower median of what is no NaN."""
    if dim is None:
        return median_of_numbers(x.reshape(-1), 0)[0]
    values, places = x.sort(dim)
    count = x.eq(x).sum(dim, keepdim=True)
    middle = ((count - 1) // 2).maximum(0)
    found = values.gather(dim, middle), places.gather(dim, middle)
    return found if keepdim else tuple(part.squeeze(dim) for part in found)


def masked_median(
    x: T, dim: Any, *, keepdim: bool = False, mask: Any = None, dtype: Any = None
) -> T:
    x = x if dtype is None else x.cast(dtype)
    kept = x if mask is None else mask.expand(*x.shape).where(x, math.nan)
    found: T = median_of_numbers(kept, dim, keepdim)[0]
    return found


def masked_logaddexp(
    x: T, y: T, *, dtype: Any = None, input_mask: Any = None, other_mask: Any = None
) -> T:
    sides = [side if dtype is None else side.cast(dtype) for side in (x, y)]
    masks = (input_mask, other_mask)
    kept = [
        side if mask is None else mask.expand(*side.shape).where(side, -math.inf)
        for side, mask in zip(sides, masks, strict=True)
    ]
    return kept[0].logaddexp(kept[1])


def mode(x: T, dim: int = -1, keepdim: bool = False) -> Any:
    """The element that stands most often, the least of several."""
    values = x.sort(dim)[0]
    rows = values.moved(dim, -1)
    count = rows.unsqueeze(-1).eq(rows.unsqueeze(-2)).sum(-1)
    found = rows.gather(-1, count.argmax(-1, True)).moved(-1, dim)
    place = x.eq(found).cast(dtypes.int32).argmax(dim, True)
    return (found, place) if keepdim else (found.squeeze(dim), place.squeeze(dim))


def runs(
    x: T, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """Elements, or slices of an axis, without those that equal the one before."""
    shape = x.shape
    axis = 0 if dim is None else dim
    x = x.reshape(-1) if dim is None else x
    size = int(x.shape[axis])
    rows = x.moved(axis, 0).reshape(size, -1)
    changes = (rows[1:] != rows[:-1]).any(1) if size > 1 else T.zeros(0, dtype=dtypes.bool_)
    first = T.ones(min(size, 1), dtype=dtypes.bool_).cat(changes)
    starts = first.nonzero().reshape(-1)
    result = [x[at(x, axis, starts)]]
    if return_inverse:
        numbers = first.cumsum(0) - 1
        result.append(numbers.reshape(shape) if dim is None else numbers)
    if return_counts:
        result.append(starts[1:].cat(T([size], dtype=starts.dtype)) - starts)
    return result[0] if len(result) == 1 else tuple(result)


SWAPPED = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}
"""A Hermitian transform goes the other way: what it divides by stands on the other side."""


def hermitian(inverse: bool, axes: int) -> Spelling:
    def call(
        x: T, s: Any = None, dim: Any = (-2, -1) if axes == 2 else None, norm: Any = None
    ) -> T:
        x = as_float(x)
        dim = (dim,) if isinstance(dim, int) else dim
        s = (s,) if isinstance(s, int) else s
        if inverse:
            return x.rfftn(s, dim, SWAPPED[norm]).conjugate()
        return x.complex_pairs().conjugate().irfftn(s, dim, SWAPPED[norm])

    return Spelling(call)


def native_group_norm(
    x: T, weight: Any, bias: Any, n: int, c: int, hxw: int, groups: int, eps: float
) -> Any:
    y = group_norm(x, groups, weight, bias, eps)
    grouped = x.reshape(n, groups, c // groups * hxw)
    return y, grouped.mean(2), (grouped.var(2, correction=0) + eps).rsqrt()


SPECIAL: dict[str, Any] = {
    **{f"special.{name}": polynomial(*parts) for name, parts in POLYNOMIALS.items()},
    **{
        f"special.shifted_{name}": polynomial(*parts, shifted=True)
        for name, parts in POLYNOMIALS.items()
        if "chebyshev" in name
    },
    "nanmedian": on_a_line(median_of_numbers),
    "masked.median": masked_median,
    "masked.logaddexp": masked_logaddexp,
    "mode": Spelling(on_a_line(mode), results=1),  # torch takes any of equal elements
    "unique_consecutive": runs,
    "fft.hfft2": hermitian(False, 2),
    "fft.hfftn": hermitian(False, 0),
    "fft.ihfft2": hermitian(True, 2),
    "fft.ihfftn": hermitian(True, 0),
    "native_dropout_backward": lambda g, mask, scale: g * mask * scale,
    "native_group_norm": native_group_norm,
}
