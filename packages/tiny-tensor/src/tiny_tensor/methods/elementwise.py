"""Elementwise operators of Tensor: what Python's operators do, and what is composed of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Self

from tiny_ir import ArgumentError, Op, dtypes
from tiny_plugin import boundary
from tiny_tensor.methods.comparisons import ComparisonMethods


@boundary
class ElementwiseMethods(ComparisonMethods):
    """Every element by itself, or together with the one at its place in another tensor."""

    __slots__ = ()

    __array_priority__ = 1000
    """NumPy leaves operators between its arrays and a Tensor to the Tensor."""

    if TYPE_CHECKING:

        def assign(self, value: object) -> Self:
            """Write all elements in place; see `Tensor.assign`."""

    def lerp(self, end: object, weight: object) -> Self:
        """From here (weight 0) to `end` (weight 1) on a straight line, rounded once.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([0.0, 1.0]).lerp(Tensor([4.0, 2.0]), 0.25).tolist()
            [1.0, 1.25]
        """
        if self.dtype is dtypes.uint8 and isinstance(weight, float):
            # Weights are whole 128ths, so that products fit 16 bits.
            whole = round(weight * (1 << 7))
            wide, far = self.cast("int16"), self._wrap(end).cast("int16")
            step = (far - wide) * whole + (1 << 6)
            return (wide + (step >> 7)).cast("uint8")
        dtype = self._meeting(self, end, weight)
        kept = dtypes.promote(dtype, dtypes.float32) if dtype.is_float else dtype
        x, far = self.cast(kept), self._wrap(end).cast(kept)
        return (x + (far - x) * weight).cast(dtype)

    def isclose(
        self, other: object, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
    ) -> Self:
        """Where |self - other| <= atol + rtol * |other|, or both are equal.

        Args:
            other: what to compare with.
            rtol: tolerance relative to `other`.
            atol: absolute tolerance.
            equal_nan: NaN is close to NaN.

        Returns:
            bool, in the common shape. An infinity is close to itself only.

        Raises:
            ArgumentError: a tolerance is negative, or NaN.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1.0, 1.1]).isclose(1.0).tolist()
            [True, False]
        """
        for name, tolerance in (("rtol", rtol), ("atol", atol)):
            if not tolerance >= 0:
                raise ArgumentError(
                    f"{name} cannot be {tolerance}.",
                    why="nothing lies nearer than a distance of 0.",
                    fix="choose a tolerance of 0 or more.",
                )
        a, b = self._broadcasted(other)
        kept = dtypes.promote(a.dtype, dtypes.float32) if a.dtype.is_float else dtypes.float64
        x, y = self._apply(a.cast(kept)), self._apply(b.cast(kept))
        near = (x - y)._magnitude() <= y._magnitude() * rtol + atol
        close = (x == y) | (near & (y._magnitude() < math.inf) & (x._magnitude() < math.inf))
        return close | ((x != x) & (y != y)) if equal_nan else close

    def masked_fill(self, mask: Self, value: object) -> Self:
        """`value` where the mask is true, and this tensor elsewhere.

        Example:
            >>> from tiny_tensor import Tensor
            >>> x = Tensor([1, 2, 3])
            >>> x.masked_fill(x > 1, 0).tolist()
            [1, 0, 0]
        """
        return self._wrap(mask).where(value, self)

    def clamp(self, min_: object = None, max_: object = None) -> Self:
        """Keep elements from `min_` to `max_`.

        Args:
            min_: a tensor, a number, or None for no limit.
            max_: the same; it wins where it is below `min_`.

        Returns:
            The promoted dtype; NaN stays NaN.

        Raises:
            ArgumentError: there is no limit at all.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([-2, 0, 7]).clamp(-1, 3).tolist()
            [-1, 0, 3]
        """
        if min_ is None and max_ is None:
            raise ArgumentError(
                "clamp has no limits.",
                why="without min_ and max_ it would do nothing.",
                fix="pass at least one of them.",
            )
        x = self
        # What no element can pass is no limit, though the dtype does not hold it.
        if min_ is not None and self._side_of(min_) >= 0:
            x = (x < min_).where(min_, x)
        if max_ is not None and self._side_of(max_) <= 0:
            x = (x > max_).where(max_, x)
        return x

    def clip(self, min_: object = None, max_: object = None) -> Self:
        """Another name of `clamp`."""
        return self.clamp(min_, max_)

    # Operators.

    def __add__(self, other: object) -> Self:
        return self.add(other)

    def __radd__(self, other: object) -> Self:
        return self.add(other, True)

    def __sub__(self, other: object) -> Self:
        return self.sub(other)

    def __rsub__(self, other: object) -> Self:
        return self.sub(other, True)

    def __mul__(self, other: object) -> Self:
        return self.mul(other)

    def __rmul__(self, other: object) -> Self:
        return self.mul(other, True)

    def __truediv__(self, other: object) -> Self:
        return self.div(other)

    def __rtruediv__(self, other: object) -> Self:
        return self.div(other, True)

    def __floordiv__(self, other: object) -> Self:
        return self._floor_quotient(other, False)

    def __rfloordiv__(self, other: object) -> Self:
        return self._floor_quotient(other, True)

    def __divmod__(self, other: object) -> tuple[Self, Self]:
        return self // other, self % other

    def __rdivmod__(self, other: object) -> tuple[Self, Self]:
        return other // self, other % self

    def __mod__(self, other: object) -> Self:
        return self.mod(other)

    def __rmod__(self, other: object) -> Self:
        return self.mod(other, True)

    def __pow__(self, other: object) -> Self:
        return self.pow(other)

    def __rpow__(self, other: object) -> Self:
        return self.pow(other, True)

    def __and__(self, other: object) -> Self:
        return self.bitwise_and(other)

    def __rand__(self, other: object) -> Self:
        return self._bits(Op.AND, other, reverse=True)

    def __or__(self, other: object) -> Self:
        return self.bitwise_or(other)

    def __ror__(self, other: object) -> Self:
        return self._bits(Op.OR, other, reverse=True)

    def __xor__(self, other: object) -> Self:
        return self.bitwise_xor(other)

    def __rxor__(self, other: object) -> Self:
        return self._bits(Op.XOR, other, reverse=True)

    def __lshift__(self, other: object) -> Self:
        return self.lshift(other)

    def __rlshift__(self, other: object) -> Self:
        return self.lshift(other, True)

    def __rshift__(self, other: object) -> Self:
        return self.rshift(other)

    def __rrshift__(self, other: object) -> Self:
        return self.rshift(other, True)

    def __neg__(self) -> Self:
        return self.neg()

    def __pos__(self) -> Self:
        return self

    def __invert__(self) -> Self:
        return self.bitwise_not()

    def __abs__(self) -> Self:
        return self._magnitude()

    def __lt__(self, other: object) -> Self:
        return self._compared(Op.CMPLT, other)

    def __le__(self, other: object) -> Self:
        return self._compared(Op.CMPLE, other)

    def __gt__(self, other: object) -> Self:
        return self._compared(Op.CMPLT, other, reverse=True)

    def __ge__(self, other: object) -> Self:
        return self._compared(Op.CMPLE, other, reverse=True)

    # A comparison builds a tensor, where Python's own type promises a bool.
    def __eq__(self, other: object) -> Self:  # type: ignore[override]
        return NotImplemented if _is_no_array(other) else self.eq(other)

    def __ne__(self, other: object) -> Self:  # type: ignore[override]
        return NotImplemented if _is_no_array(other) else self.ne(other)

    __hash__ = object.__hash__

    # Operators in place: the result of the operator is written into this tensor.

    def __iadd__(self, other: object) -> Self:
        return self.assign(self.add(other))

    def __isub__(self, other: object) -> Self:
        return self.assign(self.sub(other))

    def __imul__(self, other: object) -> Self:
        return self.assign(self.mul(other))

    def __itruediv__(self, other: object) -> Self:
        return self.assign(self.div(other))

    def __ifloordiv__(self, other: object) -> Self:
        return self.assign(self // other)

    def __imod__(self, other: object) -> Self:
        return self.assign(self.mod(other))

    def __ipow__(self, other: object) -> Self:
        return self.assign(self.pow(other))

    def __iand__(self, other: object) -> Self:
        return self.assign(self.bitwise_and(other))

    def __ior__(self, other: object) -> Self:
        return self.assign(self.bitwise_or(other))

    def __ixor__(self, other: object) -> Self:
        return self.assign(self.bitwise_xor(other))

    def __ilshift__(self, other: object) -> Self:
        return self.assign(self.lshift(other))

    def __irshift__(self, other: object) -> Self:
        return self.assign(self.rshift(other))


def _is_no_array(other: object) -> bool:
    """Whether something is told apart by identity: `x == None` is False, as a Python bool."""
    return other is None or isinstance(other, str)
