"""Random graphs over every dtype compute what the op table says, whatever the target lacks."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import pytest

from tiny_codegen.generator import Generator
from tiny_ir import (
    DType,
    Op,
    ParamArg,
    UOp,
    const,
    dtypes,
    has_meaning,
    make,
    pack_values,
    unpack_values,
)
from tiny_plugin import FloatFacts, Options, Target, replace
from tiny_testing.cases import specials
from tiny_testing.evaluate import drawn
from tiny_testing.graph_values import Values, array_of, graph_values
from tiny_testing.programs import Bench, first_difference
from tiny_testing.schedules import run_schedule

from .graphs import SCALAR, TARGETS, VERIFIED, reference

STORED = tuple(dtype for dtype in dtypes.DTYPES.values() if dtype.nbytes)
SHAPES = ((7,), (3, 5), (2, 3, 4), (33,), (), (1, 6), (20, 2))
UNARY = (Op.NEG, Op.SQRT, Op.TRUNC, Op.FLOOR, Op.CEIL, Op.ROUND)
BINARY = (Op.ADD, Op.SUB, Op.MUL, Op.FDIV, Op.FLOORDIV, Op.FLOORMOD, Op.CDIV, Op.CMOD)
BINARY += (Op.MAX, Op.MIN, Op.AND, Op.OR, Op.XOR, Op.SHL, Op.SHR)
COMPARING = (Op.CMPLT, Op.CMPLE, Op.CMPEQ, Op.CMPNE)
REDUCING = (Op.MAX, Op.MIN, Op.AND, Op.OR, Op.ADD, Op.MUL)


def _machine() -> Target:
    """No integer division, no rounding, no narrow floats, no FMA: what stages must spell out."""
    lacking = {Op.FLOORDIV, Op.FLOORMOD, Op.ROUND, Op.POW, Op.FMA, Op.THREEFRY, Op.MAX, Op.MIN}
    wide = {dtype for dtype in STORED if not dtype.is_float or dtype.nbytes >= 4}
    return replace(
        TARGETS["lanes of 32 bytes"],
        name="machine",
        features=(),
        supported=frozenset(p for p in SCALAR.supported if p[0] not in lacking and p[1] in wide),
        storage=frozenset(wide),
        floats=tuple(FloatFacts(d) for d in (dtypes.float32, dtypes.float64)),
    )


MACHINE = _machine()
"""What a vector unit of a CPU is like."""
LONG = (dtypes.int64, dtypes.uint64)
SHORT_MACHINE = replace(
    MACHINE,
    name="short machine",
    supported=frozenset(pair for pair in MACHINE.supported if pair[1] not in LONG),
    storage=MACHINE.storage - set(LONG),
)
"""What some GPUs are like: words of 32 bits."""


@dataclass(slots=True)
class Graph:
    """A graph in the making; every value has one shape."""

    draw: random.Random
    shape: tuple[int, ...]
    memory: dict[UOp, Values] = field(default_factory=dict)
    pool: list[UOp] = field(default_factory=list)

    @staticmethod
    def of(seed: int) -> Graph:
        """A random graph."""
        draw = random.Random(seed)
        graph = Graph(draw, draw.choice(SHAPES))
        for _ in range(draw.randint(2, 4)):
            graph.read(draw.choice(STORED))
        grow = (graph.unary, graph.binary, graph.binary, graph.compare, graph.choose, graph.cast)
        grow += (graph.cast, graph.move, graph.reduce, graph.gather, graph.scatter)
        for _ in range(draw.randint(3, 14)):
            node = draw.choice(grow)()
            if node is not None:
                graph.pool.append(node)
        return graph

    def read(self, dtype: DType) -> None:
        count = int(np.prod(self.shape))
        known = specials(dtype)
        values = [
            self.draw.choice(known) if self.draw.random() < 0.5 else drawn(self.draw, dtype)
            for _ in range(count)
        ]
        kept = list(unpack_values(dtype, pack_values(dtype, values)))
        arg = ParamArg(len(self.memory), count, "cpu")
        param = make(Op.PARAM, dtype, (), arg)
        self.memory[param] = array_of(kept, (count,))
        self.pool.append(param.reshape(self.shape))

    def any(self) -> UOp:
        return self.draw.choice(self.pool)

    def like(self, dtype: DType) -> UOp:
        """A value of a dtype: one that is there, a constant, or a cast."""
        found = [node for node in self.pool if node.dtype is dtype]
        if found and self.draw.random() < 0.7:
            return self.draw.choice(found)
        if self.draw.random() < 0.5:
            return const(dtype, self.draw.choice(specials(dtype)))
        return self.any().cast(dtype)

    def unary(self) -> UOp | None:
        x, op = self.any(), self.draw.choice(UNARY)
        return x.alu(op) if has_meaning(op, x.dtype) else None

    def binary(self) -> UOp | None:
        x, op = self.any(), self.draw.choice(BINARY)
        return x.alu(op, self.like(x.dtype)) if has_meaning(op, x.dtype) else None

    def compare(self) -> UOp | None:
        x, op = self.any(), self.draw.choice(COMPARING)
        return x.alu(op, self.like(x.dtype)) if has_meaning(op, x.dtype) else None

    def choose(self) -> UOp:
        x = self.any()
        return self.like(dtypes.bool_).where(x, self.like(x.dtype))

    def cast(self) -> UOp:
        x, dtype = self.any(), self.draw.choice(STORED)
        if x.dtype.nbytes == dtype.nbytes and self.draw.random() < 0.3 and not dtype.is_bool:
            return x.bitcast(dtype) if not x.dtype.is_bool else x.cast(dtype)
        return x.cast(dtype)

    def move(self) -> UOp | None:
        x = self.any()
        if not self.shape:
            return None
        axis = self.draw.randrange(len(self.shape))
        if self.draw.random() < 0.5:
            return x.flip((axis,))
        whole = [(0, size) for size in self.shape]
        by = self.draw.randint(0, self.shape[axis] - 1)
        part = x.shrink([(by, n) if at == axis else (0, n) for at, (_, n) in enumerate(whole)])
        return part.pad([(0, by) if at == axis else (0, 0) for at in range(len(self.shape))])

    def reduce(self) -> UOp | None:
        x, op = self.any(), self.draw.choice(REDUCING)
        is_ordered = x.dtype.is_float and op in (Op.ADD, Op.MUL)
        if not self.shape or is_ordered or not has_meaning(op, x.dtype):
            return None
        axis = self.draw.randrange(len(self.shape))
        kept = tuple(1 if at == axis else size for at, size in enumerate(self.shape))
        return x.reduce(op, (axis,)).reshape(kept).expand(self.shape)

    def _positions(self) -> UOp | None:
        found = [node for node in self.pool if node.dtype.is_int]
        if not self.shape or not found:
            return None
        x = self.draw.choice(found)
        first = x.reduce(Op.MAX, range(1, len(self.shape)))
        return first.alu(Op.FLOORMOD, self.shape[0] + 1) if self.draw.random() < 0.7 else first

    def gather(self) -> UOp | None:
        at = self._positions()
        return None if at is None else make(Op.INDEX, None, (self.any(), at))

    def scatter(self) -> UOp | None:
        at, x = self._positions(), self.any()
        op = self.draw.choice((None, Op.MAX, Op.ADD))
        if at is None or (op is not None and not has_meaning(op, x.dtype)):
            return None
        value = self.draw.choice([node for node in self.pool if node.dtype is x.dtype])
        return make(Op.SCATTER, None, (x, value, at), op)


def check_graph(seed: int, target: Target, bench: Bench, options: Options = VERIFIED) -> None:
    graph = Graph.of(seed)
    results = graph.pool[-3:]
    count = int(np.prod(graph.shape))
    contents = [pack_values(p.dtype, list(v)) for p, v in graph.memory.items()]
    effects, expected = [], []
    for number, value in enumerate(results, len(graph.memory)):
        place = make(Op.PARAM, value.dtype, (), ParamArg(number, count, "cpu"))
        effects.append(place.reshape(graph.shape).store(value))
        values = list(graph_values(value, graph.memory).reshape(-1))
        expected.append(pack_values(value.dtype, values))
    # Memory that no result needs has a slot all the same: a store of itself changes nothing.
    idle = [p.store(p) for p in graph.memory]
    sink = make(Op.SINK, None, (*effects, *idle))
    schedule = Generator().schedule(sink, {"cpu": target}, options)
    empty = [bytes(len(content)) for content in expected]
    after = run_schedule(schedule, [*contents, *empty], bench=bench)
    for at, (value, one) in enumerate(zip(results, expected, strict=True), len(contents)):
        place = first_difference(value.dtype, after[at], one)
        if place is not None:
            found = unpack_values(value.dtype, after[at])[place]
            wanted = unpack_values(value.dtype, one)[place]
            raise AssertionError(f"seed {seed}: element {place} is {found}, not {wanted}:\n{value}")


@cache
def cpu() -> Bench:
    """The CPU, with what this machine can do."""
    return Bench.open("cpu")


@pytest.mark.parametrize("name", TARGETS)
def test_random_graphs_on_targets_that_do_all(name: str) -> None:
    first = 1000 * list(TARGETS).index(name)
    for seed in range(first, first + 12):
        check_graph(seed, TARGETS[name], reference())


@pytest.mark.parametrize("target", [MACHINE, SHORT_MACHINE], ids=lambda target: target.name)
def test_random_graphs_on_machines_that_lack_much(target: Target) -> None:
    for seed in range(10_000, 10_024):
        check_graph(seed, target, reference())


def test_random_graphs_on_the_cpu() -> None:
    for seed in range(40_000, 40_012):
        check_graph(seed, cpu().runtime.target, cpu(), Options())
