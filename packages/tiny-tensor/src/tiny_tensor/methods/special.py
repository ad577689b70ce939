"""Special functions: error functions, gamma functions, Bessel functions, and their kin.

Formulas keep at least float32. Errors are absolute where a function crosses zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Self, TypeVar

from tiny_ir import ArgumentError
from tiny_plugin import boundary
from tiny_tensor.methods import special_coefficients as fitted
from tiny_tensor.methods.activations import ActivationMethods

SHIFT = 8
"""Stirling's series is used from this argument on: there its eight terms are exact in float64."""
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400)
"""B(2k) / (2k (2k-1)). Source: NIST DLMF, 5.11.1."""
PSI = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12, -3617 / 8160)
"""B(2k) / 2k. Source: NIST DLMF, 5.11.2."""
ZETA_TERMS = 12
"""How many terms of the zeta function are summed before the series of Euler and Maclaurin."""
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
"""B(2), B(4), ... Source: NIST DLMF, 24.2."""
LARGEST_FACTORIAL = 170
"""That of 171 is above all float64."""
GILES_MIDDLE = (
    2.81022636e-08,
    3.43273939e-07,
    -3.5233877e-06,
    -4.39150654e-06,
    0.00021858087,
    -0.00125372503,
    -0.00417768164,
    0.246640727,
    1.50140941,
)
GILES_TAIL = (
    -0.000200214257,
    0.000100950558,
    0.00134934322,
    -0.00367342844,
    0.00573950773,
    -0.0076224613,
    0.00943887047,
    1.00167406,
    2.83297682,
)
"""M. Giles, "Approximating the erfinv function", 2010: the polynomials for single precision."""
FAR = 8.0
"""Where the series of Bessel functions change from small to large arguments."""
FAR_K = 2.0
"""The same for those that decay."""

Values = TypeVar("Values", bound="SpecialMethods")


@boundary
class SpecialMethods(ActivationMethods):
    """Special functions of real numbers; integers become the default float."""

    __slots__ = ()

    # Error functions.

    def erfc(self) -> Self:
        """1 - erf(x), precise where erf is nearly 1.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([0.0, 30.0]).erfc().tolist()
            [1.0, 0.0]
        """

        def formula(x: Self) -> Self:
            size = x.abs()
            above = (-(x * x)).exp() * _scaled_erfc(size.minimum(30.0))
            return (x < 0.0).where(2.0 - above, above)

        return self._composed(formula)

    def erfcx(self) -> Self:
        """exp(x**2) * erfc(x), which neither overflows nor vanishes for large x."""

        def formula(x: Self) -> Self:
            above = _scaled_erfc(x.abs())
            negative = x < 0.0
            square = negative.where(x, 0.0).square()
            return negative.where(2.0 * square.exp() - above, above)

        return self._composed(formula)

    def erfinv(self) -> Self:
        """The inverse of erf: NaN outside -1 to 1, infinite at both ends.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([0.0, 1.0]).erfinv().tolist()
            [0.0, inf]
        """
        return self._composed(_inverse_erf)

    def ndtr(self) -> Self:
        """The share of a normal distribution below x."""
        return self._composed(lambda x: 0.5 * (x * -math.sqrt(0.5)).erfc())

    def ndtri(self) -> Self:
        """The inverse of `ndtr`."""

        def formula(x: Self) -> Self:
            return _inverse_erf(2.0 * x - 1.0) * math.sqrt(2)

        return self._composed(formula)

    def log_ndtr(self) -> Self:
        """The logarithm of `ndtr`, precise far below 0."""

        def formula(x: Self) -> Self:
            z = x * -math.sqrt(0.5)
            below = x < -1.0
            far = below.where(z, 1.0)
            near = below.where(0.0, z)
            tail = _scaled_erfc(far).log() - far * far + math.log(0.5)
            return below.where(tail, _log_half(near))

        return self._composed(formula)

    # Entropies, logarithms that are 0 for a factor 0, waves.

    def entr(self) -> Self:
        """-x log(x); 0 at 0, and -inf below."""

        def formula(x: Self) -> Self:
            inside = x > 0.0
            value = -x * inside.where(x, 1.0).log()
            outside = x.eq(0.0).where(0.0, x.isnan().where(x, -math.inf))
            return inside.where(value, outside)

        return self._composed(formula)

    def xlogy(self, other: object) -> Self:
        """x * log(other), and 0 where x is 0 unless the other is NaN.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([0.0, 2.0]).xlogy(Tensor([0.0, 1.0])).tolist()
            [0.0, 0.0]
        """
        x, y, dtype = self._pair(other)
        return _times_logarithm(x, y, lambda v: v.log()).cast(dtype)

    def xlog1py(self, other: object) -> Self:
        """x * log(1 + other), and 0 where x is 0 unless the other is NaN."""
        x, y, dtype = self._pair(other)
        return _times_logarithm(x, y, lambda v: v.log1p()).cast(dtype)

    def sinc(self) -> Self:
        """sin(pi x) / (pi x), and 1 at 0.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([0.0]).sinc().tolist()
            [1.0]
        """

        def formula(x: Self) -> Self:
            zero = x.eq(0.0)
            angle = zero.where(1.0, x * math.pi)
            return zero.where(1.0, angle.sin() / angle)

        return self._composed(formula)

    def logit(self, eps: float | None = None) -> Self:
        """log(x / (1 - x)).

        Args:
            eps: x is first kept from eps to 1 - eps.
        """

        def formula(x: Self) -> Self:
            kept = x if eps is None else x.clamp(eps, 1.0 - eps)
            return (kept / (1.0 - kept)).log()

        return self._composed(formula)

    def logaddexp2(self, other: object) -> Self:
        """log2(2**self + 2**other) without overflow."""
        a, b, dtype = self._pair(other)
        largest = a.maximum(b)
        apart = a.eq(b).where(0.0, a.minimum(b) - largest)
        return (largest + apart.exp2().log1p() * (1 / math.log(2))).cast(dtype)

    # Gamma functions.

    def lgamma(self) -> Self:
        """The logarithm of the absolute value of the gamma function; infinite at its poles.

        Source: Stirling's series from 8 on, the recurrence below, the reflection below 0.5.

        Example:
            >>> from tiny_tensor import Tensor
            >>> round(Tensor([5.0]).lgamma().exp().item(), 3)
            24.0
        """

        def formula(x: Self) -> Self:
            mirrored = x < 0.5
            y = mirrored.where(1.0 - x, x)
            huge = y > 1e30
            value = huge.where(y * (huge.where(y, 1.0).log() - 1.0), _log_gamma(_tame(y, huge)))
            sine = ((x - x.floor()) * math.pi).sin()._magnitude()
            reflected = math.log(math.pi) - mirrored.where(sine, 1.0).log() - value
            result = mirrored.where(reflected, value)
            return x.isinf().where(math.inf, result)

        return self._composed(formula)

    def digamma(self) -> Self:
        """The slope of `lgamma`: NaN at negative integers, and infinite at 0.

        Source: the asymptotic series from 8 on, the recurrence below, the reflection below 0.
        """

        def formula(x: Self) -> Self:
            mirrored = x < 0.0
            y = mirrored.where(1.0 - x, x)
            z = y + float(SHIFT)
            series = z.log() - 0.5 / z - _in_squares(z, PSI)
            for k in range(SHIFT):
                series = series - 1.0 / (y + float(k))
            part = x - x.floor()
            pole = mirrored & part.eq(0.0)
            angle = (mirrored & ~pole).where(part, 0.5) * math.pi
            result = mirrored.where(series - math.pi * angle.cos() / angle.sin(), series)
            at_zero = x.eq(0.0).where(x.signbit().where(math.inf, -math.inf), result)
            return pole.where(math.nan, at_zero)

        return self._composed(formula)

    def polygamma(self, n: int) -> Self:
        """The n-th derivative of `digamma`.

        Raises:
            ArgumentError: n is negative, or n! is no float64.
        """
        if not 0 <= n <= LARGEST_FACTORIAL:
            raise ArgumentError(
                f"there is no polygamma of order {n}.",
                why="the order counts derivatives of digamma, whose size grows as its factorial.",
                fix=f"pass a number from 0 to {LARGEST_FACTORIAL}.",
            )
        if n == 0:
            return self.digamma()
        sign = 1.0 if n % 2 else -1.0
        return self._composed(lambda x: _hurwitz(n + 1, x) * (sign * math.gamma(n + 1)))

    def mvlgamma(self, p: int) -> Self:
        """The logarithm of the gamma function of p dimensions.

        Raises:
            ArgumentError: p is less than 1.
        """
        if p < 1:
            raise ArgumentError(
                f"there is no gamma function of {p} dimensions.",
                why="there is at least one.",
                fix="pass 1 or more.",
            )

        def formula(x: Self) -> Self:
            result = x.lgamma()
            for k in range(1, p):
                result = result + (x - k / 2).lgamma()
            return result + p * (p - 1) / 4 * math.log(math.pi)

        return self._composed(formula)

    # Bessel functions.

    def i0e(self) -> Self:
        """The modified Bessel function I0, divided by exp(|x|)."""
        return self._composed(lambda x: _scaled_i(x, fitted.I0_SMALL, fitted.I0_LARGE, 0))

    def i1e(self) -> Self:
        """The modified Bessel function I1, divided by exp(|x|)."""
        return self._composed(lambda x: _scaled_i(x, fitted.I1_SMALL, fitted.I1_LARGE, 1))

    def i0(self) -> Self:
        """The modified Bessel function of the first kind, order 0."""
        return self._composed(lambda x: x.i0e() * x._magnitude().exp())

    def i1(self) -> Self:
        """The modified Bessel function of the first kind, order 1."""
        return self._composed(lambda x: x.i1e() * x._magnitude().exp())

    def scaled_modified_bessel_k0(self) -> Self:
        """The modified Bessel function K0, times exp(x)."""
        return self._composed(lambda x: _scaled_k(x, 0))

    def scaled_modified_bessel_k1(self) -> Self:
        """The modified Bessel function K1, times exp(x)."""
        return self._composed(lambda x: _scaled_k(x, 1))

    def modified_bessel_k0(self) -> Self:
        """The modified Bessel function of the second kind, order 0; NaN below 0."""
        return self._composed(lambda x: _scaled_k(x, 0) * (-x).exp())

    def modified_bessel_k1(self) -> Self:
        """The modified Bessel function of the second kind, order 1; NaN below 0."""
        return self._composed(lambda x: _scaled_k(x, 1) * (-x).exp())

    def bessel_j0(self) -> Self:
        """The Bessel function of the first kind, order 0."""

        def formula(x: Self) -> Self:
            near, far = _split(x._magnitude())
            return (x._magnitude() <= FAR).where(_j(near, 0), _wave(far, 0)[0])

        return self._composed(formula)

    def bessel_j1(self) -> Self:
        """The Bessel function of the first kind, order 1."""

        def formula(x: Self) -> Self:
            near, far = _split(x._magnitude())
            value = (x._magnitude() <= FAR).where(_j(near, 1), _wave(far, 1)[0])
            return (x < 0.0).where(-value, value)

        return self._composed(formula)

    def bessel_y0(self) -> Self:
        """The Bessel function of the second kind, order 0; NaN below 0."""
        return self._composed(lambda x: _second_kind(x, 0))

    def bessel_y1(self) -> Self:
        """The Bessel function of the second kind, order 1; NaN below 0."""
        return self._composed(lambda x: _second_kind(x, 1))

    def spherical_bessel_j0(self) -> Self:
        """sin(x) / x, and 1 at 0."""

        def formula(x: Self) -> Self:
            zero = x.eq(0.0)
            kept = zero.where(1.0, x)
            wave = zero.where(1.0, kept.sin() / kept)
            return x.isinf().where(0.0, wave)

        return self._composed(formula)


def _chebyshev(y: Values, coefficients: Sequence[float]) -> Values:
    """A series at y from -1 to 1. Source: C. W. Clenshaw, 1955."""
    twice = 2.0 * y
    newer, older = y * 0.0 + coefficients[-1], y * 0.0
    for coefficient in reversed(coefficients[1:-1]):
        newer, older = twice * newer - older + coefficient, newer
    return y * newer - older + coefficients[0]


def _horner(x: Values, coefficients: Sequence[float]) -> Values:
    result = x * 0.0 + coefficients[0]
    for coefficient in coefficients[1:]:
        result = result * x + coefficient
    return result


def _in_squares(z: Values, coefficients: Sequence[float]) -> Values:
    """c1 / z**2 + c2 / z**4 + ..."""
    square = 1.0 / (z * z)
    return _horner(square, coefficients[::-1]) * square


def _scaled_erfc(x: Values) -> Values:
    """exp(x**2) erfc(x) for x that are not negative."""
    t = 2.0 / (2.0 + x)
    return t * _chebyshev(2.0 * t - 1.0, fitted.ERFCX)


def _log_half(z: Values) -> Values:
    """log(erfc(z) / 2) where that is not small."""
    return (0.5 * z.erfc()).log()


def _inverse_erf(y: Values) -> Values:
    inside = y._magnitude() < 1.0
    kept = inside.where(y, 0.0)
    w = -((1.0 - kept) * (1.0 + kept)).log()
    middle = w < 5.0
    near = _horner(middle.where(w, 2.5) - 2.5, GILES_MIDDLE)
    far = _horner(middle.where(9.0, w).sqrt() - 3.0, GILES_TAIL)
    x = middle.where(near, far) * kept
    for _ in range(2):  # each step of Newton doubles the digits
        x = x - (x.erf() - kept) * (math.sqrt(math.pi) / 2) * (x * x).exp()
    end = (y > 0.0).where(math.inf, -math.inf)
    at_end = y._magnitude().eq(1.0).where(end, math.nan)
    return inside.where(x, at_end)


def _times_logarithm(x: Values, y: Values, logarithm: Callable[[Values], Values]) -> Values:
    none = x.eq(0.0)
    product = x * logarithm(none.where(1.0, y))
    return y.isnan().where(math.nan, none.where(0.0, product))


def _tame(x: Values, wild: Values) -> Values:
    return wild.where(1.0, x)


def _log_gamma(y: Values) -> Values:
    """The logarithm of the gamma function from 0.5 on."""
    small = y < float(SHIFT)
    z = small.where(y + float(SHIFT), y)
    series = (z - 0.5) * z.log() - z + math.log(2 * math.pi) / 2 + _in_squares(z, STIRLING) * z
    kept = small.where(y, 1.0)
    product = kept
    for k in range(1, SHIFT):
        product = product * (kept + float(k))
    return small.where(series - product.log(), series)


def _hurwitz(s: int, q: Values) -> Values:
    """The sum of (q + k)**-s over all k from 0. Source: NIST DLMF, 25.11.5."""
    total = q.pow(-s)
    for k in range(1, ZETA_TERMS):
        total = total + (q + float(k)).pow(-s)
    z = q + float(ZETA_TERMS)
    total = total + z.pow(1 - s) * (1.0 / (s - 1)) + z.pow(-s) * 0.5
    factor = float(s)
    for k, bernoulli in enumerate(BERNOULLI, 1):
        total = total + z.pow(-s - 2 * k + 1) * (bernoulli * factor / math.factorial(2 * k))
        factor *= (s + 2 * k - 1) * (s + 2 * k)
    return total


def _split(x: Values, border: float = FAR) -> tuple[Values, Values]:
    """The arguments for the small series and for the large, each tame where the other counts."""
    small = x <= border
    return small.where(x, border), small.where(border, x)


def _scaled_i(x: Values, small: Sequence[float], large: Sequence[float], order: int) -> Values:
    size = x._magnitude()
    near, far = _split(size)
    value = _chebyshev(near * 0.25 - 1.0, small)
    tail = _chebyshev(16.0 / far - 1.0, large) / far.sqrt()
    if order:  # odd; not by way of |x|, which has no slope at 0
        value = value * (size <= FAR).where(x, FAR)
        tail = (x < 0.0).where(-tail, tail)
    return (size <= FAR).where(value, tail)


def _scaled_k(x: Values, order: int) -> Values:
    inside = x > 0.0
    near, far = _split(inside.where(x, 1.0), FAR_K)
    square = near * near * 0.5 - 1.0
    if order:
        rest = _chebyshev(square, fitted.K1_SMALL) / near + (near * 0.5).log() * near.i1()
        large = fitted.K1_LARGE
    else:
        rest = _chebyshev(square, fitted.K0_SMALL) - (near * 0.5).log() * near.i0()
        large = fitted.K0_LARGE
    tail = _chebyshev(4.0 / far - 1.0, large) / far.sqrt()
    value = (x <= FAR_K).where(rest * near.exp(), tail)
    return inside.where(value, x.eq(0.0).where(math.inf, math.nan))


def _j(near: Values, order: int) -> Values:
    square = near * near * (1 / 32) - 1.0
    if order:
        return _chebyshev(square, fitted.J1_SMALL) * near
    return _chebyshev(square, fitted.J0_SMALL)


def _wave(far: Values, order: int) -> tuple[Values, Values]:
    """The functions of both kinds for large arguments. Source: NIST DLMF, 10.17.3."""
    z = 128.0 / (far * far) - 1.0
    p = _chebyshev(z, fitted.P1 if order else fitted.P0)
    q = _chebyshev(z, fitted.Q1 if order else fitted.Q0) / far
    sine, cosine = far.sin(), far.cos()
    # The angle is x - pi/4, or x - 3 pi/4; sums of angles keep the precision of large x.
    if order:
        s, c = -(sine + cosine), sine - cosine
    else:
        s, c = sine - cosine, sine + cosine
    ahead = (far * math.pi).sqrt().reciprocal()
    infinite = far.eq(math.inf)
    first = infinite.where(0.0, ahead * (p * c - q * s))
    return first, infinite.where(0.0, ahead * (p * s + q * c))


def _second_kind(x: Values, order: int) -> Values:
    inside = x > 0.0
    near, far = _split(inside.where(x, 1.0))
    square = near * near * (1 / 32) - 1.0
    logarithm = near.log() * (2 / math.pi)
    if order:
        rest = _chebyshev(square, fitted.Y1_SMALL) * near
        value = rest + logarithm * _j(near, 1) - (2 / math.pi) / near
    else:
        value = _chebyshev(square, fitted.Y0_SMALL) + logarithm * _j(near, 0)
    result = (x <= FAR).where(value, _wave(far, order)[1])
    return inside.where(result, x.eq(0.0).where(-math.inf, math.nan))
