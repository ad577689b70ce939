"""Gradients are what finite differences say, at every order, and right where those say nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiny_ir import GradientError, Op, ShapeError, dtypes, make, toposort
from tiny_tensor import Session, Tensor
from tiny_tensor.gradient import GRADIENTS

pytestmark = pytest.mark.usefixtures("session")

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[[Tensor], Tensor]
STEP = 1e-3
"""Of central differences of fourth order: their error is near STEP ** 4."""
nan, inf = math.nan, math.inf


def values(shape: tuple[int, ...], low: float, high: float, seed: int = 0) -> Array:
    """Numbers that are far from each other, so that no difference meets a kink."""
    count = math.prod(shape)
    spread = (np.arange(count) + 0.5) / count * (high - low) + low
    return np.random.RandomState(seed).permutation(spread).reshape(shape)


def weights(shape: tuple[int, ...], seed: int = 1) -> Tensor:
    return Tensor(np.random.RandomState(seed).uniform(0.5, 1.5, shape))


def one_number(function: Function) -> Function:
    """The function, with its results summed up, each with a weight of its own."""

    def summed(x: Tensor) -> Tensor:
        y = function(x)
        return (y * weights(y.shape)).sum()  # type: ignore[arg-type]

    return summed


def check(function: Function, x: Array) -> None:
    """Compare the slope along a random direction with the difference of values."""
    f = one_number(function)
    direction = np.random.RandomState(2).uniform(-1, 1, x.shape)
    t = Tensor(x)
    (gradient,) = f(t).gradient(t)
    assert gradient.shape == x.shape
    assert gradient.dtype is dtypes.float64
    slope = float((gradient.numpy() * direction).sum())

    def at(steps: int) -> float:
        return float(f(Tensor(x + steps * STEP * direction)).item())

    difference = (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * STEP)
    assert slope == pytest.approx(difference, rel=2e-8, abs=2e-9)


def slope_of(function: Function) -> Function:
    """The gradient as a function that can be differentiated again."""

    def gradient(x: Tensor) -> Tensor:
        return one_number(function)(x).gradient(x)[0]

    return gradient


OTHER = values((2, 3), 0.5, 2.0, seed=3)
INDEX = np.array([2, 0, 2, 5, -9], dtype=np.int32)

# Each op with a function that needs it, and the range of numbers in which it is smooth.
OPS: dict[Op, tuple[Function, float, float]] = {
    Op.NEG: (lambda x: -x, -2, 2),
    Op.ADD: (lambda x: x + x * 2, -2, 2),
    Op.SUB: (lambda x: 1 - x, -2, 2),
    Op.MUL: (lambda x: x * x.flip(0), -2, 2),
    Op.FMA: (lambda x: fma(x, x.flip(0), x), -2, 2),
    Op.FDIV: (lambda x: x / x.flip(0) + Tensor(OTHER) / x, 0.5, 2),
    Op.POW: (lambda x: x ** x.flip(1), 0.5, 2),
    Op.MAX: (lambda x: x.maximum(Tensor(OTHER)), 0.51, 2.01),
    Op.MIN: (lambda x: x.minimum(Tensor(OTHER)), 0.51, 2.01),
    Op.WHERE: (lambda x: (x > 0).where(x * x, x * 3), -2, 2),
    Op.CAST: (lambda x: x.cast("float64"), -2, 2),
    Op.BITCAST: (lambda x: x + x.cast("float16").bitcast("bfloat16").cast("float64") * 0, 1, 2),
    Op.TRUNC: (lambda x: x.trunc() + x, 0.1, 0.8),
    Op.FLOOR: (lambda x: x.floor() + x, 0.1, 0.8),
    Op.CEIL: (lambda x: x.ceil() + x, 0.1, 0.8),
    Op.ROUND: (lambda x: x.round() + x, 0.1, 0.4),
    Op.SQRT: (lambda x: x.sqrt(), 0.5, 2),
    Op.EXP: (lambda x: x.exp(), -2, 2),
    Op.EXP2: (lambda x: x.exp2(), -2, 2),
    Op.EXPM1: (lambda x: x.expm1(), -2, 2),
    Op.LOG: (lambda x: x.log(), 0.5, 2),
    Op.LOG2: (lambda x: x.log2(), 0.5, 2),
    Op.LOG1P: (lambda x: x.log1p(), -0.4, 2),
    Op.SIN: (lambda x: x.sin(), -4, 4),
    Op.COS: (lambda x: x.cos(), -4, 4),
    Op.TAN: (lambda x: x.tan(), -1, 1),
    Op.ASIN: (lambda x: x.asin(), -0.7, 0.7),
    Op.ACOS: (lambda x: x.acos(), -0.7, 0.7),
    Op.ATAN: (lambda x: x.atan(), -2, 2),
    Op.SINH: (lambda x: x.sinh(), -2, 2),
    Op.COSH: (lambda x: x.cosh(), -2, 2),
    Op.TANH: (lambda x: x.tanh(), -2, 2),
    Op.ERF: (lambda x: x.erf(), -2, 2),
    Op.RESHAPE: (lambda x: x.reshape(3, 2) * x.reshape(3, 2), -2, 2),
    Op.EXPAND: (lambda x: x.reshape(2, 1, 3) * x.reshape(1, 2, 3), -2, 2),
    Op.PERMUTE: (lambda x: x.permute(1, 0) ** 2, -2, 2),
    Op.PAD: (lambda x: x.pad((1, 2, 0, 1)) ** 2 + 1, -2, 2),
    Op.SHRINK: (lambda x: x[1:, :2] ** 2, -2, 2),
    Op.FLIP: (lambda x: x.flip(1) * x, -2, 2),
    Op.WINDOW: (lambda x: x.unfold(1, 2, 1) ** 2, -2, 2),
    Op.FOLD: (lambda x: folded(x), -2, 2),
    Op.REDUCE: (lambda x: x.sum(0) * x.max(0) + x.min(1).prod() * x.prod(0), 0.5, 2),
    Op.INDEX: (lambda x: x.reshape(6)[Tensor(INDEX)] ** 2, -2, 2),
    Op.SCATTER: (lambda x: scattered(x), 0.5, 2),
    Op.CONTIGUOUS: (lambda x: x.contiguous() ** 2, -2, 2),
    Op.CONTIGUOUS_BACKWARD: (lambda x: x.contiguous_backward() ** 2, -2, 2),
    Op.COPY: (lambda x: (x.to("python") ** 2).to("cpu"), -2, 2),
    Op.AFTER: (lambda x: overwritten(x), -2, 2),
}


def fma(x: Tensor, y: Tensor, z: Tensor) -> Tensor:
    return x._apply(make(Op.FMA, None, (x.uop, y.uop, z.uop)))


def folded(x: Tensor) -> Tensor:
    """Five windows of two, one place more than they reach, each squared."""
    windows = x.reshape(3, 2)
    return x._apply((windows * windows).uop.fold(0, 8, 2, 1)) ** 2


def scattered(x: Tensor) -> Tensor:
    flat = x.reshape(6)
    parts = [flat[:4].scatter(0, Tensor([1, 1, 3]), flat[3:])]
    parts.append(flat[:4].scatter(0, Tensor([1, 1, 3]), flat[3:], reduce="add"))
    parts.append(flat[:4].scatter(0, Tensor([1, 1, 3]), flat[3:], reduce="multiply"))
    for reduce in ("amax", "amin", "mean", "prod"):
        for include in (True, False):
            index = Tensor([1, 1, 3])
            parts.append(flat[:4].scatter_reduce(0, index, flat[3:], reduce, include))
    return Tensor.stack(*[part * part for part in parts])


def overwritten(x: Tensor) -> Tensor:
    y = x * x
    y[0, 1:] = x[1, :2] * 3
    y[1].assign(y[1] * y[1])
    return y


def test_every_rule_is_compared_with_differences() -> None:
    assert set(OPS) == set(GRADIENTS) - {Op.CUSTOM}  # it is what users say


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_rule_agrees_with_differences(op: Op) -> None:
    function, low, high = OPS[op]
    check(function, values((2, 3), low, high))


@pytest.mark.parametrize(
    "op",
    [Op.MUL, Op.FDIV, Op.POW, Op.WHERE, Op.TANH, Op.REDUCE, Op.INDEX, Op.WINDOW, Op.FOLD, Op.AFTER]
    + [Op.SQRT, Op.ASIN, Op.EXPAND, Op.CONTIGUOUS],
    ids=lambda op: op.name,
)
def test_gradients_can_be_differentiated(op: Op) -> None:
    function, low, high = OPS[op]
    check(slope_of(function), values((2, 3), low, high))


def test_the_third_derivative_is_right() -> None:
    x = Tensor([0.3, -1.2])
    first = x.sin().sum().gradient(x)[0]
    second = first.sum().gradient(x)[0]
    third = second.sum().gradient(x)[0]
    np.testing.assert_allclose(third.numpy(), -np.cos([0.3, -1.2]), rtol=1e-6)


COMPOSED: dict[str, tuple[Function, float, float]] = {
    "softmax": (lambda x: x.softmax(), -2, 2),
    "log_softmax": (lambda x: x.log_softmax(0), -2, 2),
    "logsumexp": (lambda x: x.logsumexp(1), -2, 2),
    "var": (lambda x: x.var(1), -2, 2),
    "std": (lambda x: x.std(0, correction=0), -2, 2),
    "layernorm": (lambda x: x.layernorm(), -2, 2),
    "sigmoid": (lambda x: x.sigmoid(), -2, 2),
    "gelu": (lambda x: x.gelu(), -2, 2),
    "exact gelu": (lambda x: x.gelu("none"), -2, 2),
    "softplus": (lambda x: x.softplus(), -2, 2),
    "mish": (lambda x: x.mish(), -2, 2),
    "asinh": (lambda x: x.asinh(), -2, 2),
    "acosh": (lambda x: x.acosh(), 1.5, 3),
    "atanh": (lambda x: x.atanh(), -0.7, 0.7),
    "log10": (lambda x: x.log10(), 0.5, 2),
    "logaddexp": (lambda x: x.logaddexp(x.flip(0)), -2, 2),
    "clamp": (lambda x: x.clamp(-1, 1) ** 2, -1.9, 2.2),
    "modulo": (lambda x: x % 0.7, 0.75, 1.3),
    "matmul": (lambda x: x @ x.T @ x, -2, 2),
    "cumsum": (lambda x: x.cumsum(1) ** 2, -2, 2),
    "cumprod": (lambda x: x.cumprod(0) ** 2, 0.5, 2),
    "cummax": (lambda x: x.cummax(1)[0] ** 2, -2, 2),
    "logcumsumexp": (lambda x: x.logcumsumexp(1), -2, 2),
    "sort": (lambda x: x.sort(1)[0] ** 2, -2, 2),
    "conv2d": (lambda x: x.reshape(1, 1, 2, 3).conv2d(Tensor(np.ones((2, 1, 2, 2)))) ** 2, -2, 2),
    "max_pool2d": (lambda x: x.reshape(1, 1, 2, 3).max_pool2d((2, 2), 1) ** 2, -2, 2),
    "avg_pool2d": (lambda x: x.reshape(1, 1, 2, 3).avg_pool2d((2, 2), 1) ** 2, -2, 2),
    "cat and split": (lambda x: x.cat(x * x)[1:4] ** 2, -2, 2),
    "roll": (lambda x: x.roll(1, 1) * x, -2, 2),
    "triangle": (lambda x: x.tril() ** 2, -2, 2),
    "attention": (lambda x: x.scaled_dot_product_attention(x * 2, x + 1), -1, 1),
}


@pytest.mark.parametrize("name", COMPOSED)
def test_what_is_composed_agrees_with_differences(name: str) -> None:
    function, low, high = COMPOSED[name]
    check(function, values((2, 3), low, high))


@pytest.mark.parametrize("name", ["softmax", "layernorm", "matmul", "cumsum", "cumprod", "conv2d"])
def test_what_is_composed_can_be_differentiated_twice(name: str) -> None:
    function, low, high = COMPOSED[name]
    check(slope_of(function), values((2, 3), low, high))


STEPS: list[Function] = [
    lambda x: x.sin(),
    lambda x: x * x.flip(0),
    lambda x: x.permute(1, 0).contiguous(),
    lambda x: x.sum(0, keepdim=True) + x,
    lambda x: x.tanh() * 2,
    lambda x: x.pad((0, 1, 0, 0))[:, 1:] + x,
    lambda x: x.cumsum(1),
    lambda x: (x * 0.5).softmax(1),
    lambda x: x[[1, 0, 1]][:2],
    lambda x: x / (x * x + 1),
]


@settings(max_examples=12, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(range(len(STEPS))), min_size=2, max_size=5))
def test_chains_of_functions_agree_with_differences(chain: list[int]) -> None:
    def function(x: Tensor) -> Tensor:
        for step in chain:
            x = STEPS[step](x)
        return x

    check(function, values((3, 3), -1, 1))


# Where differences say nothing: kinks, ties, zeros, infinities.


def gradient_at(function: Function, x: object) -> list[Any]:
    t = Tensor(x, dtype="float32")
    found = function(t).sum().gradient(t)[0].tolist()
    return found if isinstance(found, list) else [found]


@pytest.mark.parametrize(
    ("function", "x", "expected"),
    [
        (lambda x: x.prod(), [0, 2, 3], [6, 0, 0]),
        (lambda x: x.prod(), [0, 0, 3], [0, 0, 0]),
        (lambda x: x.cumprod(0), [2, 0, 3], [1, 8, 0]),
        (lambda x: x.asinh(), [0], [1]),
        (lambda x: x.abs(), [0], [0]),
        (lambda x: x.relu(), [-1, 0, 1], [0, 0, 1]),
        (lambda x: x.maximum(1), [0, 1, 2], [0, 0.5, 1]),
        (lambda x: x.minimum(1), [0, 1, 2], [1, 0.5, 0]),
        (lambda x: x.clamp(-1, 1), [-1, 0, 1, 2], [1, 1, 1, 0]),
        (lambda x: x.max(), [3, 1, 3], [0.5, 0, 0.5]),
        (lambda x: x.min(), [3, 1, 1], [0, 0.5, 0.5]),
        (lambda x: x**2, [0, -3], [0, -6]),
        (lambda x: x**0.0, [0, 2], [0, 0]),
        (lambda x: x.sign() + x.round() + x.floor(), [0.2, 1.7], [0, 0]),
        (lambda x: x.sqrt(), [0.25], [1]),
        (lambda x: x.sigmoid(), [-100, 100], [pytest.approx(0, abs=1e-30), 0]),
        (lambda x: x.softplus(), [100], [1]),
        (lambda x: x.gelu(), [-30, 30], [0, 1]),
        (lambda x: x.softmax(), [inf, 1], [nan, nan]),
    ],
)
def test_gradient_at_a_special_point(function: Function, x: object, expected: list[float]) -> None:
    found = gradient_at(function, x)
    assert found == [pytest.approx(value, nan_ok=True) for value in expected]


def test_softplus_keeps_what_is_left_of_it() -> None:
    assert gradient_at(lambda x: x.softplus(), [-100]) == [pytest.approx(3.78e-44, rel=0.05)]


def test_cumsum_of_a_long_axis() -> None:
    assert gradient_at(lambda x: x.cumsum(), np.ones(1022)) == list(range(1022, 0, -1))


def test_a_power_of_zero_depends_on_its_exponent_only_where_it_is_infinite() -> None:
    assert gradient_at(lambda y: Tensor([0.0, 2.0]) ** y, [1.0, 0.0]) == [
        0,
        pytest.approx(0.693147),
    ]


def test_an_element_that_was_not_read_gets_no_gradient() -> None:
    assert gradient_at(lambda x: x[Tensor([3, -1, -4, 1])], [1, 2, 3]) == [0, 1, 1]


def test_scatter_reduce_shares_among_the_extremes() -> None:
    base, index = Tensor([0.0, 0.0, 0.0]), Tensor([0, 0, 1])

    def function(include: bool) -> Function:
        return lambda x: base.scatter_reduce(0, index, x, "amax", include)

    assert gradient_at(function(False), [-5, -3, 2]) == [0, 1, 1]
    assert gradient_at(function(True), [-5, -3, 2]) == [0, 0, 1]


def test_the_last_value_written_to_a_place_gets_its_gradient() -> None:
    base = Tensor([1.0, 1.0, 1.0])
    assert gradient_at(lambda x: base.scatter(0, Tensor([1, 1]), x) ** 2, [5, 7]) == [0, 14]


def test_products_with_zeros_can_be_differentiated_twice() -> None:
    x = Tensor([0.0, 2.0, 3.0])
    first = x.prod().gradient(x)[0]
    assert first[1].gradient(x)[0].tolist() == [3, 0, 0]


def test_a_convolution_with_strides_leaves_elements_out() -> None:
    kernel = Tensor([1.0, 1.0]).reshape(1, 1, 2)

    def function(x: Tensor) -> Tensor:
        return x.reshape(1, 1, 8).conv2d(kernel, stride=3)

    assert gradient_at(function, np.arange(8)) == [1, 1, 0, 1, 1, 0, 1, 1]


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_narrow_floats_are_differentiated_in_float32(name: str) -> None:
    x = Tensor([2.5], dtype=name)
    (gradient,) = x.tanh().sum().gradient(x)
    assert gradient.dtype is x.dtype
    exact = Tensor([1 - math.tanh(2.5) ** 2], dtype=name)
    assert gradient.tolist() == exact.tolist()


def test_many_small_parts_of_a_narrow_float_are_added_in_float32() -> None:
    x = Tensor([1.0], dtype="float16")
    (gradient,) = (x.expand(4096) * 1.0).cast("float32").sum().gradient(x)
    assert gradient.tolist() == [4096]


# Writes, views and cuts.


def test_a_view_has_the_gradient_of_its_elements() -> None:
    x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    row = x[1]
    assert (row * row).sum().gradient(row, x)[0].tolist() == [6, 8]
    assert (row * row).sum().gradient(row, x)[1].tolist() == [[0, 0], [6, 8]]


def test_a_write_cuts_what_stood_there_before() -> None:
    x, y = Tensor([1.0, 2.0, 3.0]), Tensor([5.0])
    z = x * x
    z[1:2] = y * y
    to_x, to_y = z.sum().gradient(x, y)
    assert (to_x.tolist(), to_y.tolist()) == ([2, 0, 6], [10])


def test_nothing_flows_through_detach() -> None:
    x = Tensor([3.0])
    assert (x * x.detach()).sum().gradient(x)[0].tolist() == [3]


def test_an_unreachable_target_gets_zeros() -> None:
    x, y = Tensor([1.0]), Tensor([[1.0, 2.0]])
    assert x.sum().gradient(y)[0].tolist() == [[0, 0]]


def test_nothing_flows_through_integers() -> None:
    x = Tensor([1.5, 2.5])
    assert x.cast("int32").cast("float32").sum().gradient(x)[0].tolist() == [0, 0]


def test_a_given_gradient_counts_for_each_element() -> None:
    x = Tensor([1.0, 2.0])
    assert (x * x).gradient(x, gradient=Tensor([1.0, 10.0]))[0].tolist() == [2, 40]


def test_a_chain_of_ten_thousand_steps_needs_no_recursion() -> None:
    x = Tensor([1.0])
    y = x
    for _ in range(10_000):
        y = y + x
    (gradient,) = y.sum().gradient(x)
    assert len(toposort((gradient.uop,))) < 50_000


@pytest.mark.parametrize(
    "make_one",
    [
        lambda: Tensor.ones(2, 2),
        lambda: Tensor.full((2, 2), 3.0),
        lambda: Tensor.eye(2),
        lambda: Tensor(2.0),
        lambda: Tensor.zeros(2, 2),
        lambda: Tensor.linspace(0, 1, 2),
        lambda: Tensor.arange(2.0),
        lambda: Tensor.ones(2).full_like(2.0),
    ],
)
def test_equal_constants_have_gradients_of_their_own(make_one: Callable[[], Tensor]) -> None:
    x, y = make_one(), make_one()
    found = (x * y * 2 + y).sum().gradient(x)[0]
    np.testing.assert_array_equal(found.numpy(), 2 * y.numpy())


def test_equal_constants_are_one_kernel(session: Session) -> None:
    (Tensor([1.0, 2.0]) + Tensor.ones(2)).realize()
    before = session.counters.schedules + session.counters.cached_schedules
    (Tensor([1.0, 2.0]) + Tensor.ones(2)).realize()
    assert session.counters.schedules + session.counters.cached_schedules == before


# backward().


def test_backward_fills_grad_of_what_is_alive() -> None:
    x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
    z = x * y
    z.sum().backward()
    assert x.grad is not None
    assert y.grad is not None
    assert z.grad is not None
    assert (x.grad.tolist(), y.grad.tolist(), z.grad.tolist()) == ([3, 4], [1, 2], [1, 1])


def test_backward_adds_to_what_is_there() -> None:
    x = Tensor([1.0])
    (x * 2).sum().backward()
    (x * 3).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [5]


def test_backward_leaves_other_tensors_alone() -> None:
    x, other, number = Tensor([1.0]), Tensor([1.0]), Tensor([1])
    (x * 2).sum().backward()
    assert other.grad is None
    assert number.grad is None


def test_backward_twice_over_one_graph_doubles() -> None:
    x = Tensor([1.0])
    y = (x * x).sum()
    y.backward()
    y.backward()
    assert x.grad is not None
    assert x.grad.tolist() == [4]


# What is refused.


def test_several_elements_need_a_gradient() -> None:
    x = Tensor([1.0, 2.0])
    with pytest.raises(GradientError, match=r"shape \(2,\)"):
        (x * x).gradient(x)


def test_a_gradient_of_another_shape_is_refused() -> None:
    x = Tensor([1.0, 2.0])
    with pytest.raises(ShapeError):
        (x * x).gradient(x, gradient=Tensor([1.0]))


@pytest.mark.parametrize("name", ["int32", "bool"])
def test_what_is_no_float_has_no_gradient(name: str) -> None:
    x, n = Tensor([1.0]), Tensor([1], dtype=name)
    with pytest.raises(GradientError, match=name):
        x.sum().gradient(n)
    with pytest.raises(GradientError, match=name):
        n.max().gradient(x)


def test_gradients_live_on_the_device_of_their_target(session: Session) -> None:
    x = Tensor([2.0], device="python")
    y = x.to("cpu")
    (gradient,) = (y * y).sum().gradient(x)
    assert (gradient.device, gradient.tolist()) == ("python", [4])
