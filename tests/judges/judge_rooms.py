"""Random programs of movement, arithmetic, reductions, scans, sorts and indexing equal NumPy."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_tensor import Tensor

CASES = 3000
MOST_ELEMENTS = 2000
DTYPES = ("int32", "float32", "int64", "uint8", "bool", "float64", "int8")
DEVICES = ("cpu", "cpu", "python")  # the interpreter also sees reads outside of a buffer

Array = NDArray[Any]


@dataclass(slots=True)
class Program:
    """The same value twice, what was done to it, and what was seen on the way."""

    dice: random.Random
    ours: Tensor
    theirs: Array
    steps: list[str]
    seen: list[tuple[Tensor, Array]]

    @property
    def rank(self) -> int:
        """How many axes the value has."""
        return self.theirs.ndim

    @property
    def is_bool(self) -> bool:
        """Whether it is of bools."""
        return self.theirs.dtype.kind == "b"

    def axis(self) -> int:
        """One of the axes."""
        return self.dice.randrange(self.rank)

    def key(self, axis: int, item: object) -> tuple[Any, ...]:
        """An index that takes `item` on one axis."""
        return (*(slice(None),) * axis, item)

    def step(
        self, name: str, ours: Callable[[Tensor], Any], theirs: Callable[[Array], Any]
    ) -> None:
        """Do one thing on both sides."""
        self.steps.append(name)
        with np.errstate(all="ignore"):
            self.ours, self.theirs = ours(self.ours), theirs(self.theirs)


Move = Callable[[Program], None]


def sum_dtype(y: Array) -> np.dtype[Any]:
    """The dtype that sums are kept in."""
    if y.dtype.kind == "f" or y.dtype.itemsize >= 4:
        return y.dtype
    return np.dtype(np.uint32 if y.dtype.kind == "u" else np.int32)


def permute(p: Program) -> None:
    """Reorder the axes."""
    order = p.dice.sample(range(p.rank), p.rank)
    p.step(f"permute {order}", lambda x: x.permute(order), lambda y: y.transpose(order))


def pad(p: Program) -> None:
    """Put values around."""
    widths = tuple((p.dice.randrange(3), p.dice.randrange(3)) for _ in range(p.rank))
    value: Any = bool(p.dice.randrange(2)) if p.is_bool else p.dice.choice([0, 3])
    p.step(
        f"pad {widths} {value}",
        lambda x: x.pad(widths, value=value),
        lambda y: np.pad(y, widths, constant_values=value),
    )


def take_slice(p: Program) -> None:
    """Read by a step, forwards or backwards."""
    axis = p.axis()
    part = slice(
        p.dice.choice([None, 1, -2, 2]),
        p.dice.choice([None, 3, -1]),
        p.dice.choice([None, 2, -1, -2]),
    )
    key = p.key(axis, part)
    if p.theirs[key].size:
        p.step(f"x[{key}]", lambda x: x[key], lambda y: y[key])


def take_places(p: Program) -> None:
    """Gather positions of an axis."""
    axis = p.axis()
    size = p.theirs.shape[axis]
    places = [p.dice.randrange(-size, size) for _ in range(p.dice.randint(1, 4))]
    key = p.key(axis, places)
    p.step(f"x[{key}]", lambda x: x[key], lambda y: y[key])


def take_true(p: Program) -> None:
    """Compact what is above zero."""
    if (p.theirs > 0).any():
        p.step("x[x > 0]", lambda x: x[x > 0], lambda y: y[y > 0])


def write_places(p: Program) -> None:
    """Scatter a number into a copy."""
    axis = p.axis()
    size = p.theirs.shape[axis]
    item = [p.dice.randrange(-size, size) for _ in range(2)] if p.dice.randrange(2) else 0
    key = p.key(axis, item)
    value = True if p.is_bool else 1

    def ours(x: Tensor) -> Tensor:
        copy = x.contiguous()
        copy[key] = value
        return copy

    def theirs(y: Array) -> Array:
        copy = y.copy()
        copy[key] = value
        return copy

    p.step(f"x[{key}] = {value}", ours, theirs)


def spread(p: Program) -> None:
    """Repeat along a new axis."""
    if p.rank < 4:
        axis, count = p.axis(), p.dice.randint(2, 3)
        shape = (*p.theirs.shape[:axis], count, *p.theirs.shape[axis:])
        p.step(
            f"expand {shape}",
            lambda x: x.unsqueeze(axis).expand(shape),
            lambda y: np.broadcast_to(np.expand_dims(y, axis), shape),
        )


def flatten(p: Program) -> None:
    """One axis for all."""
    p.step("flatten", lambda x: x.flatten(), lambda y: y.reshape(-1))


def split_axis(p: Program) -> None:
    """One axis becomes two."""
    axis = p.axis()
    shape = p.theirs.shape
    factors = [n for n in (2, 3, 5, 7) if shape[axis] % n == 0]
    if factors:
        factor = p.dice.choice(factors)
        sizes = (*shape[:axis], shape[axis] // factor, factor, *shape[axis + 1 :])
        p.step(f"reshape {sizes}", lambda x: x.reshape(sizes), lambda y: y.reshape(sizes))


def windows(p: Program) -> None:
    """Slide a window."""
    axis = p.axis()
    size = p.theirs.shape[axis]
    if size > 1 and p.rank < 5:
        width, stride = p.dice.randint(1, size), p.dice.randint(1, 2)
        every = p.key(axis, slice(None, None, stride))
        p.step(
            f"unfold {axis} {width} {stride}",
            lambda x: x.unfold(axis, width, stride),
            lambda y: np.lib.stride_tricks.sliding_window_view(y, width, axis=axis)[every],
        )


def add_up(p: Program) -> None:
    """Sum, or sum up to each position."""
    axis, keep = p.axis(), p.dice.random() < 0.3
    dtype = sum_dtype(p.theirs)
    if p.dice.randrange(2):
        p.step(f"cumsum {axis}", lambda x: x.cumsum(axis), lambda y: y.cumsum(axis, dtype=dtype))
    else:
        p.step(
            f"sum {axis}",
            lambda x: x.sum(axis, keep),
            lambda y: y.sum(axis, keepdims=keep, dtype=dtype),
        )


def extremes(p: Program) -> None:
    """Greatest, least, their places, and those up to each position."""
    axis = p.axis()
    kind = p.dice.randrange(4)
    if kind == 0:
        p.step(f"max {axis}", lambda x: x.max(axis, True), lambda y: y.max(axis, keepdims=True))
    elif kind == 1:
        p.step(f"min {axis}", lambda x: x.min(axis), lambda y: y.min(axis))
    elif kind == 2:
        p.step(
            f"argmax {axis}", lambda x: x.argmax(axis), lambda y: y.argmax(axis).astype(np.int32)
        )
    else:
        p.step(
            f"cummax {axis}",
            lambda x: x.cummax(axis)[0],
            lambda y: np.maximum.accumulate(y, axis),
        )


def order(p: Program) -> None:
    """Sort, or say where elements stood."""
    axis = p.axis()
    if p.dice.randrange(2):
        p.step(f"sort {axis}", lambda x: x.sort(axis)[0], lambda y: np.sort(y, axis))
    else:
        p.step(
            f"argsort {axis}",
            lambda x: x.argsort(axis),
            lambda y: np.argsort(y, axis, kind="stable").astype(np.int32),
        )


def mix_with_itself(p: Program) -> None:
    """Use the value twice in one expression."""
    axis = p.axis()
    kind = p.dice.randrange(5)
    if kind == 0:
        p.step(
            f"cat {axis}",
            lambda x: x.cat(x.flip(axis), dim=axis),
            lambda y: np.concatenate([y, np.flip(y, axis)], axis),
        )
    elif kind == 1:
        zero: Any = False if p.is_bool else 1
        p.step(
            "where",
            lambda x: (x > 0).where(x, zero),
            lambda y: np.where(y > 0, y, y.dtype.type(zero)),
        )
    elif p.is_bool:
        p.step(f"or flip {axis}", lambda x: x | x.flip(axis), lambda y: y | np.flip(y, axis))
    elif kind == 2:
        p.step(f"plus flip {axis}", lambda x: x + x.flip(axis), lambda y: y + np.flip(y, axis))
    elif kind == 3:
        p.step(
            f"minus max {axis}",
            lambda x: x - x.max(axis, True),
            lambda y: y - y.max(axis, keepdims=True),
        )
    elif p.rank > 1 and p.theirs.size < 400:
        wide = np.float64 if p.theirs.dtype.kind == "f" else np.int64
        p.step(
            "x @ x.T",
            lambda x: x @ x.transpose(-1, -2),
            lambda y: (y.astype(wide) @ y.swapaxes(-1, -2).astype(wide)).astype(y.dtype),
        )


def rearrange(p: Program) -> None:
    """Roll, repeat, or keep a triangle."""
    axis, shift = p.axis(), p.dice.randint(-3, 3)
    kind = p.dice.randrange(3)
    if kind == 0:
        p.step(
            f"roll {shift} {axis}", lambda x: x.roll(shift, axis), lambda y: np.roll(y, shift, axis)
        )
    elif kind == 1:
        p.step(
            f"repeat_interleave {axis}",
            lambda x: x.repeat_interleave(2, axis),
            lambda y: np.repeat(y, 2, axis),
        )
    elif p.rank > 1:
        p.step(f"tril {shift}", lambda x: x.tril(shift), lambda y: np.tril(y, shift))


def divide(p: Program) -> None:
    """Whole quotients and remainders."""
    if p.theirs.dtype.kind in "iu":
        divisor = p.dice.choice([3, -2, 7, 4]) if p.theirs.dtype.kind == "i" else 3
        if p.dice.randrange(2):
            p.step(f"// {divisor}", lambda x: x // divisor, lambda y: y // y.dtype.type(divisor))
        else:
            p.step(f"% {divisor}", lambda x: x % divisor, lambda y: y % y.dtype.type(divisor))


def cast(p: Program) -> None:
    """Other dtypes; floats by way of the nearest whole number below in magnitude."""
    y = p.theirs
    if y.dtype.kind == "f" and not (np.abs(y) < 1e9).all():
        return
    target = p.dice.choice(["int32", "float32", "uint8", "int8"])
    is_whole = y.dtype.kind == "f" and target != "float32"
    p.step(
        f"cast {target}",
        lambda x: x.cast(target),
        lambda y: (y.astype(np.int64) if is_whole else y).astype(target),
    )


def stop(p: Program) -> None:
    """Compute now, or get memory of its own."""
    if p.dice.randrange(2):
        p.step("realize", lambda x: x.realize(), lambda y: y)
    else:
        p.step("contiguous", lambda x: x.contiguous(), lambda y: y)


MOVES: tuple[Move, ...] = (
    *(permute, pad, take_slice, take_places, take_true, write_places, spread, flatten),
    *(split_axis, windows, add_up, extremes, order, mix_with_itself, mix_with_itself),
    *(rearrange, divide, cast, stop),
)


def begin(case: int) -> Program:
    """A value to begin with."""
    dice = random.Random(case)
    shape = tuple(dice.choice([1, 2, 3, 4, 5, 7]) for _ in range(dice.randint(1, 3)))
    dtype = dice.choice(DTYPES)
    values = np.random.RandomState(dice.randrange(1 << 30))
    if dtype == "bool":
        array = values.rand(*shape) > 0.5
    elif dtype.startswith("float"):
        array = np.round(values.randn(*shape) * 4, 1).astype(dtype)
    else:
        array = values.randint(-9 if dtype != "uint8" else 0, 10, shape).astype(dtype)
    device = DEVICES[case % len(DEVICES)]
    return Program(dice, Tensor(array, device=device), array, [f"{dtype} {shape}"], [])


def is_same(actual: Array, expected: Array) -> bool:
    """Equal bits; float sums within a bound."""
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return False
    if actual.dtype.kind != "f":
        return np.array_equal(actual, expected)
    largest = np.abs(expected[np.isfinite(expected)]).max(initial=1.0)
    return np.allclose(actual, expected, rtol=1e-4, atol=1e-5 * largest, equal_nan=True)


def judge(case: int) -> dict[str, str | float]:
    """Run one program, and compare all that it was asked for."""
    p = begin(case)
    for _ in range(p.dice.randint(2, 9)):
        if not p.rank or not 0 < p.theirs.size <= MOST_ELEMENTS:
            break
        p.dice.choice(MOVES)(p)
        if p.dice.random() < 0.2:
            p.seen.append((p.ours, p.theirs))
    p.seen.append((p.ours, p.theirs))
    for ours, theirs in p.seen:
        actual = ours.numpy()
        assert is_same(actual, theirs), f"{p.steps}: {actual!r} is not {theirs!r}"
    return {"device": p.ours.device, "steps": float(len(p.steps))}
