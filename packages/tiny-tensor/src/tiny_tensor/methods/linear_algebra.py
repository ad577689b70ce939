"""Products of matrices, and what is made of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self

from tiny_ir import ArgumentTypeError, DType, Op, ShapeError, UOp, dtypes, is_same_size
from tiny_plugin import boundary
from tiny_tensor.broadcast import broadcast, broadcast_shape
from tiny_tensor.methods.contraction import contracted
from tiny_tensor.methods.normalization import NormalizationMethods
from tiny_tensor.tensor_core import concrete_dtype


@boundary
class LinearAlgebraMethods(NormalizationMethods):
    """Contractions."""

    __slots__ = ()

    def dot(self, other: object, dtype: DType | str | None = None) -> Self:
        """Multiply matrices, batch by batch: the last axis with the next to last of the other.

        Args:
            other: (..., k, n), or (k,). Leading axes broadcast with those of self, (..., m, k).
            dtype: the dtype to add in and to return.

        Returns:
            (..., m, n), in the promoted dtype; float sums are kept in at least float32, and
            integers wrap.

        Raises:
            ShapeError: the inner sizes differ.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([[1, 2], [3, 4]]).dot(Tensor([1, 1])).tolist()
            [3, 7]
        """
        return self._apply(matrix_product(self.uop, self._wrap(other).uop, dtype))

    def matmul(
        self, other: object, reverse: bool = False, dtype: DType | str | None = None
    ) -> Self:
        """Multiply matrices, as `dot` does.

        Args:
            other: the right side (the left one with `reverse`).
            reverse: let the other side come first.
            dtype: the dtype to add in and to return.

        Raises:
            ShapeError: the inner sizes differ.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor.ones(2, 3).matmul(Tensor.ones(3, 4)).shape
            (2, 4)
        """
        sides = (self.uop, self._wrap(other).uop)
        first, second = sides[::-1] if reverse else sides
        return self._apply(matrix_product(first, second, dtype))

    def __matmul__(self, other: object) -> Self:
        return self.matmul(other)

    def __rmatmul__(self, other: object) -> Self:
        return self.matmul(other, True)

    def __imatmul__(self, other: object) -> Self:
        return self.assign(self.matmul(other))

    def linear(
        self, weight: Self, bias: Self | None = None, dtype: DType | str | None = None
    ) -> Self:
        """self @ weight + bias; a weight with one axis is multiplied element by element.

        Args:
            weight: (k, n), or (k,).
            bias: (n,), or (k,).
            dtype: cast all three first.

        Raises:
            ShapeError: the sizes do not fit.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([[1, 2]]).linear(Tensor([[1], [1]]), Tensor([10])).tolist()
            [[13]]
        """
        x, weight = self, self._wrap(weight)
        bias = None if bias is None else self._wrap(bias)
        if dtype is not None:
            x, weight = x.cast(dtype), weight.cast(dtype)
            bias = None if bias is None else bias.cast(dtype)
        result = x * weight if weight.ndim == 1 else x.dot(weight)
        return result if bias is None else result + bias

    def sequential(self, functions: Sequence[Callable[[Self], Self]]) -> Self:
        """Apply functions one after another.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([4.0]).sequential([Tensor.sqrt, lambda x: x + 1]).tolist()
            [3.0]
        """
        x = self
        for function in functions:
            x = function(x)
        return x

    @classmethod
    def einsum(cls, formula: str, *tensors: object, dtype: DType | str | None = None) -> Self:
        """Multiply tensors and add up along the axes that the result does not name.

        Args:
            formula: a letter for each axis, a comma between tensors, and after an arrow the axes
                of the result. Without an arrow it has the letters that stand once, in order. "..."
                are axes without names; they broadcast. A letter that stands twice in one tensor
                takes its diagonal.
            tensors: as many as the formula says, or one list of them.
            dtype: the dtype to add in and to return.

        Returns:
            The promoted dtype; float sums are kept in at least float32.

        Raises:
            ArgumentError: the formula is not well formed.
            ShapeError: axes of one letter have different sizes.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor.einsum("ij,jk->ik", Tensor([[1, 2]]), Tensor([[3], [4]])).tolist()
            [[11]]
        """
        lone = tensors[0] if len(tensors) == 1 else None
        found = lone if isinstance(lone, list | tuple) else tensors
        operands = [tensor for tensor in found if isinstance(tensor, cls)]
        if not operands or len(operands) != len(found):
            kinds = ", ".join(type(tensor).__name__ for tensor in found)
            raise ArgumentTypeError(
                "einsum takes tensors after its formula.",
                why=f"it got {kinds or 'nothing'}.",
                fix="wrap numbers and arrays first: Tensor(...).",
            )
        lead = operands[0]
        nodes = [lead._wrap(tensor).uop for tensor in operands]
        result = None if dtype is None else concrete_dtype(dtype)
        return lead._apply(contracted(formula, nodes, result))

    def newton_schulz(self, steps: int, params: tuple[float, ...], eps: float = 1e-7) -> Self:
        """Bring matrices close to the nearest orthogonal ones, by odd polynomials.

        Args:
            steps: how often the polynomial is applied.
            params: the coefficients of x, x**3, x**5, ...
            eps: is added to the norm that the matrices are divided by first.

        Raises:
            ShapeError: there are fewer than two axes.

        Source: K. Jordan et al., "Muon: an optimizer for hidden layers", 2024.
        """
        if self.ndim < 2:
            raise ShapeError(
                f"a tensor of shape {self.shape} is not a matrix.",
                why="matrices lie on the last two axes.",
                fix="reshape it first.",
            )
        x = self / (self.square().sum((-2, -1), keepdim=True).sqrt() + eps)
        is_tall = bool(self._length(self.ndim - 2) > self._length(self.ndim - 1))
        x = x.transpose(-1, -2) if is_tall else x
        for _ in range(steps):
            gram = x @ x.transpose(-1, -2)
            term, total = x, x * params[0]
            for factor in params[1:]:
                term = gram @ term
                total = total + term * factor
            x = total
        return x.transpose(-1, -2) if is_tall else x


def matrix_product(left: UOp, right: UOp, dtype: DType | str | None = None) -> UOp:
    """REDUCE(ADD, left[..., m, 1, k] * right[..., 1, n, k]) over k."""
    if not left.shape or not right.shape:
        raise ShapeError(
            f"cannot multiply {left.shape} by {right.shape}.",
            why="a matrix product needs at least one axis on both sides.",
            fix="use * for a single number.",
        )
    vector, covector = len(right.shape) == 1, len(left.shape) == 1
    a = left.reshape((1, *left.shape)) if covector else left
    b = right.reshape((*right.shape, 1)) if vector else right
    m, k = a.shape[-2:]
    inner, n = b.shape[-2:]
    if not is_same_size(k, inner):
        raise ShapeError(
            f"cannot multiply {left.shape} by {right.shape}.",
            why=f"the last size of the left ({k}) must equal the next-to-last of the right "
            f"({inner}).",
            fix="reshape or transpose one side so that both inner sizes agree.",
        )
    result = dtypes.promote(a.dtype, b.dtype) if dtype is None else concrete_dtype(dtype)
    kept = product_dtype(result) if dtype is None else result
    batch = broadcast_shape(a.shape[:-2], b.shape[:-2])
    rank = len(b.shape)
    order = (*range(rank - 2), rank - 1, rank - 2)
    rows = a.cast(kept).reshape((*a.shape[:-2], m, 1, k))
    columns = b.cast(kept).permute(order).reshape((*b.shape[:-2], 1, n, k))
    shape = (*batch, m, n, k)
    times, plus = (Op.AND, Op.OR) if kept.is_bool else (Op.MUL, Op.ADD)
    terms = broadcast(rows, shape).alu(times, broadcast(columns, shape))
    total = terms.reduce(plus, (len(shape) - 1,)).cast(result)
    ends = () if covector else (m,)
    return total.reshape((*batch, *ends, *(() if vector else (n,))))


def product_dtype(dtype: DType) -> DType:
    """The dtype that sums of products are kept in: integers wrap at their own width."""
    return dtypes.sum_dtype(dtype) if dtype.is_float else dtype
