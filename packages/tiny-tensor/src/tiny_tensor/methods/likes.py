"""Tensors like others, and regular ones: the same shape filled anew, identities, even steps."""

from __future__ import annotations

from typing import Self

from tiny_ir import ArgumentError, DType, DTypeError, UOp, const, dtypes
from tiny_plugin import boundary
from tiny_tensor.broadcast import broadcast
from tiny_tensor.methods.creation import CreationMethods, checked_shape, constant
from tiny_tensor.methods.triangles import counting
from tiny_tensor.session import current_session
from tiny_tensor.tensor_core import Scalar, concrete_dtype


@boundary
class LikeMethods(CreationMethods):
    """Constructors whose shape, dtype and device follow from another tensor or from few numbers."""

    __slots__ = ()

    def full_like(self, fill_value: Scalar, dtype: DType | str | None = None) -> Self:
        """One value everywhere, in the shape of this tensor and on its device.

        Args:
            fill_value: a Python number.
            dtype: by default that of this tensor.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1, 2]).full_like(7).tolist()
            [7, 7]
        """
        wanted = self.dtype if dtype is None else concrete_dtype(dtype)
        return self._from_nothing(broadcast(constant(fill_value, wanted), self.shape), self._device)

    def const_like(self, value: Scalar, dtype: DType | str | None = None) -> Self:
        """Another name of `full_like`."""
        return self.full_like(value, dtype)

    def zeros_like(self, dtype: DType | str | None = None) -> Self:
        """Zeros in the shape of this tensor.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1, 2]).zeros_like().tolist()
            [0, 0]
        """
        return self.full_like(0, dtype)

    def ones_like(self, dtype: DType | str | None = None) -> Self:
        """Ones in the shape of this tensor."""
        return self.full_like(1, dtype)

    def empty_like(self, dtype: DType | str | None = None, device: str | None = None) -> Self:
        """Memory with arbitrary content, in the shape of this tensor.

        Args:
            dtype: by default that of this tensor.
            device: by default that of this tensor.
        """
        wanted = self.dtype if dtype is None else concrete_dtype(dtype)
        return self.empty(self.shape, dtype=wanted, device=device or self.device)

    @classmethod
    def eye(
        cls,
        n: int,
        m: int | None = None,
        dtype: DType | str | None = None,
        device: str | None = None,
    ) -> Self:
        """A matrix with ones on its main diagonal and zeros elsewhere; float by default.

        Args:
            n: the number of rows.
            m: the number of columns; as many as rows by default.
            dtype: the dtype.
            device: where it lives.

        Raises:
            ShapeError: a number is negative.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor.eye(2, 3, dtype="int32").tolist()
            [[1, 0, 0], [0, 1, 0]]
        """
        columns = n if m is None else m
        checked_shape((n, columns))
        session = current_session()
        wanted = session.default_float if dtype is None else concrete_dtype(dtype)
        shape = (n, columns)
        row = broadcast(counting(n).reshape((n, 1)), shape)
        column = broadcast(counting(columns).reshape((1, columns)), shape)
        return cls._from_nothing(row.eq(column).cast(wanted), session.device_name(device))

    @classmethod
    def linspace(
        cls,
        start: float,
        stop: float,
        steps: int,
        dtype: DType | str | None = None,
        device: str | None = None,
    ) -> Self:
        """Numbers at even distances from `start` to `stop`, both among them.

        Args:
            start: the first number.
            stop: the last number, where there are several.
            steps: how many there are.
            dtype: float by default; integers are truncated.
            device: where it lives.

        Returns:
            (steps,). The first half is counted from the start and the second from the stop, so
            that both ends are exact.

        Raises:
            ArgumentError: the number of steps is negative.
            DTypeError: the dtype is bool.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor.linspace(0, 1, 5).tolist()
            [0.0, 0.25, 0.5, 0.75, 1.0]
        """
        if steps < 0:
            raise ArgumentError(
                f"there cannot be {steps} numbers from {start} to {stop}.",
                why="a number of steps is 0 or more.",
                fix="choose another one.",
            )
        session = current_session()
        wanted = session.default_float if dtype is None else concrete_dtype(dtype)
        if wanted.is_bool:
            raise DTypeError(
                "bools have no even steps.",
                why="there is nothing between False and True.",
                fix="choose a dtype of numbers.",
            )
        node = _even_steps(float(start), float(stop), steps, wanted)
        return cls._from_nothing(node.cast(wanted), session.device_name(device))


def _even_steps(start: float, stop: float, steps: int, wanted: DType) -> UOp:
    kept = wanted if wanted.is_float and wanted.nbytes >= 4 else dtypes.float64
    distance = const(kept, (stop - start) / max(1, steps - 1))
    index = counting(steps)
    from_start = index.cast(kept) * distance + const(kept, start)
    from_stop = const(kept, stop) - (index * -1 + (steps - 1)).cast(kept) * distance
    # The middle belongs to the first half; so does the only one of one step.
    return (index < (steps + 1) // 2).where(from_start, from_stop)
