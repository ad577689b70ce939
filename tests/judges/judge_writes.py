"""Random programs of reads, views, writes and partial realizations give what NumPy gives.

Every tenth case also takes gradients: of a program that is lazy, realized here and there, captured.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from tiny_ir import GradientError
from tiny_tensor import Session, Tensor, jit

CASES = 5000
WITH_GRADIENTS = 10
"""One case in so many takes gradients too: that compiles a lot."""

SHAPES = ((4,), (2, 3), (4, 2))
Array = np.ndarray[tuple[int, ...], np.dtype[np.int32]]
Pair = tuple[Tensor, Array]

_SESSION = Session(device="cpu")


def judge(case: int) -> dict[str, str | float]:
    """Run one program on tensors and on arrays, and compare all they hold at the end.

    Raises:
        AssertionError: a tensor does not hold what its array holds, or has another gradient after
            a realization.
    """
    with _SESSION:
        program = Program(random.Random(case))
        writes = program.run()
        gradients = judged_gradients(case) if case % WITH_GRADIENTS == 0 else "not taken"
    return {
        "writes": "none" if not writes else "some",
        "gradients": gradients,
        "steps": float(len(program.log)),
    }


class Program:
    """Tensors, the arrays that they should be equal to, and random steps on both."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.pool: list[Pair] = [self._start() for _ in range(2)]
        self.log: list[str] = []

    def run(self) -> int:
        """Do random steps, then compare everything in a random order."""
        writes = 0
        steps: list[Callable[[], None]] = [
            self.read,
            self.combine,
            self.view,
            self.write,
            self.write,
            self.realize,
            self.check,
            self.copy,
            self.drop,
        ]
        for _ in range(self.draw.randint(3, 10)):
            step = self.draw.choice(steps)
            self.log.append(step.__name__)
            step()
            writes += step == self.write
        self.draw.shuffle(self.pool)
        for pair in self.pool:
            self.compare(pair)
        return writes

    def compare(self, pair: Pair) -> None:
        """Compare a tensor with its array."""
        tensor, array = pair
        found = tensor.numpy()
        assert found.shape == array.shape, (self.log, found.shape, array.shape)
        assert np.array_equal(found, array), (self.log, found, array)

    def _start(self) -> Pair:
        shape = self.draw.choice(SHAPES)
        if self.draw.random() < 0.3:
            return Tensor.full(shape, 3, dtype="int32"), np.full(shape, 3, np.int32)
        count = int(np.prod(shape))
        values = [self.draw.randint(-9, 9) for _ in range(count)]
        array = np.array(values, np.int32).reshape(shape)
        return Tensor(array), array

    def _view(self, pair: Pair) -> Pair:
        """Some views after one another; the array stays a view of its memory."""
        tensor, array = pair
        for _ in range(self.draw.randint(0, 3)):
            if not array.ndim:
                break
            axis = self.draw.randrange(array.ndim)
            before = (slice(None),) * axis
            match self.draw.choice(("slice", "slice", "permute", "flip", "pick", "reshape")):
                case "slice":
                    key = (*before, self._slice(array.shape[axis]))
                    tensor, array = tensor[key], array[key]
                case "permute":
                    order = self.draw.sample(range(array.ndim), array.ndim)
                    tensor, array = tensor.permute(*order), array.transpose(order)
                case "flip":
                    key = (*before, slice(None, None, -1))
                    tensor, array = tensor[key], array[key]
                case "pick" if array.ndim > 1:
                    index = self.draw.randrange(array.shape[axis])
                    tensor, array = tensor[(*before, index)], array[(*before, index)]
                case "reshape" if array.size % 2 == 0 and array.size and array.ndim == 1:
                    split = array.reshape(2, -1)
                    if np.shares_memory(array, split):
                        tensor, array = tensor.reshape(2, -1), split
        return tensor, array

    def _slice(self, size: int) -> slice:
        """A slice of an axis with at least one position."""
        low = self.draw.randrange(size)
        high = self.draw.randint(low + 1, size)
        step = self.draw.choice((1, 1, 2, -1, -2))
        if step > 0:
            return slice(low, high, step)
        return slice(high - 1, low - 1 if low else None, step)

    # The steps.

    def read(self) -> None:
        """A new tensor computed from one of them."""
        tensor, array = self.draw.choice(self.pool)
        factor = self.draw.randint(1, 4)
        self.pool.append((tensor * factor + 1, np.array(array * np.int32(factor) + np.int32(1))))

    def combine(self) -> None:
        """A new tensor computed from two of them, or a sum."""
        tensor, array = self.draw.choice(self.pool)
        other, values = self.draw.choice(self.pool)
        if values.shape == array.shape:
            self.pool.append((tensor + other, np.array(array + values)))
        elif array.ndim:
            self.pool.append((tensor.sum(0), np.array(array.sum(0, dtype=np.int32))))

    def view(self) -> None:
        """A view of one of them."""
        self.pool.append(self._view(self.draw.choice(self.pool)))

    def copy(self) -> None:
        """A tensor that starts with the same data, and goes its own way."""
        tensor, array = self.draw.choice(self.pool)
        self.pool.append((Tensor(tensor), array.copy()))

    def drop(self) -> None:
        """Forget one of them."""
        if len(self.pool) > 2:
            self.pool.pop(self.draw.randrange(len(self.pool)))

    def realize(self) -> None:
        """Compute some of them."""
        chosen = [self.draw.choice(self.pool)[0] for _ in range(self.draw.randint(1, 3))]
        chosen[0].realize(*chosen[1:])

    def check(self) -> None:
        """Compare one of them now."""
        self.compare(self.draw.choice(self.pool))

    def write(self) -> None:
        """Write a view of one of them: a constant, itself, another one, or parts of itself."""
        tensor, array = self._view(self.draw.choice(self.pool))
        match self.draw.choice(("constant", "itself", "other", "shift", "turn")):
            case "constant":
                value = self.draw.randint(-5, 5)
                tensor.assign(value)
                array[...] = value
            case "other":
                other, values = self.draw.choice(self.pool)
                if values.shape == array.shape:
                    tensor.assign(other)
                    array[...] = values.copy()
            case "shift" if array.ndim:
                tensor[1:].assign(tensor[:-1])
                array[1:] = array[:-1].copy()
            case "turn" if array.ndim:
                tensor.assign(tensor[::-1])
                array[...] = array[::-1].copy()
            case _:
                tensor.assign(tensor * 2 + 1)
                array[...] = array * 2 + 1


# Gradients.


def judged_gradients(case: int) -> str:
    """Compare the gradients of one program, run in three ways.

    A write in place may take numbers that a gradient needs, once they are in memory: that is
    refused, and never wrong.
    """
    expected = gradients_of(case, "lazy")
    word = "equal"
    for way in ("realized", "captured"):
        try:
            found = gradients_of(case, way)
        except GradientError as error:
            if "no longer exists" not in str(error):
                raise
            word = "refused or equal"
            continue
        for mine, theirs in zip(found, expected, strict=True):
            assert np.allclose(mine, theirs, rtol=1e-12, atol=0), (case, way, found, expected)
    return word


def gradients_of(case: int, way: str) -> list[Any]:
    """The loss of a random program, and its gradients with respect to some of its tensors."""
    draw, picks = random.Random(case), random.Random(-1 - case)

    def realize(pool: list[Tensor]) -> None:
        chosen = picks.choices(pool, k=picks.choice((0, 0, 1, 2)))
        if chosen and way == "realized":
            chosen[0].realize(*chosen[1:])

    values = np.arange(4.0).reshape(2, 2)
    first = [Tensor(values + 1), Tensor(values / 3), Tensor.ones(2, 2, dtype="float64")]
    seed = draw.randrange(1 << 30)

    def program(first: list[Tensor]) -> list[Tensor]:
        return differentiable(random.Random(seed), first, realize)

    loss, *pool = (jit(program) if way == "captured" else program)(first)
    del first
    realize([loss, *pool])
    targets = pool if draw.random() < 0.5 else [draw.choice(pool)]
    slopes = loss.gradient(*targets)  # before anything is read
    return [loss.item(), *[slope.numpy() for slope in slopes]]


def differentiable(
    draw: random.Random, pool: list[Tensor], realize: Callable[[list[Tensor]], None]
) -> list[Tensor]:
    """Do random steps; return a loss, and what is left of the pool."""
    pool = list(pool)
    for step in range(draw.randint(2, 9)):
        at, number = draw.randrange(len(pool)), 1 + step / 8 + draw.random() / 16
        x, w = pool[at], draw.choice(pool)
        match draw.choice(GRADIENT_STEPS):
            case "multiply":
                pool.append(x * w * number)
            case "bend":
                pool.append((x * number).sin())
            case "copy":
                pool.append(x.clone())
            case "turn":
                pool.append(x.T)
            case "detach":
                pool.append(x.detach() * number + w)
            case "part":
                x[0:1] = (w * number)[1:2]
            case "column":
                x[:, 1:] = number
            case "mask":
                x[Tensor([True, False])] = (w * number)[:1]
            case "assign":
                x.assign(w * number)
            case "update":
                x.assign(x * w * number)
            case "move":
                pool[at] = x + number
            case "drop" if len(pool) > 3:
                pool.pop(at)
        realize(pool)
    return [(draw.choice(pool) * draw.choice(pool) * 1.5).sum(), *pool]


GRADIENT_STEPS = (
    *("multiply", "bend", "copy", "turn", "detach", "part", "column"),
    *("mask", "assign", "update", "move", "drop"),
)
