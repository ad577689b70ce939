"""The linear algebra extension of the array API; matrices lie on the last two axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from tiny_ir import DType
from tiny_tensor.axes import resolved_axes
from tiny_tensor.tensor import Tensor

Axes = int | Sequence[int] | None


class EighResult(NamedTuple):
    """What `eigh` finds."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class QRResult(NamedTuple):
    """What `qr` finds."""

    Q: Tensor
    R: Tensor


class SlogdetResult(NamedTuple):
    """What `slogdet` finds."""

    sign: Tensor
    logabsdet: Tensor


class SVDResult(NamedTuple):
    """What `svd` finds."""

    U: Tensor
    S: Tensor
    Vh: Tensor


def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Products of matrices, batch by batch.

    Example:
        >>> from tiny_tensor import array_api as xp
        >>> xp.matmul(xp.asarray([[1, 2]]), xp.asarray([[3], [4]])).tolist()
        [[11]]
    """
    return x1.matmul(x2)


def matrix_transpose(x: Tensor, /) -> Tensor:
    """The transposes of matrices."""
    return x.mT


def tensordot(
    x1: Tensor, x2: Tensor, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2
) -> Tensor:
    """The sums of products along several axes of both."""
    return x1.tensordot(x2, axes)


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """The sums of products along one axis."""
    return x1.vecdot(x2, axis)


def cholesky(x: Tensor, /, *, upper: bool = False) -> Tensor:
    """The triangular matrix whose product with its transpose is `x`."""
    return x.cholesky(upper)


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """The cross products of vectors with three elements."""
    return x1.cross(x2, axis)


def det(x: Tensor, /) -> Tensor:
    """The determinants."""
    return x.det()


def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """The diagonals of matrices."""
    return x.diagonal(offset, -2, -1)


def eigh(x: Tensor, /) -> EighResult:
    """Eigenvalues in ascending order, and eigenvectors in columns, of symmetric matrices.

    Example:
        >>> from tiny_tensor import array_api as xp
        >>> xp.linalg.eigh(xp.asarray([[2.0, 0.0], [0.0, 1.0]])).eigenvalues.tolist()
        [1.0, 2.0]
    """
    return EighResult(*x.eigh())


def eigvalsh(x: Tensor, /) -> Tensor:
    """The eigenvalues of symmetric matrices, in ascending order."""
    return x.eigvalsh()


def inv(x: Tensor, /) -> Tensor:
    """The inverses."""
    return x.inv()


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: float | str = "fro") -> Tensor:
    """The norms of matrices; see `Tensor.matrix_norm`."""
    return x.matrix_norm(ord, keepdims)


def matrix_power(x: Tensor, n: int, /) -> Tensor:
    """Square matrices to a whole power."""
    return x.matrix_power(n)


def matrix_rank(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """How many singular values are not 0."""
    return x.matrix_rank(rtol)


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Every element of one vector times every element of another."""
    return x1.outer(x2)


def pinv(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """The Moore-Penrose inverses."""
    return x.pinv(rtol)


def qr(x: Tensor, /, *, mode: str = "reduced") -> QRResult:
    """Orthogonal matrices times upper triangular ones."""
    return QRResult(*x.qr(mode))


def slogdet(x: Tensor, /) -> SlogdetResult:
    """The signs of determinants, and the logarithms of their magnitudes."""
    return SlogdetResult(*x.slogdet())


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The x for which x1 times x is x2; a vector `x2` is one right side."""
    return x1.solve(x2)


def svd(x: Tensor, /, *, full_matrices: bool = True) -> SVDResult:
    """Two orthogonal matrices, and the singular values between them."""
    return SVDResult(*x.svd(full_matrices))


def svdvals(x: Tensor, /) -> Tensor:
    """The singular values, in descending order."""
    return x.svdvals()


def trace(x: Tensor, /, *, offset: int = 0, dtype: DType | None = None) -> Tensor:
    """The sums of diagonals."""
    return x.trace(offset, -2, -1, dtype)


def vector_norm(
    x: Tensor, /, *, axis: Axes = None, keepdims: bool = False, ord: float = 2
) -> Tensor:
    """The roots of sums of powers of magnitudes along axes.

    Args:
        x: the array.
        axis: the axes; all by default.
        keepdims: keep the axes with size 1.
        ord: the power; inf and -inf for the largest and least magnitude, 0 for how many elements
            are not 0.

    Example:
        >>> from tiny_tensor import array_api as xp
        >>> xp.linalg.vector_norm(xp.asarray([3.0, -4.0])).item()
        5.0
    """
    axes = resolved_axes(axis, x.ndim)
    if ord == -math.inf:
        return x.abs().min(axes, keepdims)
    if ord == 0:
        return x.bool().sum(axes, keepdims).cast(x.dtype)
    return x.norm(axes, keepdims, ord)
