"""Bits of Tensor: and, or, xor, not, and shifts."""

from __future__ import annotations

from typing import Self

from tiny_ir import ArgumentError, DType, DTypeError, Op, make
from tiny_plugin import boundary
from tiny_tensor.methods.arithmetic import ArithmeticMethods


@boundary
class BitMethods(ArithmeticMethods):
    """Operators on the bits of integers, and on bools."""

    __slots__ = ()

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


def _check_bits(op: Op, dtype: DType) -> None:
    is_shift = op in (Op.SHL, Op.SHR)
    if not dtype.is_int and (is_shift or not dtype.is_bool):
        raise DTypeError(
            f"{op.name} means nothing in {dtype.name}.",
            why="only integers have bits to work with." if is_shift else "floats have no bits.",
            fix="cast to an integer, or bitcast to see the bits of a float.",
        )
