"""Adaptive pooling: windows as large as the wanted sizes make them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Self, overload

from tiny_ir import ArgumentError, Op, ShapeError, const, dtypes, make, product
from tiny_plugin import boundary
from tiny_tensor.broadcast import broadcast
from tiny_tensor.methods.resizing import ResizingMethods, averaged, shares
from tiny_tensor.methods.triangles import counting


@boundary
class AdaptiveMethods(ResizingMethods):
    """Pooling to given sizes: window j of n covers positions floor(j * size / n) to
    ceil((j + 1) * size / n)."""

    __slots__ = ()

    def adaptive_avg_pool2d(self, output_size: int | Sequence[int | None]) -> Self:
        """The means of as many windows as are asked for.

        Args:
            output_size: the sizes of the last axes, as many as there are numbers; None keeps one.
                One number stands for the last two.

        Returns:
            The shape with these sizes at its end; integers become floats.

        Raises:
            ArgumentError: there is no size, or a negative one.
            ShapeError: there are more sizes than axes, or an axis without elements.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1.0, 2.0, 6.0]).adaptive_avg_pool2d((2,)).tolist()
            [1.5, 4.0]
        """
        x = self._as_float()
        node = x._wide().uop
        for axis, wanted in self._wanted_sizes(output_size):
            node = averaged(node, axis, wanted)
        return self._apply(node).cast(x.dtype)

    @overload
    def adaptive_max_pool2d(
        self, output_size: int | Sequence[int | None], return_indices: Literal[False] = False
    ) -> Self: ...

    @overload
    def adaptive_max_pool2d(
        self, output_size: int | Sequence[int | None], return_indices: Literal[True]
    ) -> tuple[Self, Self]: ...

    def adaptive_max_pool2d(
        self, output_size: int | Sequence[int | None], return_indices: bool = False
    ) -> Self | tuple[Self, Self]:
        """The largest elements of as many windows as are asked for; NaN propagates.

        Args:
            output_size: see `adaptive_avg_pool2d`.
            return_indices: also give the place of each: its position in the flattened last axes.

        Returns:
            The values, or (values, places).

        Raises:
            ArgumentError: there is no size, or a negative one.
            ShapeError: there are more sizes than axes, or an axis without elements.

        Example:
            >>> from tiny_tensor import Tensor
            >>> values, places = Tensor([1.0, 7.0, 6.0]).adaptive_max_pool2d((2,), True)
            >>> values.tolist(), places.tolist()
            ([7.0, 7.0], [1, 1])
        """
        node = self.uop
        wanted_sizes = self._wanted_sizes(output_size)
        spatial = self.shape[self.ndim - len(wanted_sizes) :]
        numbers = counting(product(spatial)).cast(dtypes.int32).reshape(spatial)
        places = broadcast(numbers, self.shape)
        lowest = const(node.dtype, node.dtype.minimum)
        last = const(places.dtype, places.dtype.maximum)
        for axis, wanted in wanted_sizes:
            seen = shares(node, axis, wanted, lowest)
            values = seen.reduce(Op.MAX, (axis + 1,))
            if return_indices:
                shape = (*values.shape[: axis + 1], 1, *values.shape[axis + 1 :])
                found = seen.eq(broadcast(values.reshape(shape), seen.shape))
                found = found | seen.ne(seen) if node.dtype.is_float else found
                known = shares(places, axis, wanted, last)
                places = make(Op.WHERE, None, (found, known, last)).reduce(Op.MIN, (axis + 1,))
            node = values
        return (self._apply(node), self._apply(places)) if return_indices else self._apply(node)

    def _wanted_sizes(self, output_size: int | Sequence[int | None]) -> list[tuple[int, int]]:
        """The last axes, each with the size it gets."""
        sizes = (output_size,) * 2 if isinstance(output_size, int) else tuple(output_size)
        if not sizes or any(n is not None and (not isinstance(n, int) or n < 0) for n in sizes):
            raise ArgumentError(
                f"output_size cannot be {output_size!r}.",
                why="it is a number of 0 or more for each of the last axes, or None to keep one.",
                fix="write such numbers.",
            )
        first = self.ndim - len(sizes)
        if first < 0:
            raise ShapeError(
                f"{len(sizes)} sizes do not fit a tensor of shape {self.shape}.",
                why="there is an axis for each.",
                fix="give one size for each of the last axes.",
            )
        lengths = [self._length(first + n) for n in range(len(sizes))]
        if 0 in lengths:
            raise ShapeError(
                f"there are no windows over a tensor of shape {self.shape}.",
                why="an axis that is pooled has at least one element.",
                fix="leave empty tensors out.",
            )
        return [
            (first + n, length if wanted is None else wanted)
            for n, (length, wanted) in enumerate(zip(lengths, sizes, strict=True))
        ]
