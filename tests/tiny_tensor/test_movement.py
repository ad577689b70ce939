"""Movement gives the elements NumPy gives, as views where the design says so."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from tiny_ir import (
    ArgumentError,
    AxisError,
    ShapeError,
    WriteError,
)
from tiny_tensor import Tensor

pytestmark = pytest.mark.usefixtures("session")

Array = np.ndarray[Any, Any]


def counted(*shape: int) -> tuple[Tensor, Array]:
    array = np.arange(1, 1 + int(np.prod(shape)), dtype=np.int32).reshape(shape)
    return Tensor(array), array


def same(actual: Tensor, expected: Array) -> bool:
    array = actual.numpy()
    return array.shape == expected.shape and np.array_equal(array, expected)


def test_reshape_infers_one_size_and_keeps_none() -> None:
    x, y = counted(2, 6)
    assert same(x.reshape(3, -1), y.reshape(3, 4))
    assert same(x.reshape((None, 2, 3)), y.reshape(2, 2, 3))
    assert same(x.view(12), y.reshape(12))
    with pytest.raises(ShapeError, match="reshape"):
        x.reshape(5, 2)
    with pytest.raises(ShapeError, match="divide"):
        x.reshape(5, -1)
    with pytest.raises(ShapeError, match="one -1"):
        x.reshape(-1, -1)
    with pytest.raises(TypeError):
        x.reshape(2.0, 6)  # type: ignore[arg-type]


def test_expand_grows_axes_of_one_and_adds_axes() -> None:
    x, y = counted(2, 1)
    assert same(x.expand(3, -1, 4), np.broadcast_to(y, (3, 2, 4)))
    with pytest.raises(ShapeError):
        x.expand(3, 4)


def test_axes_change_places() -> None:
    x, y = counted(2, 3, 4)
    assert same(x.permute(2, 0, -2), y.transpose(2, 0, 1))
    assert same(x.permute((1, 2, 0)), y.transpose(1, 2, 0))
    assert same(x.transpose(0, -1), y.swapaxes(0, 2))
    assert same(x[0].T, y[0].T)
    assert same(x.flip(0, -1), np.flip(y, (0, 2)))
    for wrong in ((0, 1), (0, 0, 1), (0, 1, 3)):
        with pytest.raises(AxisError):
            x.permute(*wrong)
    with pytest.raises(AxisError, match="twice"):
        x.flip(0, 0)
    with pytest.raises(IndexError):
        x.transpose(0, 3)


def test_axes_of_one_come_and_go() -> None:
    x, y = counted(1, 2, 1, 3)
    assert same(x.squeeze(), y.squeeze())
    assert same(x.squeeze(2), y.squeeze(2))
    assert x.squeeze(1).shape == (1, 2, 1, 3)
    assert same(x.unsqueeze(-1), y[..., None])
    assert same(x.flatten(1, 2), y.reshape(1, 2, 3))
    assert same(x.flatten(), y.reshape(-1))
    assert same(x.unflatten(3, (3, -1)), y.reshape(1, 2, 1, 3, 1))
    with pytest.raises(IndexError):
        x.squeeze(4)
    with pytest.raises(AxisError, match="end stands before"):
        x.flatten(2, 1)


def test_parts() -> None:
    x, y = counted(4, 5)
    assert same(x.shrink(((1, 3), None)), y[1:3])
    assert same(x.shrink(((2, 2), (0, 5))), y[2:2])
    assert same(x.shrink_to(2, None), y[:2])
    assert [part.shape for part in x.split(3)] == [(3, 5), (1, 5)]
    assert same(x.split([1, 4], dim=1)[1], y[:, 1:])
    assert [part.shape for part in x.chunk(3)] == [(2, 5), (2, 5)]
    with pytest.raises(ValueError, match="add up to 5"):
        x.split([2, 3])
    with pytest.raises(ShapeError, match="parts do not fit"):
        x.shrink(((0, 1),))
    with pytest.raises(ShapeError):
        x.shrink(((0, 5), None))
    with pytest.raises(ArgumentError):
        x.chunk(0)


def test_windows() -> None:
    x, y = counted(2, 7)
    expected = np.lib.stride_tricks.sliding_window_view(y, 3, axis=1)[:, ::2]
    assert same(x.unfold(1, 3, 2), expected)
    with pytest.raises(ShapeError):
        x.unfold(0, 3, 1)
    with pytest.raises(ArgumentError):
        x.unfold(1, 3, 0)


@pytest.mark.parametrize("offset", [-3, -1, 0, 1, 2, 5])
def test_diagonals(offset: int) -> None:
    x, y = counted(3, 4, 5)
    assert same(x.diagonal(offset), np.diagonal(y, offset))
    assert same(x.diagonal(offset, 2, 0), np.diagonal(y, offset, 2, 0))
    assert same(x.tril(offset), np.tril(y, offset))
    assert same(x.triu(offset), np.triu(y, offset))


def test_diagonal_matrices() -> None:
    x, y = counted(3)
    assert same(x.diag(), np.diag(y))
    assert same(x.diag().diag(), y)
    with pytest.raises(AxisError):
        x.diag().diagonal(0, 1, 1)
    with pytest.raises(ShapeError, match="triangles"):
        x.tril()


def test_formulas_rearrange_axes() -> None:
    x, y = counted(2, 3, 4)
    assert same(x.rearrange("a b c -> c (a b)"), y.transpose(2, 0, 1).reshape(4, 6))
    assert same(
        x.rearrange("a b (c d) -> d a b c", c=2), y.reshape(2, 3, 2, 2).transpose(3, 0, 1, 2)
    )
    assert same(x.rearrange("... c -> c ..."), y.transpose(2, 0, 1))
    assert same(x.rearrange("a ... -> (...) a"), y.reshape(2, 12).T)
    assert same(x.rearrange("a b c -> a 1 b () c"), y.reshape(2, 1, 3, 1, 4))
    for formula in ("a b c", "a b -> b a", "a b c -> a b", "a (b c -> a b c", "a b c -> a b c d"):
        with pytest.raises(ArgumentError, match="rearrange"):
            x.rearrange(formula)
    with pytest.raises(ArgumentError, match="divide"):
        x.rearrange("a b (c d) -> a b c d", c=3)


def test_views_share_their_data_and_copies_do_not() -> None:
    x = Tensor([[1, 2, 3], [4, 5, 6]])
    views = (x.T, x.reshape(6), x.flip(0), x.diagonal(), x.chunk(2)[0], x.unfold(1, 2, 1))
    copies = (x.repeat(1, 1), x.roll(1), x.pad((0, 1)), x.tril())
    x += 10
    expected = np.array([[11, 12, 13], [14, 15, 16]])
    assert same(views[0], expected.T)
    assert views[3].tolist() == [11, 15]
    assert same(views[5][1, 1], expected[1, 1:3])
    assert copies[0].tolist() == [[1, 2, 3], [4, 5, 6]]
    assert copies[2].tolist() == [[1, 2, 3, 0], [4, 5, 6, 0]]
    views[3].assign(Tensor([0, 0]))
    assert x.tolist() == [[0, 12, 13], [14, 0, 16]]
    with pytest.raises(WriteError, match="expanded"):
        x.unsqueeze(0).expand(2, 2, 3).assign(0)
    with pytest.raises(WriteError, match="windows"):
        x.unfold(1, 2, 1).assign(0)


def test_joins() -> None:
    x, y = counted(2, 3)
    z, w = counted(1, 3)
    assert same(x.cat(z, x), np.concatenate([y, w, y]))
    assert same(Tensor.cat(x, x, dim=-1), np.concatenate([y, y], axis=1))
    assert same(Tensor.cat([x, z]), np.concatenate([y, w]))  # type: ignore[arg-type]
    assert same(x.stack(x + 1, dim=1), np.stack([y, y + 1], axis=1))
    assert same(Tensor.stack([x, x], dim=-1), np.stack([y, y], axis=-1))  # type: ignore[arg-type]
    assert Tensor([1]).cat(Tensor([0.5])).tolist() == [1.0, 0.5]
    signs = Tensor([-0.0]).cat(Tensor([float("inf")]), Tensor([-0.0]))
    assert np.signbit(signs.numpy()).tolist() == [True, False, True]
    empty = Tensor.zeros(0, 3, dtype="int32")
    assert same(x.cat(empty), y)
    with pytest.raises(ShapeError, match="along axis 0"):
        x.cat(Tensor([[1, 2]]))
    with pytest.raises(ShapeError, match="stack"):
        x.stack(z)
    with pytest.raises(AxisError):
        x.cat(x, dim=2)


def test_many_parts_join() -> None:
    parts = [Tensor([n, -n]) for n in range(37)]
    assert parts[0].cat(*parts[1:]).tolist() == [v for n in range(37) for v in (n, -n)]


def test_repetitions() -> None:
    x, y = counted(2, 3)
    assert same(x.repeat(2, 3), np.tile(y, (2, 3)))
    assert same(x.repeat(2, 1, 2), np.tile(y, (2, 1, 2)))
    assert same(x.repeat((0, 1)), np.tile(y, (0, 1)))
    assert same(x.repeat_interleave(2), np.repeat(y, 2))
    assert same(x.repeat_interleave(3, dim=-1), np.repeat(y, 3, axis=1))
    assert same(x.roll(1), np.roll(y, 1))
    assert same(x.roll((1, -5), (0, 1)), np.roll(y, (1, -5), (0, 1)))
    with pytest.raises(ShapeError):
        x.repeat(2)
    with pytest.raises(ArgumentError):
        x.roll((1, 2), 0)


def test_grids_of_coordinates() -> None:
    (x, a), (y, b) = counted(2), counted(3)
    for indexing in ("ij", "xy"):
        expected = np.meshgrid(a, b, indexing=indexing)  # type: ignore[call-overload]
        for mine, theirs in zip(x.meshgrid(y, indexing=indexing), expected, strict=True):
            assert same(mine, theirs)
    with pytest.raises(ArgumentError):
        x.meshgrid(y, indexing="ji")


def test_padding_puts_values_or_cuts_off() -> None:
    row = Tensor([[1, 2, 3, 4]])
    assert row.pad((-1, 2)).tolist() == [[2, 3, 4, 0, 0]]
    assert Tensor([[0, 1, 2, 3]]).pad((4, -4)).tolist() == [[0, 0, 0, 0]]
    assert Tensor([[1, 2, 3]]).pad((-1, -1), value=9).tolist() == [[2]]
    edges = Tensor([1.0, 2.0]).pad((1, 1), value=-float("inf"))
    assert edges.tolist() == [-float("inf"), 1.0, 2.0, -float("inf")]
    x, y = counted(2, 3)
    assert same(x.pad(((1, 0), None)), np.pad(y, ((1, 0), (0, 0))))
    assert same(x.pad((1, 0, 0, 2)), np.pad(y, ((0, 2), (1, 0))))
    assert same(x.pad_to(3, None, value=7), np.pad(y, ((0, 1), (0, 0)), constant_values=7))
    assert x.pad((0, 1), value=7).dtype is x.dtype
    with pytest.raises(ShapeError, match="flat padding"):
        x.pad((1, 2, 3))
    with pytest.raises(ShapeError, match="less than nothing"):
        x.pad((-2, -2))
    with pytest.raises(ShapeError):
        x.pad_to(1, 3)
    with pytest.raises(ArgumentError, match="mode"):
        x.pad((1, 1), mode="edge")


@pytest.mark.parametrize(
    ("mode", "theirs"), [("reflect",) * 2, ("replicate", "edge"), ("circular", "wrap")]
)
def test_padding_repeats_what_is_there(mode: str, theirs: str) -> None:
    x, y = counted(3, 4)
    assert same(x.pad(((2, 1), (0, 3)), mode=mode), np.pad(y, ((2, 1), (0, 3)), mode=theirs))  # type: ignore[call-overload]
    assert same(x.pad((2, 2), mode=mode), np.pad(y, ((0, 0), (2, 2)), mode=theirs))  # type: ignore[call-overload]
    if mode != "replicate":
        with pytest.raises(ShapeError, match=mode):
            x.pad((5, 0), mode=mode)


def random_step(dice: random.Random, x: Tensor, y: Array) -> tuple[Tensor, Array]:
    """One movement on both sides."""
    kind = dice.randrange(9)
    rank = y.ndim
    axis = dice.randrange(rank)
    size = y.shape[axis]
    if kind == 0:
        order = dice.sample(range(rank), rank)
        return x.permute(order), y.transpose(order)
    if kind == 1:
        widths = tuple((dice.randrange(3), dice.randrange(2)) for _ in y.shape)
        return x.pad(widths, value=5), np.pad(y, widths, constant_values=5)
    if kind == 2 and size:
        begin = dice.randrange(size)
        part = slice(begin, dice.randint(begin, size), dice.choice([1, 1, 2, 3]))
        key = (slice(None),) * axis + (part,)
        return x[key], y[key]
    if kind == 3:
        return x.flip(axis), np.flip(y, axis)
    if kind == 4 and rank < 5:
        shape = (*y.shape[:axis], dice.randint(1, 3), *y.shape[axis:])
        wide = x.unsqueeze(axis).expand(*shape)
        return wide, np.broadcast_to(np.expand_dims(y, axis), shape)
    if kind == 5:
        rows = y.size // size if size else 0
        return x.reshape(rows, size), y.reshape(rows, size)
    if kind == 6:
        key = (slice(None),) * axis + (slice(None, None, dice.choice([-1, -2, -3])),)
        return x[key], y[key]
    if kind == 7 and rank > 1:
        return x.flatten(0, 1), y.reshape(-1, *y.shape[2:]) if y.size else y.reshape(
            (y.shape[0] * y.shape[1], *y.shape[2:])
        )
    if kind == 8 and size > 1 and rank < 5:
        windows = np.lib.stride_tricks.sliding_window_view(y, 2, axis=axis)
        return x.unfold(axis, 2, 1), windows
    return x, y


def test_random_chains_equal_numpy() -> None:
    dice = random.Random(7)
    for _ in range(60):
        x, y = counted(*(dice.randint(1, 4) for _ in range(dice.randint(1, 3))))
        for _ in range(dice.randint(1, 7)):
            if x.ndim and y.size <= 600:
                x, y = random_step(dice, x, y)
                assert x.shape == y.shape
        assert same(x, y)
