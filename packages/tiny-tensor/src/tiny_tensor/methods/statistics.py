"""Order and frequency: unique, bincount, histogram, searchsorted, quantile, diff, cov and kin."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self

from tiny_ir import (
    ArgumentError,
    DTypeError,
    Op,
    ShapeError,
    const,
    dtypes,
    is_same_shape,
    make,
    product,
)
from tiny_plugin import boundary
from tiny_tensor.axes import resolved_axis
from tiny_tensor.broadcast import broadcast
from tiny_tensor.choices import check_choice
from tiny_tensor.methods.gathering import taken, true_positions
from tiny_tensor.methods.ordering import ordered_key
from tiny_tensor.methods.positions import position_dtype
from tiny_tensor.methods.products import ProductMethods
from tiny_tensor.methods.triangles import counting

INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


@boundary
class StatisticsMethods(ProductMethods):
    """What many elements say together. Only `unique`, and `bincount` without a size, compute."""

    __slots__ = ()

    # Different values.

    def unique(self, axis: int | None = None) -> Self:
        """The different elements in ascending order: (n,). This computes, to know how many.

        Args:
            axis: compare the slices of this axis, and keep the different ones; elements decide in
                their order. Each position in a slice is one sort.

        Returns:
            The elements, or the shape with fewer positions on the axis. NaNs all differ.

        Raises:
            AxisError: there is no such axis.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([3, 1, 3]).unique().tolist()
            [1, 3]
        """
        rows, axis = self._rows(axis)
        order = rows._order_of_rows()
        values = rows._at(order)
        places = self._apply(true_positions(values._first_of_equals()))
        return self._from_rows(values._at(places), axis)

    def _rows(self, axis: int | None) -> tuple[Self, int | None]:
        """The slices of an axis one after another, or all elements: (n, elements of one)."""
        if axis is None:
            return self.reshape(-1, 1), None
        place = self._resolve_axis(axis)
        moved = self.moved(place, 0)
        return moved.reshape(moved.shape[0], product(moved.shape[1:])), place

    def _from_rows(self, rows: Self, axis: int | None) -> Self:
        if axis is None:
            return rows.reshape(-1)
        rest = (*self.shape[:axis], *self.shape[axis + 1 :])
        return rows.reshape(rows.shape[0], *rest).moved(0, axis)

    def _at(self, places: Self) -> Self:
        """The slices of the first axis at places (n,)."""
        return self._apply(self.uop.index(places.uop))

    def _order_of_rows(self) -> Self:
        """The positions that sort rows: by the last element first, then by those before it."""
        columns = [self._part(1, n, n + 1).reshape(-1) for n in range(self._length(1))]
        if not columns:
            return self._apply(counting(self.shape[0]).cast(dtypes.int32))
        order = columns.pop().argsort()
        while columns:
            order = order._at(columns.pop()._at(order).argsort())
        return order

    def _first_of_equals(self) -> Self:
        """Where a row of sorted ones differs from the one before, as bools: (n,)."""
        count = self._length(0)
        first = self._apply(broadcast(const(dtypes.bool_, True), (min(count, 1),)))
        if count < 2:
            return first
        return first.cat((self[1:] != self[:-1]).any(1))

    def unique_all(self, axis: int | None = None) -> tuple[Self, Self, Self, Self]:
        """The different elements in ascending order, and where and how often they stand.

        Args:
            axis: compare the slices of this axis; see `unique`.

        Returns:
            The values; the flat position of the first of each; for each element of this tensor,
            in its shape, the number of its value; and how often each stands. With an axis, the
            positions on it, and the number for each of them. This computes.

        Example:
            >>> from tiny_tensor import Tensor
            >>> [x.tolist() for x in Tensor([3, 1, 3]).unique_all()]
            [[1, 3], [1, 0], [1, 0, 1], [1, 2]]
        """
        rows, axis = self._rows(axis)
        shape = self.shape if axis is None else self.shape[axis : axis + 1]
        count = rows._length(0)
        order = rows._order_of_rows()
        values = rows._at(order)
        is_first = values._first_of_equals()
        starts = self._apply(true_positions(is_first))
        found, indices = self._from_rows(values._at(starts), axis), order._at(starts)
        base = broadcast(const(dtypes.int32, 0), (count,))
        if count == 0:
            return found, indices, self._apply(broadcast(const(dtypes.int32, 0), shape)), starts
        ranks = is_first.cumsum(0) - 1
        inverse = make(Op.SCATTER, None, (base, ranks.cast(dtypes.int32).uop, order.uop))
        end = self._apply(broadcast(const(starts.dtype, count), (1,)))
        counts = starts[1:].cat(end) - starts
        return found, indices, self._apply(inverse).reshape(shape), counts

    def isin(self, elements: object, invert: bool = False) -> Self:
        """Where an element is among others, as bools.

        Args:
            elements: a tensor of any shape, or a number.
            invert: where it is not.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1, 2, 3]).isin(Tensor([2, 5])).tolist()
            [False, True, False]
        """
        others = self._wrap(elements).reshape(-1)
        dtype = dtypes.promote(self.dtype, others.dtype)
        mine, others = self.cast(dtype), others.cast(dtype)
        if others._length(0) == 0:
            found = self._apply(broadcast(const(dtypes.bool_, False), self.shape))
        else:
            table, _ = others.sort()
            place = table.searchsorted(mine).minimum(table._length(0) - 1)
            found = table._apply(table.uop.index(place.uop)) == mine
        return ~found if invert else found

    # Positions in order.

    def searchsorted(self, values: object, side: str = "left", sorter: Self | None = None) -> Self:
        """Where values have to stand in this sorted vector to keep it sorted.

        Args:
            values: a tensor of any shape, or a number.
            side: "left" before equal elements, "right" after them.
            sorter: positions that sort this vector, where it is not sorted.

        Returns:
            int32, in the shape of the values. NaN is greater than every number.

        Raises:
            ShapeError: this tensor has more or fewer axes than one.
            ArgumentError: there is no such side.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1, 3, 5]).searchsorted(Tensor([3, 4])).tolist()
            [1, 2]
        """
        check_choice("side", side, ("left", "right"))
        if self.ndim != 1:
            raise ShapeError(
                f"a tensor of shape {self.shape} is not a sorted vector.",
                why="positions are searched along its only axis.",
                fix="search in one row after another.",
            )
        table = self if sorter is None else self.gather(0, sorter)
        wanted = self._wrap(values)
        dtype = dtypes.promote(self.dtype, wanted.dtype)
        keys = ordered_key(table.cast(dtype).uop, descending=False)
        sought = ordered_key(wanted.cast(dtype).uop, descending=False)
        count = table._length(0)
        kept = position_dtype(count)
        low = broadcast(const(kept, 0), sought.shape)
        if count == 0:
            return self._apply(low)
        # Bit by bit, the most elements that stand before the value.
        step = 1 << (count.bit_length() - 1)
        while step:
            probe = low + const(kept, step)
            inside = probe <= const(kept, count)
            at = keys.index(inside.where(probe - 1, 0))
            before = at <= sought if side == "right" else at < sought
            low = (inside & before).where(probe, low)
            step >>= 1
        return self._apply(low)

    def bucketize(self, boundaries: Self, right: bool = False) -> Self:
        """The number of the interval, between sorted boundaries, that each element lies in.

        Args:
            boundaries: a sorted vector.
            right: an element equal to a boundary lies after it.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1, 6]).bucketize(Tensor([2, 4])).tolist()
            [0, 2]
        """
        return self._wrap(boundaries).searchsorted(self, "right" if right else "left")

    # Frequencies.

    def bincount(
        self, weights: Self | None = None, minlength: int = 0, size: int | None = None
    ) -> Self:
        """How often each of 0, 1, 2, ... stands in a vector.

        Args:
            weights: what each element counts; 1 by default.
            minlength: the least size of the result.
            size: the size of the result; without it the greatest element is looked for: this
                computes. Greater elements do not count then.

        Returns:
            int32, or the dtype of the weights.

        Raises:
            DTypeError: the elements are not integers.
            ShapeError: the weights have another shape.
            ArgumentError: there are negative elements, or sizes.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([0, 2, 2]).bincount().tolist()
            [1, 0, 2]
        """
        if not self.dtype.is_int:
            raise DTypeError(
                f"elements of {self.dtype.name} cannot be counted by value.",
                why="they name places in the result, which are integers.",
                fix="cast it to an integer first, or use histogram().",
            )
        if minlength < 0 or (size is not None and size < 0):
            raise ArgumentError(
                f"there is no bincount of {minlength if size is None else size} places.",
                why="a size is 0 or more.",
                fix="choose another one.",
            )
        if weights is not None and not is_same_shape(weights.shape, self.shape):
            raise ShapeError(
                f"weights of shape {weights.shape} do not fit {self.shape}.",
                why="each element has one.",
                fix="reshape or expand the weights.",
            )
        flat = self.reshape(-1)
        count = size if size is not None else max(minlength, flat._greatest() + 1)
        if weights is None:
            value = broadcast(const(dtypes.int32, 1), flat.shape)
        else:
            value = weights.reshape(-1).uop
        base = broadcast(const(value.dtype, 0), (count,))
        if count == 0 or flat._length(0) == 0:
            return self._apply(base)
        return self._apply(make(Op.SCATTER, None, (base, value, flat.uop), Op.ADD))

    def _greatest(self) -> int:
        if self._length(0) == 0:
            return -1
        least, most = self.min().stack(self.max()).tolist()  # type: ignore[attr-defined]
        if least < 0:
            raise ArgumentError(
                f"bincount found {least}.",
                why="elements name places in the result, which begin at 0.",
                fix="add an offset first, or use histogram().",
            )
        return int(most)

    def histogram(
        self,
        bins: int | Self = 10,
        range: tuple[float, float] | None = None,
        weights: Self | None = None,
        density: bool = False,
    ) -> tuple[Self, Self]:
        """How many elements lie in each of several intervals.

        Args:
            bins: how many of equal width, or their sorted edges.
            range: from where to where; by default from the least element to the greatest.
            weights: what each element counts.
            density: divide, so that the area is 1.

        Returns:
            The counts (int32; floats with weights or density), and the edges, one more. An
            interval has its left edge, the last one both. Other elements, and NaN, do not count.

        Raises:
            ArgumentError: there are no bins, or the range ends before it begins.

        Example:
            >>> from tiny_tensor import Tensor
            >>> [x.tolist() for x in Tensor([0.0, 1.0, 4.0]).histogram(2)]
            [[2, 1], [0.0, 2.0, 4.0]]
        """
        x = self.reshape(-1)._as_float()
        edges = x._even_edges(bins, range) if isinstance(bins, int) else x._edges(bins)
        count = edges._length(0) - 1
        place = edges.searchsorted(x, "right") - 1
        is_last = x == edges[-1]
        place = is_last.where(count - 1, place)
        inside = (x >= edges[0]) & (x <= edges[-1])
        place = inside.where(place, count)  # out of range: it is not counted
        if weights is not None:
            value = broadcast(self._wrap(weights).uop, self.shape).reshape(x.shape)
        else:
            value = broadcast(const(dtypes.int32, 1), x.shape)
        base = broadcast(const(value.dtype, 0), (count,))
        counts = self._apply(base)
        if x._length(0):
            counts = self._apply(make(Op.SCATTER, None, (base, value, place.uop), Op.ADD))
        if density:
            widths = edges[1:] - edges[:-1]
            counts = counts.cast(x.dtype) / (widths * counts.sum())
        return counts, edges

    def _edges(self, edges: Self) -> Self:
        """Sorted edges that were given."""
        found = self._wrap(edges).cast(self.dtype)
        if found.ndim != 1 or found._length(0) < 2:
            raise ShapeError(
                f"edges of shape {found.shape} bound no intervals.",
                why="they are a vector of at least two numbers.",
                fix="pass how many intervals there are, or their edges.",
            )
        return found

    def _even_edges(self, bins: int, limits: tuple[float, float] | None) -> Self:
        if bins < 1 or (limits is not None and not limits[0] <= limits[1]):
            raise ArgumentError(
                f"there is no histogram of {bins} bins over {limits}.",
                why="there is at least one bin, and the range ends where it begins or after.",
                fix="choose other bins, or let the ends change places.",
            )
        if limits is not None:
            low, high = (self._apply(const(self.dtype, float(end))) for end in limits)
        elif self._length(0) == 0:
            low, high = (self._apply(const(self.dtype, end)) for end in (0.0, 1.0))
        else:
            low, high = self.min(), self.max()
        is_point = low == high
        low, high = is_point.where(low - 0.5, low), is_point.where(high + 0.5, high)
        part = self._apply(counting(bins + 1).cast(self.dtype) / const(self.dtype, bins))
        return part.eq(1.0).where(high, low + (high - low) * part)

    # Quantiles.

    def quantile(
        self,
        q: float | Sequence[float] | Self,
        axis: int | None = None,
        keepdim: bool = False,
        interpolation: str = "linear",
    ) -> Self:
        """The elements below which given parts of all elements lie.

        Args:
            q: parts, from 0 to 1: a number, or several.
            axis: the axis; None takes all elements.
            keepdim: keep the axis with size 1.
            interpolation: between two elements: "linear", "lower", "higher", "midpoint" or
                "nearest".

        Returns:
            A float dtype; several `q` come first, as an axis. NaN where there is a NaN.

        Raises:
            ArgumentError: a part is outside of 0 to 1, there are no elements, or there is no such
                interpolation.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([4.0, 1.0, 3.0, 2.0]).quantile([0.0, 0.5]).tolist()
            [1.0, 2.5]
        """
        check_choice("interpolation", interpolation, INTERPOLATIONS)
        parts = self._parts(q)
        x = self._as_float()
        flat = x.reshape(-1) if axis is None else x.moved(axis, -1)
        count = flat._length(flat.ndim - 1)
        if count == 0:
            raise ArgumentError(
                f"there are no quantiles of shape {self.shape}.",
                why="there are no elements.",
                fix="leave empty tensors out.",
            )
        values, _ = flat.sort(-1)
        kept = dtypes.float64
        place = parts.cast(kept) * float(count - 1)
        lower, upper = place.floor(), place.ceil()
        weight = place - lower
        if interpolation == "lower":
            weight = weight * 0.0
        elif interpolation == "higher":
            weight = (weight > 0.0).where(1.0, weight)
        elif interpolation == "midpoint":
            weight = (weight > 0.0).where(0.5, weight)
        elif interpolation == "nearest":
            weight = place.round() - lower
        low, high = (
            values._apply(
                taken(values.uop, values.ndim - 1, end.cast(dtypes.int32).reshape(-1).uop)
            )
            for end in (lower, upper)
        )
        share = weight.reshape(-1).cast(x.dtype)
        found = share.eq(0.0).where(low, low + (high - low) * share)
        found = share.eq(1.0).where(high, found)
        found = values.isnan().any(-1, keepdim=True).where(math.nan, found).moved(-1, 0)
        rest = found.shape[1:]
        if keepdim:
            ones = [1] * self.ndim
            if axis is not None:
                place_of = resolved_axis(axis, self.ndim)
                ones = [1 if n == place_of else s for n, s in enumerate(self.shape)]  # type: ignore[misc]
            rest = tuple(ones)
        return found.reshape((*parts.shape, *rest))

    def _parts(self, q: float | Sequence[float] | Self) -> Self:
        if isinstance(q, StatisticsMethods):
            return q
        listed = [q] if isinstance(q, int | float) else list(q)
        if any(not 0 <= part <= 1 for part in listed):
            raise ArgumentError(
                f"there is no quantile {q}.",
                why="parts of all elements are from 0 to 1.",
                fix="divide percents by 100.",
            )
        numbers = [const(dtypes.float64, float(part)).reshape((1,)) for part in listed]
        if isinstance(q, int | float):
            return self._apply(numbers[0].reshape(()))
        if not numbers:
            return self._apply(broadcast(const(dtypes.float64, 0.0), (0,)))
        tensors = [self._apply(number) for number in numbers]
        return tensors[0].cat(*tensors[1:])

    def median(self, axis: int | None = None, keepdim: bool = False) -> Self:
        """The middle element, or the mean of the two in the middle; see `quantile`.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([3, 1, 2]).median().item()
            2.0
        """
        return self.quantile(0.5, axis, keepdim)

    def kthvalue(self, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Self, Self]:
        """The k-th smallest element along an axis, and its position.

        Args:
            k: from 1 to the size of the axis.
            dim: the axis.
            keepdim: keep the axis with size 1.

        Returns:
            The values, and their positions in int32: of equal elements the first ones come first.

        Raises:
            ArgumentError: there is no k-th element.

        Example:
            >>> from tiny_tensor import Tensor
            >>> [x.item() for x in Tensor([5, 3, 4]).kthvalue(2)]
            [4, 2]
        """
        axis = self._resolve_axis(dim)
        size = self._length(axis)
        if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= size:
            raise ArgumentError(
                f"an axis of {size} elements has no element number {k!r}.",
                why="the smallest is number 1.",
                fix=f"choose a number from 1 to {size}.",
            )
        found = [part._part(axis, k - 1, k) for part in self.sort(axis)]
        values, places = found if keepdim else [part.squeeze(axis) for part in found]
        return values, places

    # Neighbours.

    def diff(
        self,
        n: int = 1,
        axis: int = -1,
        prepend: Self | None = None,
        append: Self | None = None,
    ) -> Self:
        """The differences of neighbours along an axis.

        Args:
            n: how often.
            axis: the axis.
            prepend: what is joined before the first element.
            append: what is joined after the last.

        Returns:
            `n` elements fewer on the axis; for bools, where neighbours differ.

        Raises:
            ArgumentError: `n` is negative.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1, 4, 9]).diff().tolist()
            [3, 5]
        """
        if n < 0:
            raise ArgumentError(
                f"differences cannot be taken {n} times.",
                why="a number of times is 0 or more.",
                fix="choose another number; cumsum() goes the other way.",
            )
        if n == 0:  # nothing is joined either, as in NumPy
            return self
        place = self._resolve_axis(axis)
        x = self
        if prepend is not None:
            x = self._wrap(prepend).cat(x, dim=place)
        if append is not None:
            x = x.cat(self._wrap(append), dim=place)
        for _ in range(min(n, x._length(place))):
            count = x._length(place)
            after, before = x._part(place, 1, count), x._part(place, 0, count - 1)
            x = after != before if x.dtype.is_bool else after - before
        return x

    def trapezoid(self, x: Self | None = None, dx: float = 1.0, axis: int = -1) -> Self:
        """The integral of samples along an axis, by the trapezoidal rule.

        Args:
            x: where the samples lie: a vector, or the shape of this tensor.
            dx: their distance, where there is no `x`.
            axis: the axis.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1.0, 2.0, 3.0]).trapezoid().item()
            4.0
        """
        y = self._as_float()
        place = self._resolve_axis(axis)
        count = y._length(place)
        if count < 2:
            return y._part(place, 0, 0).sum(place)
        means = (y._part(place, 1, count) + y._part(place, 0, count - 1)) * 0.5
        if x is None:
            return (means * dx).sum(place)
        x = self._wrap(x)
        if x.ndim == 1:
            widths = x.diff().reshape([-1 if n == place else 1 for n in range(self.ndim)])
        else:
            widths = x.diff(axis=place)
        return (means * widths).sum(place)

    # Together.

    def cov(
        self, correction: int = 1, fweights: Self | None = None, aweights: Self | None = None
    ) -> Self:
        """The covariances of variables, one a row, with an observation in each column.

        Args:
            correction: products are divided by the number of observations less this.
            fweights: (observations,), integers: how often each observation was made.
            aweights: (observations,): how much each observation counts, in proportion.

        Returns:
            (variables, variables); () for one variable. A float dtype, promoted with that of
            `aweights`.

        Raises:
            ShapeError: there are more than two axes, or the weights do not fit.
            DTypeError: `fweights` are not integers.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([[1.0, 3.0], [3.0, 1.0]]).cov().tolist()
            [[2.0, -2.0], [-2.0, 2.0]]

        Source: the weights are those of NumPy's cov; negative ones are not looked for.
        """
        if self.ndim > 2:
            raise ShapeError(
                f"a tensor of shape {self.shape} is not a table of variables.",
                why="each row is a variable, and each column an observation.",
                fix="reshape it to two axes.",
            )
        table = self._as_float()
        table = table.reshape(1, -1) if self.ndim < 2 else table
        fweights, aweights = (w if w is None else self._wrap(w) for w in (fweights, aweights))
        if fweights is None and aweights is None:
            middle = table - table.mean(1, keepdim=True)
            count = max(table._length(1) - correction, 0)
            found = middle.matmul(middle.T) / float(count)
        else:
            found = table._weighted_cov(correction, fweights, aweights)
        return found.reshape(()) if self.ndim < 2 else found

    def _weighted_cov(self, correction: int, fweights: Self | None, aweights: Self | None) -> Self:
        if fweights is not None and not fweights.dtype.is_int:
            raise DTypeError(
                f"fweights of {fweights.dtype.name} do not count observations.",
                why="how often something was made is an integer.",
                fix="cast them to an integer, or pass them as aweights.",
            )
        for name, weights in (("fweights", fweights), ("aweights", aweights)):
            if weights is not None and not is_same_shape(weights.shape, self.shape[1:]):
                raise ShapeError(
                    f"{name} of shape {weights.shape} do not fit {self.shape[1]} observations.",
                    why="each observation has one.",
                    fix="pass a vector with one for each.",
                )
        x = self._wide()
        given = [w.cast(x.dtype) for w in (fweights, aweights) if w is not None]
        each = given[0] if len(given) == 1 else given[0] * given[1]
        total = each.sum()
        middle = x - (x * each).sum(1, keepdim=True) / total
        # What one observation takes away; for weights in proportion, their mean by weight.
        one = 1.0 if aweights is None else (each * given[-1]).sum() / total
        count = total - one * float(correction)
        found = middle.matmul((middle * each).T) / count.maximum(0.0)
        return found.cast(self.dtype if aweights is None else self._meeting(self, aweights))

    def corrcoef(self) -> Self:
        """The correlations of variables, one a row, from -1 to 1.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([[1.0, 3.0], [3.0, 1.0]]).corrcoef().round().tolist()
            [[1.0, -1.0], [-1.0, 1.0]]
        """
        found = self.cov()
        if found.ndim == 0:
            return found / found
        spread = found.diagonal().sqrt()
        return (found / spread.unsqueeze(1) / spread.unsqueeze(0)).clamp(-1.0, 1.0)
