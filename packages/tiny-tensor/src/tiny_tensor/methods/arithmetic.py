"""Arithmetic of Tensor: sums, products, quotients, remainders, powers, extremes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from tiny_ir import ArgumentError, DTypeError, Op, UOp, check_node, dtypes, make
from tiny_plugin import boundary
from tiny_tensor.arrays import number_of
from tiny_tensor.broadcast import broadcast, broadcast_shape
from tiny_tensor.choices import check_choice
from tiny_tensor.methods.casts import CastMethods
from tiny_tensor.methods.quotients import float_modulo, float_quotient, truncated_modulo

BOOL_SPELLING = {Op.ADD: Op.OR, Op.MUL: Op.AND}
"""What sums and products of bools are."""
EXPANDED_POWERS = 4
"""Python integers up to this become products; above, the error of products would add up."""


@boundary
class ArithmeticMethods(CastMethods):
    """Both sides are broadcast and promoted; integers wrap at their own width."""

    __slots__ = ()

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
            op = op_of_bools(op)
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
        if self.dtype.is_int and isinstance(number_of(other), int):
            # The quotient is a float: an integer need not fit the dtype of the elements.
            dtype = dtypes.float_dtype(self.dtype, default_float=self._session.default_float)
            return self.cast(dtype)._quotient(other, reverse)
        first, second = self._broadcasted(other, reverse=reverse)
        dtype = dtypes.float_dtype(first.dtype, default_float=self._session.default_float)
        return make(Op.FDIV, None, (first.cast(dtype), second.cast(dtype)))

    def _numbers(self, op: Op, other: object, reverse: bool) -> tuple[UOp, UOp]:
        """Both sides of an operator that bools do not have."""
        sources = self._broadcasted(other, reverse=reverse)
        if sources[0].dtype.is_bool:
            op_of_bools(op)
        return sources

    def _floor_quotient(self, other: object, reverse: bool) -> Self:
        a, b = self._numbers(Op.FLOORDIV, other, reverse)
        if a.dtype.is_float:
            return self._apply(float_quotient(a, b))
        return self._apply(make(Op.FLOORDIV, None, (a, b)))

    def mod(self, other: object, reverse: bool = False) -> Self:
        """The remainder of floor division: it has the sign of the divisor.

        An integer modulo 0 is 0; a float modulo 0 is NaN. Of floats it is exact, as in NumPy, but
        for the rounding where the divisor is added.

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
        """The remainder of truncating division, exact: it has the sign of the dividend.

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
        number = number_of(other)
        if isinstance(number, int) and not isinstance(number, bool) and not reverse:
            return self._whole_power(number)
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

    def logical_not(self) -> Self:
        """Where an element is zero, as bools."""
        return self._apply(self.uop.eq(self.uop.const_like(0)))

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

    def _magnitude(self) -> Self:
        if self.dtype.is_bool or self.dtype.is_unsigned:
            return self
        return self._apply(self.uop.maximum(self.uop.alu(Op.NEG)))


def op_of_bools(op: Op) -> Op:
    """The op that bools have in the place of one of numbers.

    Raises:
        DTypeError: there is none.
    """
    found = BOOL_SPELLING.get(op)
    if found is None:
        raise DTypeError(
            f"{op.name} means nothing between two bools.",
            why="bools add up to 'or' and multiply to 'and'; there is nothing else they do.",
            fix="cast one side to an integer, or use ^ for what differs.",
        )
    return found
