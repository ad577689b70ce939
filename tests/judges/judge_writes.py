"""Random programs of views, reads, writes and partial realizations equal NumPy's, step by step."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tiny_tensor import Tensor

CASES = 5000
LONGEST_PROGRAM = 16

Array = NDArray[np.int32]


@dataclass(slots=True)
class Machine:
    """The same named values twice: as tensors and as arrays."""

    dice: random.Random
    pairs: list[tuple[Tensor, Array]] = field(default_factory=list)

    def any_pair(self) -> tuple[Tensor, Array]:
        """Choose one of the values."""
        return self.dice.choice(self.pairs)

    def start(self) -> None:
        """Make new data."""
        shape = [self.dice.randint(1, 4) for _ in range(self.dice.randint(1, 3))]
        y = np.array([self.dice.randrange(100) for _ in range(int(np.prod(shape)))], np.int32)
        y = y.reshape(shape)
        self.pairs.append((Tensor(y.copy()), y))

    def view(self) -> None:
        """Look at a value in another way; a write through either is seen by both."""
        x, y = self.any_pair()
        kind = self.dice.choice(("permute", "slice", "flip", "flatten"))
        if kind == "permute":
            order = self.dice.sample(range(y.ndim), y.ndim)
            self.pairs.append((x.permute(*order), y.transpose(order)))
        elif kind == "slice":
            at = tuple(self.some_slice(size) for size in y.shape)
            self.pairs.append((x[at], y[at]))
        elif kind == "flip":
            axis = self.dice.randrange(y.ndim)
            at = tuple(slice(None, None, -1 if i == axis else 1) for i in range(y.ndim))
            self.pairs.append((x.flip(axis), y[at]))
        elif y.flags.c_contiguous:
            self.pairs.append((x.reshape(-1), y.reshape(-1)))

    def some_slice(self, size: int) -> slice:
        """Choose a part of an axis that is not empty."""
        begin = self.dice.randrange(size)
        return slice(begin, self.dice.randint(begin + 1, size), self.dice.choice((1, 1, 2)))

    def compute(self) -> None:
        """Make a new value from the present ones; later writes do not change it."""
        x, y = self.any_pair()
        number = self.dice.randrange(1, 5)
        others = [pair for pair in self.pairs if pair[1].shape == y.shape]
        other = self.dice.choice(others)
        result = self.dice.choice(
            (
                (x * number, y * np.int32(number)),
                (x + other[0], y + other[1]),
                (x - other[0], y - other[1]),
                (
                    (x < other[0]).where(x, other[0] + number),
                    np.where(y < other[1], y, other[1] + number),
                ),
            )
        )
        self.pairs.append((result[0], np.ascontiguousarray(result[1], np.int32)))

    def write(self) -> None:
        """Write into a value, in one of the ways there are."""
        x, y = self.any_pair()
        number = self.dice.randrange(100)
        others = [pair for pair in self.pairs if pair[1].shape == y.shape]
        other = self.dice.choice(others)
        kind = self.dice.choice(("assign", "computed", "part", "number", "augmented"))
        if kind == "assign":
            x.assign(other[0])
            y[...] = other[1]
        elif kind == "computed":
            x.assign(other[0] * 2 + x)
            y[...] = other[1] * 2 + y
        elif kind == "part":
            at = tuple(self.some_slice(size) for size in y.shape)
            x[at] = other[0][at] + 1
            y[at] = other[1][at] + 1
        elif kind == "number":
            at = tuple(self.dice.randrange(size) for size in y.shape)
            x[at] = number
            y[at] = number
        else:
            x += number
            y += np.int32(number)

    def look(self) -> None:
        """Compute one value, or compare it, or both, or let go of it."""
        x, y = self.any_pair()
        kind = self.dice.choice(("realize", "compare", "forget"))
        if kind == "realize":
            x.realize()
        elif kind == "compare":
            np.testing.assert_array_equal(x.numpy(), y)
        elif len(self.pairs) > 1:
            self.pairs.pop(self.dice.randrange(len(self.pairs)))


def judge(case: int) -> dict[str, str | float]:
    """Judge one program."""
    machine = Machine(random.Random(case))
    machine.start()
    length = machine.dice.randint(3, LONGEST_PROGRAM)
    for _ in range(length):
        step = machine.dice.choice(
            (
                machine.view,
                machine.view,
                machine.compute,
                machine.write,
                machine.write,
                machine.look,
            )
        )
        step()
        if machine.dice.random() < 0.1:
            machine.start()
    for x, y in machine.pairs:
        np.testing.assert_array_equal(x.numpy(), y)
    return {"steps": float(length)}
