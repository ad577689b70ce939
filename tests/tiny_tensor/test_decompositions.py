"""Factors of matrices, products and transforms equal NumPy's, in graphs that do not grow."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tiny_ir import TinyError, toposort
from tiny_tensor import Tensor

pytestmark = pytest.mark.usefixtures("session")

RANDOM = np.random.RandomState(1)
SQUARE = RANDOM.randn(2, 5, 5)


def close(mine: Any, theirs: Any, tolerance: float = 1e-10) -> None:
    np.testing.assert_allclose(mine.numpy(), theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_narrow_floats_are_kept(dtype: str) -> None:
    x = Tensor(SQUARE).cast(dtype)
    q, r = x.qr()
    assert q.dtype is r.dtype is x.dtype
    assert (q @ r).allclose(x, atol=1e-4 if dtype == "float32" else 6e-2)
    assert x.det().dtype is x.dtype
    assert Tensor([[2, 0], [0, 2]]).inv().dtype.name == "float32"


def test_graphs_do_not_grow_with_the_matrices() -> None:
    for name in ("qr", "svd", "eigh", "cholesky", "inv", "det"):
        sizes = []
        for n in (8, 32):
            found = getattr(Tensor.empty(n, n), name)()
            found = found if isinstance(found, tuple) else (found,)
            sizes.append(len(toposort([part.uop for part in found])))
        assert sizes[1] <= sizes[0] + 20, name


def test_defective_matrices() -> None:
    zero = Tensor.zeros(3, 3)
    u, values, v = zero.svd()
    assert values.tolist() == [0.0, 0.0, 0.0]
    assert (u.T @ u).allclose(Tensor.eye(3))
    assert (v.T @ v).allclose(Tensor.eye(3))
    assert zero.det().item() == 0.0
    assert zero.matrix_rank().item() == 0
    assert not math.isfinite(zero.inv().sum().item())
    assert math.isnan(Tensor([[-1.0]]).cholesky().item())
    low = RANDOM.randn(4, 2) @ RANDOM.randn(2, 4)
    assert Tensor(low).matrix_rank().item() == 2
    close(Tensor(low).pinv(), np.linalg.pinv(low), 1e-8)
    sign, size = zero.slogdet()
    assert (sign.item(), size.item()) == (0.0, -math.inf)


@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0), (0, 3), (3, 0)])
def test_empty_matrices(shape: tuple[int, ...]) -> None:
    x = Tensor.zeros(*shape)
    for found, expected in zip(x.svd(), np.linalg.svd(np.zeros(shape)), strict=True):
        assert found.shape == expected.shape
    for found, expected in zip(x.qr(), np.linalg.qr(np.zeros(shape)), strict=True):
        assert found.shape == expected.shape
    if shape[-1] == shape[-2]:
        assert np.array_equal(x.det().numpy(), np.linalg.det(np.zeros(shape)))
        assert x.inv().shape == shape


def test_pivoting_is_needed() -> None:
    x = np.asarray([[0.0, 1.0], [1.0, 0.0]])
    close(Tensor(x).inv(), np.linalg.inv(x))
    assert Tensor(x).det().item() == -1.0
    tiny = np.asarray([[1e-20, 1.0], [1.0, 1.0]])
    close(
        Tensor(tiny).solve(Tensor([1.0, 2.0], dtype="float64")), np.linalg.solve(tiny, [1.0, 2.0])
    )


def test_least_squares() -> None:
    a, b = RANDOM.randn(6, 3), RANDOM.randn(6, 2)
    found = Tensor(a).lstsq(Tensor(b))
    expected = np.linalg.lstsq(a, b)
    close(found[0], expected[0])
    close(found[1], expected[1])
    assert found[2].item() == expected[2]
    close(found[3], expected[3])


@pytest.mark.parametrize("n", [1, 2, 3, 7, 20])
def test_sizes_even_and_odd(n: int) -> None:
    x = RANDOM.randn(n, n)
    close(Tensor(x).svdvals(), np.linalg.svd(x)[1])
    close(Tensor(x + x.T).eigvalsh(), np.linalg.eigvalsh(x + x.T))


def test_values_that_nearly_agree_keep_factors_of_one_matrix() -> None:
    """Rounding decides on such rotations: each factor once was turned by others."""
    q, _ = np.linalg.qr(RANDOM.randn(4, 3))
    x = (q * [1.0, 1.0 + 1e-4, 1.0 - 2e-3] @ np.linalg.qr(RANDOM.randn(3, 3))[0]).astype("float32")
    u, s, v = Tensor(x).svd(full_matrices=False)
    close((u * s.unsqueeze(0)) @ v, x, 1e-6)
    whole = (x.T @ x).astype("float32")
    values, vectors = Tensor(whole).eigh()
    close((vectors * values.unsqueeze(0)) @ vectors.mT, whole, 1e-6)


@pytest.mark.parametrize("shape", [(4, 2), (2, 4), (3, 3)])
def test_the_pseudoinverse_has_a_gradient_where_values_are_equal(shape: tuple[int, int]) -> None:
    x = np.eye(*shape) * 2.0
    weight = RANDOM.randn(*shape[::-1])
    a = Tensor(x)
    slope = (a.pinv() * Tensor(weight)).sum().gradient(a)[0]
    step = RANDOM.randn(*shape)
    pair = [np.linalg.pinv(x + end * step) for end in (1e-6, -1e-6)]
    wanted = ((pair[0] - pair[1]) * weight).sum() / 2e-6
    assert (slope.numpy() * step).sum() == pytest.approx(wanted, rel=1e-6)


def test_products() -> None:
    a, b = RANDOM.randn(2, 3), RANDOM.randn(4, 3)
    close(Tensor(a).kron(Tensor(b)), np.kron(a, b))
    close(Tensor(a[0]).kron(Tensor(b)), np.kron(a[0], b))
    close(Tensor(a).cross(Tensor(b[:2])), np.cross(a, b[:2]))
    close(Tensor(a).cross(Tensor(b[0])), np.cross(a, b[0]))
    close(Tensor(a[0]).outer(Tensor(b[0])), np.outer(a[0], b[0]))
    close(Tensor(a).tensordot(Tensor(b), ((1,), (1,))), np.tensordot(a, b, ((1,), (1,))))


@pytest.mark.parametrize("n", [1, 2, 6, 16, 31, 37, 96])
def test_transforms_of_many_lengths(n: int) -> None:
    z = RANDOM.randn(2, n) + 1j * RANDOM.randn(2, n)
    pairs = Tensor(np.stack([z.real, z.imag], -1))
    found = pairs.fft().numpy()
    assert found[..., 0] + 1j * found[..., 1] == pytest.approx(np.fft.fft(z), abs=1e-11)
    assert pairs.fft().ifft().numpy() == pytest.approx(pairs.numpy(), abs=1e-12)


TALL = RANDOM.randn(5, 3)
GRADIENTS: dict[str, Any] = {
    "q": lambda x, w, v: (x.qr()[0] * w).sum(),
    "r": lambda x, w, v: (x.qr()[1] * v).sum(),
    "u": lambda x, w, v: (x.svd(False)[0].square() * w).sum(),
    "all of u": lambda x, w, v: (x.svd()[0][:, :3].square() * w).sum(),
    "v": lambda x, w, v: (x.svd()[2].square() * v).sum(),
    "singular values": lambda x, w, v: (x.mT.svdvals() * v[0]).sum(),
    "pinv": lambda x, w, v: (x.pinv() * w.mT).sum(),
    "eigenvalues": lambda x, w, v: ((x.mT @ x).eigvalsh() * v[0]).sum(),
    "eigenvectors": lambda x, w, v: ((x.mT @ x).eigh()[1].square() * v).sum(),
    "cholesky": lambda x, w, v: ((x.mT @ x).cholesky() * v).sum(),
    "solve": lambda x, w, v: ((x.mT @ x).solve(w.mT) * w.mT).sum(),
    "inv": lambda x, w, v: ((x.mT @ x).inv() * v).sum(),
    "det": lambda x, w, v: (x.mT @ x).det(),
    "slogdet": lambda x, w, v: (x.mT @ x).slogdet()[1],
    "norm": lambda x, w, v: x.matrix_norm("nuc"),
    "fft": lambda x, w, v: (x.rfft().square().sum(-1) * w[:, :2]).sum(),
    "quantile": lambda x, w, v: (x.quantile(0.3, 0) * v[0]).sum(),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_equal_differences(name: str) -> None:
    weights = tuple(Tensor(RANDOM.randn(*shape)) for shape in ((5, 3), (3, 3)))

    def at(numbers: np.ndarray[Any, Any]) -> float:
        return float(GRADIENTS[name](Tensor(numbers), *weights).item())

    x = Tensor(TALL)
    (found,) = GRADIENTS[name](x, *weights).gradient(x)
    way, step = RANDOM.randn(5, 3), 1e-6
    slope = (at(TALL + step * way) - at(TALL - step * way)) / (2 * step)
    assert float((found.numpy() * way).sum()) == pytest.approx(slope, rel=1e-5, abs=1e-7)


def test_a_gradient_of_a_gradient() -> None:
    x = Tensor(SQUARE[0])
    (slope,) = x.det().gradient(x)
    (second,) = slope.square().sum().gradient(x)

    def at(numbers: np.ndarray[Any, Any]) -> float:
        return float(((np.linalg.det(numbers) * np.linalg.inv(numbers).T) ** 2).sum())

    way, step = RANDOM.randn(5, 5), 1e-6
    change = (at(SQUARE[0] + step * way) - at(SQUARE[0] - step * way)) / (2 * step)
    assert float((second.numpy() * way).sum()) == pytest.approx(change, rel=1e-5)


def test_angles_and_neighbours() -> None:
    values = np.asarray([0.0, -0.0, 1.0, -1.0, 1e300, math.inf, -math.inf, math.nan, 5e-324])
    a, b = np.meshgrid(values, values)
    with np.errstate(all="ignore"):
        for name, expected in (
            ("atan2", np.arctan2(a, b)),
            ("hypot", np.hypot(a, b)),
            ("nextafter", np.nextafter(a, b)),
        ):
            found = getattr(Tensor(a), name)(Tensor(b)).numpy()
            np.testing.assert_allclose(found, expected, rtol=1e-15)
            known = ~np.isnan(expected)
            assert np.array_equal(np.signbit(found[known]), np.signbit(expected[known])), name


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Tensor([1.0]).qr(),
        lambda: Tensor.zeros(2, 3).inv(),
        lambda: Tensor.zeros(2, 3).cholesky(),
        lambda: Tensor.zeros(2, 2).solve(Tensor.zeros(3)),
        lambda: Tensor.zeros(2, 2).qr("half"),
        lambda: Tensor.zeros(2, 2).matrix_norm("strange"),
        lambda: Tensor.zeros(2, 2).outer(Tensor.zeros(2)),
        lambda: Tensor.zeros(2).cross(Tensor.zeros(2)),
        lambda: Tensor.zeros(3).vecdot(Tensor.zeros(2)),
        lambda: Tensor.zeros(3).fft(),
        lambda: Tensor([[1, 0]]).fft(),
        lambda: Tensor.zeros(3, 2).fft(0),
        lambda: Tensor.zeros(3, 2).fft(norm="loud"),
        lambda: Tensor([1]).nextafter(2),
    ],
)
def test_wrong_arguments_say_what_to_do(wrong: Any) -> None:
    with pytest.raises(TinyError) as caught:
        wrong()
    assert caught.value.why
    assert caught.value.fix
