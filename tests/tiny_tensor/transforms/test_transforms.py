"""Forward mode, rows and jacobians agree with reverse mode, with loops over rows, and together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tiny_ir import ArgumentError, AxisError, GradientError, JitError, Op, ShapeError
from tiny_tensor import Session, Tensor, jit
from tiny_tensor.gradient import GRADIENTS
from tiny_tensor.transforms import custom_gradient, hessian, jacfwd, jacrev, jvp, vmap
from tiny_tensor.transforms.batching import BATCHING
from tiny_tensor.transforms.forward import FORWARD

pytestmark = pytest.mark.usefixtures("session")

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[[Tensor], Tensor]

INDEX = np.array([2, 0, 2, 5, -9], dtype=np.int32)
OTHER = np.linspace(0.55, 1.95, 6).reshape(2, 3)


def values(shape: tuple[int, ...], seed: int = 0) -> Array:
    """Numbers in 0.5 to 2 that are far from each other."""
    count = int(np.prod(shape))
    spread = (np.arange(count) + 0.5) / count * 1.5 + 0.5
    return np.random.RandomState(seed).permutation(spread).reshape(shape)


def written(x: Tensor) -> Tensor:
    y = x * 1
    y[1:, :2] = x[:1, 1:] * 3
    y[0] += x[1]
    return y * x


def masked(x: Tensor) -> Tensor:
    y = x * 1
    y[Tensor([[True, False, True], [False, True, False]])] = x.reshape(6)[1:4] * 2
    return y * x


def taken(x: Tensor) -> Tensor:
    return x.reshape(6)[Tensor(INDEX)] ** 2


def scattered(x: Tensor, reduce: str) -> Tensor:
    index = Tensor([[0, 1, 0], [1, 1, 0]])
    return x.scatter_reduce(0, index, x.flip(1) * 2, reduce)


# Of (2, 3), float64. Each is smooth between 0.5 and 2.
FUNCTIONS: dict[str, Function] = {
    "arithmetic": lambda x: -x + x * x.flip(0) - 1 / x + x.maximum(Tensor(OTHER)) * 2,
    "choice": lambda x: (x > 1).where(x * x, x.minimum(Tensor(OTHER))),
    "functions": lambda x: x.exp() * x.log() - x.sqrt() + x**x,
    "casts": lambda x: x.cast("float32").cast("float64") * x,
    "movement": lambda x: (x.reshape(3, 2).permute(1, 0).pad((1, 2, 0, 1))[:, 1:] ** 2).flip(1),
    "expand": lambda x: x.reshape(2, 1, 3) * x.reshape(1, 2, 3),
    "windows": lambda x: x.unfold(1, 2, 1) ** 2,
    "sum": lambda x: x.sum(0) * x.mean(1, keepdim=True),
    "product": lambda x: x.prod(0) * x.prod(),
    "extremes": lambda x: x.max(0) * x.min(1, keepdim=True),
    "matmul": lambda x: x @ x.transpose() @ Tensor(OTHER),
    "convolution": lambda x: x.reshape(1, 1, 2, 3).conv2d(x[:, :2].reshape(1, 1, 2, 2)),
    "softmax": lambda x: x.softmax(1).log() * x.layernorm(),
    "cumsum": lambda x: x.cumsum(1) * x.cumprod(0),
    "logcumsumexp": lambda x: x.logcumsumexp(1),
    "cummax": lambda x: x.cummax(1)[0] ** 2,
    "gather": taken,
    "positions": lambda x: x.gather(1, (x > 1).int()) ** 2,
    "table": lambda x: Tensor(OTHER)[(x[:, 0] > 1).int()] * x,
    "sort": lambda x: x.sort(1)[0] * x,
    "scatter": lambda x: x.scatter(0, Tensor([[1, 0, 1]]), x[:1] * 2) ** 2,
    "scatter add": lambda x: scattered(x, "sum"),
    "scatter multiply": lambda x: scattered(x, "prod"),
    "scatter extreme": lambda x: scattered(x, "amax"),
    "write": written,
    "mask": masked,
    "write whole": lambda x: (x * 2).assign(x * x),
    "contiguous": lambda x: x.contiguous() * x.contiguous_backward(),
    "copy": lambda x: x.clone() * 3,
    "device": lambda x: (x.to("python") ** 2).to("cpu"),
    "detach": lambda x: x * x.detach(),
    "rounding": lambda x: x.floor() + x.round() * x,
    "narrow": lambda x: x.half().sqrt().double() * x,
    "constant": lambda x: Tensor(OTHER) * 2,
}
EACH = pytest.mark.parametrize("name", FUNCTIONS)
CHAINED = (
    *("arithmetic", "choice", "functions", "softmax", "cumsum", "logcumsumexp", "cummax", "table"),
    *("sort", "scatter", "scatter extreme", "write", "mask", "write whole", "copy", "contiguous"),
)
"""Those that return what they take: (2, 3), all of it changing."""


def test_there_are_rules_for_all_ops_with_gradients() -> None:
    apart = {Op.AFTER, Op.BITCAST, Op.TRUNC, Op.FLOOR, Op.CEIL, Op.ROUND}
    assert set(GRADIENTS) - apart <= set(FORWARD)
    assert set(GRADIENTS) - {Op.AFTER} <= set(BATCHING)


@EACH
def test_forward_mode_is_the_transpose_of_reverse_mode(name: str) -> None:
    function = FUNCTIONS[name]
    x, direction = Tensor(values((2, 3))), Tensor(values((2, 3), 1))
    value, speed = jvp(function, (x,), (direction,))
    assert np.array_equal(value.numpy(), function(x).numpy())
    assert (speed.shape, speed.dtype) == (value.shape, value.dtype)
    back = Tensor(values(tuple(map(int, value.shape)), 2))
    (gradient,) = function(x).gradient(x, gradient=back)
    forwards, backwards = (speed * back).sum().item(), (gradient * direction).sum().item()
    assert forwards == pytest.approx(backwards, rel=1e-3 if name == "narrow" else 1e-12)


@EACH
def test_rows_equal_a_loop_over_rows(name: str) -> None:
    function = FUNCTIONS[name]
    x = values((2, 3, 4))
    mapped = vmap(function, in_axes=2, out_axes=1)(Tensor(x)).numpy()
    rows = np.stack([function(Tensor(x[..., n])).numpy() for n in range(4)], 1)
    assert np.allclose(mapped, rows, rtol=1e-12, atol=0)


@pytest.mark.parametrize(
    "name",
    ["choice", "movement", "windows", "product", "extremes", "convolution", "logcumsumexp"]
    + ["gather", "table", "sort", "scatter", "scatter extreme", "write", "detach", "constant"],
)
def test_rows_of_gradients_equal_gradients_of_rows(name: str) -> None:
    function = FUNCTIONS[name]

    def slope(x: Tensor) -> Tensor:
        return (function(x) ** 2).sum().gradient(x)[0]

    x = values((3, 2, 3))
    mapped = vmap(slope)(Tensor(x)).numpy()
    rows = np.stack([slope(Tensor(row)).numpy() for row in x])
    assert np.allclose(mapped, rows, rtol=1e-2 if name == "narrow" else 1e-11)
    whole = Tensor(x)
    (together,) = (vmap(function)(whole) ** 2).sum().gradient(whole)
    assert np.allclose(together.numpy(), rows, rtol=1e-2 if name == "narrow" else 1e-11)


@pytest.mark.parametrize("name", ["arithmetic", "functions", "cumsum", "softmax", "write", "sort"])
def test_directions_of_rows_equal_rows_of_directions(name: str) -> None:
    function = FUNCTIONS[name]
    x, direction = Tensor(values((3, 2, 3))), Tensor(values((3, 2, 3), 1))
    outer = jvp(vmap(function), (x,), (direction,))[1].numpy()
    inner = vmap(lambda x, d: jvp(function, (x,), (d,))[1])(x, direction).numpy()
    assert np.allclose(outer, inner, rtol=1e-12)


@pytest.mark.parametrize("name", ["arithmetic", "functions", "cumsum", "softmax", "product"])
def test_jacobians_agree(name: str) -> None:
    function = FUNCTIONS[name]
    x = Tensor(values((2, 3)))
    forwards, backwards = jacfwd(function)(x), jacrev(function)(x)
    assert forwards.shape == backwards.shape == (*function(x).shape, 2, 3)
    assert np.allclose(forwards.numpy(), backwards.numpy(), rtol=1e-12, atol=1e-13)


def test_hessian_times_a_direction_needs_no_hessian() -> None:
    def function(x: Tensor) -> Tensor:
        return (x.sin() * x.flip(0)).cumsum().sum()

    x, direction = Tensor(values((5,))), Tensor(values((5,), 1))
    product = jvp(lambda x: function(x).gradient(x)[0], (x,), (direction,))[1]
    assert np.allclose(product.numpy(), (hessian(function)(x) @ direction).numpy(), rtol=1e-12)
    assert np.allclose(hessian(function)(x).numpy(), hessian(function)(x).numpy().T)


def test_forward_mode_twice_is_the_second_derivative() -> None:
    one = Tensor(1.0, dtype="float64")

    def slope(x: Tensor) -> Tensor:
        return jvp(lambda x: x**4, (x,), (one,))[1]

    assert jvp(slope, (Tensor(3.0, dtype="float64"),), (one,))[1].item() == pytest.approx(108)


def test_only_what_the_function_does_is_differentiated() -> None:
    x = Tensor([3.0])
    outside = x * x
    assert jvp(lambda y: y * outside, (x,), (Tensor([1.0]),))[1].tolist() == [9.0]
    assert jacrev(lambda y: y * outside)(x).tolist() == [[9.0]]


def test_a_function_may_realize_what_it_makes() -> None:
    x, one = Tensor([3.0, 4.0]), Tensor([1.0, 1.0])
    value, speed = jvp(lambda x: (x * x).realize() * x, (x,), (one,))
    assert (value.tolist(), speed.tolist()) == ([27, 64], [27, 48])


def test_as_many_kernels_for_many_rows_as_for_few(session: Session) -> None:
    def network(x: Tensor) -> Tensor:
        hidden = (Tensor.full((8, 5), 0.25) @ x).tanh().softmax(0)
        return hidden.cumsum() * hidden.sort()[0]

    counts = []
    for rows in (2, 100):
        x = Tensor(values((rows, 5)).astype(np.float32)).realize()
        for function in (network, lambda x: network(x).sum().gradient(x)[0]):
            before = session.counters.kernels
            vmap(function)(x).realize()
            counts.append(session.counters.kernels - before)
    assert counts[:2] == counts[2:]


@pytest.mark.parametrize("seed", range(2))
def test_chains_of_functions_agree_in_every_direction(seed: int) -> None:
    draw = np.random.RandomState(seed)
    chain = [FUNCTIONS[name] for name in draw.choice(CHAINED, 3)]

    def function(x: Tensor) -> Tensor:
        for step in chain:
            x = step(x * 0.3 + 0.7)
        return x

    x, way = values((2, 2, 3), seed), Tensor(values((2, 3), seed + 1))
    rows = np.stack([function(Tensor(row)).numpy() for row in x])
    assert np.allclose(vmap(function)(Tensor(x)).numpy(), rows, rtol=1e-12, atol=0)
    row = Tensor(x[1])
    speed = jvp(function, (row,), (way,))[1].sum().item()
    slope = vmap(lambda x: function(x).sum().gradient(x)[0])(Tensor(x))[1]
    assert speed == pytest.approx((slope * way).sum().item(), rel=1e-10)


def test_rows_may_lie_along_any_axis_of_any_argument() -> None:
    x, y = values((2, 3)), values((4, 3), 1)

    def function(x: Tensor, pair: dict[str, Tensor], scale: int) -> dict[str, Tensor]:
        return {"sum": x + pair["y"] * scale, "same": pair["z"]}

    pair = {"y": Tensor(y), "z": Tensor(y)}
    mapped = vmap(function, in_axes=(1, -1, None))(Tensor(x[0:1].repeat(4, 0)), pair, 2)
    assert np.array_equal(mapped["sum"].numpy(), (x[0:1].repeat(4, 0) + y * 2).T)
    assert mapped["same"].shape == (3, 4)
    first, second = vmap(lambda x: (x, x.sum()), out_axes=(1, 0))(Tensor(x))
    assert (first.shape, second.shape) == ((3, 2), (2,))
    assert vmap(lambda x: Tensor([1, 2]))(Tensor(x)).tolist() == [[1, 2], [1, 2]]


def test_rows_of_rows() -> None:
    x, y = values((2, 3)), values((4, 3), 1)
    outer = vmap(vmap(lambda x, y: (x * y).sum(), in_axes=(None, 0)), in_axes=(0, None))
    assert np.allclose(outer(Tensor(x), Tensor(y)).numpy(), x @ y.T, rtol=1e-12)


def test_no_rows_and_one_row() -> None:
    for rows in (0, 1):
        x = np.ones((rows, 3))
        assert np.array_equal(vmap(lambda x: x.cumsum() * 2)(Tensor(x)).numpy(), x.cumsum(1) * 2)


def test_transformations_are_captured_with_the_rest() -> None:
    @jit
    def step(x: Tensor) -> Tensor:
        speeds = jvp(lambda x: x**3, (x,), (x.ones_like(),))[1]
        return vmap(lambda row: row * row.sum())(speeds)

    for scale in (1.0, 2.0):
        x = values((2, 3)) * scale
        speeds = 3 * x**2
        expected = speeds * speeds.sum(1, keepdims=True)
        assert np.allclose(step(Tensor(x)).numpy(), expected, rtol=1e-12)


def test_random_numbers_are_the_same_for_each_row() -> None:
    rows = vmap(lambda x: x + Tensor.rand(4))(Tensor.zeros(3, 4)).numpy()
    assert np.array_equal(rows[0], rows[2])
    assert len(set(rows[0])) == 4


def test_what_rows_cannot_do_is_refused() -> None:
    x = Tensor(values((2, 3)))
    kept = Tensor([0.0])
    with pytest.raises(JitError, match="asks for the numbers"):
        vmap(lambda x: x * x.sum().item())(x)
    with pytest.raises(JitError, match="asks for the numbers"):
        vmap(lambda x: x[x > 1])(x)
    with pytest.raises(JitError, match="writes a tensor that was there"):
        vmap(lambda x: kept.assign(x[:1].cast(kept.dtype)))(x)
    with pytest.raises(ArgumentError, match="without a mapped tensor"):
        vmap(lambda x: x, in_axes=None)(x)
    with pytest.raises(ArgumentError, match="1 axes for 2 arguments"):
        vmap(lambda x, y: x, in_axes=(0,))(x, x)
    with pytest.raises(ShapeError, match=r"\[2, 3\] rows"):
        vmap(lambda x, y: x.sum() + y.sum(), in_axes=(0, 1))(x, x)
    with pytest.raises(AxisError):
        vmap(lambda x: x, in_axes=2)(x)
    with pytest.raises(AxisError):
        vmap(lambda x: x)(Tensor(1.0))
    leaked: list[Tensor] = []
    vmap(lambda x: leaked.append(x) or x)(x)  # type: ignore[func-returns-value]
    with pytest.raises(RuntimeError):
        leaked[0].tolist()
    assert x.grad is None


def test_what_has_no_direction_is_refused() -> None:
    x = Tensor([1.0])
    with pytest.raises(ArgumentError, match="0 tangents for 1 primals"):
        jvp(lambda x: x, (x,), ())
    with pytest.raises(ShapeError):
        jvp(lambda x: x, (x,), (Tensor([1.0, 2.0]),))
    with pytest.raises(GradientError):
        jvp(lambda x: x, (Tensor([1]),), (x,))


# Gradients of one's own.


def doubled(g: Tensor, result: Tensor, x: Tensor) -> Tensor:
    return g * 2 * result


@custom_gradient(doubled)
def exponential(x: Tensor) -> Tensor:
    return x.exp()


@custom_gradient(lambda g, result, x, power, y: (g * y * power, None))
def weighted(x: Tensor, power: int, y: Tensor) -> Tensor:
    return x.floor() * y**power


@pytest.mark.parametrize("realized", [False, True])
def test_a_function_has_the_gradient_that_its_author_wrote(realized: bool) -> None:
    x = Tensor([0.5, 1.0], dtype="float64")
    y = exponential(x) * 3
    if realized:
        y.realize()
    exact = 6 * np.exp([0.5, 1.0])
    assert np.allclose(y.sum().gradient(x)[0].numpy(), exact, rtol=1e-12)
    plain = x.exp() * 3
    assert np.allclose(plain.sum().gradient(x)[0].numpy(), exact / 2, rtol=1e-12)


def test_gradients_of_ones_own_work_in_every_transformation() -> None:
    x = Tensor([0.5, 1.0], dtype="float64")
    exact = np.exp([0.5, 1.0])
    (first,) = exponential(x).sum().gradient(x)
    assert np.allclose(first.sum().gradient(x)[0].numpy(), 4 * exact, rtol=1e-12)
    assert np.allclose(jvp(exponential, (x,), (x,))[1].numpy(), 2 * exact * x.numpy())
    row = vmap(lambda x: (exponential(x) * x).sum().gradient(x)[0])(x.reshape(2, 1))
    assert np.allclose(row.numpy()[:, 0], exact * (1 + 2 * x.numpy()), rtol=1e-12)
    (whole,) = vmap(exponential)(x.reshape(2, 1)).sum().gradient(x)
    assert np.allclose(whole.numpy(), 2 * exact, rtol=1e-12)
    assert np.allclose(jacfwd(exponential)(x).numpy(), np.diag(2 * exact), rtol=1e-12)


def test_gradient_functions_see_all_arguments() -> None:
    x, y = Tensor([1.5, 2.5]), Tensor([3.0, 4.0])
    to_x, to_y = weighted(x, 2, y).sum().gradient(x, y)
    assert (to_x.tolist(), to_y.tolist()) == ([6, 8], [0, 0])
    (shared,) = vmap(weighted, in_axes=(0, None, None))(x, 3, y[0]).sum().gradient(y)
    assert shared.tolist() == [0, 0]
    assert weighted(x, 3, y).sum().gradient(x)[0].tolist() == [9, 12]


def test_gradients_of_ones_own_enter_no_key(session: Session) -> None:
    x = Tensor([0.5, 1.0]).realize()
    x.exp().realize()
    made = session.counters.schedules + session.counters.cached_schedules
    assert exponential(x).tolist() == x.exp().tolist()
    assert session.counters.schedules + session.counters.cached_schedules == made


def test_gradients_of_ones_own_are_captured() -> None:
    @jit
    def slope(x: Tensor) -> Tensor:
        return exponential(x).sum().gradient(x)[0]

    for start in (0.0, 1.0):
        found = slope(Tensor([start], dtype="float64")).item()
        assert found == pytest.approx(2 * np.exp(start))


def test_wrong_gradients_are_refused() -> None:
    x = Tensor([1.0, 2.0])
    two = custom_gradient(lambda g, result, x: (g, g))(lambda x: x * 1)
    with pytest.raises(GradientError, match="2 gradients for 1 tensors"):
        two(x).sum().gradient(x)
    small = custom_gradient(lambda g, result, x: g.sum())(lambda x: x * 1)
    with pytest.raises(ShapeError):
        small(x).sum().gradient(x)
    nothing = custom_gradient(doubled)(lambda x: 3)  # type: ignore[arg-type, return-value]
    with pytest.raises(TypeError, match="returned a int"):
        nothing(x)
    with pytest.raises(GradientError, match="int32"):
        custom_gradient(doubled)(lambda x: x.int())(x)
    with pytest.raises(TypeError, match="by name"):
        exponential(x=x)
    square = custom_gradient(lambda g, result, x: g * g)(lambda x: x * 1)
    with pytest.raises(GradientError, match="not linear"):
        jvp(square, (x,), (x,))
