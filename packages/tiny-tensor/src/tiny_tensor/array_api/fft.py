"""The Fourier extension of the array API, over pairs.

There are no complex dtypes: where the standard has a complex array, these functions take and give a
real one with a last axis of size 2 for the real and the imaginary part. Axes are counted without
it. `docs/decisions/074-array-api.md` says why.
"""

from __future__ import annotations

from collections.abc import Sequence

from tiny_ir import DType
from tiny_tensor.session import current_session
from tiny_tensor.tensor import Tensor


def fft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """The Fourier transform of pairs along an axis."""
    return x.fft(n, axis, norm)


def ifft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """The inverse of `fft`."""
    return x.ifft(n, axis, norm)


def fftn(
    x: Tensor,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Tensor:
    """The Fourier transform of pairs along several axes."""
    return x.fftn(s, axes, norm)


def ifftn(
    x: Tensor,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Tensor:
    """The inverse of `fftn`."""
    return x.ifftn(s, axes, norm)


def rfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """The first half of the Fourier transform of real numbers, as pairs.

    Example:
        >>> from tiny_tensor import array_api as xp
        >>> xp.fft.rfft(xp.asarray([1.0, 1.0])).tolist()
        [[2.0, 0.0], [0.0, 0.0]]
    """
    return x.rfft(n, axis, norm)


def irfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """The real numbers whose `rfft` these pairs are."""
    return x.irfft(n, axis, norm)


def rfftn(
    x: Tensor,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Tensor:
    """`rfft` along the last of several axes, and `fft` along the others."""
    return x.rfftn(s, axes, norm)


def irfftn(
    x: Tensor,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Tensor:
    """The inverse of `rfftn`."""
    return x.irfftn(s, axes, norm)


def hfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """The real Fourier transform of pairs that read the same backwards, conjugated."""
    return x.hfft(n, axis, norm)


def ihfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """The inverse of `hfft`."""
    return x.ihfft(n, axis, norm)


def fftfreq(
    n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: str | None = None
) -> Tensor:
    """The frequencies of the numbers of a transform.

    Args:
        n: its length.
        d: the distance of samples.
        dtype: the dtype; the default float where there is none.
        device: where it lives.

    Example:
        >>> from tiny_tensor import array_api as xp
        >>> xp.fft.fftfreq(4).tolist()
        [0.0, 0.25, -0.5, -0.25]
    """
    steps = Tensor.arange(n, device=device)
    signed = (steps < (n + 1) // 2).where(steps, steps - n)
    wanted = dtype or current_session().default_float
    return (signed.cast("float64") / (n * d)).cast(wanted)


def rfftfreq(
    n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: str | None = None
) -> Tensor:
    """The frequencies of the numbers of `rfft`."""
    steps = Tensor.arange(n // 2 + 1, device=device)
    wanted = dtype or current_session().default_float
    return (steps.cast("float64") / (n * d)).cast(wanted)


def fftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """Frequency 0 moved to the middle of axes."""
    return x.fftshift(axes)


def ifftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """The inverse of `fftshift`."""
    return x.ifftshift(axes)
