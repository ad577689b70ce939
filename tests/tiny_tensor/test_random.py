"""Random tensors: one stream, positions fixed when a tensor is made, equal in any order."""

from __future__ import annotations

import numpy
import pytest

from tiny_ir import ArgumentError, ArgumentTypeError, DType, Op, RandomError, dtypes, meaning
from tiny_tensor import Session, Tensor, current_session

pytestmark = pytest.mark.usefixtures("session")


def test_order_of_realization_does_not_matter() -> None:
    Tensor.manual_seed(3)
    a, b = Tensor.rand(5), Tensor.randn(5)
    first = (a.tolist(), b.tolist())
    Tensor.manual_seed(3)
    a, b = Tensor.rand(5), Tensor.randn(5)
    assert (b.tolist(), a.tolist()) == (first[1], first[0])


def test_elements_are_draws_of_one_stream_by_position() -> None:
    Tensor.manual_seed(3)
    whole = Tensor.rand(10).tolist()
    Tensor.manual_seed(3)
    parts = Tensor.rand(4).tolist() + Tensor.rand(2, 3).reshape(6).tolist()
    assert whole == parts


def test_a_draw_is_threefry_of_position_and_key() -> None:
    Tensor.manual_seed(12345)
    draw = meaning(Op.THREEFRY, dtypes.uint64)
    wanted = [(draw(position, 12345) >> 40) / 2**24 for position in range(6)]
    assert Tensor.rand(6).tolist() == wanted


def test_a_view_of_a_random_tensor_has_its_elements() -> None:
    Tensor.manual_seed(1)
    x = Tensor.rand(3, 4)
    part = x[1:, ::2].tolist()
    assert part == [row[::2] for row in x.tolist()[1:]]


def test_seeds_give_different_numbers_and_one_kernel(session: Session) -> None:
    Tensor.manual_seed(1)
    one = Tensor.rand(4).tolist()
    schedules = session.counters.schedules + session.counters.cached_schedules
    Tensor.manual_seed(2)
    other = Tensor.rand(4).tolist()
    assert one != other
    assert session.counters.schedules + session.counters.cached_schedules == schedules


def test_the_stream_goes_on_past_the_low_word() -> None:
    Tensor.manual_seed(9)
    current_session().random.take(2**32 - 2)
    draw = meaning(Op.THREEFRY, dtypes.uint64)
    wanted = [(draw(2**32 - 2 + n, 9) >> 40) / 2**24 for n in range(4)]
    assert Tensor.rand(4).tolist() == wanted


@pytest.mark.parametrize("dtype", [dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64])
def test_rand_lies_from_0_up_to_1(dtype: DType) -> None:
    values = Tensor.rand(4000, dtype=dtype).numpy().astype(numpy.float64)
    assert values.min() >= 0
    assert values.max() < 1
    assert abs(values.mean() - 0.5) < 0.03
    assert abs(values.var() - 1 / 12) < 0.01


def test_randn_is_normal() -> None:
    values = Tensor.randn(20000).numpy().astype(numpy.float64)
    assert abs(values.mean()) < 0.03
    assert abs(values.std() - 1) < 0.03
    assert abs((values**3).mean()) < 0.1
    assert abs((values**4).mean() - 3) < 0.3


def test_randint_reaches_both_ends_and_no_further() -> None:
    values = Tensor.randint(2000, low=-3, high=4).tolist()
    assert set(values) == set(range(-3, 4))  # type: ignore[arg-type]


def test_randint_spans_the_widest_dtypes() -> None:
    low = Tensor.randint(64, low=-(2**63), high=2**63, dtype="int64").numpy()
    assert low.min() < -(2**60)
    assert low.max() > 2**60
    high = Tensor.randint(64, low=0, high=2**64, dtype="uint64").numpy()
    assert high.max() > 2**63


def test_uniform_and_normal_are_scaled() -> None:
    values = Tensor.uniform(3000, low=-2.0, high=6.0).numpy()
    assert -2 <= values.min() < -1.9
    assert 5.9 < values.max() <= 6
    values = Tensor.normal(3000, mean=10.0, std=0.5).numpy()
    assert abs(values.mean() - 10) < 0.05
    assert abs(values.std() - 0.5) < 0.05


def test_weights_have_the_bound_of_their_sizes() -> None:
    bound = (6 / (20 + 30)) ** 0.5
    assert abs(Tensor.glorot_uniform(20, 30).numpy()).max() <= bound
    assert abs(Tensor.scaled_uniform(10, 10).numpy()).max() <= 0.1
    assert abs(Tensor.kaiming_uniform(10, 24).numpy()).max() <= 0.5
    assert abs(Tensor.kaiming_normal(40, 50).numpy().std() - 0.2) < 0.02


def test_wrong_questions_are_refused_at_the_call() -> None:
    with pytest.raises(RandomError, match="int32"):
        Tensor.rand(3, dtype="int32")
    with pytest.raises(ArgumentTypeError, match=r"uniform|low"):
        Tensor.randint(3, low=0.5, high=2)  # type: ignore[arg-type]  # that is the mistake
    with pytest.raises(ArgumentError, match="finds no"):
        Tensor.randint(3, low=4, high=4)
    with pytest.raises(ArgumentError, match="finds no"):
        Tensor.randint(3, low=0, high=300, dtype="uint8")
    with pytest.raises(ArgumentTypeError, match="seed"):
        Tensor.manual_seed(1.5)  # type: ignore[arg-type]  # that is the mistake


def test_a_permutation_has_every_number_once() -> None:
    Tensor.manual_seed(4)
    for n in (0, 1, 2, 17, 1000):
        order = Tensor.randperm(n).tolist()
        assert sorted(order) == list(range(n))  # type: ignore[arg-type, type-var]
    assert Tensor.randperm(1000).tolist() != Tensor.randperm(1000).tolist()
    with pytest.raises(ArgumentError, match="no permutation"):
        Tensor.randperm(300, dtype="uint8")


def test_positions_are_drawn_by_weight() -> None:
    weights = Tensor([0.0, 1.0, 3.0, 0.0, 6.0, 0.0])
    drawn = weights.multinomial(4000, replacement=True).numpy()
    shares = [(drawn == n).mean() for n in range(6)]
    assert shares[0] == shares[3] == shares[5] == 0
    assert numpy.allclose(shares, [0, 0.1, 0.3, 0, 0.6, 0], atol=0.03)


def test_positions_are_drawn_once_without_replacement() -> None:
    weights = Tensor([[1.0, 2.0, 3.0, 4.0]] * 300)
    drawn = weights.multinomial(3).numpy()
    assert drawn.shape == (300, 3)
    assert all(len(set(row)) == 3 for row in drawn)
    assert abs((drawn[:, 0] == 3).mean() - 0.4) < 0.1
    only = Tensor([0.0, 1.0, 0.0, 2.0]).multinomial(2).tolist()
    assert sorted(only) == [1, 3]  # type: ignore[arg-type, type-var]
    with pytest.raises(ArgumentError, match="different positions"):
        Tensor([1.0, 2.0]).multinomial(3)
