"""Matrices taken apart: qr, cholesky, lu, eigh, svd, and what follows from them.

Every factorization is one recurrence over columns or over sweeps of rotations, so a graph does not
grow with the size of the matrices. Leading axes are batches. float16 and bfloat16 are computed in
float32, and integers in the default float.

Source: G. Golub, C. Van Loan, "Matrix Computations", 4th edition: algorithms 3.4.1 (elimination
with partial pivoting), 4.2.1 (Cholesky), 5.2.1 (Householder), 8.5.3 (Jacobi in parallel order)
and section 8.6.3 (one-sided Jacobi).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Self, TypeVar

from tiny_ir import ArgumentError, DType, Op, ShapeError, UOp, const, dtypes, is_same_size, make
from tiny_plugin import boundary
from tiny_tensor.broadcast import broadcast, broadcast_shape
from tiny_tensor.choices import check_choice
from tiny_tensor.methods.gathering import taken
from tiny_tensor.methods.matrix_gradients import (
    of_determinant,
    of_eigenvalues,
    of_eigenvectors,
    of_left_vectors,
    of_log_determinant,
    of_orthogonal,
    of_pseudoinverse,
    of_right_vectors,
    of_singular_values,
    of_solution,
    of_triangular,
    with_gradient,
)
from tiny_tensor.methods.products import ProductMethods
from tiny_tensor.methods.scan import at_step, scan, unused_number
from tiny_tensor.methods.triangles import counting

Matrix = TypeVar("Matrix", bound="DecompositionMethods")

EXTRA_SWEEPS = 6
"""Jacobi converges quadratically; after log2(n) sweeps this many more reach the last bit."""


@boundary
class DecompositionMethods(ProductMethods):
    """Factors of the matrices on the last two axes."""

    __slots__ = ()

    if TYPE_CHECKING:

        def detach(self) -> Self:
            """The same elements, without a gradient; see `Tensor.detach`."""

    def qr(self, mode: str = "reduced") -> tuple[Self, Self]:
        """An orthogonal matrix times an upper triangular one.

        Args:
            mode: "reduced" gives (..., m, k) and (..., k, n) with k = min(m, n); "complete" gives
                (..., m, m) and (..., m, n).

        Returns:
            Q and R.

        Raises:
            ShapeError: there are fewer than two axes.
            ArgumentError: there is no such mode.

        Example:
            >>> from tiny_tensor import Tensor
            >>> q, r = Tensor([[3.0, 1.0], [4.0, 1.0]]).qr()
            >>> (q @ r).allclose(Tensor([[3.0, 1.0], [4.0, 1.0]]), atol=1e-6)
            True
        """
        check_choice("mode", mode, ("reduced", "complete"))
        x, dtype = self._matrices()
        rows, columns = x._sides()
        steps = min(rows, columns)
        one = broadcast(x._identity(rows).uop, (*x.shape[:-2], rows, rows))
        if steps == 0 or 0 in x.shape:
            q, r = x._apply(one), x
        else:
            left, right = _householder(x.uop, one, steps)
            q, r = x._apply(left), x._apply(right)
        if mode == "reduced":
            q, r = q[..., :steps], r[..., :steps, :]
        r = r.triu()
        if steps == columns == q._length(q.ndim - 1) and 0 not in x.shape:
            q = with_gradient("q", q, (x,), of_orthogonal)
            r = with_gradient("r", r, (x,), of_triangular)
        return q.cast(dtype), r.cast(dtype)

    def cholesky(self, upper: bool = False) -> Self:
        """The lower triangular matrix whose product with its transpose is this one.

        Args:
            upper: give its transpose.

        Returns:
            NaN where a matrix is not positive definite. Only the lower triangle is read.

        Raises:
            ShapeError: the matrices are not square.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([[4.0, 2.0], [2.0, 5.0]]).cholesky().tolist()
            [[2.0, 0.0], [1.0, 2.0]]
        """
        self.square_size()
        x, dtype = self._matrices()
        lower = x if 0 in x.shape else x._apply(_cholesky(x.uop))
        return (lower.mT if upper else lower).cast(dtype)

    def solve(self, other: object) -> Self:
        """The x for which this matrix times x is `other`.

        Args:
            other: (..., n, k), or (n,) for one right side.

        Returns:
            The shape of `other`, with the batches of both; infinite or NaN where a matrix is
            singular.

        Raises:
            ShapeError: the matrices are not square, or the sizes differ.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([[2.0, 0.0], [0.0, 4.0]]).solve(Tensor([2.0, 2.0])).tolist()
            [1.0, 0.5]
        """
        size = self.square_size()
        wanted = self._wrap(other)
        is_vector = wanted.ndim == 1
        right = wanted.unsqueeze(-1) if is_vector else wanted
        if right.ndim < 2 or not is_same_size(right.shape[-2], size):
            raise ShapeError(
                f"there is no solution for {self.shape} and {wanted.shape}.",
                why=f"the right side has as many rows as the matrix: {size}.",
                fix="reshape the right side.",
            )
        result = dtypes.promote(self.dtype, right.dtype)
        x, dtype = self.cast(result)._matrices()
        y = right.cast(result).cast(x.dtype)
        batch = broadcast_shape(x.shape[:-2], y.shape[:-2])
        a = broadcast(x.uop, (*batch, size, size))
        b = broadcast(y.uop, (*batch, size, y.shape[-1]))
        if 0 in a.shape or 0 in b.shape:
            found = b
        else:
            found, _, _ = _eliminated(a, b)
        answer = x._apply(found)
        if 0 not in a.shape and 0 not in b.shape:
            sides = (x._apply(a), x._apply(b))
            answer = with_gradient("solve", answer, sides, of_solution)
        answer = answer.cast(dtype)
        return answer.squeeze(-1) if is_vector else answer

    def inv(self) -> Self:
        """The inverse; infinite or NaN where a matrix is singular.

        Raises:
            ShapeError: the matrices are not square.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([[2.0, 0.0], [0.0, 4.0]]).inv().tolist()
            [[0.5, 0.0], [0.0, 0.25]]
        """
        size = self.square_size()
        x, dtype = self._matrices()
        return x.solve(x._identity(size)).cast(dtype)

    def _inverse(self) -> Self:
        return self.inv()

    def _pivots(self) -> tuple[Self, Self, DType]:
        """The pivots of elimination, (..., n), the sign of the row exchanges, and the dtype."""
        size = self.square_size()
        x, dtype = self._matrices()
        shape = x.shape
        if 0 in shape:
            return (
                x._apply(broadcast(const(x.dtype, 1), shape[:-1])),
                x._apply(broadcast(const(x.dtype, 1), shape[:-2])),
                dtype,
            )
        none = broadcast(const(x.dtype, 0), (*shape[:-2], size, 1))
        _, pivots, sign = _eliminated(x.uop, none, go_on=True)
        return x._apply(pivots), x._apply(sign), dtype

    def det(self) -> Self:
        """The determinant.

        Returns:
            The batches, in a float dtype.

        Raises:
            ShapeError: the matrices are not square.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([[2.0, 1.0], [0.0, 4.0]]).det().item()
            8.0
        """
        pivots, sign, dtype = self._pivots()
        found = pivots.prod(-1) * sign
        if 0 not in self.shape:
            found = with_gradient("det", found, (self._wide(),), of_determinant)
        return found.cast(dtype)

    def slogdet(self) -> tuple[Self, Self]:
        """The sign of the determinant, and the logarithm of its magnitude.

        Example:
            >>> from tiny_tensor import Tensor
            >>> [x.item() for x in Tensor([[1.0, 0.0], [0.0, -1.0]]).slogdet()]
            [-1.0, 0.0]
        """
        pivots, sign, dtype = self._pivots()
        size = pivots.abs().log().sum(-1)
        if 0 not in self.shape:
            size = with_gradient("slogdet", size, (self._wide(),), of_log_determinant)
        return (pivots.sign().prod(-1) * sign).detach().cast(dtype), size.cast(dtype)

    def eigh(self) -> tuple[Self, Self]:
        """Eigenvalues in ascending order, and eigenvectors, of symmetric matrices.

        Returns:
            (..., n), and (..., n, n) with a vector in each column. Only the lower triangle is
            read.

        Raises:
            ShapeError: the matrices are not square.

        Example:
            >>> from tiny_tensor import Tensor
            >>> values, _ = Tensor([[2.0, 0.0], [0.0, 1.0]]).eigh()
            >>> values.tolist()
            [1.0, 2.0]
        """
        size = self.square_size()
        x, dtype = self._matrices()
        if 0 in x.shape:
            return x.reshape(x.shape[:-1]).cast(dtype), x.cast(dtype)
        whole = x.tril() + x.tril(-1).mT
        one = x._apply(broadcast(x._identity(size).uop, x.shape))
        diagonal, vectors = _symmetric_jacobi(whole, one)
        values, order = diagonal.sort(-1)
        index = order.unsqueeze(-2).expand(x.shape)
        values = with_gradient("eigenvalues", values, (whole,), of_eigenvalues)
        vectors = vectors.gather(-1, index)
        vectors = with_gradient("eigenvectors", vectors, (whole,), of_eigenvectors)
        return values.cast(dtype), vectors.cast(dtype)

    def eigvalsh(self) -> Self:
        """The eigenvalues of `eigh` alone."""
        return self.eigh()[0]

    def svd(self, full_matrices: bool = True) -> tuple[Self, Self, Self]:
        """Two orthogonal matrices, and the singular values between them.

        Args:
            full_matrices: give square orthogonal matrices; else only min(m, n) of their vectors.

        Returns:
            U, the singular values in descending order (..., k), and the transpose of V.

        Raises:
            ShapeError: there are fewer than two axes.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([[0.0, 2.0], [1.0, 0.0]]).svd()[1].tolist()
            [2.0, 1.0]
        """
        x, dtype = self._matrices()
        rows, columns = x._sides()
        if rows < columns:
            u, values, v = x.mT.svd(full_matrices)
            return v.mT.cast(dtype), values.cast(dtype), u.mT.cast(dtype)
        if 0 in x.shape:
            one = x._apply(broadcast(x._identity(rows).uop, (*x.shape[:-2], rows, rows)))
            u = one if full_matrices else one[..., :columns]
            values = x._apply(broadcast(const(x.dtype, 0), (*x.shape[:-2], columns)))
            eye = x._apply(broadcast(x._identity(columns).uop, (*x.shape[:-2], columns, columns)))
            return u.cast(dtype), values.cast(dtype), eye.cast(dtype)
        scale = x.abs().max((-2, -1), keepdim=True)
        scale = ((scale > 0.0) & scale.isfinite()).where(scale, 1.0)
        turned, v = _one_sided_jacobi(x / scale)
        lengths = turned.square().sum(-2).sqrt()
        values, order = lengths.sort(-1, descending=True)
        turned = turned.gather(-1, order.unsqueeze(-2).expand(turned.shape))
        v = v.gather(-1, order.unsqueeze(-2).expand(v.shape))
        # The columns are orthogonal: their triangular factor is diagonal but for its signs.
        q, r = turned.qr("complete" if full_matrices else "reduced")
        signs = (r.diagonal(0, -2, -1) < 0.0).where(-1.0, 1.0)
        if full_matrices and rows > columns:
            ones = x._apply(broadcast(const(x.dtype, 1), (*x.shape[:-2], rows - columns)))
            signs = signs.cast(x.dtype).cat(ones, dim=-1)
        found = q * signs.unsqueeze(-2)
        u = with_gradient("u", found[..., :columns], (x,), of_left_vectors)
        if full_matrices and rows > columns:
            u = u.cat(found[..., columns:].detach(), dim=-1)  # any basis of the rest would do
        values = (values.unsqueeze(-1) * scale).squeeze(-1)
        values = with_gradient("singular values", values, (x,), of_singular_values)
        v = with_gradient("v", v.mT, (x,), of_right_vectors)
        return u.cast(dtype), values.cast(dtype), v.cast(dtype)

    def svdvals(self) -> Self:
        """The singular values of `svd` alone."""
        return self.svd(full_matrices=False)[1]

    def pinv(self, rtol: float | Self | None = None) -> Self:
        """The Moore-Penrose inverse.

        Args:
            rtol: singular values below this part of the largest count as 0: a number, or one
                for each batch; by default max(m, n) times the distance from 1 to the next number.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([[2.0], [0.0]]).pinv().tolist()
            [[0.5, 0.0]]
        """
        x, dtype = self._matrices()
        if 0 in x.shape:
            return x.mT.cast(dtype)
        u, values, v = x.svd(full_matrices=False)
        limit = values.max(-1, keepdim=True) * x._tolerance(rtol)
        inverse = (values > limit).where(1.0 / (values > limit).where(values, 1.0), 0.0)
        found = (v.mT * inverse.unsqueeze(-2)) @ u.mT
        return with_gradient("pinv", found, (x,), of_pseudoinverse).cast(dtype)

    def _tolerance(self, rtol: float | Self | None) -> float | Self:
        if isinstance(rtol, DecompositionMethods):
            return rtol.unsqueeze(-1)
        if rtol is not None:
            return rtol
        digits = 52 if self.dtype is dtypes.float64 else 23
        return max(self._sides()) * math.ldexp(1.0, -digits)

    def matrix_rank(self, rtol: float | Self | None = None) -> Self:
        """How many singular values are not 0, as int32; see `pinv` for `rtol`.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([[1.0, 1.0], [1.0, 1.0]]).matrix_rank().item()
            1
        """
        x, _ = self._matrices()
        if 0 in x.shape[-2:]:
            return x._apply(broadcast(const(dtypes.int32, 0), x.shape[:-2]))
        values = x.svdvals()
        return (values > values.max(-1, keepdim=True) * x._tolerance(rtol)).sum(-1)

    def matrix_norm(self, p: float | str = "fro", keepdim: bool = False) -> Self:
        """A norm of matrices.

        Args:
            p: "fro" for the root of the sum of squares, "nuc" for the sum of singular values, 2
                and -2 for the largest and least of them, 1 and -1 for the largest and least sum of
                magnitudes of a column, inf and -inf of a row.
            keepdim: keep the axes with size 1.

        Raises:
            ArgumentError: there is no such norm.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([[3.0, 0.0], [4.0, 0.0]]).matrix_norm().item()
            5.0
        """
        if p not in ("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf):
            raise ArgumentError(
                f"there is no matrix norm {p!r}.",
                why="the norms are 'fro', 'nuc', 1, -1, 2, -2, inf and -inf.",
                fix="pass one of them.",
            )
        x, dtype = self._matrices()
        if p == "fro":
            found = x.square().sum((-2, -1)).sqrt()
        elif p in ("nuc", 2, -2):
            values = x.svdvals()
            found = values.sum(-1) if p == "nuc" else values.max(-1) if p == 2 else values.min(-1)
        else:
            assert isinstance(p, int | float)
            sums = x.abs().sum(-2 if abs(p) == 1 else -1)
            found = sums.max(-1) if p > 0 else sums.min(-1)
        return (found.unsqueeze(-1).unsqueeze(-1) if keepdim else found).cast(dtype)

    def lstsq(
        self, other: object, rtol: float | Self | None = None
    ) -> tuple[Self, Self, Self, Self]:
        """The x of least norm for which this matrix times x is nearest to `other`.

        Args:
            other: (..., m, k), or (m,).
            rtol: see `pinv`.

        Returns:
            The solution, (..., n, k), the sums of squares of what is left, (..., k), the rank and
            the singular values.

        Example:
            >>> from tiny_tensor import Tensor
            >>> solution, *_ = Tensor([[1.0], [1.0]]).lstsq(Tensor([1.0, 3.0]))
            >>> solution.allclose(Tensor([2.0]))
            True
        """
        wanted = self._wrap(other)
        right = wanted.unsqueeze(-1) if wanted.ndim == 1 else wanted
        x, dtype = self._matrices()
        y = right.cast(x.dtype)
        solution = x.pinv(rtol) @ y
        left = (x @ solution - y).square().sum(-2)
        if wanted.ndim == 1:
            solution, left = solution.squeeze(-1), left.squeeze(-1)
        values = x.svdvals()
        rank = x.matrix_rank(rtol)
        return solution.cast(dtype), left.cast(dtype), rank, values.cast(dtype)

    def _matrices(self) -> tuple[Self, DType]:
        """In at least float32, and the float dtype that results get."""
        if self.ndim < 2:
            raise ShapeError(
                f"a tensor of shape {self.shape} holds no matrices.",
                why="they lie on the last two axes.",
                fix="reshape it first.",
            )
        return self._wide(), self._as_float().dtype

    def _sides(self) -> tuple[int, int]:
        return self._length(self.ndim - 2), self._length(self.ndim - 1)


def _column(x: UOp, step: UOp) -> UOp:
    """Column number `step` of matrices: (..., m)."""
    rank = len(x.shape)
    return at_step(x.permute((rank - 1, *range(rank - 1))), step)


def _row(x: UOp, step: UOp) -> UOp:
    """Row number `step` of matrices: (..., n)."""
    rank = len(x.shape)
    return at_step(x.permute((rank - 2, *range(rank - 2), rank - 1)), step)


def _numbers(like: UOp, axis: int) -> UOp:
    """The position along an axis (from the end) of every element."""
    sizes = [1] * len(like.shape)
    size = like.shape[axis]
    assert isinstance(size, int)
    sizes[axis] = size
    return broadcast(counting(size).cast(dtypes.int32).reshape(sizes), like.shape)


def _across(vector: UOp, like: UOp) -> UOp:
    """(..., m) as (..., m, 1), spread to matrices."""
    return broadcast(vector.reshape((*vector.shape, 1)), like.shape)


def _along(vector: UOp, like: UOp) -> UOp:
    """(..., n) as (..., 1, n), spread to matrices."""
    return broadcast(vector.reshape((*vector.shape[:-1], 1, vector.shape[-1])), like.shape)


def _spread(number: UOp, like: UOp) -> UOp:
    """(...) spread over one more axis."""
    return broadcast(number.reshape((*number.shape, 1)), like.shape)


def _cholesky(x: UOp) -> UOp:
    """A column at a time: it is divided by the root of its pivot, and its square taken away."""
    rank = len(x.shape)

    def body(step: UOp, states: tuple[UOp, ...]) -> tuple[Sequence[UOp], Sequence[UOp]]:
        (left,) = states
        column = _column(left, step)
        pivot = at_step(column.permute((rank - 2, *range(rank - 2))), step).alu(Op.SQRT)
        below = _numbers(column, -1) >= step.cast(dtypes.int32)
        factor = below.where(column / _spread(pivot, column), 0.0)
        return (left - _across(factor, left) * _along(factor, left),), (factor,)

    _, (columns,) = scan(x.shape[-1], (x,), body, unused_number((x,)))
    return columns.permute((*range(1, rank), 0))


def _householder(x: UOp, one: UOp, steps: int) -> tuple[UOp, UOp]:
    """Reflect each column onto its first element; Q collects the reflections."""
    axis = len(x.shape) - 2

    def body(step: UOp, states: tuple[UOp, ...]) -> tuple[Sequence[UOp], Sequence[UOp]]:
        r, q = states
        column = _column(r, step)
        number = _numbers(column, -1)
        here = step.cast(dtypes.int32)
        below = (number > here).where(column, 0.0)
        head = at_step(column.permute((axis, *range(axis))), step)
        largest = below.maximum(below.alu(Op.NEG)).reduce(Op.MAX, (axis,))
        size = largest.maximum(head.maximum(head.alu(Op.NEG)))
        size = size.eq(0).where(1.0, size)
        scaled = below / _spread(size, below)
        rest = (scaled * scaled).reduce(Op.ADD, (axis,))
        top = head / size
        length = (top * top + rest).alu(Op.SQRT)
        is_done = rest.eq(0)  # nothing stands below: the reflection is the identity
        target = (top > 0).where(length.alu(Op.NEG), length)
        first = top - target
        tau = is_done.where(0.0, (target - top) / target)
        safe = is_done.where(1.0, first)
        vector = number.eq(here).where(1.0, scaled / _spread(safe, scaled))
        vector = (number < here).where(0.0, vector)
        weighted = vector * _spread(tau, vector)
        dots = (r * _across(vector, r)).reduce(Op.ADD, (axis,))
        turned = r - _across(weighted, r) * _along(dots, r)
        back = (q * _along(vector, q)).reduce(Op.ADD, (axis + 1,))
        return (turned, q - _across(back, q) * _along(weighted, q)), ()

    (r, q), _ = scan(steps, (x, one), body, unused_number((x,)))
    return q, r


def _eliminated(a: UOp, b: UOp, *, go_on: bool = False) -> tuple[UOp, UOp, UOp]:
    """Gauss-Jordan elimination with partial pivoting.

    Args:
        a: the matrices.
        b: the right sides.
        go_on: leave a column without a pivot as it is, so that further pivots are numbers; there is
            no solution then.

    Returns:
        The solution, the pivots (..., n), and the sign of the row exchanges (...).
    """
    axis = len(a.shape) - 2
    size = a.shape[-1]
    assert isinstance(size, int)
    count = const(dtypes.int32, size)

    def body(step: UOp, states: tuple[UOp, ...]) -> tuple[Sequence[UOp], Sequence[UOp]]:
        left, right, sign = states
        here = step.cast(dtypes.int32)
        column = _column(left, step)
        number = _numbers(column, -1)
        size_of = (number >= here).where(column.maximum(column.alu(Op.NEG)), -1.0)
        most = size_of.reduce(Op.MAX, (axis,))
        is_most = size_of.eq(_spread(most, size_of)) | size_of.ne(size_of)
        place = make(Op.WHERE, None, (is_most, number, broadcast(count, number.shape)))
        place = place.reduce(Op.MIN, (axis,))
        chosen = number.eq(_spread(place, number))
        pivot = chosen.where(column, 0.0).reduce(Op.ADD, (axis,))
        divisor = pivot.eq(0).where(1.0, pivot) if go_on else pivot
        results = []
        for side in (left, right):
            top = _row(side, step)
            mine = _across(chosen, side)
            picked = mine.where(side, 0.0).reduce(Op.ADD, (axis,))
            swapped = mine.where(_along(top, side), side)
            results.append((swapped, picked / _spread(divisor, picked)))
        factor = chosen.where(_spread(_row_element(column, step, axis), column), column)
        factor = number.eq(here).where(0.0, factor)
        following = []
        for swapped, row in results:
            is_pivot_row = _across(number.eq(here), swapped)
            rows = _along(row, swapped)
            following.append(is_pivot_row.where(rows, swapped - _across(factor, swapped) * rows))
        is_same = place.eq(broadcast(here, place.shape))
        turned = is_same.where(sign, sign.alu(Op.NEG))
        return (*following, turned), (pivot,)

    one = broadcast(const(a.dtype, 1), a.shape[:-2])
    number = unused_number((a, b))
    (_, solution, sign), (pivots,) = scan(size, (a, b, one), body, number)
    return solution, pivots.permute((*range(1, axis + 1), 0)), sign


def _row_element(column: UOp, step: UOp, axis: int) -> UOp:
    return at_step(column.permute((axis, *range(axis))), step)


def _sweeps(size: int) -> int:
    return max(1, size - 1).bit_length() + EXTRA_SWEEPS


def _seats(size: int) -> UOp:
    """Who takes each place in the next round of a tournament of an even number of players.

    Places 2k and 2k + 1 play each other. The player at place 0 stays, and the others move on by one
    along the even places and back along the odd ones, so that after n - 1 rounds everyone has
    played everyone, and sits where they began.
    """
    place = counting(size).cast(dtypes.int32)
    if size == 2:
        return place
    is_odd = (place & 1).ne(0)
    even_source = (place < 2).where(0, place.eq(2).where(1, place - 2))
    odd_source = place.eq(size - 1).where(size - 2, place + 2)
    return is_odd.where(odd_source, even_source)


def _seated(x: UOp, seats: UOp) -> UOp:
    """Rows and columns of matrices in the order of seats."""
    rank = len(x.shape)
    square = (seats.shape[0],) * 2
    across = broadcast(seats.reshape((seats.shape[0], 1)), square)
    along = broadcast(seats.reshape((1, seats.shape[0])), square)
    found = x.permute((rank - 2, rank - 1, *range(rank - 2))).index(across, along)
    return found.permute((*range(2, rank), 0, 1))


def _turned(x: UOp, axis: int, cosine: UOp, sine: UOp) -> UOp:
    """Rotate pairs of neighbours along an axis; the angles lie along the last axis."""
    shape = x.shape
    half = shape[axis] // 2
    split = (*shape[:axis], half, 2, *shape[axis + 1 :])
    pairs = x.reshape(split)
    sizes = [size if n < len(shape) - 2 or n == axis else 1 for n, size in enumerate(split)]
    sizes[axis + 1] = 1
    cos, sin = (broadcast(side.reshape(sizes), split) for side in (cosine, sine))
    side = [1] * len(split)
    side[axis + 1] = 2
    is_second = broadcast(counting(2).cast(dtypes.int32).ne(0).reshape(side), split)
    signed = is_second.where(sin, sin.alu(Op.NEG))
    return (pairs * cos + pairs.flip((axis + 1,)) * signed).reshape(shape)


def _every_second(x: UOp, first: int) -> UOp:
    """The elements 0, 2, 4, ... or 1, 3, 5, ... of the last axis."""
    half = x.shape[-1] // 2
    assert isinstance(half, int)
    pairs = x.reshape((*x.shape[:-1], half, 2))
    whole = [(0, size) for size in pairs.shape[:-1]]
    return pairs.shrink([*whole, (first, first + 1)]).reshape((*x.shape[:-1], half))


def _rotation(app: Matrix, aqq: Matrix, apq: Matrix) -> tuple[Matrix, Matrix]:
    """Cosine and sine of the rotation that makes [[app, apq], [apq, aqq]] diagonal."""
    # What the diagonal would not notice is not turned: each turn costs a rounding.
    noticed = math.ldexp(1.0, -54 if app.dtype is dtypes.float64 else -25)
    is_done = apq.abs() <= app.abs().sqrt() * aqq.abs().sqrt() * noticed
    safe = is_done.where(1.0, apq)
    tau = (aqq - app) / (safe * 2.0)
    size = tau.abs()
    # For large tau the square would overflow, and 1 / (2 tau) is exact.
    large = size > 1e15
    bounded = large.where(1.0, size)
    tangent = large.where(0.5 / size, 1.0 / (bounded + (bounded * bounded + 1.0).sqrt()))
    tangent = (tau < 0.0).where(-tangent, tangent)
    cosine = (tangent * tangent + 1.0).rsqrt()
    return is_done.where(1.0, cosine), is_done.where(0.0, tangent * cosine)


def _even(x: Matrix, axis: int) -> Matrix:
    """With one more slice of zeros where the size of an axis is odd."""
    if x._length(axis) % 2 == 0:
        return x
    pads = [(0, 1) if n == axis else (0, 0) for n in range(x.ndim)]
    return x.pad(pads)


def _rounds(
    size: int,
    sides: tuple[UOp, UOp],
    turn: Callable[[UOp], tuple[UOp, UOp]],
    turned: Callable[[Sequence[UOp], UOp, UOp], Sequence[UOp]],
    number: int,
) -> tuple[UOp, UOp]:
    """Play all rounds of all sweeps, each in two steps: find the rotations, then turn both sides.

    Where the pair of a rotation is nearly equal, rounding decides on the angle. So the rotations
    are states: both sides are turned by the same ones, and not by some that each computed anew.

    Args:
        size: how many players there are.
        sides: what is turned.
        turn: from the first side to the cosines and sines of its pairs in the next round.
        turned: both sides after that round.
        number: of the recurrence.
    """

    def body(step: UOp, states: tuple[UOp, ...]) -> tuple[Sequence[UOp], Sequence[UOp]]:
        *before, cosine, sine = states
        finds = (step % 2).eq(0)
        after = turned(before, cosine, sine)
        found = turn(before[0])
        kept = [finds.where(old, new) for old, new in zip(before, after, strict=True)]
        rotation = [finds.where(new, old) for old, new in zip(states[2:], found, strict=True)]
        return [*kept, *rotation], ()

    steps = 2 * _sweeps(size) * (size - 1 + size % 2)
    (a, v, _, _), _ = scan(steps, (*sides, *turn(sides[0])), body, number)
    return a, v


def _symmetric_jacobi(x: Matrix, vectors: Matrix) -> tuple[Matrix, Matrix]:
    """The eigenvalues of symmetric matrices (unsorted) and their vectors in columns."""
    rows, columns = x.ndim - 2, x.ndim - 1
    size = x._length(columns)
    if size == 1:
        return x.reshape(x.shape[:-1]), vectors
    start, frame = _even(_even(x, rows), columns), _even(vectors, columns)
    even = start._length(columns)
    seats = _seats(even)

    def turn(a: UOp) -> tuple[UOp, UOp]:
        """The rotations of the pairs of one round."""
        blocks = (
            x._apply(_seated(a, seats))
            .unflatten(columns, (even // 2, 2))
            .unflatten(rows, (even // 2, 2))
        )
        # (..., half, 2, half, 2) -> (..., 2, 2, half)
        small = blocks.diagonal(0, rows, rows + 2)
        cosine, sine = _rotation(small[..., 0, 0, :], small[..., 1, 1, :], small[..., 0, 1, :])
        return cosine.uop, sine.uop

    def turned(sides: Sequence[UOp], cosine: UOp, sine: UOp) -> Sequence[UOp]:
        a, v = _seated(sides[0], seats), taken(sides[1], columns, seats)
        a, v = (_turned(side, columns, cosine, sine) for side in (a, v))
        return _turned(a, rows, cosine, sine), v

    a, v = _rounds(size, (start.uop, frame.uop), turn, turned, unused_number((x.uop,)))
    # After whole sweeps everyone is back in place; the added slice is the last.
    values = x._apply(a).diagonal(0, -2, -1)[..., :size]
    return values, x._apply(v)[..., :size]


def _one_sided_jacobi(x: Matrix) -> tuple[Matrix, Matrix]:
    """Turn columns until they are orthogonal: x @ v, and v."""
    columns = x.ndim - 1
    size = x._length(columns)
    one = x._apply(broadcast(x._identity(size).uop, (*x.shape[:-2], size, size)))
    if size == 1:
        return x, one
    start, frame = _even(x, columns), _even(one, columns)
    even = start._length(columns)
    seats = _seats(even)

    def turn(a: UOp) -> tuple[UOp, UOp]:
        """The rotations of the pairs of one round."""
        p, q = (x._apply(_every_second(taken(a, columns, seats), n)) for n in (0, 1))
        cosine, sine = _rotation(*((f * g).sum(-2) for f, g in ((p, p), (q, q), (p, q))))
        return cosine.uop, sine.uop

    def turned(sides: Sequence[UOp], cosine: UOp, sine: UOp) -> Sequence[UOp]:
        return [_turned(taken(side, columns, seats), columns, cosine, sine) for side in sides]

    a, v = _rounds(size, (start.uop, frame.uop), turn, turned, unused_number((x.uop,)))
    return x._apply(a)[..., :size], x._apply(v)[..., :size]
