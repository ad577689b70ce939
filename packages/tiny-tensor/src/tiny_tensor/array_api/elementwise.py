"""Functions of elements: one array, or two that broadcast, or an array and a Python number."""

from __future__ import annotations

from typing import TypeAlias

from tiny_ir import ArgumentTypeError
from tiny_tensor.tensor import Tensor

Scalar: TypeAlias = bool | int | float
Operand: TypeAlias = Tensor | Scalar


def pair(x1: Operand, x2: Operand) -> tuple[Tensor, Tensor]:
    """Two sides as arrays; a Python number takes the dtype where it meets the other side.

    Raises:
        ArgumentTypeError: neither is an array.
    """
    if isinstance(x1, Tensor):
        return x1, x2 if isinstance(x2, Tensor) else x1.ufix(x2)
    if isinstance(x2, Tensor):
        return x2.ufix(x1), x2
    raise ArgumentTypeError(
        f"neither {x1!r} nor {x2!r} is an array.",
        why="a function of the array API takes at least one array.",
        fix="make one of them an array: asarray(...).",
    )


def clip(x: Tensor, /, min: Operand | None = None, max: Operand | None = None) -> Tensor:
    """The elements, kept from `min` to `max`, in the dtype of `x`.

    Example:
        >>> from tiny_tensor import array_api as xp
        >>> xp.clip(xp.asarray([-2, 0, 7]), -1, 3).tolist()
        [-1, 0, 3]
    """
    if min is None and max is None:
        return x
    low = min.cast(x.dtype) if isinstance(min, Tensor) else min
    high = max.cast(x.dtype) if isinstance(max, Tensor) else max
    return x.clamp(low, high).cast(x.dtype)


def abs(x: Tensor, /) -> Tensor:
    """The magnitudes."""
    return x.abs()


def acos(x: Tensor, /) -> Tensor:
    """The angles whose cosines these are."""
    return x.acos()


def acosh(x: Tensor, /) -> Tensor:
    """The numbers whose hyperbolic cosines these are."""
    return x.acosh()


def asin(x: Tensor, /) -> Tensor:
    """The angles whose sines these are."""
    return x.asin()


def asinh(x: Tensor, /) -> Tensor:
    """The numbers whose hyperbolic sines these are."""
    return x.asinh()


def atan(x: Tensor, /) -> Tensor:
    """The angles whose tangents these are."""
    return x.atan()


def atanh(x: Tensor, /) -> Tensor:
    """The numbers whose hyperbolic tangents these are."""
    return x.atanh()


def bitwise_invert(x: Tensor, /) -> Tensor:
    """All bits turned; for bools, "not"."""
    return ~x


def ceil(x: Tensor, /) -> Tensor:
    """Rounded up."""
    return x.ceil()


def conj(x: Tensor, /) -> Tensor:
    """The conjugates: real numbers are their own."""
    return x


def cos(x: Tensor, /) -> Tensor:
    """The cosines of radians."""
    return x.cos()


def cosh(x: Tensor, /) -> Tensor:
    """The hyperbolic cosines."""
    return x.cosh()


def exp(x: Tensor, /) -> Tensor:
    """e to the power of the elements."""
    return x.exp()


def expm1(x: Tensor, /) -> Tensor:
    """exp(x) - 1, precise near 0."""
    return x.expm1()


def floor(x: Tensor, /) -> Tensor:
    """Rounded down."""
    return x.floor()


def imag(x: Tensor, /) -> Tensor:
    """The imaginary parts: real numbers have none, so these are zeros."""
    return x.zeros_like()


def isfinite(x: Tensor, /) -> Tensor:
    """Where elements are neither infinite nor NaN."""
    return x.isfinite()


def isinf(x: Tensor, /) -> Tensor:
    """Where elements are infinite."""
    return x.isinf()


def isnan(x: Tensor, /) -> Tensor:
    """Where elements are not numbers."""
    return x.isnan()


def log(x: Tensor, /) -> Tensor:
    """The natural logarithms."""
    return x.log()


def log1p(x: Tensor, /) -> Tensor:
    """log(1 + x), precise near 0."""
    return x.log1p()


def log2(x: Tensor, /) -> Tensor:
    """The logarithms to base 2."""
    return x.log2()


def log10(x: Tensor, /) -> Tensor:
    """The logarithms to base 10."""
    return x.log10()


def logical_not(x: Tensor, /) -> Tensor:
    """Where elements are false."""
    return x.logical_not()


def negative(x: Tensor, /) -> Tensor:
    """The negatives."""
    return -x


def positive(x: Tensor, /) -> Tensor:
    """The elements themselves."""
    return x


def real(x: Tensor, /) -> Tensor:
    """The real parts: the elements themselves."""
    return x


def reciprocal(x: Tensor, /) -> Tensor:
    """1 divided by the elements."""
    return x.reciprocal()


def round(x: Tensor, /) -> Tensor:
    """Rounded to the nearest whole number, halves to the even one."""
    return x.round()


def sign(x: Tensor, /) -> Tensor:
    """-1, 0 or 1; NaN stays NaN."""
    return x.sign()


def signbit(x: Tensor, /) -> Tensor:
    """Where elements are negative, -0 included."""
    return x.signbit()


def sin(x: Tensor, /) -> Tensor:
    """The sines of radians."""
    return x.sin()


def sinh(x: Tensor, /) -> Tensor:
    """The hyperbolic sines."""
    return x.sinh()


def sqrt(x: Tensor, /) -> Tensor:
    """The square roots."""
    return x.sqrt()


def square(x: Tensor, /) -> Tensor:
    """The elements times themselves."""
    return x.square()


def tan(x: Tensor, /) -> Tensor:
    """The tangents of radians."""
    return x.tan()


def tanh(x: Tensor, /) -> Tensor:
    """The hyperbolic tangents."""
    return x.tanh()


def trunc(x: Tensor, /) -> Tensor:
    """Rounded towards 0."""
    return x.trunc()


def add(x1: Operand, x2: Operand, /) -> Tensor:
    """The sums."""
    a, b = pair(x1, x2)
    return a + b


def atan2(x1: Operand, x2: Operand, /) -> Tensor:
    """The angles of the points (x2, x1), from -pi to pi."""
    a, b = pair(x1, x2)
    return a.atan2(b)


def bitwise_and(x1: Operand, x2: Operand, /) -> Tensor:
    """The bits set on both sides."""
    a, b = pair(x1, x2)
    return a & b


def bitwise_left_shift(x1: Operand, x2: Operand, /) -> Tensor:
    """The bits moved up."""
    a, b = pair(x1, x2)
    return a << b


def bitwise_or(x1: Operand, x2: Operand, /) -> Tensor:
    """The bits set on either side."""
    a, b = pair(x1, x2)
    return a | b


def bitwise_right_shift(x1: Operand, x2: Operand, /) -> Tensor:
    """The bits moved down."""
    a, b = pair(x1, x2)
    return a >> b


def bitwise_xor(x1: Operand, x2: Operand, /) -> Tensor:
    """The bits set on one side only."""
    a, b = pair(x1, x2)
    return a ^ b


def copysign(x1: Operand, x2: Operand, /) -> Tensor:
    """The magnitudes of x1 with the signs of x2."""
    a, b = pair(x1, x2)
    return a.copysign(b)


def divide(x1: Operand, x2: Operand, /) -> Tensor:
    """The quotients."""
    a, b = pair(x1, x2)
    return a / b


def equal(x1: Operand, x2: Operand, /) -> Tensor:
    """Where both sides are equal."""
    a, b = pair(x1, x2)
    return a == b


def floor_divide(x1: Operand, x2: Operand, /) -> Tensor:
    """The quotients, rounded down."""
    a, b = pair(x1, x2)
    return a // b


def greater(x1: Operand, x2: Operand, /) -> Tensor:
    """Where x1 is greater."""
    a, b = pair(x1, x2)
    return a > b


def greater_equal(x1: Operand, x2: Operand, /) -> Tensor:
    """Where x1 is greater or equal."""
    a, b = pair(x1, x2)
    return a >= b


def hypot(x1: Operand, x2: Operand, /) -> Tensor:
    """The roots of the sums of squares, without overflow."""
    a, b = pair(x1, x2)
    return a.hypot(b)


def less(x1: Operand, x2: Operand, /) -> Tensor:
    """Where x1 is less."""
    a, b = pair(x1, x2)
    return a < b


def less_equal(x1: Operand, x2: Operand, /) -> Tensor:
    """Where x1 is less or equal."""
    a, b = pair(x1, x2)
    return a <= b


def logaddexp(x1: Operand, x2: Operand, /) -> Tensor:
    """log(exp(x1) + exp(x2)) without overflow."""
    a, b = pair(x1, x2)
    return a.logaddexp(b)


def logical_and(x1: Operand, x2: Operand, /) -> Tensor:
    """Where both sides are true."""
    a, b = pair(x1, x2)
    return a.bool() & b.bool()


def logical_or(x1: Operand, x2: Operand, /) -> Tensor:
    """Where either side is true."""
    a, b = pair(x1, x2)
    return a.bool() | b.bool()


def logical_xor(x1: Operand, x2: Operand, /) -> Tensor:
    """Where one side only is true."""
    a, b = pair(x1, x2)
    return a.bool() ^ b.bool()


def maximum(x1: Operand, x2: Operand, /) -> Tensor:
    """The larger of both; NaN propagates."""
    a, b = pair(x1, x2)
    return a.maximum(b)


def minimum(x1: Operand, x2: Operand, /) -> Tensor:
    """The smaller of both; NaN propagates."""
    a, b = pair(x1, x2)
    return a.minimum(b)


def multiply(x1: Operand, x2: Operand, /) -> Tensor:
    """The products."""
    a, b = pair(x1, x2)
    return a * b


def nextafter(x1: Operand, x2: Operand, /) -> Tensor:
    """The neighbours of x1 on the way to x2."""
    a, b = pair(x1, x2)
    return a.nextafter(b)


def not_equal(x1: Operand, x2: Operand, /) -> Tensor:
    """Where both sides differ."""
    a, b = pair(x1, x2)
    return a != b


def pow(x1: Operand, x2: Operand, /) -> Tensor:
    """x1 to the power x2."""
    a, b = pair(x1, x2)
    return a**b


def remainder(x1: Operand, x2: Operand, /) -> Tensor:
    """The remainders of floor division, with the signs of x2."""
    a, b = pair(x1, x2)
    return a % b


def subtract(x1: Operand, x2: Operand, /) -> Tensor:
    """The differences."""
    a, b = pair(x1, x2)
    return a - b
