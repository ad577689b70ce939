"""Casts of Tensor: the same values, or the same bits, in another dtype."""

from __future__ import annotations

from typing import Self

from tiny_ir import DType, DTypeError, Op, ShapeError, UOp, const, dtypes, make
from tiny_plugin import boundary
from tiny_tensor.broadcast import broadcast
from tiny_tensor.tensor_core import TensorCore, concrete_dtype


# The methods named like Python's numbers hide these in the rest of the class: no annotation here
# uses them.
@boundary
class CastMethods(TensorCore):
    """Conversions, and what only says where elements lie."""

    __slots__ = ()

    def cast(self, dtype: DType | str) -> Self:
        """Convert the elements to another dtype.

        Args:
            dtype: the dtype, or its name.

        Returns:
            A tensor of the same shape; the tensor itself where it has that dtype. Floats become
            integers by truncation, integers wrap, and anything but 0 is true.

        Raises:
            DTypeError: there is no such dtype, or it is a weak one.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1.7, -1.7, 300.0]).cast("uint8").tolist()
            [1, 255, 44]
        """
        wanted = concrete_dtype(dtype)
        return self if wanted is self.dtype else self._apply(self.uop.cast(wanted))

    def bitcast(self, dtype: DType | str) -> Self:
        """Read the same bits as another dtype.

        Args:
            dtype: the dtype, or its name.

        Returns:
            Where the sizes of elements differ, the last axis has more or fewer elements.

        Raises:
            DTypeError: one dtype is bool and the other is not.
            ShapeError: the last axis does not divide into elements of the new size.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1.0]).bitcast("int32").tolist(), Tensor([1.0]).bitcast("uint8").tolist()
            ([1065353216], [0, 0, 128, 63])
        """
        wanted = concrete_dtype(dtype)
        if wanted is self.dtype:
            return self
        if wanted.is_bool or self.dtype.is_bool:
            raise DTypeError(
                f"cannot read the bits of {self.dtype.name} as {wanted.name}.",
                why="a byte has other values than 0 and 1, and bool has not.",
                fix="cast, or compare with 0.",
            )
        if wanted.nbytes == self.dtype.nbytes:
            return self._apply(self.uop.bitcast(wanted))
        return self._narrower(wanted) if wanted.nbytes < self.dtype.nbytes else self._wider(wanted)

    def _narrower(self, wanted: DType) -> Self:
        """Each element in several parts, lowest bits first."""
        words, parts = _word(self.dtype), _word(wanted)
        count = self.dtype.nbytes // wanted.nbytes
        node = self.uop.bitcast(words)
        wide = broadcast(node.reshape((*node.shape, 1)), (*node.shape, count))
        shifts = _counting(count, words, wanted.bits).reshape((1,) * len(node.shape) + (count,))
        shifted = (wide >> broadcast(shifts, wide.shape)).cast(parts).bitcast(wanted)
        if not node.shape:
            return self._apply(shifted)
        return self._apply(shifted.reshape((*node.shape[:-1], node.shape[-1] * count)))

    def _wider(self, wanted: DType) -> Self:
        """Several neighbours on the last axis in one element, lowest bits first."""
        count = wanted.nbytes // self.dtype.nbytes
        shape = self.shape
        if not shape or not isinstance(shape[-1], int) or shape[-1] % count:
            raise ShapeError(
                f"cannot read {shape} of {self.dtype.name} as {wanted.name}.",
                why=f"{count} neighbours on the last axis become one element.",
                fix=f"give the last axis a size that {count} divides.",
            )
        words = _word(wanted)
        node = self.uop.bitcast(_word(self.dtype)).cast(words)
        node = node.reshape((*shape[:-1], shape[-1] // count, count))
        shifts = _counting(count, words, self.dtype.bits).reshape((1,) * len(shape) + (count,))
        shifted = make(Op.SHL, None, (node, broadcast(shifts, node.shape)))
        return self._apply(shifted.reduce(Op.OR, (len(shape),)).bitcast(wanted))

    def float(self) -> Self:
        """Cast to float32."""
        return self.cast(dtypes.float32)

    def half(self) -> Self:
        """Cast to float16."""
        return self.cast(dtypes.float16)

    def bfloat16(self) -> Self:
        """Cast to bfloat16."""
        return self.cast(dtypes.bfloat16)

    def double(self) -> Self:
        """Cast to float64."""
        return self.cast(dtypes.float64)

    def short(self) -> Self:
        """Cast to int16."""
        return self.cast(dtypes.int16)

    def int(self) -> Self:
        """Cast to int32."""
        return self.cast(dtypes.int32)

    def long(self) -> Self:
        """Cast to int64."""
        return self.cast(dtypes.int64)

    def bool(self) -> Self:
        """Cast to bool: where an element is not zero."""
        return self.cast(dtypes.bool_)

    def contiguous(self) -> Self:
        """The same elements in memory of their own, in row-major order."""
        return self._apply(make(Op.CONTIGUOUS, None, (self.uop,)))

    def contiguous_backward(self) -> Self:
        """The same elements; their gradient gets memory of its own."""
        return self._apply(make(Op.CONTIGUOUS_BACKWARD, None, (self.uop,)))


_WORDS = {1: dtypes.uint8, 2: dtypes.uint16, 4: dtypes.uint32, 8: dtypes.uint64}


def _word(dtype: DType) -> DType:
    """The unsigned integer of the size of a dtype."""
    return _WORDS[dtype.nbytes]


def _counting(count: int, dtype: DType, step: int) -> UOp:
    """0, step, 2 * step, ...: shape (count,)."""
    return make(Op.IOTA, dtypes.weakint, (), count).cast(dtype) * const(dtype, step)
