"""A captured function does the same as the function, call after call."""

from __future__ import annotations

import operator
import pickle
from collections.abc import Callable, Sequence

import numpy
import pytest

from tiny_ir import JitError
from tiny_tensor import Session, Tensor, TinyJit, Variable, jit

pytestmark = pytest.mark.usefixtures("session")


def test_results_are_fresh() -> None:
    @jit
    def following(x: Tensor) -> Tensor:
        return x + 1

    kept = [following(Tensor([n])) for n in range(4)]
    assert [result.tolist() for result in kept] == [[1], [2], [3], [4]]


def test_a_python_value_is_part_of_the_key() -> None:
    @jit
    def shifted(x: Tensor, k: int) -> Tensor:
        return x + k

    assert [shifted(Tensor([0]), k).item() for k in range(5)] == [0, 1, 2, 3, 4]
    assert shifted.captures() == 5


def test_true_is_not_one_in_a_key() -> None:
    @jit
    def scaled(x: Tensor, k: object) -> Tensor:
        return x * (10 if k is True else 2)

    assert scaled(Tensor([1]), 1).item() == 2
    assert scaled(Tensor([1]), True).item() == 10


def test_shape_and_dtype_are_part_of_the_key() -> None:
    @jit
    def doubled(x: Tensor) -> Tensor:
        return x + x

    assert doubled(Tensor([1])).tolist() == [2]
    assert doubled(Tensor([1, 2])).tolist() == [2, 4]
    assert doubled(Tensor([1.5])).tolist() == [3.0]
    assert doubled.captures() == 3


def test_a_write_to_an_argument_is_replayed() -> None:
    @jit
    def step(w: Tensor) -> Tensor:
        loss = (w * 2).sum()
        w.assign(w + 1)
        return loss

    w = Tensor([0])
    seen = [(step(w).item(), w.item()) for _ in range(5)]
    assert seen == [(0, 1), (2, 2), (4, 3), (6, 4), (8, 5)]


def test_a_write_to_a_tensor_of_its_own_is_replayed() -> None:
    w = Tensor([0])

    @jit
    def step() -> Tensor:
        loss = (w * 2).sum()
        w.assign(w + 1)
        return loss

    seen = [(step().item(), w.item()) for _ in range(5)]
    assert seen == [(0, 1), (2, 2), (4, 3), (6, 4), (8, 5)]


def test_a_part_that_is_written_is_replayed_where_it_lies() -> None:
    history = Tensor.zeros(4, dtype="int32")

    @jit
    def push(x: Tensor) -> Tensor:
        history[:-1].assign(history[1:])
        history[-1:].assign(x)
        return history.sum()

    assert [push(Tensor([n])).item() for n in range(1, 6)] == [1, 3, 6, 10, 14]
    assert history.tolist() == [2, 3, 4, 5]


def test_a_version_that_is_still_read_is_not_lost_by_a_replay() -> None:
    x = Tensor([1, 2, 3])

    @jit
    def put(value: Tensor) -> None:
        x[:1].assign(value)

    put(Tensor([10]))
    reader = x * 2
    alias = Tensor(x)
    put(Tensor([20]))
    assert x.tolist() == [20, 2, 3]
    assert reader.tolist() == [20, 4, 6]
    assert alias.tolist() == [10, 2, 3]


def test_a_result_is_an_argument_of_the_next_call() -> None:
    @jit
    def shift(b: Tensor, new: Tensor) -> Tensor:
        moved = b.contiguous()
        moved[:2].assign(b[1:])
        moved[2:].assign(new)
        return moved

    b = Tensor([0, 0, 0])
    for n in range(1, 7):
        b = shift(b, Tensor([n]))
        assert b.tolist() == [max(0, n - 2), max(0, n - 1), n]


def test_containers_go_in_and_out() -> None:
    @jit
    def both(parts: Sequence[Tensor], named: dict[str, Tensor]) -> dict[str, object]:
        total = parts[0] + parts[1] + named["c"]
        return {"total": total, "others": [parts[0] * 2, (named["c"], 7)]}

    for n in (1, 5):
        found = both([Tensor([n]), Tensor([2])], {"c": Tensor([3])})
        total, others = found["total"], found["others"]
        assert isinstance(total, Tensor)
        assert isinstance(others, list)
        assert total.tolist() == [n + 5]
        assert others[0].tolist() == [2 * n]
        assert others[1][0].tolist() == [3]
        assert others[1][1] == 7


def test_a_returned_argument_is_the_argument() -> None:
    @jit
    def same(x: Tensor) -> tuple[Tensor, Tensor]:
        x.assign(x + 1)
        return x, x[0]

    x = Tensor([1, 2])
    for n in (2, 3):
        result, first = same(x)
        assert result is x
        assert first.item() == n
    x[0].assign(50)
    assert first.item() == 50


def test_a_tensor_that_is_returned_twice_is_one_tensor() -> None:
    @jit
    def twice(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        y = x + 1
        return y, y, y[1:]

    for _ in range(2):
        one, same, view = twice(Tensor([1, 2]))
        assert one is same
        one.assign(Tensor([8, 9]))
        assert view.tolist() == [9]


def test_equal_data_in_two_boxes_is_written_apart() -> None:
    w = Tensor([1, 2])

    @jit
    def step(x: Tensor) -> None:
        w[:1].assign(x[1:])

    x = Tensor([5, 6])
    step(x)
    w.assign(x)
    step(x)
    assert w.tolist() == [6, 6]
    assert x.tolist() == [5, 6]


def test_a_slice_of_a_larger_tensor_is_an_argument() -> None:
    data = Tensor(numpy.arange(12, dtype=numpy.int32).reshape(6, 2))

    @jit
    def total(x: Tensor) -> Tensor:
        return x.sum(0)

    sums = [total(data[n : n + 2]).tolist() for n in (0, 2, 4)]
    assert sums == [[2, 4], [10, 12], [18, 20]]
    assert total.captures() == 1


def test_a_write_to_a_slice_reaches_the_larger_tensor() -> None:
    @jit
    def grow(x: Tensor) -> None:
        x.assign(x * 10)

    data = Tensor([[1, 2], [3, 4], [5, 6]])
    grow(data[1])
    grow(data[2])
    assert data.tolist() == [[1, 2], [30, 40], [50, 60]]


def test_a_method_is_captured_with_its_object() -> None:
    class Counter:
        def __init__(self, start: int) -> None:
            self.count = Tensor([start])

        @jit
        def step(self, by: Tensor) -> Tensor:
            self.count.assign(self.count + by)
            return self.count * 1

    a, b = Counter(0), Counter(100)
    assert [a.step(Tensor([1])).item() for _ in range(3)] == [1, 2, 3]
    assert [b.step(Tensor([1])).item() for _ in range(3)] == [101, 102, 103]


def test_random_draws_go_on_as_without_capture() -> None:
    @jit
    def noise(x: Tensor) -> Tensor:
        return Tensor.rand(2) + Tensor.rand(2) * x

    Tensor.manual_seed(7)
    captured = [noise(Tensor([2.0])).tolist() for _ in range(3)]
    Tensor.manual_seed(7)
    plain = [noise.function(Tensor([2.0])).tolist() for _ in range(3)]
    assert captured == plain
    assert captured[0] != captured[1]


def test_a_captured_function_may_call_another() -> None:
    @jit
    def inner(x: Tensor) -> Tensor:
        return x * 3

    @jit
    def outer(x: Tensor) -> Tensor:
        return inner(x) + inner(x + 1)

    assert [outer(Tensor([n])).item() for n in (1, 2)] == [9, 15]
    assert inner.captures() == 0


def test_realize_inside_is_no_harm() -> None:
    @TinyJit
    def halves(x: Tensor) -> Tensor:
        y = (x * 2).realize()
        return (y + 1).realize()

    assert [halves(Tensor([n])).item() for n in (1, 2)] == [3, 5]


def test_pending_tensors_are_computed_before_a_replay() -> None:
    w = Tensor([1, 2]) + 1

    @jit
    def scaled(x: Tensor) -> Tensor:
        return x * w

    assert scaled(Tensor([10, 10]) + 0).tolist() == [20, 30]
    w.assign(w * 2)
    assert scaled(Tensor([10, 10])).tolist() == [40, 60]


def _reads_a_number(x: Tensor) -> Tensor:
    return x + x.item()


def _reads_a_list(x: Tensor) -> Tensor:
    return x + Tensor((x * 2).tolist())


@pytest.mark.parametrize("function", [_reads_a_number, _reads_a_list])
def test_reading_numbers_inside_is_refused(function: Callable[[Tensor], Tensor]) -> None:
    with pytest.raises(JitError, match="asks for the numbers"):
        jit(function)(Tensor([1]))
    x = Tensor([5])
    assert (x + 1).tolist() == [6]


def test_numbers_that_are_the_same_each_time_may_be_read() -> None:
    @jit
    def add(x: Tensor) -> Tensor:
        return x + Tensor([1, 2]).sum().item()

    assert [add(Tensor([n])).item() for n in (1, 2)] == [4, 5]


def test_keeping_a_tensor_outside_is_refused() -> None:
    kept: list[Tensor] = []

    @jit
    def leak(x: Tensor) -> Tensor:
        kept.append(x + 1)
        return kept[-1] * 2

    with pytest.raises(JitError, match="keeps a tensor"):
        leak(Tensor([1]))


def test_a_tensor_that_was_replaced_is_noticed() -> None:
    class Model:
        weight = Tensor([1])

    model = Model()
    model.weight = Tensor([2])

    @jit
    def scaled(x: Tensor) -> Tensor:
        return x * model.weight

    assert scaled(Tensor([10])).item() == 20
    model.weight = Tensor([3])
    with pytest.raises(JitError, match="no longer exists"):
        scaled(Tensor([10]))


def test_arrays_are_refused_as_arguments() -> None:
    @jit
    def doubled(x: object) -> Tensor:
        return Tensor(x) * 2

    with pytest.raises(JitError, match="ndarray"):
        doubled(numpy.ones(3))


def test_one_tensor_by_two_ways_is_refused_where_it_is_written() -> None:
    w = Tensor([1, 2])

    @jit
    def step(x: Tensor) -> None:
        w.assign(w + x)

    step(Tensor([1, 1]))
    with pytest.raises(JitError, match="another way"):
        step(w)


def test_an_error_inside_leaves_tensors_as_they_were(session: Session) -> None:
    x = Tensor([1, 2])

    @jit
    def fails(y: Tensor) -> Tensor:
        x.assign(y)
        raise ValueError("on purpose")

    with pytest.raises(ValueError, match="on purpose"):
        fails(Tensor([5, 6]))
    assert session.capture is None
    assert x.tolist() == [1, 2]


def test_a_bound_size_is_no_part_of_the_key(session: Session) -> None:
    n = Variable("n", 1, 10)

    @jit
    def part(x: Tensor, k: object) -> tuple[Tensor, Tensor]:
        return x[:k] * 2, x[:k].sum()

    for k in (2, 7, 10):
        doubled, total = part(Tensor.arange(10), n.bind(k))
        assert doubled.tolist() == [2 * i for i in range(k)]
        assert total.item() == sum(range(k))
    assert part.captures() == 1


def test_an_argument_of_bound_size_is_captured_once() -> None:
    n = Variable("n", 1, 10)
    x = Tensor.arange(10)

    @jit
    def doubled(part: Tensor) -> Tensor:
        return part * 2

    for k in (2, 7):
        assert doubled(x[: n.bind(k)]).tolist() == [2 * i for i in range(k)]
    assert doubled.captures() == 1


def test_a_bound_index_is_written() -> None:
    place = Variable("place", 0, 9)
    x = Tensor.zeros(10, dtype="int32")

    @jit
    def put(at: object, value: Tensor) -> Tensor:
        x[at].assign(value)
        return x.sum()

    assert [put(place.bind(k), Tensor(k)).item() for k in (1, 4, 9)] == [1, 5, 14]
    assert x.tolist() == [0, 1, 0, 0, 4, 0, 0, 0, 0, 9]


def test_gradients_that_are_left_behind_are_not_kept() -> None:
    w = Tensor([2.0, 3.0])

    @jit
    def step(x: Tensor) -> Tensor:
        loss = (w * x).sum()
        loss.backward()
        assert w.grad is not None
        w.assign(w - w.grad)
        return loss

    x = Tensor([1.0, 10.0])
    assert [step(x).item() for _ in range(2)] == [32.0, -69.0]
    assert w.tolist() == [0.0, -17.0]
    assert w.grad is None
    assert x.grad is None


def test_results_of_a_replay_can_be_differentiated() -> None:
    w = Tensor([2.0, 3.0])

    @jit
    def loss(x: Tensor, n: float) -> Tensor:
        return (x * x * w * n).sum()

    for at in range(3):
        x = Tensor([1.0, 4.0 + at])
        slopes = loss(x * 1, 2.0).gradient(w), loss(x, 2.0).gradient(x)
        assert [slope.tolist() for (slope,) in slopes] == [
            [2, 2 * (4 + at) ** 2],
            [8, 12 * (4 + at)],
        ]


def test_random_numbers_of_a_replay_are_those_of_its_gradient() -> None:
    @jit
    def noisy(x: Tensor) -> Tensor:
        return x * Tensor.rand(3)

    for _ in range(3):
        x = Tensor([1.0, 2.0, 3.0])
        y = noisy(x)
        assert (y.sum().gradient(x)[0] * x).tolist() == pytest.approx(y.tolist())


def test_a_gradient_flows_to_arguments_that_are_parts_of_tensors() -> None:
    squared = jit(lambda x: x * x)
    for _ in range(3):
        x = Tensor([[1.0, 2.0], [3.0, 4.0]])
        assert squared(x[1]).sum().gradient(x)[0].tolist() == [[0, 0], [6, 8]]
        assert squared(x[:, 1]).sum().gradient(x)[0].tolist() == [[0, 4], [0, 8]]


def test_a_gradient_flows_to_what_a_replay_wrote_with() -> None:
    state = Tensor([1.0, 2.0])

    @jit
    def put(x: Tensor) -> Tensor:
        state[:1].assign(x * x)
        return state * 2

    for at in range(3):
        x = Tensor([3.0 + at])
        doubled = put(x)
        assert doubled.sum().gradient(x)[0].tolist() == [4 * (3 + at)]
        assert state.sum().gradient(x)[0].tolist() == [2 * (3 + at)]


@jit
def twice(x: Tensor) -> Tensor:
    """A captured function that pickle finds by its name."""
    return x + x


def test_a_captured_function_is_pickled_without_what_was_captured() -> None:
    assert twice(Tensor([1])).tolist() == [2]
    assert pickle.loads(pickle.dumps(twice)) is twice
    other = pickle.loads(pickle.dumps(jit(operator.neg)))
    assert other(Tensor([1])).tolist() == [-1]
    assert other.captures() == 1
