"""Parts of matrices by their place: triangles and diagonal matrices."""

from __future__ import annotations

from typing import Self

from tiny_ir import Op, ShapeError, Size, UOp, bounds, dtypes, make
from tiny_plugin import boundary
from tiny_tensor.broadcast import broadcast
from tiny_tensor.methods.padding import PaddingMethods


@boundary
class TriangleMethods(PaddingMethods):
    """Matrices on the last two axes."""

    __slots__ = ()

    def tril(self, diagonal: int = 0) -> Self:
        """The lower triangle of the matrices, and 0 above it.

        Args:
            diagonal: the last diagonal that is kept, counted to the right of the main one.

        Raises:
            ShapeError: there are fewer than two axes.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([[1, 2], [3, 4]]).tril().tolist()
            [[1, 0], [3, 4]]
        """
        return self._chosen(self._columns_from_diagonal() <= diagonal)

    def triu(self, diagonal: int = 0) -> Self:
        """The upper triangle of the matrices, and 0 below it.

        Args:
            diagonal: the first diagonal that is kept, counted to the right of the main one.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([[1, 2], [3, 4]]).triu(1).tolist()
            [[0, 2], [0, 0]]
        """
        return self._chosen(self._columns_from_diagonal() >= diagonal)

    def diag(self, diagonal: int = 0) -> Self:
        """A matrix with these elements on its diagonal, or the diagonal of a matrix.

        Args:
            diagonal: which one, counted to the right of the main one.

        Raises:
            ShapeError: there are neither one nor two axes.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1, 2]).diag().tolist()
            [[1, 0], [0, 2]]
        """
        if self.ndim == 2:
            return self.diagonal(diagonal)
        if self.ndim != 1:
            raise ShapeError(
                f"cannot make a diagonal matrix of a tensor of shape {self.shape}.",
                why="it is made of one axis.",
                fix="use diagonal() to read diagonals of several axes.",
            )
        count = self.shape[0]
        square = self._apply(broadcast(self.uop.reshape((count, 1)), (count, count)))
        square = square._chosen(square._columns_from_diagonal().eq(0))
        right, down = max(0, diagonal), max(0, -diagonal)
        return square.pad((right, down, down, right)) if diagonal else square

    def _chosen(self, mask: UOp) -> Self:
        chosen = make(Op.WHERE, None, (mask, self.uop, self.uop.const_like(0)))
        return self._apply(chosen)

    def _columns_from_diagonal(self) -> UOp:
        """How far each element stands to the right of the main diagonal: a node of this shape."""
        if self.ndim < 2:
            raise ShapeError(
                f"a tensor of shape {self.shape} has no triangles.",
                why="matrices lie on its last two axes.",
                fix="reshape it first.",
            )
        rows, columns = self.shape[-2:]
        return broadcast(
            counting(columns).reshape((1, columns)).expand((rows, columns))
            - counting(rows).reshape((rows, 1)).expand((rows, columns)),
            self.shape,
        )


def counting(count: Size) -> UOp:
    """0, 1, 2, ... as a weakint node of shape (count,)."""
    most = count if isinstance(count, int) else int(bounds(count)[1])
    numbers = make(Op.IOTA, dtypes.weakint, (), max(1, most))
    return numbers.shrink(((0, count),))
