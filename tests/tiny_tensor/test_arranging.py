"""Cuts, stacks and turns give what NumPy gives under the same names, and name mistakes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tiny_ir import ArgumentError, ArgumentTypeError, AxisError, IndexingError, ShapeError
from tiny_tensor import Tensor

pytestmark = pytest.mark.usefixtures("session")

Array = np.ndarray[Any, Any]
CUBE = np.arange(60, dtype=np.int32).reshape(3, 4, 5)


def same(actual: Tensor, expected: Array) -> bool:
    array = actual.numpy()
    return array.shape == expected.shape and bool((array == expected).all())


@pytest.mark.parametrize(
    ("name", "parts"),
    [("hsplit", 2), ("hsplit", [1, 3]), ("vsplit", 3), ("dsplit", 5), ("dsplit", [2, -1, 9])],
)
def test_cuts_are_those_of_numpy(name: str, parts: Any) -> None:
    found = getattr(Tensor(CUBE), name)(parts)
    wanted = getattr(np, name)(CUBE, parts)
    assert len(found) == len(wanted)
    assert all(map(same, found, wanted))


def test_parts_are_nearly_equal() -> None:
    for parts in (1, 3, 7):
        found = Tensor(CUBE).tensor_split(parts, -1)
        assert all(map(same, found, np.array_split(CUBE, parts, -1)))


def test_cuts_are_views() -> None:
    x = Tensor(CUBE)
    x.narrow(-1, -2, 2).assign(Tensor.zeros(3, 4, 2, dtype="int32"))
    x.unbind(1)[0].assign(Tensor.ones(3, 5, dtype="int32"))
    wanted = CUBE.copy()
    wanted[..., -2:] = 0
    wanted[:, 0] = 1
    assert same(x, wanted)


@pytest.mark.parametrize("name", ["hstack", "vstack", "dstack"])
def test_stacks_are_those_of_numpy(name: str) -> None:
    stack = getattr(np, name)
    for shape in ((), (2,), (2, 3), (2, 3, 2)):
        x = np.arange(int(np.prod(shape)), dtype=np.int32).reshape(shape)
        assert same(getattr(Tensor(x), name)(Tensor(x + 1)), stack((x, x + 1)))
        assert same(getattr(Tensor, name)([Tensor(x), Tensor(x)]), stack((x, x)))


def test_turns_are_those_of_numpy() -> None:
    for k in range(-2, 4):
        for axes in ((0, 1), (2, 0), (-1, 1)):
            assert same(Tensor(CUBE).rot90(k, axes), np.rot90(CUBE, k, axes))
    assert same(Tensor(CUBE[0]).t(), CUBE[0].T)
    assert same(Tensor(CUBE[0, 0]).t(), CUBE[0, 0])


MISTAKES: dict[str, tuple[Callable[[Tensor], object], type[Exception]]] = {
    "narrow beyond": (lambda x: x.narrow(0, 2, 2), IndexingError),
    "narrow before": (lambda x: x.narrow(0, -4, 1), IndexingError),
    "narrow length": (lambda x: x.narrow(0, 0, -1), IndexingError),
    "narrow axis": (lambda x: x.narrow(3, 0, 1), AxisError),
    "narrow by a bool": (lambda x: x.narrow(0, True, 1), ArgumentTypeError),
    "unbind axis": (lambda x: x[0, 0, 0].unbind(), AxisError),
    "no parts": (lambda x: x.tensor_split(0), ArgumentError),
    "unequal parts": (lambda x: x.hsplit(3), ShapeError),
    "a row has no rows": (lambda x: x[0, 0].vsplit(1), ShapeError),
    "a matrix has no depth": (lambda x: x[0].dsplit(1), ShapeError),
    "a number has no columns": (lambda x: x[0, 0, 0].hsplit(1), ShapeError),
    "nothing to stack": (lambda x: Tensor.vstack([]), ArgumentTypeError),  # type: ignore[arg-type]
    "t of a cube": (lambda x: x.t(), ShapeError),
    "turn one axis": (lambda x: x.rot90(1, (1, 1)), AxisError),
    "turn about one": (lambda x: x.rot90(1, (1,)), AxisError),
    "roll by nothing": (lambda x: x.roll([]), ArgumentError),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_named(name: str) -> None:
    call, kind = MISTAKES[name]
    with pytest.raises(kind):
        call(Tensor(CUBE))
