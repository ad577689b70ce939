"""Gradients of factors of matrices, from the factors: the recurrences inside are not walked back.

Each rule is written in terms of the decompositions themselves, so that gradients of gradients
follow. Factors that are not unique (equal eigenvalues, vectors of singular value 0) have none:
those are infinite or NaN.

Source: M. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic
differentiation", 2008; for qr, H.-J. Liao et al., "Differentiable programming tensor networks",
2019.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from tiny_ir import Op, UOp, make
from tiny_tensor.session import current_session

if TYPE_CHECKING:
    from tiny_tensor.methods.decompositions import DecompositionMethods

Matrix = TypeVar("Matrix", bound="DecompositionMethods")
Rule = Callable[[Matrix, Matrix, Sequence[Matrix]], Sequence[Matrix]]
"""From a result, the gradient that arrives at it, and the inputs, to the gradients of these."""


def with_gradient(name: str, value: Matrix, inputs: Sequence[Matrix], rule: Rule[Matrix]) -> Matrix:
    """The value, with a gradient of its own."""
    like = inputs[0]

    def of_nodes(node: UOp, g: UOp) -> Sequence[UOp]:
        sources = [like._apply(source) for source in node.src[1:]]
        return [part.uop for part in rule(like._apply(node), like._apply(g), sources)]

    key = (__name__, name, type(like), like.device)
    number = current_session().custom_gradients.number_of(key, of_nodes)
    sources = (value.uop, *(source.uop for source in inputs))
    return value._apply(make(Op.CUSTOM, None, sources, number))


def of_solution(x: Matrix, g: Matrix, inputs: Sequence[Matrix]) -> Sequence[Matrix]:
    """a x = b: b gets the solution for the transpose, and a the product with what was found."""
    a, _ = inputs
    right = a.mT.solve(g)
    return -(right @ x.mT), right


def of_determinant(x: Matrix, g: Matrix, inputs: Sequence[Matrix]) -> Sequence[Matrix]:
    """det a: its product with the transposed inverse."""
    (a,) = inputs
    return ((g * x).unsqueeze(-1).unsqueeze(-1) * a.inv().mT,)


def of_log_determinant(x: Matrix, g: Matrix, inputs: Sequence[Matrix]) -> Sequence[Matrix]:
    """log |det a|: the transposed inverse."""
    (a,) = inputs
    return (g.unsqueeze(-1).unsqueeze(-1) * a.inv().mT,)


def of_eigenvalues(x: Matrix, g: Matrix, inputs: Sequence[Matrix]) -> Sequence[Matrix]:
    """The gradients of eigenvalues, turned by their vectors."""
    (a,) = inputs
    _, v = a.eigh()
    return (v @ (g.unsqueeze(-1) * v.mT),)


def of_eigenvectors(x: Matrix, g: Matrix, inputs: Sequence[Matrix]) -> Sequence[Matrix]:
    """Vectors turn towards others, the faster the closer their eigenvalues are."""
    (a,) = inputs
    values, v = a.eigh()
    inner = (v.mT @ g) * _inverse_gaps(values)
    found = v @ inner @ v.mT
    return ((found + found.mT) * 0.5,)


def _inverse_gaps(values: Matrix) -> Matrix:
    """1 / (value j - value i) at (i, j), and 0 on the diagonal."""
    gaps = values.unsqueeze(-2) - values.unsqueeze(-1)
    size = values._length(values.ndim - 1)
    one = values._identity(size)
    return one.ne(0.0).where(0.0, 1.0 / one.ne(0.0).where(1.0, gaps))


def of_singular_values(x: Matrix, g: Matrix, inputs: Sequence[Matrix]) -> Sequence[Matrix]:
    """The gradients of singular values, between their vectors."""
    (a,) = inputs
    u, _, v = a.svd(full_matrices=False)
    return ((u * g.unsqueeze(-2)) @ v,)


def of_left_vectors(x: Matrix, g: Matrix, inputs: Sequence[Matrix]) -> Sequence[Matrix]:
    """U of a tall matrix; what lies outside of its columns comes from the rest of the matrix."""
    (a,) = inputs
    u, s, v = a.svd(full_matrices=False)
    inner = u.mT @ g
    skew = (inner - inner.mT) * _inverse_gaps(s.square())
    outside = (g - u @ inner) / s.unsqueeze(-2)
    return ((u @ (skew * s.unsqueeze(-2)) + outside) @ v,)


def of_right_vectors(x: Matrix, g: Matrix, inputs: Sequence[Matrix]) -> Sequence[Matrix]:
    """The transpose of V, which is square for a tall matrix."""
    (a,) = inputs
    u, s, v = a.svd(full_matrices=False)
    inner = v @ g.mT
    skew = (inner - inner.mT) * _inverse_gaps(s.square())
    return (u @ (s.unsqueeze(-1) * skew) @ v,)


def of_pseudoinverse(x: Matrix, g: Matrix, inputs: Sequence[Matrix]) -> Sequence[Matrix]:
    """The pseudoinverse, from itself: equal singular values do no harm.

    Source: G. Golub, V. Pereyra, "The differentiation of pseudo-inverses and nonlinear least
    squares problems whose variables separate", 1973.
    """
    (a,) = inputs
    inside = -(x.mT @ g @ x.mT)
    beside = (g.mT - a @ (x @ g.mT)) @ (x @ x.mT)
    below = (x.mT @ x) @ (g.mT - (g.mT @ x) @ a)
    return (inside + beside + below,)


def of_orthogonal(x: Matrix, g: Matrix, inputs: Sequence[Matrix]) -> Sequence[Matrix]:
    """Q of a tall matrix."""
    (a,) = inputs
    q, r = a.qr()
    inner = -(g.mT @ q)
    return (r.solve((g + q @ _symmetric_from_lower(inner)).mT).mT,)


def of_triangular(x: Matrix, g: Matrix, inputs: Sequence[Matrix]) -> Sequence[Matrix]:
    """R of a tall matrix."""
    (a,) = inputs
    q, r = a.qr()
    inner = r @ g.triu().mT
    return (r.solve((q @ _symmetric_from_lower(inner)).mT).mT,)


def _symmetric_from_lower(x: Matrix) -> Matrix:
    """The lower triangle, and its mirror image above."""
    return x.tril() + x.tril(-1).mT
