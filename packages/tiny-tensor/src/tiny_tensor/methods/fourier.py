"""Discrete Fourier transforms: a length falls apart into its prime factors, a stage for each.

There are no complex dtypes: a complex tensor is a real one whose last axis holds pairs of a real
and an imaginary part, as `torch.view_as_real` lays them out. Axes are counted without it.

Source: J. Cooley, J. Tukey, "An algorithm for the machine calculation of complex Fourier series",
1965, for composite lengths; L. Bluestein, "A linear filtering approach to the computation of the
discrete Fourier transform", 1970, for lengths with a large prime factor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Self, TypeVar

from tiny_ir import ArgumentError, DTypeError, Op, ShapeError, UOp, const, dtypes
from tiny_plugin import boundary
from tiny_tensor.axes import resolved_axes, resolved_axis
from tiny_tensor.broadcast import broadcast
from tiny_tensor.choices import check_choice
from tiny_tensor.methods.products import ProductMethods
from tiny_tensor.methods.triangles import counting

Values = TypeVar("Values", bound="FourierMethods")

DIRECT_FACTOR = 32
"""Prime factors up to this are summed term by term; larger ones become convolutions."""
DUST = 2.0**-48
"""Less than the sine of any whole part of a turn up to 2**48 parts that is not 0."""
STAGE = 16
"""Factors are merged into stages up to this length: fewer passes through memory."""


class Parts(NamedTuple):
    """Real and imaginary parts of one shape."""

    real: UOp
    imaginary: UOp


@boundary
class FourierMethods(ProductMethods):
    """Transforms along axes. `norm` is "backward" (the inverse divides by n), "ortho" (both divide
    by its root), or "forward" (the transform divides)."""

    __slots__ = ()

    def fft(self, n: int | None = None, dim: int = -1, norm: str = "backward") -> Self:
        """The Fourier transform along an axis of complex numbers.

        Args:
            n: the length; the axis is cut, or filled up with zeros.
            dim: the axis; the one of the pairs does not count.
            norm: see the class.

        Returns:
            Pairs, in a float dtype.

        Raises:
            ShapeError: the last axis does not hold pairs.
            ArgumentError: `n` is less than 1, or there is no such `norm`.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([[1.0, 0.0], [0.0, 0.0]]).fft().tolist()
            [[1.0, 0.0], [1.0, 0.0]]
        """
        return self._transformed([(dim, n)], norm, is_inverse=False)

    def ifft(self, n: int | None = None, dim: int = -1, norm: str = "backward") -> Self:
        """The inverse of `fft`."""
        return self._transformed([(dim, n)], norm, is_inverse=True)

    def fftn(
        self,
        s: Sequence[int] | None = None,
        dim: Sequence[int] | None = None,
        norm: str = "backward",
    ) -> Self:
        """The Fourier transform along several axes; all of them by default.

        Args:
            s: the length for each.
            dim: the axes.
            norm: see the class.
        """
        return self._transformed(self._steps(s, dim, self.ndim - 1), norm, is_inverse=False)

    def ifftn(
        self,
        s: Sequence[int] | None = None,
        dim: Sequence[int] | None = None,
        norm: str = "backward",
    ) -> Self:
        """The inverse of `fftn`."""
        return self._transformed(self._steps(s, dim, self.ndim - 1), norm, is_inverse=True)

    def rfft(self, n: int | None = None, dim: int = -1, norm: str = "backward") -> Self:
        """The first n // 2 + 1 numbers of the Fourier transform of real numbers; the others follow.

        Returns:
            Pairs: one more axis than this tensor.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1.0, 1.0]).rfft().tolist()
            [[2.0, 0.0], [0.0, 0.0]]
        """
        axis = self._resolve_axis(dim)
        whole = self.complex_pairs().fft(n, axis, norm)
        return whole._part(axis, 0, whole._length(axis) // 2 + 1)

    def irfft(self, n: int | None = None, dim: int = -1, norm: str = "backward") -> Self:
        """The real numbers whose `rfft` this is.

        Args:
            n: how many; 2 * (length - 1) by default.
            dim: the axis.
            norm: see the class.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([[2.0, 0.0], [0.0, 0.0]]).irfft().tolist()
            [1.0, 1.0]
        """
        self._check_pairs()
        axis = resolved_axis(dim, self.ndim - 1)
        count = 2 * (self._length(axis) - 1) if n is None else n
        _check_length(count)
        half = self._resized(axis, count // 2 + 1)
        # The transform of real numbers reads the same backwards, conjugated.
        tail = half._part(axis, 1, (count + 1) // 2).flip(axis).conjugate()
        whole = half.cat(tail, dim=axis)
        return whole.ifft(count, axis, norm)[..., 0]

    def rfftn(
        self,
        s: Sequence[int] | None = None,
        dim: Sequence[int] | None = None,
        norm: str = "backward",
    ) -> Self:
        """`rfft` along the last of several axes, and `fft` along the others."""
        steps = self._steps(s, dim, self.ndim)
        last, length = steps[-1]
        return self.rfft(length, last, norm)._transformed(steps[:-1], norm, is_inverse=False)

    def irfftn(
        self,
        s: Sequence[int] | None = None,
        dim: Sequence[int] | None = None,
        norm: str = "backward",
    ) -> Self:
        """The inverse of `rfftn`."""
        self._check_pairs()
        steps = self._steps(s, dim, self.ndim - 1)
        last, length = steps[-1]
        if s is None:
            length = None
        return self._transformed(steps[:-1], norm, is_inverse=True).irfft(length, last, norm)

    def hfft(self, n: int | None = None, dim: int = -1, norm: str = "backward") -> Self:
        """The real Fourier transform of numbers that read the same backwards, conjugated."""
        swapped = {"backward": "forward", "forward": "backward"}.get(norm, norm)
        return self.conjugate().irfft(n, dim, swapped)

    def ihfft(self, n: int | None = None, dim: int = -1, norm: str = "backward") -> Self:
        """The inverse of `hfft`."""
        swapped = {"backward": "forward", "forward": "backward"}.get(norm, norm)
        return self.rfft(n, dim, swapped).conjugate()

    def fftshift(self, dim: int | Sequence[int] | None = None) -> Self:
        """Move frequency 0 to the middle of axes (all by default).

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([0, 1, 2, -2, -1]).fftshift().tolist()
            [-2, -1, 0, 1, 2]
        """
        axes = resolved_axes(dim, self.ndim)
        return self.roll([self._length(axis) // 2 for axis in axes], axes)

    def ifftshift(self, dim: int | Sequence[int] | None = None) -> Self:
        """The inverse of `fftshift`."""
        axes = resolved_axes(dim, self.ndim)
        return self.roll([-(self._length(axis) // 2) for axis in axes], axes)

    # Pairs.

    def complex_pairs(self) -> Self:
        """Real numbers as pairs whose imaginary parts are 0."""
        x = self._as_float()
        zeros = broadcast(const(x.dtype, 0), x.shape)
        return x.stack(x._apply(zeros), dim=-1)

    def conjugate(self) -> Self:
        """Pairs with the signs of their imaginary parts turned.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([[1.0, 2.0]]).conjugate().tolist()
            [[1.0, -2.0]]
        """
        self._check_pairs()
        return self[..., 0].stack(-self[..., 1], dim=-1)

    def _check_pairs(self) -> None:
        if self.ndim < 2 or self.shape[-1] != 2:
            raise ShapeError(
                f"a tensor of shape {self.shape} does not hold pairs.",
                why="the last axis is the real and the imaginary part: it has size 2, and there "
                "is an axis before it.",
                fix="use rfft for real numbers, or complex_pairs() first.",
            )
        if not self.dtype.is_float:
            raise DTypeError(
                f"pairs of {self.dtype.name} are not complex numbers.",
                why="their parts are floats.",
                fix="cast to a float first.",
            )

    def _steps(
        self, sizes: Sequence[int] | None, dims: Sequence[int] | None, rank: int
    ) -> list[tuple[int, int | None]]:
        """Axes, and the length of each."""
        if dims is None:
            dims = range(rank) if sizes is None else range(rank - len(sizes), rank)
        axes = resolved_axes(tuple(dims), rank) if dims else ()
        ordered = [resolved_axis(dim, rank) for dim in dims]
        if len(axes) != len(ordered) or not ordered or (sizes and len(sizes) != len(ordered)):
            raise ArgumentError(
                f"lengths {sizes} do not fit axes {tuple(dims)}.",
                why="there is at least one axis, and a length for each.",
                fix="give as many lengths as axes.",
            )
        return list(
            zip(ordered, sizes if sizes is not None else [None] * len(ordered), strict=True)
        )

    def _transformed(
        self, steps: Sequence[tuple[int, int | None]], norm: str, *, is_inverse: bool
    ) -> Self:
        self._check_pairs()
        check_choice("norm", norm, ("backward", "ortho", "forward"))
        x, dtype = self, self.dtype
        for dim, length in steps:
            axis = resolved_axis(dim, x.ndim - 1)
            count = x._length(axis) if length is None else length
            _check_length(count)
            x = x._resized(axis, count)._wide()
            moved = x.moved(axis, -2)
            parts = Parts(moved[..., 0].uop, moved[..., 1].uop)
            if is_inverse:
                parts = Parts(parts.imaginary, parts.real)
            parts = _transform(parts, count)
            if is_inverse:
                # The inverse is the transform of what has its parts exchanged.
                parts = Parts(parts.imaginary, parts.real)
            scale = _scale(count, norm, is_inverse=is_inverse)
            real, imaginary = (x._apply(part * const(x.dtype, scale)) for part in parts)
            x = real.stack(imaginary, dim=-1).moved(-2, axis)
        return x.cast(dtype)

    def _resized(self, axis: int, count: int) -> Self:
        """An axis cut, or filled up with zeros, to a length."""
        length = self._length(axis)
        if count <= length:
            return self._part(axis, 0, count)
        return self.pad([(0, count - length if n == axis else 0) for n in range(self.ndim)])


def _check_length(count: int) -> None:
    if count < 1:
        raise ArgumentError(
            f"a transform of length {count} does not exist.",
            why="it has at least one number.",
            fix="choose a length of 1 or more.",
        )


def _scale(count: int, norm: str, *, is_inverse: bool) -> float:
    if norm == "ortho":
        return 1 / math.sqrt(count)
    return 1 / count if is_inverse == (norm == "backward") else 1.0


def _transform(x: Parts, count: int) -> Parts:
    """The transform along the last axis."""
    factors = _factors(count)
    if not factors:
        return x
    if factors[-1] > DIRECT_FACTOR:
        return _as_convolution(x, count)
    return _in_stages(x, _merged(factors))


def _factors(count: int) -> list[int]:
    """The prime factors, the smallest first."""
    found: list[int] = []
    divisor = 2
    while count > 1:
        while count % divisor == 0:
            found.append(divisor)
            count //= divisor
        divisor += 1
        if divisor * divisor > count > 1:
            found.append(count)
            break
    return sorted(found)


def _merged(factors: Sequence[int]) -> list[int]:
    """Factors of stages: primes multiplied as long as a stage stays short."""
    stages: list[int] = []
    for factor in sorted(factors, reverse=True):
        if stages and stages[-1] * factor <= STAGE:
            stages[-1] *= factor
        else:
            stages.append(factor)
    return stages


def _in_stages(x: Parts, stages: Sequence[int]) -> Parts:
    """n = first * rest: short transforms along one, turned, and then along the other."""
    first = stages[0]
    outer = x.real.shape[:-1]
    count = x.real.shape[-1]
    assert isinstance(count, int)
    rest = count // first
    # Element a * rest + b of the axis stands at (a, b).
    grid = Parts(*(part.reshape((*outer, first, rest)) for part in x))
    short = _direct(grid, first)
    if rest == 1:
        return Parts(*(part.reshape((*outer, count)) for part in short))
    turned = _product(short, _turns(first, rest, count, x.real))
    long = _in_stages(turned, stages[1:])
    # Number c of the first and d of the second transform is number d * first + c of the whole.
    rank = len(outer)
    order = (*range(rank), rank + 1, rank)
    return Parts(*(part.permute(order).reshape((*outer, count)) for part in long))


def _direct(x: Parts, size: int) -> Parts:
    """The transform along the last axis but one, term by term."""
    *outer, _, rest = x.real.shape
    waves = _turns(size, size, size, x.real)
    shape = (*outer, size, size, rest)
    rank = len(outer)

    def spread(part: UOp) -> UOp:
        return part.reshape((*outer, 1, size, rest)).expand(shape)

    def wave(part: UOp) -> UOp:
        return part.reshape((*[1] * rank, size, size, 1)).expand(shape)

    terms = _product(Parts(*map(spread, x)), Parts(*map(wave, waves)))
    return Parts(*(part.reduce(Op.ADD, (rank + 1,)) for part in terms))


def _turns(rows: int, columns: int, count: int, like: UOp) -> Parts:
    """exp(-2 pi i a b / count) for a below `rows` and b below `columns`, spread like a node."""
    shape = (rows, columns)
    a = counting(rows).reshape((rows, 1)).expand(shape)
    b = counting(columns).reshape((1, columns)).expand(shape)
    return _waves((a * b) % count, count, like)


def _waves(steps: UOp, count: int, like: UOp) -> Parts:
    """exp(-2 pi i steps / count): angles are made of whole numbers, in float64."""
    angle = steps.cast(dtypes.float64) * const(dtypes.float64, -2 * math.pi / count)
    parts = [_without_dust(angle.alu(op)).cast(like.dtype) for op in (Op.COS, Op.SIN)]
    return Parts(*parts)


def _without_dust(x: UOp) -> UOp:
    """0 where a quarter turn misses it by the rounding of pi; other values are never that small."""
    return (x.maximum(x.alu(Op.NEG)) < DUST).where(0.0, x)


def _product(x: Parts, y: Parts) -> Parts:
    """Complex products, with `y` spread over the leading axes of `x`."""
    shape = x.real.shape
    missing = len(shape) - len(y.real.shape)
    a, b = x
    c, d = (part.reshape((*[1] * missing, *part.shape)).expand(shape) for part in y)
    return Parts(a * c - b * d, a * d + b * c)


def _as_convolution(x: Parts, count: int) -> Parts:
    """jk = (j^2 + k^2 - (k - j)^2) / 2 makes the transform a convolution, of a length that has
    small factors only."""
    outer = x.real.shape[:-1]
    length = 1 << (2 * count - 2).bit_length()
    number = counting(count)
    chirp = _waves((number * number) % (2 * count), 2 * count, x.real)

    def padded(part: UOp, size: int) -> UOp:
        rank = len(part.shape)
        return part.pad([(0, size - count if n == rank - 1 else 0) for n in range(rank)])

    signal = Parts(*(padded(part, length) for part in _product(x, chirp)))
    # The other side is conj(chirp) at |k - j|, around the end of the circle.
    place = counting(length)
    distance = (place < count).where(place, length - place)
    inside = distance < count
    safe = inside.where(distance, 0)
    other = _waves((safe * safe) % (2 * count), 2 * count, x.real)
    kernel = Parts(inside.where(other.real, 0.0), inside.where(other.imaginary.alu(Op.NEG), 0.0))
    stages = _merged(_factors(length))
    spectrum = _product(_in_stages(signal, stages), _in_stages(kernel, stages))
    back = _in_stages(Parts(spectrum.imaginary, spectrum.real), stages)
    scale = const(x.real.dtype, 1 / length)
    whole = [(0, size) for size in outer]
    cut = [part.shrink([*whole, (0, count)]) for part in (back.imaginary, back.real)]
    found = _product(Parts(*cut), chirp)
    return Parts(found.real * scale, found.imaginary * scale)
