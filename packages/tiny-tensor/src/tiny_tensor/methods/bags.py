"""Bags of embeddings: rows of a table, combined."""

from __future__ import annotations

from typing import Self

from tiny_ir import ArgumentError, DTypeError, ShapeError, const, dtypes, is_same_shape
from tiny_plugin import boundary
from tiny_tensor.broadcast import broadcast
from tiny_tensor.choices import check_choice
from tiny_tensor.methods.statistics import StatisticsMethods
from tiny_tensor.methods.triangles import counting

REDUCTIONS = {"sum": "sum", "mean": "mean", "max": "amax"}
"""What a bag is made of, and what a scatter calls it."""


@boundary
class BagMethods(StatisticsMethods):
    """Rows of a table by their numbers."""

    __slots__ = ()

    def embedding_bag(
        self,
        indices: Self,
        offsets: Self | None = None,
        mode: str = "mean",
        per_sample_weights: Self | None = None,
        padding_idx: int | None = None,
        include_last_offset: bool = False,
    ) -> Self:
        """Combine rows of this table, bag by bag.

        Args:
            indices: the numbers of rows, integers: (bags, n), or (n,) with offsets.
            offsets: (bags,), integers: where each bag begins among the numbers.
            mode: "sum", "mean" or "max".
            per_sample_weights: factors of the rows, in the shape of the numbers; for sums only.
            padding_idx: rows of this number do not count.
            include_last_offset: the last offset is the end of the last bag, and begins none.

        Returns:
            (bags, columns), in the dtype of the table; sums are kept in at least float32. An empty
            bag gives zeros.

        Raises:
            ArgumentError: there is no such mode, or weights stand beside another than "sum".
            ShapeError: the table has other axes than two, or numbers, offsets and weights do not
                fit.
            DTypeError: numbers or offsets are no integers.

        Example:
            >>> from tiny_tensor import Tensor
            >>> table = Tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
            >>> table.embedding_bag(Tensor([0, 2, 1]), Tensor([0, 2])).tolist()
            [[3.0, 4.0], [3.0, 4.0]]
        """
        check_choice("mode", mode, tuple(REDUCTIONS))
        indices = self._wrap(indices)
        offsets = None if offsets is None else self._wrap(offsets)
        if per_sample_weights is not None:
            per_sample_weights = self._wrap(per_sample_weights)
        self._check_bags(indices, offsets)
        if per_sample_weights is not None and mode != "sum":
            raise ArgumentError(
                f"weights of rows do not go with mode {mode!r}.",
                why="they are factors in a sum.",
                fix="use the mode 'sum'.",
            )
        if per_sample_weights is not None and not is_same_shape(
            per_sample_weights.shape, indices.shape
        ):
            raise ShapeError(
                f"weights of shape {per_sample_weights.shape} do not fit {indices.shape}.",
                why="each row has one.",
                fix="pass them in the shape of the numbers.",
            )
        rows, bags, count = self._bag_numbers(indices, offsets, include_last_offset)
        if padding_idx is not None:
            bags = rows.eq(padding_idx % self._length(0)).where(count, bags)  # out of range
        kept = dtypes.promote(self.dtype, dtypes.float32) if self.dtype.is_float else self.dtype
        values = self._apply(self.uop.index(rows.uop)).cast(kept)
        if per_sample_weights is not None:
            values = values * per_sample_weights.reshape(-1, 1)
        base = self._apply(broadcast(const(kept, 0), (count, self.shape[1])))
        places = bags.unsqueeze(1).expand(*values.shape)
        found = base.scatter_reduce(0, places, values.cast(kept), REDUCTIONS[mode], False)
        return found.cast(self.dtype)

    def _check_bags(self, indices: Self, offsets: Self | None) -> None:
        if self.ndim != 2 or indices.ndim != (2 if offsets is None else 1):
            raise ShapeError(
                f"bags of shape {indices.shape} do not fit a table of shape {self.shape}.",
                why="a table is (rows, columns), and bags are (bags, n), or (n,) with offsets.",
                fix="pass offsets, or reshape the numbers of the rows.",
            )
        for name, numbers in (("numbers of rows", indices), ("offsets", offsets)):
            if numbers is not None and not numbers.dtype.is_int:
                raise DTypeError(
                    f"{name} cannot be {numbers.dtype.name}.",
                    why="they count.",
                    fix="cast them to an integer first.",
                )

    def _bag_numbers(
        self, indices: Self, offsets: Self | None, include_last_offset: bool
    ) -> tuple[Self, Self, int]:
        """The number of each row, and that of its bag; how many bags there are: others are none."""
        rows = indices.reshape(-1)
        size = rows._length(0)
        places = self._apply(counting(size).cast(dtypes.int32))
        if offsets is None:
            each = indices._length(1)
            return rows, places // max(each, 1), indices._length(0)
        if offsets.ndim != 1:
            raise ShapeError(
                f"offsets of shape {offsets.shape} begin no bags.",
                why="they are a vector, with one for each bag.",
                fix="reshape them.",
            )
        count = offsets._length(0) - int(include_last_offset)
        bags = offsets.searchsorted(places, "right") - 1
        return rows, (bags < 0).where(count, bags), count
