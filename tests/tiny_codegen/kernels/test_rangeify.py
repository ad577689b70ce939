"""Movement becomes index arithmetic: random chains of movement equal NumPy."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tiny_plugin import Options, Target

from .. import chains
from ..graphs import PLAIN, SCALAR, TARGETS, VERIFIED, Sheet


def check_chain(
    seed: int, steps: tuple[chains.Step, ...], target: Target, options: Options
) -> None:
    draw = random.Random(seed)
    array = chains.random_array(draw)
    sheet = Sheet()
    x, expected = chains.random_chain(draw, sheet.memory(array), array, steps)
    slot = sheet.output(x)
    found = sheet.run(target, options)[slot]
    assert np.array_equal(found, expected), f"seed {seed}: {found} is not {expected}"


@pytest.mark.parametrize("first", range(0, 300, 100))
def test_chains_of_movement_equal_numpy(first: int) -> None:
    for seed in range(first, first + 60):
        check_chain(seed, chains.MOVEMENT, SCALAR, PLAIN)


@pytest.mark.parametrize("name", TARGETS)
def test_chains_with_folds_and_reductions_equal_numpy(name: str) -> None:
    first = 1000 * (1 + list(TARGETS).index(name))
    for seed in range(first, first + 25):
        check_chain(seed, chains.ANYTHING, TARGETS[name], VERIFIED)


@pytest.mark.parametrize("name", TARGETS)
def test_chains_through_memory_equal_numpy(name: str) -> None:
    first = 10_000 * (1 + list(TARGETS).index(name))
    for seed in range(first, first + 25):
        check_chain(seed, chains.WITH_MEMORY, TARGETS[name], VERIFIED)
