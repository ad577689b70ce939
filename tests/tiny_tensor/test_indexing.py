"""Reading and writing parts equals NumPy for every kind of key."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from tiny_ir import (
    ArgumentError,
    ArgumentTypeError,
    DTypeError,
    IndexingError,
    Op,
    ShapeError,
    dtypes,
    make,
)
from tiny_tensor import Session, Tensor, Variable, jit

pytestmark = pytest.mark.usefixtures("session")

Array = np.ndarray[Any, Any]
nan, inf = float("nan"), float("inf")


def counted(*shape: int) -> tuple[Tensor, Array]:
    array = np.arange(1, 1 + int(np.prod(shape)), dtype=np.int32).reshape(shape)
    return Tensor(array), array


def same(actual: Tensor, expected: Any) -> bool:
    array = actual.numpy()
    return array.shape == np.shape(expected) and np.array_equal(array, expected)


KEYS: list[Any] = [
    0,
    -1,
    (1, 2),
    (slice(None), 1),
    slice(1, None),
    slice(None, None, 2),
    slice(None, None, -1),
    (slice(3, 0, -2), slice(1, None)),
    (Ellipsis, 0),
    (None, slice(None), None),
    (Ellipsis, None, 1),
    (slice(1, 1),),
    np.int64(1),
    [0, 2],
    ([0, -1, 2],),
    (slice(None), [1, 3]),
    ([0, 1], [2, 3]),
    ([[0, 1], [2, 3]], [1, 2]),
    (0, slice(None), [1, 0]),
    ([0, 1], slice(None), 1),
    (slice(None), 0, [1, 0]),
    (None, [0, 1]),
    (slice(1, None), [0, 3]),
    (Ellipsis, [1]),
    np.array([3, 0]),
    (np.array([[1], [2]]), np.array([0, 1])),
    [],
    (2, [0, 1], [1, 0]),
    ([1, 2], None, [0, 1]),
]


def is_key_of(key: Any, array: Array) -> bool:
    try:
        array[key]
    except IndexError:
        return False
    return True


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_reading_equals_numpy(key: Any) -> None:
    x, y = counted(4, 4, 2)
    theirs = np.array([], np.int64) if isinstance(key, list) and not key else key
    assert is_key_of(theirs, y) is True
    assert same(x[key], y[theirs])


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_writing_equals_numpy(key: Any) -> None:
    x, y = counted(4, 4, 2)
    theirs = np.array([], np.int64) if isinstance(key, list) and not key else key
    x[key] = -1
    y[theirs] = -1
    assert same(x, y)
    values = -2 - np.arange(y[theirs].size, dtype=np.int32).reshape(y[theirs].shape)
    x[key] = Tensor(values)
    y[theirs] = values
    assert same(x, y)


@pytest.mark.parametrize(
    "key",
    [slice(9, 0, -1), slice(9, 0, -3), slice(0, 5, -1), slice(None, None, -4)]
    + [slice(-1, -12, -1), slice(20, 5, -2), slice(100, None), slice(-3, 100), slice(-20, 2)],
    ids=str,
)
def test_slices_are_clamped_as_python_clamps_them(key: slice) -> None:
    assert Tensor.arange(10)[key].tolist() == list(range(10))[key]


def test_random_keys_equal_numpy() -> None:
    dice = random.Random(3)
    for _ in range(70):
        x, y = counted(*(dice.randint(1, 4) for _ in range(dice.randint(1, 4))))
        key: list[Any] = []
        for size in y.shape:
            if dice.random() < 0.15:
                key.append(None)
            kind = dice.randrange(5)
            if kind == 0:
                key.append(dice.randint(-size, size - 1))
            elif kind == 1:
                ends = [dice.choice([None, *range(-5, 6)]) for _ in range(2)]
                key.append(slice(*ends, dice.choice([None, 1, 2, -1, -2])))
            elif kind == 2:
                key.append([dice.randint(-size, size - 1) for _ in range(2)])
            elif kind == 3:
                key.append([[dice.randint(-size, size - 1)] for _ in range(3)])
            else:
                key.append(slice(None))
        if dice.random() < 0.3:
            key[dice.randrange(len(key)) :] = [Ellipsis]
        whole = tuple(key)
        assert same(x[whole], y[whole]), whole
        if y[whole].size:
            x[whole] = 0
            y[whole] = 0
            assert same(x, y), whole


def test_writes_of_the_cases() -> None:
    def written(key: Any, value: Any) -> list[Any]:
        x = Tensor.zeros(4, 4, dtype="int32")
        x[key] = value
        return x.tolist()  # type: ignore[return-value]

    rows = written((slice(3, 0, -2), slice(1, None)), [1, 2, 3])
    assert rows == [[0] * 4, [0, 1, 2, 3], [0] * 4, [0, 1, 2, 3]]
    columns = written((slice(None), [0, 2]), [[1], [2], [3], [4]])
    assert columns == [[n, 0, n, 0] for n in (1, 2, 3, 4)]
    assert written([1, 1, 3], [[1], [2], [3]]) == [[0] * 4, [2] * 4, [0] * 4, [3] * 4]
    places = written(([[0, 1], [2, 3]], [1, 2]), 7)
    assert places == [[0, 7, 0, 0], [0, 0, 7, 0], [0, 7, 0, 0], [0, 0, 7, 0]]
    assert written(slice(2, 2), 9) == [[0] * 4] * 4


def test_operators_in_place_on_parts() -> None:
    x, y = counted(3, 4)
    x[1] += 10
    x[:, [0, 2]] *= 2
    x[x > 20] -= 1
    y[1] += 10
    y[:, [0, 2]] *= 2
    y[y > 20] -= 1
    assert same(x, y)


def test_masks_read_and_write() -> None:
    x, y = counted(3, 4)
    for mask in (y > 5, y < 0, y > 0):
        assert same(x[Tensor(mask)], y[mask])
        assert same(x[mask], y[mask])
    rows = np.array([True, False, True])
    assert same(x[Tensor(rows)], y[rows])
    assert same(x[Tensor(rows), 1], y[rows, 1])
    columns = np.array([True, False, False, True])
    assert same(x[:, Tensor(columns)], y[:, columns])
    assert same(x[Tensor([True, False, False]), [0, 1]], y[[0], [0, 1]])
    x[x > 5] = 0
    y[y > 5] = 0
    assert same(x, y)
    x[Tensor(rows)] = Tensor([7, 8, 9, 10])
    y[rows] = [7, 8, 9, 10]
    assert same(x, y)
    x[Tensor(columns[:3])] = Tensor([[1, 1, 1, 2]])
    y[columns[:3]] = [[1, 1, 1, 2]]
    x[x == 1] = Tensor([3, 4, 5])
    y[y == 1] = [3, 4, 5]
    assert same(x, y)
    with pytest.raises(IndexingError, match="mask of shape"):
        x[Tensor([True, False])]


def test_bools_and_masks_of_nothing_are_masks() -> None:
    x, y = counted(3, 2)
    assert same(x[True], y[True])
    assert same(x[0, False], y[0, False])
    none = np.zeros((0,), bool)
    empty, array = counted(2, 0, 3)
    assert same(empty[:, none], array[:, none])
    empty[:, none] = 7
    x[True] = 5
    y[True] = 5
    assert same(x, y)


def test_an_ellipsis_for_no_axis_parts_tensors() -> None:
    x, y = counted(2, 3, 4)
    assert same(x[:, [0, 1], ..., [2, 3]], y[:, [0, 1], ..., [2, 3]])


def test_values_go_where_a_mask_is_true_in_order() -> None:
    x, y = counted(3, 4, 2)
    masks: list[Array] = [y[..., 0] % 3 == 0, y[:, 0, 0] > 5]
    for mask in masks:
        values = -np.arange(y[mask].size, dtype=np.int32).reshape(y[mask].shape)
        x[Tensor(mask)] = Tensor(values)
        y[mask] = values
        assert same(x, y)
    columns = np.array([True, False, True, True])
    x[1, Tensor(columns)] = Tensor(values[0, :3])
    y[1, columns] = values[0, :3]
    assert same(x, y)


def test_values_through_a_mask_have_gradients() -> None:
    x, values = Tensor([1.0, 2.0, 3.0]), Tensor([3.0, 4.0])
    x[Tensor([True, False, True])] = values * values
    assert x.sum().gradient(values)[0].tolist() == [6, 8]
    x.realize()
    assert x.sum().gradient(values)[0].tolist() == [6, 8]


def test_a_captured_function_writes_values_through_a_mask() -> None:
    @jit
    def written(x: Tensor, mask: Tensor, values: Tensor) -> Tensor:
        y = x.clone()
        y[mask] = values
        return y

    x, values = Tensor([1, 2, 3]), Tensor([8, 9])
    assert written(x, Tensor([True, False, True]), values).tolist() == [8, 2, 9]
    assert written(x, Tensor([True, True, False]), values).tolist() == [8, 9, 3]


def test_the_number_of_values_through_a_mask_is_checked_at_the_next_read() -> None:
    x, mask = Tensor([1, 2, 3, 4]), Tensor([True, False, False, True])
    x[mask] = Tensor([5, 6, 7])
    x[mask] = Tensor([7, 8])
    with pytest.raises(ShapeError, match="3 values were written where a mask is true at 2"):
        Tensor([1]).tolist()
    assert x.tolist() == [7, 2, 3, 8]


def test_more_values_than_a_mask_has_elements_are_refused_at_once() -> None:
    with pytest.raises(ShapeError, match="3 values"):
        Tensor([1, 2])[Tensor([True, True])] = Tensor([1, 2, 3])


def test_expectations_hold_nothing_alive(session: Session) -> None:
    x = Tensor([1, 2, 3, 4])
    for _ in range(5):
        x[Tensor([True, False, False, True])] = Tensor([7, 8])
        x.realize()
    assert len(session._memories) <= 4


def test_a_scatter_of_nothing_writes_nothing() -> None:
    table = Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    n = Variable("n", 0, 4)
    for count in (0, n.bind(0)):
        row = Tensor([7.0, 8.0, 9.0]).reshape(1, 3).expand(4, 3)[:count]
        one = Tensor(1).reshape(1).expand(4)[:count]
        for op in (None, Op.ADD):
            node = make(Op.SCATTER, None, (table.uop, row.uop, one.uop), op)
            assert Tensor._from_uop(node).tolist() == table.tolist()


def test_positions_out_of_range_read_zero_and_write_nothing() -> None:
    x = Tensor([1.0, 2.0, 3.0])
    places = Tensor([3, -1, -4])
    assert x[places].tolist() == [0, 3, 0]
    (gradient,) = x[places].sum().gradient(x)
    assert gradient.tolist() == [0, 0, 1]
    x[places] = 9
    assert x.tolist() == [1, 2, 9]


def test_narrow_positions_reach_the_whole_axis() -> None:
    x = Tensor.arange(300)
    assert x[Tensor([-1, 5], dtype="int8")].tolist() == [299, 5]
    assert x[Tensor([255], dtype="uint8")].tolist() == [255]


def test_a_tensor_may_be_its_own_index() -> None:
    x = Tensor([2, 0, 1])
    assert x[x].tolist() == [1, 2, 0]
    assert (x + x)[x + x].tolist() == [0, 4, 2]
    counting = Tensor.arange(3)
    assert counting[counting].sum().item() == 3


def test_mistakes_are_named() -> None:
    x = Tensor.ones(3, 4)
    with pytest.raises(IndexError, match="outside of axis 0"):
        x[3]
    with pytest.raises(IndexError, match="outside of axis 1"):
        x[0, -5]
    with pytest.raises(IndexError, match="too many indices"):
        x[0, 0, 0]
    with pytest.raises(IndexError, match="ellipsis"):
        x[..., 0, ...]
    with pytest.raises(IndexError, match="step is not 0"):
        x[::0]
    with pytest.raises(IndexingError, match="not an index"):
        x[Tensor([0.5])]
    with pytest.raises(ArgumentTypeError, match="not an index"):
        x["a"]
    with pytest.raises(ArgumentTypeError, match="not an index"):
        x[1.5]
    with pytest.raises(ArgumentTypeError, match="deleted"):
        del x[0]
    with pytest.raises(ShapeError):
        x[0] = [1.0, 2.0]
    with pytest.raises(DTypeError, match="changes no dtype"):
        x[[0]] = Tensor([1])


def test_gather_equals_numpy() -> None:
    dice = np.random.RandomState(0)
    x, y = counted(3, 4, 2)
    for axis in (0, 1, -1):
        shape = [3, 4, 2]
        shape[axis] = 5
        index = dice.randint(0, y.shape[axis], shape).astype(np.int32)
        actual = x.gather(axis, Tensor(index))
        assert same(actual, np.take_along_axis(y, index, axis))
    small = Tensor([[[2], [0]]])
    assert x.gather(0, small).tolist() == [[[y[2, 0, 0]], [y[0, 1, 0]]]]
    with pytest.raises(ShapeError, match="along axis 0"):
        x.gather(0, Tensor([[1]]))
    with pytest.raises(DTypeError):
        x.gather(0, Tensor([[[1.0]]]))


def test_scatter_lets_the_last_value_stay() -> None:
    x = Tensor([0, 0, 0])
    index = Tensor([1, 1, -1])
    assert x.scatter(0, index, Tensor([5, 7, 8])).tolist() == [0, 7, 8]
    assert x.scatter(0, index, 4).tolist() == [0, 4, 4]
    assert (x + 1).scatter(0, index, Tensor([5, 7, 8]), "add").tolist() == [1, 13, 9]
    assert (x + 2).scatter(0, index, Tensor([5, 7, 8]), "multiply").tolist() == [2, 70, 16]
    rows = Tensor.zeros(2, 3, dtype="int32").scatter(1, Tensor([[2], [0]]), Tensor([[1], [2]]))
    assert rows.tolist() == [[0, 0, 1], [2, 0, 0]]
    with pytest.raises(ArgumentError, match="reduce"):
        x.scatter(0, index, 1, "max")
    with pytest.raises(DTypeError):
        x.scatter(0, index, Tensor([1.0, 1.0, 1.0]))
    with pytest.raises(ShapeError, match="value for each"):
        x.scatter(0, index, Tensor([1]))


def test_scatter_reduce_with_and_without_what_is_there() -> None:
    zeros, ones = Tensor.zeros(3), Tensor.ones(3)
    index = Tensor([0, 0, 1])
    low, high = Tensor([-5.0, -3.0, 2.0]), Tensor([2.0, 3.0, 4.0])
    for base, values, reduce, include, expected in [
        (zeros, low, "amax", False, [-3, 2, 0]),
        (zeros, low, "amax", True, [0, 2, 0]),
        (zeros, low, "amin", False, [-5, 2, 0]),
        (ones, high, "mean", False, [2.5, 4, 1]),
        (ones, high, "mean", True, [2, 2.5, 1]),
        (ones, high, "prod", False, [6, 4, 1]),
        (ones, high, "prod", True, [6, 4, 1]),
        (ones, high, "sum", False, [5, 4, 1]),
        (ones, high, "sum", True, [6, 5, 1]),
    ]:
        actual = base.scatter_reduce(0, index, values, reduce, include)  # type: ignore[arg-type]
        assert actual.tolist() == expected, (reduce, include)
    (gradient,) = zeros.scatter_reduce(0, index, low, "amax", False).sum().gradient(low)
    assert gradient.tolist() == [0, 1, 1]
    with pytest.raises(ArgumentError, match="'amax'"):
        zeros.scatter_reduce(0, index, low, "max")


def test_one_hot() -> None:
    assert Tensor([2, 0]).one_hot(3).tolist() == [[0, 0, 1], [1, 0, 0]]
    assert Tensor([[1]]).one_hot().shape == (1, 1, 2)
    assert Tensor([5, -1]).one_hot(2).tolist() == [[0, 0], [0, 0]]
    assert Tensor([0], dtype="uint8").one_hot(1).dtype is dtypes.int32
    with pytest.raises(DTypeError):
        Tensor([0.5]).one_hot(3)
    with pytest.raises(ArgumentError):
        Tensor([0]).one_hot(-2)


def test_chosen_elements_are_compacted() -> None:
    x, y = counted(3, 4)
    assert same(x.masked_select(x > 5), y[y > 5])
    assert same(x.masked_select(Tensor([True, False, True, False])), y[:, ::2].reshape(-1))
    assert x.masked_select(x > 9, size=5, fill_value=-1).tolist() == [10, 11, 12, -1, -1]
    assert x.masked_select(x > 9, size=2).tolist() == [10, 11]
    assert same((x > 5).nonzero(), np.argwhere(y > 5))
    assert (x < 3).nonzero(size=3, fill_value=-1).tolist() == [[0, 0], [0, 1], [-1, -1]]
    assert (x < 0).nonzero().shape == (0, 2)


def test_sorting_is_stable_and_puts_nan_last() -> None:
    values, places = Tensor([1.0, nan, 2.0, 0.0]).sort()
    assert values.numpy() == pytest.approx(np.array([0, 1, 2, nan]), nan_ok=True)
    assert places.tolist() == [3, 0, 2, 1]
    assert Tensor([nan, -nan, inf]).argsort().tolist() == [2, 0, 1]
    assert Tensor([0, 1, 0]).argsort(descending=True).tolist() == [1, 0, 2]
    assert Tensor([3, 1, 3, 1, 2]).argsort().tolist() == [1, 3, 4, 0, 2]
    assert Tensor([0.0, -0.0]).argsort().tolist() == [0, 1]
    extremes = Tensor([-128, 127, 0], dtype="int8")
    assert extremes.sort(descending=True)[0].tolist() == [127, 0, -128]
    assert Tensor([True, False]).sort()[0].tolist() == [False, True]
    assert Tensor(5).sort()[0].item() == 5
    assert Tensor.zeros(2, 0).argsort().shape == (2, 0)


@pytest.mark.parametrize("name", ["int8", "uint16", "int32", "uint64", "float16", "float64"])
def test_sorting_equals_numpy(name: str) -> None:
    y = (np.random.RandomState(1).randn(3, 50) * 20).astype(name)
    for axis in (0, 1):
        values, places = Tensor(y).sort(axis)
        assert np.array_equal(places.numpy(), np.argsort(y, axis, kind="stable"))
        assert np.array_equal(values.numpy(), np.sort(y, axis))


@pytest.mark.parametrize("name", ["int16", "float32", "int64"])
def test_long_rows_are_sorted_by_digits(name: str) -> None:
    y = (np.random.RandomState(2).randn(2, 1500) * 50).astype(name)
    y[0, ::7] = 0
    if y.dtype.kind == "f":
        y[0, 1::7], y[0, 2::70], y[1, 3::70], y[1, 4::70] = -0.0, nan, inf, -inf
    assert np.array_equal(Tensor(y).argsort().numpy(), np.argsort(y, kind="stable"))


def test_the_greatest_come_first_in_topk() -> None:
    x = Tensor([[1, 5, 5, 2], [9, 0, 8, 7]])
    values, places = x.topk(2)
    assert (values.tolist(), places.tolist()) == ([[5, 5], [9, 8]], [[1, 2], [0, 2]])
    values, places = x.topk(1, dim=0, largest=False)
    assert (values.tolist(), places.tolist()) == ([[1, 0, 5, 2]], [[0, 1, 0, 0]])
    assert x.topk(0)[0].shape == (2, 0)
    with pytest.raises(ValueError, match="axis has 4"):
        x.topk(5)
    with pytest.raises(NotImplementedError):
        x.topk(1, sorted_=False)
