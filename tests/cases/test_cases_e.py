"""Captured functions: results, numbers, containers, writes (case 65)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from tiny_tensor import Tensor, jit

from .kinds import DEVICES, tensor


@pytest.mark.parametrize("device", DEVICES)
def test_results_that_are_kept_stay_as_they_are(device: str) -> None:
    step = jit(lambda x: x + 1)
    kept = [step(tensor([n], device=device)) for n in range(4)]
    assert [result.item() for result in kept] == [1, 2, 3, 4]


def test_python_numbers_are_part_of_the_call() -> None:
    shifted = jit(lambda x, k: x + k)
    x = tensor([0])
    assert [shifted(x, k).item() for k in range(5)] == [0, 1, 2, 3, 4]
    assert [shifted(x, k=k).item() for k in range(5)] == [0, 1, 2, 3, 4]


def test_containers_are_looked_into() -> None:
    def function(items: list[Tensor], named: dict[str, tuple[Tensor, int]]) -> dict[str, Tensor]:
        tensor, scale = named["pair"]
        return {"sum": items[0] + items[1], "scaled": tensor * scale}

    captured = jit(function)
    for start in range(3):
        x, y = tensor([start]), tensor([10])
        found, expected = captured([x, y], {"pair": (y, 3)}), function([x, y], {"pair": (y, 3)})
        assert {name: t.item() for name, t in found.items()} == {
            name: t.item() for name, t in expected.items()
        }


@pytest.mark.parametrize("given", [True, False])
def test_writes_are_repeated(given: bool) -> None:
    w = tensor([0.0])

    def step(v: Tensor) -> Tensor:
        weight = v if given else w
        loss = (weight * 2).sum()
        weight.assign(weight + 1)
        return loss

    captured = jit(step)
    argument = w if given else tensor([7.0])
    seen = [(captured(argument).item(), w.item()) for _ in range(5)]
    assert seen == [(0, 1), (2, 2), (4, 3), (6, 4), (8, 5)]


def test_results_come_back_as_arguments() -> None:
    shift = jit(lambda window, new: window[1:].cat(new))
    window, expected = tensor([0, 1, 2, 3]), [0, 1, 2, 3]
    for n in range(6):
        window, expected = shift(window, tensor([10 + n])), [*expected[1:], 10 + n]
        assert window.tolist() == expected


def test_random_numbers_are_new_at_every_call() -> None:
    draw = jit(lambda x: x + Tensor.rand(4))
    seen = [draw(tensor([0.0])).tolist() for _ in range(4)]
    assert all(a != b for a, b in pairwise(seen))


def test_gradients_are_those_of_the_function() -> None:
    def slope(x: Tensor, w: Tensor) -> Tensor:
        hidden = (x @ w).tanh()
        return ((hidden @ w).softmax(1) ** 2).sum().gradient(w)[0]

    captured = jit(slope)
    for seed in range(3):
        numbers = np.random.RandomState(seed).standard_normal((2, 4, 4)).astype(np.float32)
        x, w = Tensor(numbers[0]), Tensor(numbers[1])
        assert np.array_equal(captured(x, w).numpy(), slope(x, w).numpy())
