"""Nothing but the program decides what comes out: random graphs, computed in every other way.

Equal means bits, but where floats are summed or a listed function is used: what depends on these
(it is *rough*) is compared within a bound, and used only where a small change stays small.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tiny_plugin import Options
from tiny_tensor import Session, Tensor, jit

Array = np.ndarray[Any, np.dtype[Any]]
Maker = Callable[[random.Random, list["Value"]], Tensor]

SHAPE = (3, 5)
FLOATS = ("float32", "float64", "float16", "bfloat16")
INTEGERS = ("int32", "int8", "uint8", "int64", "uint32", "int16")
BOUND = {"float64": 1e-11, "float32": 2e-4, "float16": 0.05, "bfloat16": 0.3}
"""How far apart rough values may be, as a part of the largest one."""


@dataclass(frozen=True)
class Value:
    """A tensor of a program, and whether its last bits are left open."""

    tensor: Tensor
    rough: bool


def floats(draw: random.Random, pool: Sequence[Value], *, rough: bool = True) -> Value | None:
    found = [v for v in pool if v.tensor.dtype.is_float and (rough or not v.rough)]
    return draw.choice(found) if found else None


def integers(draw: random.Random, pool: Sequence[Value]) -> Value | None:
    found = [v for v in pool if v.tensor.dtype.is_int]
    return draw.choice(found) if found else None


def smooth(draw: random.Random, pool: list[Value]) -> Value | None:
    """Arithmetic in which small changes stay small, rough or not."""
    x, y = floats(draw, pool), floats(draw, pool)
    if x is None or y is None:
        return None
    a, b = x.tensor, y.tensor
    operations = [
        lambda: a + b,
        lambda: a - b * 0.5,
        lambda: a * 0.25 + 1.5,
        lambda: (a * 0.125).clamp(-2, 2) * b,
        lambda: a.maximum(b),
        lambda: a.relu() - b,
    ]
    return Value(draw.choice(operations)(), x.rough or y.rough)


def exact(draw: random.Random, pool: list[Value]) -> Value | None:
    """Operations of floats that are rounded once, or not at all."""
    x, y = floats(draw, pool, rough=False), floats(draw, pool, rough=False)
    if x is None or y is None:
        return None
    a, b = x.tensor, y.tensor
    operations = [
        lambda: a * b,
        lambda: a * b + a,
        lambda: a / b,
        lambda: a.abs().sqrt(),
        lambda: (a < b).where(a, -b),
        lambda: a.floor() + b.round(),
        lambda: a % 3,
        lambda: a.sort(draw.randrange(2))[0],
        lambda: a.cummax(1)[0],
        lambda: a.max(0, keepdim=True).expand(*SHAPE),
        lambda: a.cast(draw.choice(FLOATS)),
        lambda: a.clamp(-100, 100).cast(draw.choice(INTEGERS)),
        lambda: (a > b).cast("int32"),
        lambda: a.argmax(1, keepdim=True).expand(*SHAPE),
        lambda: a.copysign(b) - a.minimum(b),
    ]
    return Value(draw.choice(operations)(), False)


def whole(draw: random.Random, pool: list[Value]) -> Value | None:
    """Operations of integers, whose sums have one result."""
    x, y = integers(draw, pool), integers(draw, pool)
    if x is None or y is None:
        return None
    a, b = x.tensor, y.tensor
    kind = a.dtype.name
    operations = [
        lambda: a + b,
        lambda: a * b - a,
        lambda: a // 3,
        lambda: a % 7,
        lambda: a // b,
        lambda: a << 2 if draw.random() < 0.5 else a >> 1,
        lambda: (a ^ b) & a,
        lambda: a.sum(0, keepdim=True).expand(*SHAPE),
        lambda: a.cumsum(1),
        lambda: a.prod(1, keepdim=True).expand(*SHAPE).cast(kind),
        lambda: a.min(1, keepdim=True).expand(*SHAPE),
        lambda: a.sort(1, descending=True)[draw.randrange(2)],
        lambda: a.cast(draw.choice(INTEGERS)),
        lambda: a.cast("float32") * 0.5,
        lambda: a.eq(b).where(a, b),
    ]
    return Value(draw.choice(operations)(), False)


def rough(draw: random.Random, pool: list[Value]) -> Value | None:
    """Sums of floats, and functions that are computed within a bound."""
    x = floats(draw, pool)
    if x is None:
        return None
    a = x.tensor
    operations = [
        lambda: a.mean(1, keepdim=True).expand(*SHAPE),
        lambda: a.cumsum(0) * 0.25,
        lambda: (a * 0.125).clamp(-3, 3).exp(),
        lambda: a.clamp(-9, 9).sin(),
        lambda: a.tanh(),
        lambda: (a.clamp(-3, 3) @ a.clamp(-3, 3).permute(1, 0))[:, :1].expand(*SHAPE),
        lambda: a.clamp(-8, 8).softmax(1),
    ]
    return Value(draw.choice(operations)(), True)


def moved(draw: random.Random, pool: list[Value]) -> Value | None:
    """Elements at other places."""
    x = draw.choice(pool)
    a = x.tensor
    rows = draw.randrange(1, SHAPE[0])
    index = integers(draw, pool)
    operations: list[Callable[[], Tensor]] = [
        lambda: a.flip(draw.randrange(2)),
        lambda: a.permute(1, 0).reshape(*SHAPE),
        lambda: a[:rows].cat(a[rows:].flip(0)),
        lambda: a.pad((1, 0, 0, 2))[2:, :-1],
        lambda: a.roll(2, 1),
        lambda: a.unfold(1, 3, 1)[..., 1].pad((2, 0)),
        lambda: a[:1].expand(*SHAPE),
        lambda: a.contiguous(),
    ]
    if index is not None:
        places = index.tensor.cast("int32")
        operations += [
            lambda: a.gather(1, places % SHAPE[1]),
            lambda: a[places[:, 0]],
            lambda: a.scatter(1, places % SHAPE[1], a.flip(0)),
        ]
    return Value(draw.choice(operations)(), x.rough)


def written(draw: random.Random, pool: list[Value]) -> Value | None:
    """A copy of which parts are written, while others look at it."""
    x = draw.choice(pool)
    copy = x.tensor.clone()
    before = copy * 1
    copy[1:] = copy[:-1]
    copy[:, draw.randrange(SHAPE[1])] = before[:, 0]
    return Value(draw.choice((copy, copy + before)), x.rough)


STEPS = (smooth, exact, exact, whole, whole, rough, moved, moved, written)


def program(seed: int, inputs: Sequence[Tensor], each: Callable[[Tensor], object]) -> list[Value]:
    """Run a random program on some inputs; `each` sees every value when it is made."""
    draw = random.Random(seed)
    pool = [Value(x, False) for x in inputs]
    for _ in range(8):
        value = draw.choice(STEPS)(draw, pool)
        if value is not None and value.tensor.shape == SHAPE:
            each(value.tensor)
            pool.append(value)
    return pool[len(inputs) :]


def arrays(seed: int) -> list[Array]:
    """An array of floats, with special ones, and two of integers."""
    draw = np.random.RandomState(seed % 2**32)
    numbers = (draw.randint(-64, 64, SHAPE) / 8).astype(np.float32)
    numbers[draw.randint(3), draw.randint(5)] = draw.choice([np.inf, np.nan, -0.0, 1e30, 0.3])
    return [
        numbers,
        draw.randint(-100, 100, SHAPE).astype(np.int32),
        draw.randint(0, 256, SHAPE).astype(np.uint8),
    ]


def nothing(tensor: Tensor) -> None:
    """Let it be lazy."""


def plain(seed: int, device: str = "cpu") -> tuple[list[Array], list[bool], list[str]]:
    """The results of a program, computed together at its end."""
    values = program(seed, [Tensor(a, device=device) for a in arrays(seed)], nothing)
    if values:
        values[0].tensor.realize(*(value.tensor for value in values[1:]))
    return (
        [value.tensor.numpy() for value in values],
        [value.rough for value in values],
        [value.tensor.dtype.name for value in values],
    )


@contextmanager
def environment(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def realized_at_once(seed: int) -> list[Array]:
    values = program(seed, [Tensor(a) for a in arrays(seed)], lambda tensor: tensor.realize())
    return [value.tensor.numpy() for value in values]


def realized_in_another_order(seed: int) -> list[Array]:
    values = program(seed, [Tensor(a) for a in arrays(seed)], nothing)
    order = list(range(len(values)))
    random.Random(seed).shuffle(order)
    found = {n: values[n].tensor.numpy() for n in order}
    return [found[n] for n in range(len(values))]


def captured(seed: int) -> list[Array]:
    @jit
    def function(inputs: list[Tensor]) -> list[Tensor]:
        return [value.tensor for value in program(seed, inputs, nothing)]

    function([Tensor(a) for a in arrays(seed + 1)])
    return [tensor.numpy() for tensor in function([Tensor(a) for a in arrays(seed)])]


def within(options: Options) -> Callable[[int], list[Array]]:
    def run(seed: int) -> list[Array]:
        with Session(options=options, cache_folder=""):
            return plain(seed)[0]

    return run


def interpreted(seed: int) -> list[Array]:
    return plain(seed, "python")[0]


def rendered_as_c(seed: int) -> list[Array]:
    with environment("TINY_RENDERER", "c"), Session(cache_folder=""):
        return plain(seed)[0]


WAYS: dict[str, tuple[int, Callable[[int], list[Array]]]] = {
    "realized at once": (5, realized_at_once),
    "in another order": (5, realized_in_another_order),
    "captured": (5, captured),
    "without fusing": (4, within(Options(fuse=False))),
    "without loop actions": (5, within(Options(optimize=False))),
    "by one thread": (4, within(Options(threads=1))),
    "by four threads": (4, within(Options(threads=4))),
    "interpreted": (5, interpreted),
    "rendered as C": (2, rendered_as_c),
}
"""How many programs, and how they are computed."""


def check_same(seed: int, way: Callable[[int], list[Array]]) -> None:
    expected, are_rough, kinds = plain(seed)
    found = way(seed)
    assert len(found) == len(expected)
    for step, (a, b, is_rough, kind) in enumerate(
        zip(found, expected, are_rough, kinds, strict=True)
    ):
        message = f"step {step} of program {seed}: {a} is not {b}"
        if not is_rough:
            assert same_bits(a, b), message
            continue
        usual = b[np.isfinite(b)]
        largest = float(np.abs(usual).max(initial=1.0))
        close = np.isclose(a, b, rtol=BOUND[kind], atol=BOUND[kind] * largest, equal_nan=True)
        assert close.all(), message


def same_bits(a: Array, b: Array) -> bool:
    """Equal values, NaN with NaN, and zeros of one sign."""
    if a.dtype.kind != "f":
        return np.array_equal(a, b)
    is_zero = (a == 0) & (b == 0)
    return np.array_equal(a, b, equal_nan=True) and np.array_equal(
        np.signbit(a[is_zero]), np.signbit(b[is_zero])
    )


@pytest.mark.parametrize("name", WAYS)
def test_results_are_the_same(name: str, cache_folder: Path) -> None:
    count, way = WAYS[name]

    @settings(
        max_examples=count,
        deadline=None,
        derandomize=True,
        database=None,
        phases=(Phase.explicit, Phase.generate),  # a seed does not shrink
    )
    @given(st.integers(0, 10**6))
    def every_program(seed: int) -> None:
        with Session(cache_folder=str(cache_folder)):
            check_same(seed, way)

    every_program()
