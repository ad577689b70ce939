"""Shapes, indexing, writes, sorting, convolution, size (cases 48 to 64)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tiny_ir import ShapeError, TinyError
from tiny_tensor import Tensor

from .kinds import DEVICES, check_same, inf, nan, tensor


@pytest.mark.parametrize(("left", "right"), [((3, 1), (4, 2)), ((3, 4), (1, 2)), ((1,), (2, 2))])
def test_products_need_equal_inner_sizes(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    with pytest.raises(ShapeError) as raised:
        Tensor.ones(*left) @ Tensor.ones(*right)
    assert str(left) in str(raised.value)
    assert str(right) in str(raised.value)


def _written(write: Callable[[Tensor], None], device: str, realized: bool) -> list[list[int]]:
    n = Tensor.zeros(4, 4, dtype="int32", device=device)
    if realized:
        n = n.contiguous().realize()
    write(n)
    result = n.tolist()
    assert isinstance(result, list)
    return result  # type: ignore[return-value]


def _rows(n: Tensor) -> None:
    n[3:0:-2, 1:] = [1, 2, 3]


def _columns(n: Tensor) -> None:
    n[:, [0, 2]] = [[1], [2], [3], [4]]


def _twice(n: Tensor) -> None:
    n[[1, 1, 3]] = [[1], [2], [3]]


def _pairs(n: Tensor) -> None:
    n[[[0, 1], [2, 3]], [1, 2]] = 7


def _mixed(n: Tensor) -> None:
    n[1:, [0, 3]] = 5


def _nothing(n: Tensor) -> None:
    n[2:2] = 9


def _mask(n: Tensor) -> None:
    n[n + Tensor.arange(4, device=n.device) > 1] = -1


def _view(n: Tensor) -> None:
    n[1:][:, ::2][1] += 3


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("realized", [False, True])
@pytest.mark.parametrize(
    "write",
    [_rows, _columns, _twice, _pairs, _mixed, _nothing, _mask, _view],
    ids=lambda f: f.__name__,
)
def test_parts_are_written_as_numpy_writes_them(
    write: Callable[[Tensor], None], realized: bool, device: str
) -> None:
    """Where a place is named twice, the last value stays: the policy "writes to one place"."""
    expected = np.zeros((4, 4), np.int32)
    if write is _mask:
        expected[expected + np.arange(4) > 1] = -1
    else:
        write(expected)  # type: ignore[arg-type]
    assert _written(write, device, realized) == expected.tolist()


@pytest.mark.parametrize("first", ["reader", "writer", "together"])
@pytest.mark.parametrize("length", [2, 33, 449])
def test_who_read_before_a_write_sees_what_was_there(first: str, length: int) -> None:
    x = tensor(list(range(length)))
    reader = x + 10
    x[:1].assign(tensor([99]))
    {"reader": [reader], "writer": [x], "together": [reader, x]}[first][0].realize()
    if first == "together":
        reader.realize(x)
    assert reader.tolist() == list(range(10, 10 + length))
    assert x.tolist() == [99, *range(1, length)]


def test_overlapping_parts_are_read_before_they_are_written() -> None:
    x = tensor(list(range(8)))
    x[1:] = x[:-1]
    assert x.tolist() == [0, 0, 1, 2, 3, 4, 5, 6]
    x.assign(x.flip(0))
    assert x.tolist() == [6, 5, 4, 3, 2, 1, 0, 0]


SLICES = [
    "9:0:-1",
    "9:0:-3",
    "0:5:-1",
    "::-4",
    "-1:-12:-1",
    "20:5:-2",
    "100:",
    "-3:100",
    "5:2",
    "2:5:10",
    "-100:3",
    ":-100:-1",
    "3:3",
    "::7",
]


@pytest.mark.parametrize("text", SLICES)
def test_slices_are_clamped_as_in_python(text: str) -> None:
    key = slice(*(int(part) if part else None for part in text.split(":")))
    for device in DEVICES:
        for start in (Tensor.arange(10, device=device), tensor(list(range(10)), device=device)):
            assert start[key].tolist() == list(range(10))[key]


def test_negative_padding_cuts() -> None:
    assert tensor([[1, 2, 3, 4]]).pad((-1, 2)).tolist() == [[2, 3, 4, 0, 0]]
    assert tensor([[0, 1, 2, 3]]).pad((4, -4)).tolist() == [[0, 0, 0, 0]]
    assert tensor([[1, 2, 3]]).pad((-1, -1), value=9).tolist() == [[2]]
    check_same(tensor([1.0, 2.0]).pad((1, 1), value=-inf).tolist(), [-inf, 1, 2, -inf])
    reflected = tensor([[1, 2, 3]]).pad((2, 2), mode="reflect")
    assert reflected.tolist() == [[3, 2, 1, 2, 3, 2, 1]]


@pytest.mark.parametrize("device", DEVICES)
def test_positions_outside_read_0_and_have_no_part_in_gradients(device: str) -> None:
    """The policy "positions outside"."""
    x = tensor([1.0, 2.0, 3.0], device=device)
    places = tensor([3, -1, -4], device=device)
    assert x[places].tolist() == [0, 3, 0]
    (gradient,) = (x[places] * tensor([5.0, 7.0, 9.0], device=device)).sum().gradient(x)
    assert gradient.tolist() == [0, 0, 7]
    y = x * 1
    y[places] = 8.0
    assert y.tolist() == [1, 2, 8]
    assert x.gather(0, places).tolist() == [0, 3, 0]
    assert x.scatter(0, places, 4.0, reduce="add").tolist() == [1, 2, 7]


def test_scattered_reductions_with_and_without_what_was_there() -> None:
    index, values = tensor([0, 0, 1]), tensor([-5.0, -3.0, 2.0])
    zeros, ones, more = tensor([0.0] * 3), tensor([1.0] * 3), tensor([2.0, 3.0, 4.0])
    alone = zeros.scatter_reduce(0, index, values, "amax", False)
    assert alone.tolist() == [-3, 2, 0]
    assert alone.sum().gradient(values)[0].tolist() == [0, 1, 1]
    assert zeros.scatter_reduce(0, index, values, "amax").tolist() == [0, 2, 0]
    for reduce, include, expected in (
        ("mean", False, [2.5, 4, 1]),
        ("mean", True, [2, 2.5, 1]),
        ("prod", False, [6, 4, 1]),
        ("prod", True, [6, 4, 1]),
        ("sum", False, [5, 4, 1]),
        ("amin", False, [2, 4, 1]),
    ):
        result = ones.scatter_reduce(0, index, more, reduce, include)
        assert result.tolist() == expected


@pytest.mark.parametrize("device", DEVICES)
def test_sorting_keeps_nan_last_and_equals_in_order(device: str) -> None:
    values, places = tensor([1, nan, 2, 0], device=device).sort()
    check_same(values.tolist(), [0.0, 1.0, 2.0, nan])
    assert places.tolist() == [3, 0, 2, 1]
    assert tensor([0, 1, 0], device=device).argsort(descending=True).tolist() == [1, 0, 2]
    assert tensor([3, 1, 3, 1, 2], device=device).sort()[1].tolist() == [1, 3, 4, 0, 2]
    top, where = tensor([1, 5, 5, 2], device=device).topk(2)
    assert (top.tolist(), where.tolist()) == ([5, 5], [1, 2])


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "float32"])
@pytest.mark.parametrize("length", [1, 7, 33, 449])
def test_sorting_agrees_with_numpy(dtype: str, length: int) -> None:
    draw = np.random.RandomState(length).randint(0, 20, length)
    limits = np.iinfo(dtype) if dtype != "float32" else np.finfo(dtype)
    numbers = draw.astype(dtype)
    numbers[: length // 3] = limits.min
    numbers[-(length // 3) :][: length // 3] = limits.max
    values, places = Tensor(numbers).sort()
    assert np.array_equal(values.numpy(), np.sort(numbers))
    assert np.array_equal(places.numpy(), np.argsort(numbers, kind="stable"))


def test_extreme_integers_are_sorted_downwards() -> None:
    assert tensor([-128, 127, 0], "int8").sort(descending=True)[0].tolist() == [127, 0, -128]


def test_repeated_labels_name_a_diagonal_wherever_they_stand() -> None:
    a = Tensor.arange(12).reshape(2, 2, 3)
    b = Tensor.arange(72).reshape(2, 2, 2, 3, 3)
    assert Tensor.einsum("iij->ij", a).tolist() == [[0, 1, 2], [9, 10, 11]]
    assert Tensor.einsum("iij->i", a).tolist() == [3, 30]
    weighted = Tensor.einsum("iij,j->ij", a, Tensor([1, 10, 100]))
    assert weighted.tolist() == [[0, 10, 200], [9, 100, 1100]]
    assert Tensor.einsum("tiijj->ij", b).tolist() == [[36, 44, 52], [90, 98, 106]]
    assert Tensor.einsum("ii->i", Tensor.arange(9).reshape(3, 3)).tolist() == [0, 4, 8]
    for formula in ("iij->ji", "iij->j", "iij->", "jji,ji->j"):
        sources = [a.numpy(), np.arange(6).reshape(2, 3)][: formula.count(",") + 1]
        expected = np.einsum(formula, *sources)
        found = Tensor.einsum(formula, *map(Tensor, sources))
        assert np.array_equal(found.numpy(), expected)


def test_convolutions_at_their_corners() -> None:
    x = tensor([float(n) for n in range(8)])
    line, pairs = x.reshape(1, 1, 8), x.reshape(1, 2, 4)
    kernel = tensor([[[1.0, 1.0]]])
    strided = line.conv2d(kernel, stride=3)
    assert strided.flatten().tolist() == [1, 7, 13]
    assert strided.sum().gradient(x)[0].tolist() == [1, 1, 0, 1, 1, 0, 1, 1]
    grouped = tensor([[[1.0, 2.0]], [[10.0, 20.0]], [[1.0, 0.0]], [[0.0, 1.0]]])
    found = pairs.conv2d(grouped, groups=2, dilation=2)
    assert found.tolist() == [[[4, 7], [40, 70], [4, 5], [6, 7]]]
    two = tensor([[[1.0, 2.0]]])
    back = two.conv_transpose2d(
        tensor([[[1.0, 10.0, 100.0]]]), stride=2, padding=1, output_padding=1
    )
    assert back.flatten().tolist() == [10, 102, 20, 200]
    wide = two.conv_transpose2d(tensor([[[1.0, 10.0]]]), stride=3, dilation=2)
    assert wide.flatten().tolist() == [1, 0, 10, 2, 0, 20]
    channels = tensor([[[1.0, 2.0], [3.0, 4.0]]])
    apart = channels.conv_transpose2d(tensor([[[1.0, 1.0]], [[2.0, 2.0]]]), groups=2)
    assert apart.tolist() == [[[1, 3, 2], [6, 14, 8]]]


@pytest.mark.parametrize("option", ["dilation", "stride", "groups"])
def test_a_step_of_0_is_refused(option: str) -> None:
    x, kernel = Tensor.ones(1, 1, 8), Tensor.ones(1, 1, 2)
    with pytest.raises(TinyError):
        x.conv2d(kernel, **{option: 0})  # type: ignore[arg-type]


def test_more_elements_than_32_bits_count() -> None:
    ones = Tensor.ones(1, 1, dtype="int64").expand(65536, 65537)
    assert ones.sum().item() == 4295032832
    far = Tensor.arange(2**33)[2**32 + 5 : 2**32 + 8]
    assert far.tolist() == [2**32 + 5, 2**32 + 6, 2**32 + 7]
    assert far.dtype.name == "int64"


def test_random_numbers_go_on_beyond_32_bits() -> None:
    Tensor.manual_seed(1)
    start = Tensor.rand(4).tolist()
    Tensor._session.fget(Tensor(0)).random.take(2**32 - 8)  # type: ignore[attr-defined]
    across = Tensor.rand(8)
    later = across.tolist()
    assert len({*start, *later}) == 12
    assert all(0 <= value < 1 for value in later)
