"""Floats: formats, functions at their edges, losses (cases 30 to 46)."""

from __future__ import annotations

import numpy as np
import pytest

from tiny_ir import TinyError
from tiny_tensor import Tensor
from tiny_tensor.nn import BatchNorm

from .kinds import check_each, check_same, inf, nan, slope, tensor

FLOATS = ("float16", "bfloat16", "float32", "float64")


def test_bfloat16_rounds_to_nearest_even() -> None:
    values = [70000, 1 + 2**-8, 1 + 3 * 2**-8, -(1 + 2**-8), 3.3895314e38, 3.3961775e38, nan, 0.1]
    expected = [70144, 1, 1.015625, -1, 3.3895313892515355e38, inf, nan, 0.10009765625]
    check_each(lambda x: x.cast("bfloat16"), [(values, "float32")], expected, dtype="bfloat16")


def test_float64_is_rounded_once() -> None:
    """The policy "one rounding"."""
    values = [1 + 2**-8 + 2**-30, 1 + 2**-8 - 2**-30, 1 + 2**-8]
    check_each(lambda x: x.cast("bfloat16"), [(values, "float64")], [1.0078125, 1, 1])
    check_each(lambda x: x.cast("half"), [([1 + 2**-11 + 2**-40], "float64")], [1 + 2**-10])


def test_narrow_functions_are_computed_in_float32() -> None:
    twelve = [([12.0], "bfloat16")]
    check_each(lambda x: x.exp(), twelve, [162816.0], dtype="bfloat16")
    check_each(lambda x: x.log(), twelve, [2.484375], dtype="bfloat16")
    check_each(lambda x: x.cos(), twelve, [0.84375], dtype="bfloat16")
    check_each(lambda x: x.exp(), [([11.0, 12.0], "float16")], [59872.0, inf], dtype="float16")


@pytest.mark.parametrize("dtype", FLOATS)
def test_rounding_is_to_even_and_keeps_signs(dtype: str) -> None:
    halves = [([0.5, 1.5, 2.5, -0.5, -1.5, -0.0], dtype)]
    check_each(lambda x: x.round(), halves, [0.0, 2.0, 2.0, -0.0, -2.0, -0.0], dtype=dtype)


def test_rounding_takes_no_way_through_integers() -> None:
    check_each(lambda x: x.ceil(), [([-0.4, 0.4], "float32")], [-0.0, 1.0])
    check_each(lambda x: x.trunc(), [([-0.4, 2.9], "float32")], [-0.0, 2.0])
    large = [float(np.float32(1e30)), 3e9, inf, -inf, nan]
    for name in ("floor", "ceil", "round", "trunc"):
        check_each(lambda x, name=name: getattr(x, name)(), [(large, "float32")], large)


def test_functions_at_their_edges() -> None:
    values = [-inf, inf, nan, -104.0, 88.8, -87.5]
    tiny = 9.982351397596697e-39
    check_each(lambda x: x.exp(), [(values, "float32")], [0, inf, nan, 0, inf, tiny], rel=1e-6)
    values = [0.0, -0.0, -1.0, inf, nan, 1e-45]
    expected = [-inf, -inf, nan, inf, nan, -103.27893]
    check_each(lambda x: x.log(), [(values, "float32")], expected, rel=1e-6)
    check_each(lambda x: x.sqrt(), [([-0.0, -1.0, inf], "float32")], [-0.0, nan, inf])
    check_each(lambda x: 1 / x, [([0.0, -0.0, inf], "float32")], [inf, -inf, 0.0])
    check_each(lambda x: x.sin(), [([-0.0, inf], "float32")], [-0.0, nan])
    check_each(lambda x: x.tanh(), [([-0.0, inf, -inf], "float32")], [-0.0, 1.0, -1.0])


def test_gradients_at_corners() -> None:
    assert slope(lambda x: x.asinh(), [0]) == [1]
    assert slope(lambda x: x.abs(), [0, -2, 2]) == [0, -1, 1]
    assert slope(lambda x: x.norm(), [0, 0]) == [0, 0]
    assert slope(lambda x: x.relu(), [-1, 0, 1]) == [0, 0, 1]
    assert slope(lambda x: x.maximum(1), [0, 1, 2]) == [0, 0.5, 1]
    assert slope(lambda x: x.minimum(1), [0, 1, 2]) == [1, 0.5, 0]
    assert slope(lambda x: x.clamp(-1, 1), [-2, -1, 0, 1, 2]) == [0, 1, 1, 1, 0]
    assert slope(lambda x: x.max(), [2, 5, 5, 1]) == [0, 0.5, 0.5, 0]
    assert slope(lambda x: x.sign(), [0, 3]) == [0, 0]


def test_activations_that_saturate() -> None:
    small = 3.783505853677006e-44
    check_each(lambda x: x.softplus(), [([100.0, -100.0], "float32")], [100.0, small], rel=0.02)
    check_same(slope(lambda x: x.softplus(), [100, -100]), [1, small], rel=0.02)
    for steep in slope(lambda x: x.sigmoid(), [-100, 100]):
        assert 0 <= steep < 1e-40
    check_each(lambda x: x.logsigmoid(), [([-200.0, 200.0], "float32")], [-200.0, -0.0])
    values = [-30.0, 30.0, 1e10]
    check_each(lambda x: x.gelu(), [(values, "float32")], [-0.0, 30.0, 1e10])
    check_same(slope(lambda x: x.gelu(), [-30, 30]), [0.0, 1.0])
    for name in ("silu", "mish"):
        far = [([-200.0, 200.0], "float32")]
        check_each(lambda x, name=name: getattr(x, name)(), far, [-0.0, 200.0])
    check_each(lambda x: x.sigmoid(), [([-inf, inf, 0.0], "float32")], [0.0, 1.0, 0.5])


@pytest.mark.parametrize("dtype", FLOATS)
def test_signs_of_zeros_and_infinities(dtype: str) -> None:
    columns = [([1.0, -0.0, inf, 2.0, nan], dtype), ([-0.0, 1.0, -1.0, -inf, -1.0], dtype)]
    check_each(lambda x, y: x.copysign(y), columns, [-1.0, 0.0, -inf, -2.0, nan], dtype=dtype)
    check_each(lambda x: x.abs(), [([-0.0, -inf], dtype)], [0.0, inf], dtype=dtype)
    check_each(lambda x: x.sign(), [([-3.0, inf, nan], dtype)], [-1.0, 1.0, nan], dtype=dtype)


def test_no_algebra_that_floats_do_not_have() -> None:
    check_each(lambda x: x * 0, [([inf, nan, -1.0], "float32")], [nan, nan, -0.0])
    check_each(lambda x: x - x, [([inf, 1.0], "float32")], [nan, 0.0])
    check_each(lambda x: x / x, [([0.0, inf, 2.0], "float32")], [nan, nan, 1.0])
    check_each(lambda x: (x + 1e8) - 1e8, [([1.0], "float32")], [0.0])
    check_each(lambda x: x * 3 / 3, [([3e38], "float32")], [inf])
    check_each(lambda x: x.eq(x), [([nan, 1.0], "float32")], [False, True])
    check_each(lambda x: x.ne(x), [([nan, 1.0], "float32")], [True, False])
    check_each(lambda x: x + 0, [([-0.0], "float32")], [0.0])
    check_each(lambda x: 0 - x, [([0.0], "float32")], [0.0])
    check_each(lambda x: -x, [([0.0], "float32")], [-0.0])
    check_each(lambda x: (x < 1).logical_not(), [([nan, 2.0], "float32")], [True, True])


def test_products_and_sums_are_rounded_one_by_one() -> None:
    x = float(np.float32(1 + 2**-12))
    columns = [([x], "float32"), ([-(x * x)], "float32")]
    exact = float(np.float32(np.float32(x) * np.float32(x)) + np.float32(-(x * x)))
    check_each(lambda x, y: x * x + y, columns, [exact])


def test_close_is_said_of_equal_infinities() -> None:
    values = [([1.0, 1 + 1e-7, 2.0, inf, -inf, nan], "float32")]
    yes, no = True, False
    check_each(lambda x: x.isclose(1.0), values, [yes, yes, no, no, no, no])
    columns = [([inf, inf, nan], "float32"), ([inf, -inf, nan], "float32")]
    check_each(lambda x, y: x.isclose(y), columns, [yes, no, no])
    check_each(lambda x, y: x.isclose(y, equal_nan=True), columns, [yes, no, yes])


LOGITS = [[1, 2, 0.5], [3, 0.4, 0], [0, 0, 0]]
CLASSES = [0, 1, -100]


def test_losses_leave_out_what_is_ignored() -> None:
    x, y = tensor(LOGITS), tensor(CLASSES)
    weights = tensor([0.2, 0.3, 0.5])
    assert x.cross_entropy(y).item() == pytest.approx(2.09066, rel=1e-5)
    smooth = x.cross_entropy(y, label_smoothing=0.2).item()
    assert smooth == pytest.approx(2.00066, rel=1e-5)
    assert smooth == pytest.approx(x[:2].cross_entropy(y[:2], label_smoothing=0.2).item(), rel=1e-6)
    total = x.cross_entropy(y, label_smoothing=0.2, reduction="sum").item()
    assert total == pytest.approx(4.00132, rel=1e-5)
    weighted = x.cross_entropy(y, weight=weights, label_smoothing=0.2).item()
    assert weighted == pytest.approx(2.2809, rel=1e-4)
    nobody = tensor([-100] * 3)
    assert np.isnan(x.cross_entropy(nobody).item())
    assert x.cross_entropy(nobody, reduction="sum").item() == 0
    (gradient,) = x.cross_entropy(y).gradient(x)
    assert gradient.tolist()[2] == [0, 0, 0]


def test_the_logarithm_of_no_chance_is_cut() -> None:
    """The policy "losses"."""
    zero_one, ones = tensor([0.0, 1.0]), tensor([1.0, 1.0])
    assert zero_one.binary_crossentropy(ones).item() == 50
    logits = tensor([200.0, -200.0]).binary_crossentropy_logits(zero_one, reduction="none")
    assert logits.tolist() == [200, 200]
    assert zero_one.binary_crossentropy(ones).gradient(zero_one)[0].tolist() == [0, -0.5]


def test_batch_norm_divides_by_n_and_remembers_n_minus_1() -> None:
    layer = BatchNorm(1, momentum=1.0, affine=False, eps=1e-12)
    with Tensor.train():
        result = layer(tensor([[1.0], [3.0]]))
        assert result.flatten().tolist() == pytest.approx([-1, 1])
        assert layer.running_mean.tolist() == [2]
        assert layer.running_var.tolist() == [2]
        with pytest.raises(TinyError):
            layer(tensor([[1.0]]))
    assert layer.running_var.tolist() == [2]
