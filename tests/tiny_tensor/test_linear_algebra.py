"""Products of matrices equal NumPy in every form, and mismatched sizes are named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tiny_ir import ArgumentError, ArgumentTypeError, ShapeError, dtypes
from tiny_tensor import Tensor

pytestmark = pytest.mark.usefixtures("session")

Array = np.ndarray[Any, Any]


def random_array(*shape: int) -> Array:
    return np.random.RandomState(sum(shape)).randn(*shape).astype(np.float32)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((3, 4), (4, 5)),
        ((4,), (4, 5)),
        ((3, 4), (4,)),
        ((4,), (4,)),
        ((2, 3, 4), (4, 5)),
        ((2, 1, 3, 4), (5, 4, 3)),
        ((4,), (2, 4, 3)),
        ((2, 3, 4), (4,)),
        ((1, 0), (0, 2)),
        ((33, 65), (65, 17)),
    ],
)
def test_matrices_multiply(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    a, b = random_array(*left), random_array(*right)
    expected = a.astype(np.float64) @ b
    for actual in (
        Tensor(a) @ Tensor(b),
        Tensor(a).dot(Tensor(b)),
        Tensor(b).matmul(Tensor(a), True),
    ):
        assert actual.shape == expected.shape
        assert actual.numpy() == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_transposed_and_broadcast_sides_multiply() -> None:
    a, b = random_array(6, 5), random_array(7, 5)
    assert (Tensor(a) @ Tensor(b).T).numpy() == pytest.approx(a @ b.T, rel=1e-5, abs=1e-5)
    assert (a @ Tensor(b).T).numpy() == pytest.approx(a @ b.T, rel=1e-5, abs=1e-5)
    wide = Tensor(b[0]).expand(4, 5)
    assert (Tensor(a) @ wide.T).numpy() == pytest.approx(a @ np.tile(b[0], (4, 1)).T, rel=1e-5)


@pytest.mark.parametrize("name", ["int8", "int32", "uint8", "int64"])
def test_integers_multiply_and_wrap(name: str) -> None:
    a = np.arange(6).reshape(2, 3).astype(name) * 20
    b = np.arange(12).reshape(3, 4).astype(name)
    actual = (Tensor(a) @ Tensor(b)).numpy()
    assert actual.dtype == a.dtype
    assert np.array_equal(actual, (a.astype(np.int64) @ b.astype(np.int64)).astype(name))


def test_half_sums_are_kept_in_float32() -> None:
    ones = Tensor.ones(1, 5000, dtype="half")
    total = ones @ ones.T
    assert (total.item(), total.dtype) == (5000.0, dtypes.float16)
    exact = ones.matmul(ones.T, dtype="float32")
    assert exact.dtype is dtypes.float32
    assert (Tensor([[True, False]]) @ Tensor([[True], [True]])).tolist() == [[True]]


@pytest.mark.parametrize(
    ("left", "right"), [((3, 1), (4, 2)), ((3, 4), (1, 2)), ((3, 4), (3,)), ((2, 3, 4), (3, 4, 5))]
)
def test_inner_sizes_must_agree_even_where_one_is_1(
    left: tuple[int, ...], right: tuple[int, ...]
) -> None:
    with pytest.raises(ShapeError) as caught:
        Tensor.ones(*left) @ Tensor.ones(*right)
    assert str(left if len(left) == 2 else left[:-2]) in str(caught.value)
    with pytest.raises(ShapeError, match="single number"):
        Tensor(1.0) @ Tensor([1.0])


def test_linear_and_sequential() -> None:
    x, w, b = random_array(2, 3), random_array(3, 4), random_array(4)
    expected = x @ w + b
    assert Tensor(x).linear(Tensor(w), Tensor(b)).numpy() == pytest.approx(expected, rel=1e-5)
    assert Tensor(x).linear(Tensor(b[:3])).numpy() == pytest.approx(x * b[:3], rel=1e-5)
    assert Tensor([4.0]).sequential([Tensor.sqrt, lambda y: y + 1]).tolist() == [3.0]


@pytest.mark.parametrize(
    ("formula", "shapes"),
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("ij,jk", [(2, 3), (3, 4)]),
        ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
        ("ij->ji", [(2, 3)]),
        ("ij->", [(2, 3)]),
        ("ba", [(2, 3)]),
        ("i,j->ij", [(2,), (3,)]),
        ("ij,j,ik->ik", [(2, 3), (3,), (2, 4)]),
        ("...ij,...jk->...ik", [(2, 5, 3, 4), (5, 4, 2)]),
        ("i...,i...->...", [(2, 3), (2, 3)]),
        ("ii->i", [(3, 3)]),
        ("iij->ij", [(2, 2, 3)]),
        ("iij->i", [(2, 2, 3)]),
        ("iij,j->ij", [(2, 2, 3), (3,)]),
        ("tiijj->ij", [(2, 2, 2, 3, 3)]),
        ("iji->j", [(2, 3, 2)]),
    ],
)
def test_einsum_equals_numpy(formula: str, shapes: list[tuple[int, ...]]) -> None:
    arrays = [random_array(*shape) for shape in shapes]
    actual = Tensor.einsum(formula, *[Tensor(array) for array in arrays])
    expected = np.einsum(formula, *arrays)
    assert actual.shape == expected.shape
    assert actual.numpy() == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_einsum_refuses_what_it_cannot_read() -> None:
    x = Tensor.ones(2, 3)
    for formula in ("ij,jk->ik", "i->i", "ij->k", "ij->ii", "i1->i", "...ijk"):
        with pytest.raises(ArgumentError, match="einsum"):
            Tensor.einsum(formula, x)
    with pytest.raises(ShapeError, match="'j' has size 3 and size 2"):
        Tensor.einsum("ij,jk->ik", x, x)
    with pytest.raises(ArgumentTypeError, match="nothing"):
        Tensor.einsum("ij->ij")
    assert Tensor.einsum("ij,ij->", [x, x]).item() == 6


def test_newton_schulz_brings_matrices_near_orthogonal_ones() -> None:
    x = Tensor(random_array(5, 3))
    y = x.newton_schulz(25, (1.5, -0.5))
    assert (y.T @ y).numpy() == pytest.approx(np.eye(3), abs=1e-4)
    with pytest.raises(ShapeError):
        Tensor([1.0]).newton_schulz(1, (1.5, -0.5))
