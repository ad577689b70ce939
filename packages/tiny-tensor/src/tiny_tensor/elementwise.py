"""Elementwise operators of Tensor: arithmetic, comparisons, bits and choices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

from tiny_ir import ArgumentError, DType, DTypeError, Op, UOp, check_node, dtypes, make
from tiny_plugin import boundary
from tiny_tensor.broadcast import broadcast, broadcast_shape
from tiny_tensor.casts import CastMethods
from tiny_tensor.choices import check_choice
from tiny_tensor.quotients import float_modulo, float_quotient, truncated_modulo
from tiny_tensor.tensor_core import weak_dtype

BOOL_SPELLING = {Op.ADD: Op.OR, Op.MUL: Op.AND}
"""What sums and products of bools are."""
EXPANDED_POWERS = 4
"""Python integers up to this become products; above, the error of products would add up."""


@boundary
class ElementwiseMethods(CastMethods):
    """Every element by itself, or together with the one at its place in another tensor."""

    __slots__ = ()

    __array_priority__ = 1000
    """NumPy leaves operators between its arrays and a Tensor to the Tensor."""

    if TYPE_CHECKING:

        def assign(self, value: object) -> Self:
            """Write all elements in place; see `Tensor.assign`."""

    # Arithmetic.

    def alu(self, op: Op, *others: object) -> Self:
        """Apply an elementwise op of the language, with this tensor as its first source.

        Args:
            op: such as `Op.ADD`.
            others: its further sources; all are broadcast and promoted together.

        Raises:
            VerificationError: the op takes another number of sources, or not their dtype.

        Example:
            >>> from tiny_ir import Op
            >>> from tiny_tensor import Tensor
            >>> Tensor([1.0]).alu(Op.FMA, 2.0, 3.0).tolist()
            [5.0]
        """
        nodes = [self.uop, *[self._operand(other) for other in others]]
        dtype = dtypes.promote(*[node.dtype for node in nodes])
        shape = broadcast_shape(*[node.shape for node in nodes])
        sources = tuple(
            node.cast(dtype) if node.shape == () else broadcast(node.cast(dtype), shape)
            for node in nodes
        )
        node = make(op, None, sources)
        check_node(node)
        return self._apply(node)

    def ufix(self, value: object) -> Self:
        """A number or an array as a tensor beside this one, in the dtype where it meets this."""
        return self._wrap(value)

    def usum(self, *others: object) -> Self:
        """The sum of several tensors, added in pairs.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1]).usum(Tensor([2]), 3).tolist()
            [6]
        """
        return self._folded(Op.ADD, others)

    def uprod(self, *others: object) -> Self:
        """The product of several tensors, multiplied in pairs; of bools, their "and"."""
        return self._folded(Op.MUL, others)

    def _folded(self, op: Op, others: Sequence[object]) -> Self:
        parts = [self, *[self._wrap(other) for other in others]]
        while len(parts) > 1:
            pairs = [parts[n]._arithmetic(op, parts[n + 1]) for n in range(0, len(parts) - 1, 2)]
            parts = [*pairs, *parts[2 * len(pairs) :]]
        return parts[0]

    def _arithmetic(self, op: Op, other: object, *, reverse: bool = False) -> Self:
        """An operator of numbers: bools know sums and products only."""
        sources = self._broadcasted(other, reverse=reverse)
        if sources[0].dtype.is_bool:
            op = _op_of_bools(op)
        return self._apply(make(op, None, sources))

    def add(self, other: object, reverse: bool = False) -> Self:
        """The sum. Two bools give their "or".

        Args:
            other: a tensor that broadcasts with this one, or a number.
            reverse: let the other side come first.

        Returns:
            The common shape, in the promoted dtype; integers wrap.

        Raises:
            ShapeError: the shapes do not broadcast.

        Example:
            >>> from tiny_tensor import Tensor
            >>> (Tensor([1, 2]) + 0.5).tolist()
            [1.5, 2.5]
        """
        return self._arithmetic(Op.ADD, other, reverse=reverse)

    def sub(self, other: object, reverse: bool = False) -> Self:
        """The difference.

        Raises:
            DTypeError: both sides are bool.

        Example:
            >>> from tiny_tensor import Tensor
            >>> (1 - Tensor([1, 2])).tolist()
            [0, -1]
        """
        return self._arithmetic(Op.SUB, other, reverse=reverse)

    def mul(self, other: object, reverse: bool = False) -> Self:
        """The product. Two bools give their "and".

        Example:
            >>> from tiny_tensor import Tensor
            >>> (Tensor([1, 2]) * Tensor([[3], [4]])).tolist()
            [[3, 6], [4, 8]]
        """
        return self._arithmetic(Op.MUL, other, reverse=reverse)

    def div(
        self, other: object, reverse: bool = False, *, rounding_mode: str | None = None
    ) -> Self:
        """The quotient.

        Args:
            other: the divisor (the dividend with `reverse`).
            reverse: let the other side come first.
            rounding_mode: None divides truly: integers become floats. "trunc" rounds towards zero,
                "floor" down; both keep integers. An integer divided by 0 is 0 then.

        Raises:
            ArgumentError: the mode is none of these.

        Example:
            >>> from tiny_tensor import Tensor
            >>> x = Tensor([-7, 7])
            >>> (x / 2).tolist(), x.div(2, rounding_mode="trunc").tolist()
            ([-3.5, 3.5], [-3, 3])
        """
        if rounding_mode is None:
            return self._apply(self._quotient(other, reverse))
        check_choice("rounding_mode", rounding_mode, ("floor", "trunc"))
        if rounding_mode == "floor":
            return self._floor_quotient(other, reverse)
        sources = self._numbers(Op.CDIV, other, reverse)
        if sources[0].dtype.is_float:
            return self._apply(make(Op.FDIV, None, sources).alu(Op.TRUNC))
        return self._apply(make(Op.CDIV, None, sources))

    def _quotient(self, other: object, reverse: bool) -> UOp:
        first, second = self._broadcasted(other, reverse=reverse)
        dtype = dtypes.float_dtype(first.dtype, default_float=self._session.default_float)
        return make(Op.FDIV, None, (first.cast(dtype), second.cast(dtype)))

    def _numbers(self, op: Op, other: object, reverse: bool) -> tuple[UOp, UOp]:
        """Both sides of an operator that bools do not have."""
        sources = self._broadcasted(other, reverse=reverse)
        if sources[0].dtype.is_bool:
            _op_of_bools(op)
        return sources

    def _floor_quotient(self, other: object, reverse: bool) -> Self:
        a, b = self._numbers(Op.FLOORDIV, other, reverse)
        if a.dtype.is_float:
            return self._apply(float_quotient(a, b))
        return self._apply(make(Op.FLOORDIV, None, (a, b)))

    def mod(self, other: object, reverse: bool = False) -> Self:
        """The remainder of floor division: it has the sign of the divisor.

        An integer modulo 0 is 0; a float modulo 0 is NaN.

        Example:
            >>> from tiny_tensor import Tensor
            >>> (Tensor([-7, 7, -7]) % Tensor([2, -2, -2])).tolist()
            [1, -1, -1]
        """
        a, b = self._numbers(Op.FLOORMOD, other, reverse)
        if a.dtype.is_float:
            return self._apply(float_modulo(a, b))
        return self._apply(make(Op.FLOORMOD, None, (a, b)))

    def fmod(self, other: object) -> Self:
        """The remainder of truncating division: it has the sign of the dividend.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([-7, 7]).fmod(2).tolist()
            [-1, 1]
        """
        a, b = self._numbers(Op.CMOD, other, False)
        if a.dtype.is_float:
            return self._apply(truncated_modulo(a, b))
        return self._apply(make(Op.CMOD, None, (a, b)))

    def pow(self, other: object, reverse: bool = False) -> Self:
        """This tensor to a power.

        Args:
            other: the exponent (the base with `reverse`).
            reverse: let the other side come first.

        Returns:
            The promoted dtype. 0 to the power 0 is 1; a negative float to a power that is not whole
            is NaN; integers wrap.

        Raises:
            ArgumentError: an integer to a negative Python integer.

        Example:
            >>> from tiny_tensor import Tensor
            >>> (Tensor([2, 3]) ** 2).tolist(), (2 ** Tensor([3, 4])).tolist()
            ([4, 9], [8, 16])
        """
        if isinstance(other, int) and not isinstance(other, bool) and not reverse:
            return self._whole_power(other)
        return self._apply(make(Op.POW, None, self._numbers(Op.POW, other, reverse)))

    def _whole_power(self, exponent: int) -> Self:
        if exponent < 0 and not self.dtype.is_float:
            raise ArgumentError(
                f"integers cannot be raised to the power {exponent}.",
                why="the result is not an integer.",
                fix="cast to a float first, or use a float exponent.",
            )
        if 0 < exponent <= EXPANDED_POWERS and not self.dtype.is_bool:
            x = self.uop
            square = x if exponent == 1 else x * x
            if exponent <= 2:
                return self._apply(square)
            return self._apply(square * (x if exponent == 3 else square))
        if exponent == -1:
            return self._apply(self.uop.const_like(1) / self.uop)
        return self._apply(make(Op.POW, None, self._numbers(Op.POW, exponent, False)))

    def neg(self) -> Self:
        """The negative; unsigned integers wrap, and bools give their "not".

        Example:
            >>> from tiny_tensor import Tensor
            >>> (-Tensor([1, -2])).tolist()
            [-1, 2]
        """
        if self.dtype.is_bool:
            return self.logical_not()
        return self._unary(Op.NEG)

    def maximum(self, other: object) -> Self:
        """The larger of both; NaN propagates, and -0 is less than 0.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1, 5]).maximum(3).tolist()
            [3, 5]
        """
        return self._binary(Op.MAX, other)

    def minimum(self, other: object) -> Self:
        """The smaller of both; NaN propagates, and -0 is less than 0."""
        return self._binary(Op.MIN, other)

    def lerp(self, end: object, weight: object) -> Self:
        """From here (weight 0) to `end` (weight 1) on a straight line.

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
        return self + (self._wrap(end) - self) * weight

    # Comparisons.

    def _compared(self, op: Op, other: object, *, reverse: bool = False) -> Self:
        """A comparison; an integer that this dtype cannot hold is compared as what it is."""
        if isinstance(other, int) and self.dtype.is_int and not _fits(other, self.dtype):
            wide = dtypes.float64
            if dtypes.int64.minimum <= other <= dtypes.int64.maximum:
                wide = dtypes.int64 if self.dtype is not dtypes.uint64 else dtypes.float64
            return self.cast(wide)._binary(op, other, reverse=reverse)
        return self._binary(op, other, reverse=reverse)

    def eq(self, other: object) -> Self:
        """Where both sides are equal, as bools.

        Example:
            >>> from tiny_tensor import Tensor
            >>> (Tensor([1, 2, 3]) == 2).tolist()
            [False, True, False]
        """
        return self._compared(Op.CMPEQ, other)

    def ne(self, other: object) -> Self:
        """Where both sides differ, as bools; NaN differs from everything."""
        return self._compared(Op.CMPNE, other)

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

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1.0, 1.1]).isclose(1.0).tolist()
            [True, False]
        """
        a, b = self._broadcasted(other)
        kept = dtypes.promote(a.dtype, dtypes.float32) if a.dtype.is_float else dtypes.float64
        x, y = self._apply(a.cast(kept)), self._apply(b.cast(kept))
        near = (x - y)._magnitude() <= y._magnitude() * rtol + atol
        close = (x == y) | (near & (y._magnitude() < math.inf) & (x._magnitude() < math.inf))
        return close | ((x != x) & (y != y)) if equal_nan else close

    def _magnitude(self) -> Self:
        return self._apply(self.uop.maximum(self.uop.alu(Op.NEG)))

    # Bits and bools.

    def _bits(self, op: Op, other: object, *, reverse: bool = False) -> Self:
        sources = self._broadcasted(other, reverse=reverse)
        _check_bits(op, sources[0].dtype)
        return self._apply(make(op, None, sources))

    def bitwise_and(self, other: object) -> Self:
        """The bits set on both sides; for bools, "and".

        Raises:
            DTypeError: one side is a float.
        """
        return self._bits(Op.AND, other)

    def bitwise_or(self, other: object) -> Self:
        """The bits set on either side; for bools, "or".

        Raises:
            DTypeError: one side is a float.
        """
        return self._bits(Op.OR, other)

    def bitwise_xor(self, other: object) -> Self:
        """The bits set on one side only; for bools, "either".

        Raises:
            DTypeError: one side is a float.
        """
        return self._bits(Op.XOR, other)

    def bitwise_not(self) -> Self:
        """All bits turned; for bools, "not".

        Raises:
            DTypeError: it is a float.

        Example:
            >>> from tiny_tensor import Tensor
            >>> (~Tensor([0, 1])).tolist()
            [-1, -2]
        """
        _check_bits(Op.XOR, self.dtype)
        return self._apply(~self.uop)

    def logical_not(self) -> Self:
        """Where an element is zero, as bools."""
        return self._apply(self.uop.eq(self.uop.const_like(0)))

    def lshift(self, other: object, reverse: bool = False) -> Self:
        """The bits moved up. A count of the width or more, or below 0, leaves 0.

        Raises:
            DTypeError: one side is not an integer.
            ArgumentError: the count is a negative Python number.
        """
        return self._shifted(Op.SHL, other, reverse)

    def rshift(self, other: object, reverse: bool = False) -> Self:
        """The bits moved down; signed integers keep their sign.

        Raises:
            DTypeError: one side is not an integer.
            ArgumentError: the count is a negative Python number.

        Example:
            >>> from tiny_tensor import Tensor
            >>> (Tensor([-8, 8]) >> 1).tolist()
            [-4, 4]
        """
        return self._shifted(Op.SHR, other, reverse)

    def _shifted(self, op: Op, other: object, reverse: bool) -> Self:
        sources = self._numbers(op, other, reverse)
        _check_bits(op, sources[0].dtype)
        if not reverse and isinstance(other, int) and other < 0:
            raise ArgumentError(
                f"bits cannot be moved by {other}.",
                why="a count of bits is 0 or more.",
                fix="shift to the other side.",
            )
        return self._apply(make(op, None, sources))

    # Choices.

    def where(self, x: object, y: object) -> Self:
        """`x` where this is true, and `y` elsewhere.

        Args:
            x: a tensor or a number.
            y: a tensor or a number.

        Returns:
            The common shape of the three, in the promoted dtype of `x` and `y`.

        Raises:
            DTypeError: this tensor is not bool.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([True, False]).where(Tensor([1, 2]), 0.5).tolist()
            [1.0, 0.5]
        """
        if not self.dtype.is_bool:
            raise DTypeError(
                f"cannot choose by a tensor of {self.dtype.name}.",
                why="a condition is bool.",
                fix="compare it with something first, for example x != 0.",
            )
        dtype = self._meeting(x, y)
        first, second = self._operand(x, dtype), self._operand(y, dtype)
        shape = broadcast_shape(self.shape, first.shape, second.shape)
        sources = [
            node if node.shape == () else broadcast(node, shape)
            for node in (self.uop, first, second)
        ]
        return self._apply(make(Op.WHERE, None, tuple(sources)))

    def _meeting(self, *values: object) -> DType:
        """The dtype in which tensors and numbers meet."""
        found = [
            weak_dtype(value)
            if isinstance(value, bool | int | float)
            else self._operand(value).dtype
            for value in values
        ]
        dtype = dtypes.promote(*found)
        if dtype is dtypes.weakfloat:
            return self._session.default_float
        if dtype is not dtypes.weakint:
            return dtype
        narrow = all(isinstance(value, int) and _fits(value, dtypes.int32) for value in values)
        return dtypes.int32 if narrow else dtypes.int64

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
        if min_ is not None:
            x = (x < min_).where(min_, x)
        if max_ is not None:
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
        return self.eq(other)

    def __ne__(self, other: object) -> Self:  # type: ignore[override]
        return self.ne(other)

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


def _op_of_bools(op: Op) -> Op:
    found = BOOL_SPELLING.get(op)
    if found is None:
        raise DTypeError(
            f"{op.name} means nothing between two bools.",
            why="bools add up to 'or' and multiply to 'and'; there is nothing else they do.",
            fix="cast one side to an integer, or use ^ for what differs.",
        )
    return found


def _check_bits(op: Op, dtype: DType) -> None:
    is_shift = op in (Op.SHL, Op.SHR)
    if not dtype.is_int and (is_shift or not dtype.is_bool):
        raise DTypeError(
            f"{op.name} means nothing in {dtype.name}.",
            why="only integers have bits to work with." if is_shift else "floats have no bits.",
            fix="cast to an integer, or bitcast to see the bits of a float.",
        )


def _fits(value: int, dtype: DType) -> bool:
    return dtype.minimum <= value <= dtype.maximum
