"""Functions and activations equal references in double precision within the stated bounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tiny_ir import ArgumentError, DTypeError, ShapeError, dtypes
from tiny_tensor import Tensor

pytestmark = pytest.mark.usefixtures("session")

Reference = Callable[[Any], Any]
nan, inf = math.nan, math.inf


def each(function: Callable[[float], float]) -> Reference:
    return np.vectorize(function, otypes=[float])


SIGMOID = each(lambda x: 1 / (1 + math.exp(-x)) if x > -700 else 0.0)
FUNCTIONS: dict[str, tuple[Reference, float, float]] = {
    # name: reference, lowest and highest argument
    "sqrt": (np.sqrt, 0, 100),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 0.01, 100),
    "reciprocal": (lambda x: 1 / x, 0.1, 100),
    "square": (np.square, -10, 10),
    "exp": (np.exp, -80, 80),
    "exp2": (np.exp2, -100, 100),
    "expm1": (np.expm1, -10, 10),
    "log": (np.log, 0.001, 1000),
    "log2": (np.log2, 0.001, 1000),
    "log10": (np.log10, 0.001, 1000),
    "log1p": (np.log1p, -0.9, 100),
    "sin": (np.sin, -100, 100),
    "cos": (np.cos, -100, 100),
    "tan": (np.tan, -1.5, 1.5),
    "asin": (np.arcsin, -1, 1),
    "acos": (np.arccos, -0.9, 0.9),
    "atan": (np.arctan, -100, 100),
    "sinh": (np.sinh, -20, 20),
    "cosh": (np.cosh, -20, 20),
    "tanh": (np.tanh, -10, 10),
    "asinh": (np.arcsinh, -1000, 1000),
    "acosh": (np.arccosh, 1.01, 1000),
    "atanh": (np.arctanh, -0.99, 0.99),
    "erf": (each(math.erf), -4, 4),
    "sigmoid": (SIGMOID, -80, 80),
    "logsigmoid": (lambda x: -np.logaddexp(0, -x), -80, 80),
    "softplus": (lambda x: np.logaddexp(0, x), -80, 80),
    "softsign": (lambda x: x / (1 + np.abs(x)), -10, 10),
    "elu": (lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))), -10, 10),
    "celu": (lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))), -10, 10),
    "selu": (
        lambda x: (
            1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(np.minimum(x, 0)))
        ),
        -10,
        10,
    ),
    "silu": (lambda x: x * SIGMOID(x), -50, 50),
    "mish": (lambda x: x * np.tanh(np.logaddexp(0, x)), -50, 50),
    "quick_gelu": (lambda x: x * SIGMOID(1.702 * x), -20, 20),
    "relu": (lambda x: np.maximum(x, 0), -10, 10),
    "relu6": (lambda x: np.clip(x, 0, 6), -10, 10),
    "leaky_relu": (lambda x: np.where(x < 0, 0.01 * x, x), -10, 10),
    "hardsigmoid": (lambda x: np.clip(x / 6 + 0.5, 0, 1), -10, 10),
    "hardswish": (lambda x: x * np.clip(x + 3, 0, 6) / 6, -10, 10),
    "hardtanh": (lambda x: np.clip(x, -1, 1), -10, 10),
    "hardshrink": (lambda x: np.where(np.abs(x) <= 0.5, 0, x), -10, 10),
    "softshrink": (lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.5, 0), -10, 10),
    "tanhshrink": (lambda x: x - np.tanh(x), -10, 10),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_equal_their_reference(name: str) -> None:
    reference, low, high = FUNCTIONS[name]
    x = np.linspace(low, high, 401).astype(np.float32)
    with np.errstate(all="ignore"):
        expected = reference(x.astype(np.float64))
    actual = getattr(Tensor(x), name)()
    assert actual.dtype is dtypes.float32
    assert actual.numpy() == pytest.approx(expected, rel=4e-6, abs=1e-6)


def test_both_forms_of_gelu() -> None:
    x = np.linspace(-5, 5, 101).astype(np.float32)
    exact = x * 0.5 * (1 + each(math.erf)(x / math.sqrt(2)))
    assert Tensor(x).gelu("none").numpy() == pytest.approx(exact, abs=2e-6)
    near = x * 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    assert Tensor(x).gelu().numpy() == pytest.approx(near, abs=2e-6)
    with pytest.raises(ArgumentError, match="approximate"):
        Tensor(x).gelu("cubic")


@pytest.mark.parametrize("name", ["hardsigmoid", "hardswish", "softsign", "tanhshrink"])
def test_formulas_are_rounded_once(name: str) -> None:
    x = Tensor.linspace(-4, 4, 257, dtype="bfloat16")
    wide = getattr(x.float(), name)().bfloat16()
    assert getattr(x, name)().tolist() == wide.tolist()


def test_gates_and_slopes() -> None:
    x = np.linspace(-3, 3, 24, dtype=np.float32).reshape(2, 4, 3)
    gated = Tensor(x).glu(1).numpy()
    assert gated == pytest.approx(x[:, :2] / (1 + np.exp(-x[:, 2:])), rel=1e-6)
    slopes = np.array([0.5, 0.25, 0.0, 2.0], np.float32)
    wanted = np.where(x < 0, x * slopes[:, None], x)
    assert (Tensor(x).prelu(Tensor(slopes)).numpy() == wanted).all()
    assert (Tensor(x).prelu(Tensor(0.5)).numpy() == np.where(x < 0, x / 2, x)).all()
    for wrong in (slopes[:2], slopes.reshape(2, 2)):
        with pytest.raises(ShapeError, match="slopes"):
            Tensor(x).prelu(Tensor(wrong))
    with pytest.raises(ShapeError, match="no halves"):
        Tensor(x).glu(2)


def test_limits_that_hold_nothing_are_refused() -> None:
    with pytest.raises(ArgumentError, match="change places"):
        Tensor([1.0]).hardtanh(1.0, -1.0)
    with pytest.raises(ArgumentError, match="nearer to 0"):
        Tensor([1.0]).softshrink(-0.5)


def bits(x: Tensor) -> list[str]:
    return [str(value) for value in x.tolist()]  # type: ignore[union-attr]


def test_edges_of_exp_and_log() -> None:
    assert Tensor([-inf, inf, -104.0]).exp().tolist() == [0, inf, 0]
    assert Tensor([88.8]).exp().item() == inf
    assert Tensor([-87.5]).exp().item() == pytest.approx(9.98235e-39, rel=1e-5)
    assert bits(Tensor([0.0, -1.0, inf, nan]).log()) == ["-inf", "nan", "inf", "nan"]
    assert Tensor([1e-45]).log().item() == pytest.approx(-103.27893, rel=1e-6)
    assert bits(Tensor([-0.0]).sqrt()) == ["-0.0"]
    assert bits(1 / Tensor([0.0, -0.0])) == ["inf", "-inf"]


def test_functions_of_bfloat16_are_computed_in_float32() -> None:
    x = Tensor([12.0], dtype="bfloat16")
    assert x.exp().item() == 162816
    assert x.log().item() == 2.484375
    assert x.cos().item() == 0.84375
    assert x.sigmoid().dtype is dtypes.bfloat16


def test_integers_become_floats() -> None:
    assert Tensor([4, 9]).sqrt().dtype is dtypes.float32
    assert Tensor([True]).exp().dtype is dtypes.float32
    assert Tensor([4, 9]).floor().dtype is dtypes.int32


def test_rounding_keeps_signs_and_large_numbers() -> None:
    assert bits(Tensor([0.5, 1.5, 2.5, -0.5, -1.5]).round()) == [
        "0.0",
        "2.0",
        "2.0",
        "-0.0",
        "-2.0",
    ]
    assert bits(Tensor([-0.4]).ceil()) == ["-0.0"]
    large = np.array([3e9, 1e30, inf, nan], np.float32)
    for name in ("floor", "ceil", "round", "trunc"):
        assert np.array_equal(getattr(Tensor(large), name)().numpy(), large, equal_nan=True)


def test_saturating_activations_stay_finite() -> None:
    assert Tensor([100.0]).softplus().item() == 100
    assert 0 < Tensor([-100.0]).softplus().item() < 4e-44  # type: ignore[operator]
    assert Tensor([-200.0, 200.0]).logsigmoid().tolist() == [-200, 0]
    assert bits(Tensor([-30.0, 30.0, 1e10]).gelu()) == ["-0.0", "30.0", "10000000000.0"]
    assert bits(Tensor([-200.0, 200.0]).silu()) == ["-0.0", "200.0"]
    assert bits(Tensor([-200.0, 200.0]).mish()) == ["-0.0", "200.0"]
    assert Tensor([1000.0]).elu().item() == 1000


@pytest.mark.parametrize(
    ("function", "points", "expected"),
    [
        (Tensor.asinh, [0.0], [1.0]),
        (Tensor.abs, [0.0, -2.0], [0.0, -1.0]),
        (Tensor.norm, [0.0, 0.0], [0.0, 0.0]),
        (Tensor.relu, [-1.0, 0.0, 1.0], [0.0, 0.0, 1.0]),
        (lambda x: x.maximum(1), [0.0, 1.0, 2.0], [0.0, 0.5, 1.0]),
        (lambda x: x.clamp(-1, 1), [-1.0, 0.0, 1.0, 2.0], [1.0, 1.0, 1.0, 0.0]),
        (Tensor.sigmoid, [-100.0, 0.0, 100.0], [0.0, 0.25, 0.0]),
        (Tensor.softplus, [-100.0, 0.0, 100.0], [0.0, 0.5, 1.0]),
        (Tensor.gelu, [-30.0, 0.0, 30.0], [0.0, 0.5, 1.0]),
        (Tensor.elu, [200.0], [1.0]),
        (Tensor.silu, [-200.0, 0.0, 200.0], [0.0, 0.5, 1.0]),
    ],
)
def test_gradients_at_kinks_and_ends(
    function: Callable[[Tensor], Tensor], points: list[float], expected: list[float]
) -> None:
    x = Tensor(points)
    (gradient,) = function(x).sum().gradient(x)
    assert gradient.numpy() == pytest.approx(np.array(expected), abs=1e-6)


def test_signs() -> None:
    x = Tensor([1.0, -0.0, inf, 2.0])
    assert bits(x.copysign(Tensor([-0.0, 1.0, -1.0, -inf]))) == ["-1.0", "0.0", "-inf", "-2.0"]
    assert bits(Tensor([-0.0, -2.0]).abs()) == ["0.0", "2.0"]
    assert bits(Tensor([-3.0, 0.0, 5.0, nan]).sign()) == ["-1.0", "0.0", "1.0", "nan"]
    assert Tensor([-3, 0, 5]).sign().tolist() == [-1, 0, 1]
    assert Tensor([0, 5], dtype="uint8").sign().tolist() == [0, 1]
    assert Tensor([-0.0, 1.0]).signbit().tolist() == [True, False]
    assert Tensor([-1, 1]).signbit().tolist() == [True, False]
    with pytest.raises(DTypeError, match="copysign"):
        Tensor([1]).copysign(Tensor([2]))


def test_tests_of_numbers() -> None:
    x = Tensor([1.0, nan, inf, -inf])
    assert x.isnan().tolist() == [False, True, False, False]
    assert x.isinf().tolist() == [False, False, True, True]
    assert x.isinf(detect_negative=False).tolist() == [False, False, True, False]
    assert x.isinf(detect_positive=False).tolist() == [False, False, False, True]
    assert x.isinf(False, False).tolist() == [False] * 4
    assert x.isfinite().tolist() == [True, False, False, False]
    assert Tensor([1]).isfinite().tolist() == [True]
    assert Tensor([1]).isinf().tolist() == [False]


def test_logaddexp_at_infinities() -> None:
    a = Tensor([-inf, inf, inf, 1000.0, 0.0])
    b = Tensor([-inf, -inf, inf, 1000.0, nan])
    expected = [-inf, inf, inf, 1000 + math.log(2), nan]
    assert a.logaddexp(b).numpy() == pytest.approx(np.array(expected), rel=1e-6, nan_ok=True)


SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.5, -3.0, inf, -inf, nan, 1e30, -1e-30]


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_functions_of_two_numbers_equal_numpy_at_all_ends(name: str) -> None:
    a, b = (grid.ravel() for grid in np.meshgrid(np.array(SPECIAL, name), np.array(SPECIAL, name)))
    x, y = Tensor(a), Tensor(b)
    with np.errstate(all="ignore"):
        for word, theirs in (
            ("atan2", np.arctan2),
            ("hypot", np.hypot),
            ("nextafter", np.nextafter),
        ):
            actual, expected = getattr(x, word)(y).numpy(), theirs(a, b)
            assert actual == pytest.approx(expected, rel=1e-6, nan_ok=True), word
            ordered = ~np.isnan(expected)
            assert np.array_equal(np.signbit(actual[ordered]), np.signbit(expected[ordered])), word
    exact = x.nextafter(y).numpy()
    assert np.array_equal(exact, np.nextafter(a, b), equal_nan=True)
    with pytest.raises(DTypeError):
        Tensor([1]).nextafter(2)
