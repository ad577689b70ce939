"""Pooling: windows over the spatial axes combined into one value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Self, overload

from tiny_ir import ArgumentError, Op, ShapeError, Size, UOp, const, dtypes, is_same_shape, make
from tiny_plugin import boundary
from tiny_tensor.broadcast import broadcast
from tiny_tensor.methods.convolution import ConvolutionMethods
from tiny_tensor.methods.indexing import IndexingMethods
from tiny_tensor.methods.joining import inside_of
from tiny_tensor.methods.positions import position_dtype
from tiny_tensor.methods.triangles import counting
from tiny_tensor.methods.windows import Numbers, Sides, Windows, windowed, windows


@boundary
class PoolingMethods(ConvolutionMethods, IndexingMethods):
    """Pooling over the last axes, as many as the kernel has numbers."""

    __slots__ = ()

    def avg_pool2d(
        self,
        kernel_size: Numbers = (2, 2),
        stride: Numbers | None = None,
        dilation: Numbers = 1,
        padding: Sides = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Self:
        """The means of windows.

        Args:
            kernel_size: the size of the window on each of the last axes.
            stride: from one window to the next; by default they stand side by side.
            dilation: the distance of neighbours in a window.
            padding: zeros at the edges: one number, one for each axis, or two for each axis.
            ceil_mode: also take a last window that reaches beyond the padding, if it starts inside.
            count_include_pad: count the zeros of the padding.
            divisor_override: divide the sums by this number, and not by how many were added.

        Returns:
            The shape with windows counted on the last axes; integers become floats.

        Raises:
            ShapeError: the window does not fit.
            ArgumentError: a number is too small, the padding is as large as the window, or the
                divisor is 0.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([[1.0, 2.0], [3.0, 4.0]]).avg_pool2d().tolist()
            [[2.5]]
        """
        of, full, first = self._windows(kernel_size, stride, dilation, padding, ceil_mode)
        if divisor_override == 0:
            raise ArgumentError(
                "windows cannot be divided by 0.",
                why="divisor_override stands in the place of how many elements a window has.",
                fix="choose another number, or leave it out.",
            )
        x = self._as_float()
        wide = x._wide()
        axes = tuple(range(self.ndim, self.ndim + len(of.sizes)))
        pairs: list[tuple[Size, Size]] = [*[(0, 0)] * first, *full]
        total = windowed(wide.uop.pad(pairs), first, of).reduce(Op.ADD, axes)
        if divisor_override is not None:
            return self._apply(total / const(wide.dtype, divisor_override)).cast(x.dtype)
        count = _counts(wide.uop, of if count_include_pad else None, full, of, first, axes)
        return self._apply(total / count.cast(wide.dtype)).cast(x.dtype)

    @overload
    def max_pool2d(
        self,
        kernel_size: Numbers = (2, 2),
        stride: Numbers | None = None,
        dilation: Numbers = 1,
        padding: Sides = 0,
        ceil_mode: bool = False,
        return_indices: Literal[False] = False,
    ) -> Self: ...

    @overload
    def max_pool2d(
        self,
        kernel_size: Numbers = (2, 2),
        stride: Numbers | None = None,
        dilation: Numbers = 1,
        padding: Sides = 0,
        ceil_mode: bool = False,
        *,
        return_indices: Literal[True],
    ) -> tuple[Self, Self]: ...

    def max_pool2d(
        self,
        kernel_size: Numbers = (2, 2),
        stride: Numbers | None = None,
        dilation: Numbers = 1,
        padding: Sides = 0,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Self | tuple[Self, Self]:
        """The largest elements of windows; NaN propagates. Padding is never the largest.

        Args:
            kernel_size: the size of the window on each of the last axes.
            stride: from one window to the next; by default they stand side by side.
            dilation: the distance of neighbours in a window.
            padding: at the edges: one number, one for each axis, or two for each axis.
            ceil_mode: also take a last window that reaches beyond the padding, if it starts inside.
            return_indices: also give the place of each: its position in the flattened last axes.

        Returns:
            The values, or (values, places).

        Raises:
            ShapeError: the window does not fit.
            ArgumentError: a number is too small, or the padding is as large as the window.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([[1, 2], [3, 4]]).max_pool2d().tolist()
            [[4]]
        """
        of, full, first = self._windows(kernel_size, stride, dilation, padding, ceil_mode)
        pairs: list[tuple[Size, Size]] = [*[(0, 0)] * first, *full]
        node = self.uop
        lowest = const(node.dtype, node.dtype.minimum)
        padded = node.pad(pairs)
        if padded is not node:
            padded = inside_of(node, pairs).where(padded, lowest)
        seen = windowed(padded, first, of)
        axes = tuple(range(self.ndim, self.ndim + len(of.sizes)))
        values = seen.reduce(Op.MAX, axes)
        if not return_indices:
            return self._apply(values)
        places = windowed(_places(node, first, pairs), first, of)
        largest = broadcast(values.reshape((*values.shape, *(1,) * len(axes))), seen.shape)
        found = (seen.eq(largest) | seen.ne(seen)) if node.dtype.is_float else seen.eq(largest)
        last = const(places.dtype, places.dtype.maximum)
        chosen = make(Op.WHERE, None, (found, places, last)).reduce(Op.MIN, axes)
        return self._apply(values), self._apply(chosen)

    def max_unpool2d(
        self,
        indices: Self,
        kernel_size: Numbers = (2, 2),
        stride: Numbers | None = None,
        dilation: Numbers = 1,
        padding: Sides = 0,
        output_size: Sequence[int] | None = None,
    ) -> Self:
        """Put values back at the places that `max_pool2d` gave; all others are 0.

        Args:
            indices: the places.
            kernel_size, stride, dilation, padding: those of the pooling.
            output_size: the sizes of the last axes, where they do not follow.

        Raises:
            ShapeError: there is not one place for each value.

        Example:
            >>> from tiny_tensor import Tensor
            >>> values, places = Tensor([[1, 2], [3, 4]]).max_pool2d(return_indices=True)
            >>> values.max_unpool2d(places).tolist()
            [[0, 0], [0, 4]]
        """
        sizes = _kernel(kernel_size)
        of = windows(sizes, stride, dilation, padding)
        spatial = len(sizes)
        indices = self._wrap(indices)
        if not is_same_shape(indices.shape, self.shape):
            raise ShapeError(
                f"places of shape {indices.shape} do not fit values of shape {self.shape}.",
                why="each value is put back at a place of its own.",
                fix="pass the places that max_pool2d() gave with the values.",
            )
        if output_size is None:
            lengths = [self._length(self.ndim - spatial + n) for n in range(spatial)]
            output = tuple(
                (lengths[n] - 1) * of.strides[n] + of.reach[n] - sum(of.padding[n])
                for n in range(spatial)
            )
        else:
            output = tuple(output_size)[-spatial:]
        outer = self.shape[: self.ndim - spatial]
        count = 1
        for size in output:
            count *= size
        zeros = self._apply(broadcast(self.uop.const_like(0), (*outer, count)))
        flat = self.reshape((*outer, -1))
        return zeros.scatter(-1, indices.reshape((*outer, -1)), flat).reshape((*outer, *output))

    def _windows(
        self,
        kernel_size: Numbers,
        stride: Numbers | None,
        dilation: Numbers,
        padding: Sides,
        ceil_mode: bool,
    ) -> tuple[Windows, tuple[tuple[int, int], ...], int]:
        """The windows, the padding with what a last window needs beyond it, the first axis."""
        sizes = _kernel(kernel_size)
        if len(sizes) > self.ndim:
            raise ShapeError(
                f"a window of {sizes} does not fit a tensor of shape {self.shape}.",
                why="it has more axes.",
                fix="give the kernel one number for each spatial axis.",
            )
        of = windows(sizes, stride, dilation, padding)
        if any(
            max(pair) >= reach
            for pair, reach in zip(of.padding, of.reach, strict=True)
            if any(pair)
        ):
            raise ArgumentError(
                f"padding of {padding!r} is too much for windows that cover {of.reach}.",
                why="a window would lie in the padding alone, and combine nothing.",
                fix="choose padding that is smaller than the window.",
            )
        first = self.ndim - len(sizes)
        if not ceil_mode:
            return of, of.padding, first
        full = []
        for n, (before, after) in enumerate(of.padding):
            length = self._length(first + n)
            padded = length + before + after
            count = -(-(padded - of.reach[n]) // of.strides[n]) + 1
            # A window that starts in the padding at the end would see nothing.
            if (count - 1) * of.strides[n] >= length + before:
                count -= 1
            end = (count - 1) * of.strides[n] + of.reach[n]
            full.append((before, after + max(0, end - padded)))
        return of, tuple(full), first


def _kernel(kernel_size: Numbers) -> tuple[int, ...]:
    if isinstance(kernel_size, int):
        return (kernel_size, kernel_size)
    if not kernel_size:
        raise ArgumentError(
            "a window without axes combines nothing.",
            why="kernel_size has no numbers.",
            fix="give one for each spatial axis.",
        )
    return tuple(kernel_size)


def _counts(
    node: UOp,
    padded: Windows | None,
    full: tuple[tuple[int, int], ...],
    of: Windows,
    first: int,
    axes: tuple[int, ...],
) -> UOp:
    """How many elements each window has; `padded` counts its padding, but nothing beyond it."""
    ones = broadcast(const(dtypes.int32, 1), node.shape)
    outer: list[tuple[Size, Size]] = [(0, 0)] * first
    if padded is not None:
        if full == padded.padding:
            count = 1
            for size in of.sizes:
                count *= size
            return const(dtypes.int32, count)
        counted = ones.pad([*outer, *padded.padding])
        ones = broadcast(const(dtypes.int32, 1), counted.shape)
        rest = [(0, end[1] - known[1]) for end, known in zip(full, padded.padding, strict=True)]
        return windowed(ones.pad([*outer, *rest]), first, of).reduce(Op.ADD, axes)
    return windowed(ones.pad([*outer, *full]), first, of).reduce(Op.ADD, axes)


def _places(node: UOp, first: int, pairs: Sequence[tuple[Size, Size]]) -> UOp:
    """The position of each element in the flattened last axes; a large number in the padding."""
    spatial = node.shape[first:]
    count = 1
    for size in spatial:
        assert isinstance(size, int)
        count *= size
    dtype = position_dtype(count)
    flat = counting(count).cast(dtype).reshape(spatial)
    places = broadcast(flat, node.shape)
    padded = places.pad(pairs)
    if padded is places:
        return places
    return inside_of(node, pairs).where(padded, const(dtype, dtype.maximum))
