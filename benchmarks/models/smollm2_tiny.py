"""Products of vectors with 4-bit matrices, in operations of Tensor: nothing here is special."""

from __future__ import annotations

from models.smollm2 import BLOCK, Matrix
from tiny_tensor import DType, Tensor, dtypes

GREATEST = 127
"""Of an int8 activation."""


class TinyMatrix:
    """A matrix in memory, still packed."""

    def __init__(self, matrix: Matrix) -> None:
        self.packed = Tensor(matrix.packed).realize()
        self.scale = Tensor(matrix.scale).realize()
        self.minimum = None if matrix.minimum is None else Tensor(matrix.minimum).realize()

    def product(self, x: Tensor) -> Tensor:
        """(columns,) -> (rows,), with weights decoded to float32 on their way."""
        blocks = x.reshape(-1, BLOCK)
        scale = self.scale.cast(dtypes.float32)
        if self.minimum is None:
            return (self.packed.cast(dtypes.float32) * scale * blocks).sum((1, 2))
        minimum = self.minimum.cast(dtypes.float32)
        low, high = self._halves(dtypes.float32)
        first, second = blocks[:, : BLOCK // 2], blocks[:, BLOCK // 2 :]
        values = (low * scale + minimum) * first + (high * scale + minimum) * second
        return values.sum((1, 2))

    def product_of_int8(self, x: Tensor) -> Tensor:
        """The same with activations rounded to 8 bits, block by block, and sums of integers."""
        blocks = x.reshape(-1, BLOCK)
        step = blocks.abs().max(1, keepdim=True) / GREATEST
        whole = (blocks / step).round().cast(dtypes.int8).contiguous()
        step = step.contiguous()
        scale = self.scale.cast(dtypes.float32).squeeze(2) * step.squeeze(1)
        numbers = whole.cast(dtypes.int32)
        if self.minimum is None:
            sums = (self.packed.cast(dtypes.int32) * numbers).sum(2)
            return (sums.cast(dtypes.float32) * scale).sum(1)
        low, high = self._halves(dtypes.int32)
        first, second = numbers[:, : BLOCK // 2], numbers[:, BLOCK // 2 :]
        sums = (low * first + high * second).sum(2)
        minimum = self.minimum.cast(dtypes.float32).squeeze(2)
        offset = minimum * (numbers.sum(1) * step.squeeze(1))
        return (sums.cast(dtypes.float32) * scale + offset).sum(1)

    def _halves(self, dtype: DType) -> tuple[Tensor, Tensor]:
        return (self.packed & 15).cast(dtype), (self.packed >> 4).cast(dtype)
