"""Functions of one number: roots, exponentials, logarithms, angles, rounding, tests and signs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Self, TypeVar

from tiny_ir import DType, DTypeError, Op, dtypes
from tiny_plugin import boundary
from tiny_tensor.methods.elementwise import ElementwiseMethods

LARGE = 1e9
"""Above this the square of a number plus 1 is the square, in every float dtype."""

Values = TypeVar("Values", bound="FunctionMethods")


@boundary
class FunctionMethods(ElementwiseMethods):
    """Functions. Integers become the default float where the result is not whole."""

    __slots__ = ()

    def _as_float(self) -> Self:
        return self.cast(dtypes.float_dtype(self.dtype, default_float=self._session.default_float))

    def _function(self, op: Op) -> Self:
        return self._as_float()._unary(op)

    def _composed(self, formula: Callable[[Self], Self]) -> Self:
        """A formula of several operations, which keeps at least float32 between them."""
        x = self._as_float()
        wide = x.cast(dtypes.promote(x.dtype, dtypes.float32))
        return formula(wide).cast(x.dtype)

    # Roots, exponentials, logarithms.

    def sqrt(self) -> Self:
        """The square root; NaN for negative elements.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([4, 9]).sqrt().tolist()
            [2.0, 3.0]
        """
        return self._function(Op.SQRT)

    def rsqrt(self) -> Self:
        """1 divided by the square root."""
        return self._composed(lambda x: x.sqrt().reciprocal())

    def reciprocal(self) -> Self:
        """1 divided by the elements."""
        return self.div(1, True)

    def square(self) -> Self:
        """The elements times themselves."""
        return self * self

    def exp(self) -> Self:
        """e to the power of the elements.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([0.0, float("-inf")]).exp().tolist()
            [1.0, 0.0]
        """
        return self._function(Op.EXP)

    def exp2(self) -> Self:
        """2 to the power of the elements."""
        return self._function(Op.EXP2)

    def expm1(self) -> Self:
        """exp(x) - 1, precise near 0."""
        return self._function(Op.EXPM1)

    def log(self) -> Self:
        """The natural logarithm; -inf at 0, NaN below."""
        return self._function(Op.LOG)

    def log2(self) -> Self:
        """The logarithm to base 2."""
        return self._function(Op.LOG2)

    def log10(self) -> Self:
        """The logarithm to base 10."""
        return self._composed(lambda x: x.log2() * math.log10(2))

    def log1p(self) -> Self:
        """log(1 + x), precise near 0."""
        return self._function(Op.LOG1P)

    def _pair(self, other: object, *, least: DType = dtypes.float32) -> tuple[Self, Self, DType]:
        """Both sides as floats of at least a dtype, and the dtype of the result."""
        first, second = self._broadcasted(other)
        dtype = dtypes.float_dtype(first.dtype, default_float=self._session.default_float)
        kept = dtypes.promote(dtype, least)
        return self._apply(first.cast(kept)), self._apply(second.cast(kept)), dtype

    def logaddexp(self, other: object) -> Self:
        """log(exp(self) + exp(other)) without overflow.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1000.0]).logaddexp(-1000.0).tolist()
            [1000.0]
        """
        a, b, dtype = self._pair(other)
        largest = a.maximum(b)
        # Equal infinities have no difference.
        apart = (a == b).where(0.0, a.minimum(b) - largest)
        return (largest + apart.exp().log1p()).cast(dtype)

    # Angles.

    def sin(self) -> Self:
        """The sine of radians."""
        return self._function(Op.SIN)

    def cos(self) -> Self:
        """The cosine of radians."""
        return self._function(Op.COS)

    def tan(self) -> Self:
        """The tangent of radians."""
        return self._function(Op.TAN)

    def asin(self) -> Self:
        """The angle whose sine this is; NaN outside of -1 to 1."""
        return self._function(Op.ASIN)

    def acos(self) -> Self:
        """The angle whose cosine this is; NaN outside of -1 to 1."""
        return self._function(Op.ACOS)

    def atan(self) -> Self:
        """The angle whose tangent this is."""
        return self._function(Op.ATAN)

    def sinh(self) -> Self:
        """The hyperbolic sine."""
        return self._function(Op.SINH)

    def cosh(self) -> Self:
        """The hyperbolic cosine."""
        return self._function(Op.COSH)

    def tanh(self) -> Self:
        """The hyperbolic tangent."""
        return self._function(Op.TANH)

    def asinh(self) -> Self:
        """The number whose hyperbolic sine this is."""

        def positive(x: Self) -> Self:
            large = x > LARGE
            small = large.where(1.0, x)
            near = (small + small * small / ((small * small + 1.0).sqrt() + 1.0)).log1p()
            return large.where(large.where(x, 1.0).log() + math.log(2), near)

        return self._composed(lambda x: _odd(x, positive))

    def acosh(self) -> Self:
        """The number whose hyperbolic cosine this is; NaN below 1."""

        def formula(x: Self) -> Self:
            large = x > LARGE
            above = large.where(2.0, x) - 1.0
            near = (above + (above * 2.0 + above * above).sqrt()).log1p()
            return large.where(large.where(x, 1.0).log() + math.log(2), near)

        return self._composed(formula)

    def atanh(self) -> Self:
        """The number whose hyperbolic tangent this is; NaN outside of -1 to 1."""
        return self._composed(lambda x: _odd(x, lambda y: (y * 2.0 / (1.0 - y)).log1p() * 0.5))

    def erf(self) -> Self:
        """The error function: 2 / sqrt(pi) times the integral of exp(-t * t) from 0."""
        return self._function(Op.ERF)

    # Rounding.

    def _rounded(self, op: Op) -> Self:
        return self._unary(op) if self.dtype.is_float else self

    def trunc(self) -> Self:
        """Rounded towards 0; integers stay what they are."""
        return self._rounded(Op.TRUNC)

    def ceil(self) -> Self:
        """Rounded up."""
        return self._rounded(Op.CEIL)

    def floor(self) -> Self:
        """Rounded down."""
        return self._rounded(Op.FLOOR)

    def round(self) -> Self:
        """Rounded to the nearest whole number, halves to the even one; -0 keeps its sign.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([0.5, 1.5, -0.5]).round().tolist()
            [0.0, 2.0, -0.0]
        """
        return self._rounded(Op.ROUND)

    # Tests and signs.

    def isnan(self) -> Self:
        """Where an element is not a number, as bools."""
        return self != self

    def isinf(self, detect_positive: bool = True, detect_negative: bool = True) -> Self:
        """Where an element is infinite, as bools.

        Args:
            detect_positive: find inf.
            detect_negative: find -inf.
        """
        if not self.dtype.is_float:
            return self != self
        if detect_positive and detect_negative:
            return self._magnitude().eq(math.inf)
        if not detect_positive and not detect_negative:
            return self.isnan() & False
        return self.eq(math.inf if detect_positive else -math.inf)

    def isfinite(self) -> Self:
        """Where an element is neither infinite nor NaN, as bools."""
        if not self.dtype.is_float:
            return self == self
        return self._magnitude() < math.inf

    def abs(self) -> Self:
        """The magnitude; the least signed integer has none and stays.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([-3, 3]).abs().tolist()
            [3, 3]
        """
        return self._magnitude()

    def sign(self) -> Self:
        """-1, 0 or 1; NaN stays NaN."""
        if self.dtype.is_bool:
            return self
        if self.dtype.is_unsigned:
            return self.ne(0).where(1, self)
        # What is neither above, below nor equal to 0 is NaN.
        return (self > 0).where(1, (self < 0).where(-1, self.eq(0).where(0, self)))

    def copysign(self, other: object) -> Self:
        """The magnitude of this tensor with the sign of another; -0 counts as negative.

        Raises:
            DTypeError: the promoted dtype is not a float.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1.0, 2.0]).copysign(Tensor([-0.0, 1.0])).tolist()
            [-1.0, 2.0]
        """
        size, sign = self._broadcasted(other)
        if not size.dtype.is_float:
            raise DTypeError(
                f"there is no copysign in {size.dtype.name}.",
                why="only floats have a sign of their own, also at 0.",
                fix="cast to a float first.",
            )
        negative = self._apply(sign).signbit()
        magnitude = self._apply(size)._magnitude()
        return negative.where(-magnitude, magnitude)

    def signbit(self) -> Self:
        """Where an element is negative, -0 and NaN with a sign included, as bools."""
        if not self.dtype.is_float:
            return self < 0
        return self.bitcast(f"int{self.dtype.bits}") < 0


def _odd(x: Values, positive: Callable[[Values], Values]) -> Values:
    """A function with f(-x) = -f(x), from its values for x >= 0."""
    return (x < 0.0).where(-positive((x < 0.0).where(-x, 0.0)), positive((x < 0.0).where(0.0, x)))
