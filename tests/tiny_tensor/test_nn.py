"""Layers compute what their formulas say, and refuse what does not fit."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from tiny_ir import ArgumentError, ShapeError, dtypes
from tiny_tensor import Tensor, nn

pytestmark = pytest.mark.usefixtures("session")

DICE = np.random.RandomState(0)


def random(*shape: int) -> Tensor:
    return Tensor(DICE.uniform(-1, 1, shape).astype(np.float32))


def test_linear_multiplies_by_the_transpose() -> None:
    layer, x = nn.Linear(3, 4), random(2, 3)
    assert layer.bias is not None
    expected = x.numpy() @ layer.weight.numpy().T + layer.bias.numpy()
    np.testing.assert_allclose(layer(x).numpy(), expected, rtol=1e-5, atol=1e-6)


def test_parameters_begin_within_their_bound() -> None:
    layer = nn.Conv2d(4, 8, 3, groups=2)
    bound = 1 / math.sqrt(2 * 9)
    weight = layer.weight.numpy()
    assert weight.shape == (8, 2, 3, 3)
    assert 0.8 * bound < np.abs(weight).max() <= bound


def test_layers_without_bias_have_none() -> None:
    assert nn.Linear(2, 2, bias=False).bias is None
    assert list(nn.state.get_state_dict(nn.Conv1d(1, 1, 1, bias=False))) == ["weight"]


def test_equal_layers_have_gradients_of_their_own() -> None:
    first, second = nn.LayerNorm(3), nn.LayerNorm(3)
    x = random(2, 3)
    (first(x) * 2 + second(x) * 5).sum().backward()
    assert first.bias is not None
    assert second.bias is not None
    assert first.bias.grad is not None
    assert second.bias.grad is not None
    assert first.bias.grad.tolist() == [4, 4, 4]
    assert second.bias.grad.tolist() == [10, 10, 10]


def test_embedding_takes_rows() -> None:
    layer = nn.Embedding(5, 2)
    rows = layer(Tensor([[4, 0], [2, 2]])).numpy()
    np.testing.assert_array_equal(rows, layer.weight.numpy()[[[4, 0], [2, 2]]])


def test_a_row_that_is_taken_twice_gets_both_gradients() -> None:
    layer = nn.Embedding(3, 2)
    layer(Tensor([1, 1, 0])).sum().backward()
    assert layer.weight.grad is not None
    assert layer.weight.grad.tolist() == [[1, 1], [2, 2], [0, 0]]


@pytest.mark.parametrize(("kernel", "dilation"), [(3, 1), (4, 1), (3, 2), (1, 1)])
def test_same_padding_keeps_the_size(kernel: int, dilation: int) -> None:
    x = random(1, 2, 7, 6)
    assert nn.Conv2d(2, 3, kernel, padding="same", dilation=dilation)(x).shape == (1, 3, 7, 6)


def test_uneven_padding_has_more_at_the_end() -> None:
    layer = nn.Conv1d(1, 1, 2, padding="same", bias=False)
    layer.weight.assign(Tensor([[[1.0, 10.0]]]))
    assert layer(Tensor([[[1.0, 2.0, 3.0]]])).tolist() == [[[21, 32, 3]]]


def test_transposed_convolutions_spread_elements() -> None:
    layer = nn.ConvTranspose1d(1, 1, 3, stride=2, padding=1, output_padding=1, bias=False)
    layer.weight.assign(Tensor([[[1.0, 10.0, 100.0]]]))
    assert layer(Tensor([[[1.0, 2.0]]])).tolist() == [[[10, 102, 20, 200]]]


# Norms.


def test_batch_norm_trains_on_the_batch_and_follows_it() -> None:
    layer = nn.BatchNorm(1, eps=0.0, momentum=1.0)
    with Tensor.train():
        y = layer(Tensor([[1.0], [3.0]]))
    assert y.tolist() == [[-1], [1]]
    assert layer.running_mean is not None
    assert layer.running_var is not None
    assert layer.num_batches_tracked is not None
    assert layer.running_mean.tolist() == [2]
    assert layer.running_var.tolist() == [2]
    assert layer.num_batches_tracked.item() == 1


def test_batch_norm_uses_running_statistics_outside_of_training() -> None:
    layer = nn.BatchNorm(2, eps=0.0)
    assert layer.running_mean is not None
    layer.running_mean.assign(Tensor([1.0, 2.0]))
    assert layer(Tensor([[3.0, 3.0]])).tolist() == [[2, 1]]
    assert layer.running_mean.tolist() == [1, 2]


def test_batch_norm_refuses_to_train_on_one_value_and_keeps_its_statistics() -> None:
    layer = nn.BatchNorm(2)
    with Tensor.train(), pytest.raises(ShapeError, match=r"\(1, 2\)"):
        layer(Tensor([[1.0, 2.0]]))
    assert layer.running_var is not None
    assert layer.running_var.tolist() == [1, 1]


def test_batch_norm_of_images_normalizes_each_channel() -> None:
    layer, x = nn.BatchNorm2d(3), random(4, 3, 5, 5)
    with Tensor.train():
        y = layer(x).numpy()
    np.testing.assert_allclose(y.mean((0, 2, 3)), 0, atol=1e-6)
    np.testing.assert_allclose(y.var((0, 2, 3)), 1, rtol=1e-3)


@pytest.mark.parametrize(
    ("make", "shape", "axes"),
    [
        (lambda: nn.LayerNorm(6), (4, 6), (1,)),
        (lambda: nn.LayerNorm((3, 4)), (2, 3, 4), (1, 2)),
        (lambda: nn.LayerNorm2d(6), (2, 6, 3, 3), (1,)),
        (lambda: nn.InstanceNorm(2), (2, 2, 4, 4), (2, 3)),
        (lambda: nn.GroupNorm(1, 4), (2, 4, 3), (1, 2)),
    ],
)
def test_norms_bring_mean_0_and_variance_1(
    make: Callable[[], Callable[[Tensor], Tensor]], shape: tuple[int, ...], axes: tuple[int, ...]
) -> None:
    y = make()(random(*shape) * 3 + 1).numpy()
    np.testing.assert_allclose(y.mean(axes), 0, atol=1e-5)
    np.testing.assert_allclose(y.var(axes), 1, rtol=1e-3)


def test_rms_norm_is_computed_in_float32() -> None:
    x = Tensor([300.0, 400.0], dtype=dtypes.float16)
    y = nn.RMSNorm(2)(x)
    np.testing.assert_allclose(y.numpy(), np.array([300, 400]) / math.sqrt(125000), rtol=1e-3)


def test_an_lstm_cell_takes_the_steps_of_its_formula() -> None:
    cell, x = nn.LSTMCell(3, 2), random(4, 3)
    hidden, memory = cell(x)
    hidden, memory = cell(x, (hidden, memory))
    w, u = cell.weight_ih.numpy(), cell.weight_hh.numpy()
    assert cell.bias_ih is not None
    assert cell.bias_hh is not None
    b = cell.bias_ih.numpy() + cell.bias_hh.numpy()
    h = c = np.zeros((4, 2))
    for _ in range(2):
        i, f, g, o = np.split(x.numpy() @ w.T + h @ u.T + b, 4, axis=1)
        c = c / (1 + np.exp(-f)) + np.tanh(g) / (1 + np.exp(-i))
        h = np.tanh(c) / (1 + np.exp(-o))
    np.testing.assert_allclose(hidden.numpy(), h, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(memory.numpy(), c, rtol=1e-5, atol=1e-6)


# What is refused.


@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.Linear(0, 1),
        lambda: nn.Linear(2, True),
        lambda: nn.Embedding(2, -1),
        lambda: nn.Conv2d(3, 4, 3, groups=2),
        lambda: nn.Conv2d(1, 1, (3, 3, 3)),
        lambda: nn.Conv2d(1, 1, 3, stride=2, padding="same"),
        lambda: nn.Conv2d(1, 1, 3, padding="most"),
        lambda: nn.Conv1d(1, 1, 3, dilation=0),
        lambda: nn.GroupNorm(2, 3),
        lambda: nn.LayerNorm(()),
        lambda: nn.RMSNorm(()),
    ],
)
def test_a_layer_that_cannot_be_is_refused(make: Callable[[], object]) -> None:
    with pytest.raises(ArgumentError):
        make()


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (nn.BatchNorm, (4, 3)),
        (nn.LayerNorm, (2, 3)),
        (nn.RMSNorm, (3,)),
        (lambda n: nn.GroupNorm(1, n), (1, 3, 2)),
    ],
)
def test_a_norm_refuses_other_sizes(
    layer: Callable[[int], Callable[[Tensor], Tensor]], shape: tuple[int, ...]
) -> None:
    with pytest.raises(ShapeError, match=str(shape[:1])[:-2].replace("(", r"\(")):
        layer(4)(random(*shape))


def test_a_norm_of_nothing_is_nothing() -> None:
    assert nn.GroupNorm(2, 4)(Tensor.ones(0, 4, 3)).shape == (0, 4, 3)


@pytest.mark.parametrize("layer", [nn.LayerNorm(3), nn.GroupNorm(1, 3)])
def test_a_norm_of_narrow_floats_is_rounded_once(layer: nn.LayerNorm | nn.GroupNorm) -> None:
    x, weight, bias = (random(5, 3).bfloat16(), random(3).bfloat16(), random(3).bfloat16())
    layer.weight, layer.bias = weight, bias
    narrow = layer(x)
    layer.weight, layer.bias = weight.float(), bias.float()
    assert narrow.dtype is x.dtype
    assert narrow.tolist() == layer(x.float()).bfloat16().tolist()


def test_rms_norm_over_several_axes() -> None:
    x = random(2, 3, 4)
    assert nn.RMSNorm((3, 4))(x).square().mean((1, 2)).allclose(Tensor.ones(2), atol=1e-3)


def test_training_mode_ends_with_its_block() -> None:
    @Tensor.train()
    def inner() -> bool:
        with Tensor.train(False):
            assert not Tensor.training
        return Tensor.training

    assert inner()
    assert not Tensor.training
