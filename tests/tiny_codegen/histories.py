"""Random histories of memory: reads, views, whole and partial writes, on nodes and on arrays.

A value is what the memory held when it was read, however late it is used. So the arrays are copied
at every read, and the graph must put its kernels in an order, or keep old bytes, to agree.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tiny_ir import Op, UOp, const, dtypes, make

from . import chains
from .graphs import Sheet, full, loop, result, scan, state, steps

Array = npt.NDArray[np.generic]


@dataclass(slots=True)
class Version:
    """One slot: the node that reads its newest version, and what it holds."""

    slot: int
    node: UOp
    array: Array


@dataclass(slots=True)
class History:
    """A graph in the making, and what it should leave behind."""

    draw: random.Random
    sheet: Sheet = field(default_factory=Sheet)
    versions: list[Version] = field(default_factory=list)
    values: list[tuple[UOp, Array]] = field(default_factory=list)
    outputs: dict[int, Array] = field(default_factory=dict)
    recurrences: int = 0

    @staticmethod
    def of(draw: random.Random, actions: int) -> History:
        """Let a history happen."""
        history = History(draw)
        for _ in range(draw.randint(1, 3)):
            history.allocate()
        acts = (history.read, history.read, history.combine, history.write, history.write)
        acts += (history.write_whole, history.gather, history.scatter, history.keep)
        acts += (history.accumulate, history.turn)
        for _ in range(actions):
            draw.choice(acts)()
        return history

    def allocate(self) -> None:
        shape = self.draw.choice(((6,), (2, 3), (4, 2), (3, 2, 2), (1,), (8,)))
        array = np.array(
            [self.draw.randint(-5, 5) for _ in range(int(np.prod(shape)))], np.int32
        ).reshape(shape)
        node = self.sheet.memory(array)
        if self.draw.random() < 0.5:
            # Storage may be flat below its versions, or have its shape there.
            while node.op is Op.RESHAPE:
                node = node.src[0]
        self.versions.append(Version(len(self.sheet.arrays) - 1, node, array))

    def read(self) -> None:
        version = self.draw.choice(self.versions)
        node = version.node.reshape(version.array.shape)
        steps = (*chains.MOVEMENT, chains.compute, chains.reduce)
        x, a = chains.random_chain(self.draw, node, version.array.copy(), steps, 3)
        if self.draw.random() < 0.15:
            x = make(Op.CONTIGUOUS, None, (x,))
        self.values.append((x, a))

    def combine(self) -> None:
        if len(self.values) >= 2:
            (x, a), (y, b) = self.draw.choice(self.values), self.draw.choice(self.values)
            x, a = self._fitted(x, a, b.shape)
            self.values.append((x * 2 + y, a * 2 + b))

    def _value(self, shape: tuple[int, ...], version: Version) -> tuple[UOp, Array]:
        """A value of a shape: an earlier one, a constant, or one of the memory itself."""
        choice = self.draw.random()
        if choice < 0.3:
            node = version.node.reshape(version.array.shape)
            x, a = chains.random_chain(self.draw, node, version.array.copy(), chains.MOVEMENT, 2)
            return self._fitted(x, a, shape)
        if choice < 0.85 and self.values:
            return self._fitted(*self.draw.choice(self.values), shape)
        number = self.draw.randint(-9, 9)
        return full(dtypes.int32, number, shape), np.full(shape, number, np.int32)

    def _fitted(self, x: UOp, a: Array, shape: tuple[int, ...]) -> tuple[UOp, Array]:
        if a.size == int(np.prod(shape)):
            return x.reshape(shape), a.reshape(shape)
        x, a = x.reshape((a.size,)), a.reshape(a.size)
        if a.size > int(np.prod(shape)) and self.draw.random() < 0.6:
            count = int(np.prod(shape))
            return x.shrink(((0, count),)).reshape(shape), a[:count].reshape(shape)
        total = x.reduce(Op.ADD, (0,)).reshape((1,) * len(shape)).expand(shape)
        return total, np.full(shape, a.sum(dtype=np.int32), np.int32)

    def _written(self, version: Version, store: UOp) -> None:
        self.sheet.effect(store)
        version.node = make(Op.AFTER, None, (version.node, store))

    def write(self) -> None:
        """Through a view: only part of the memory changes, or all of it in another order."""
        version = self.draw.choice(self.versions)
        view: UOp = version.node.reshape(version.array.shape)
        array = version.array = version.array.copy()
        steps = (chains.permute, chains.shrink, chains.shrink, chains.flip)
        place: Array
        view, place = chains.random_chain(self.draw, view, array, steps, 3)
        value, content = self._value(place.shape, self._before(version, array))
        self._written(version, view.store(value))
        place[...] = content

    def _before(self, version: Version, array: Array) -> Version:
        return Version(version.slot, version.node, array.copy())

    def write_whole(self) -> None:
        version = self.draw.choice(self.versions)
        value, content = self._value(version.array.shape, version)
        self._written(version, version.node.reshape(version.array.shape).store(value))
        version.array = np.array(content)

    def gather(self) -> None:
        version = self.draw.choice(self.versions)
        size = version.array.shape[0]
        if not self.values:
            return
        x, a = self.draw.choice(self.values)
        index, at = x.alu(Op.FLOORMOD, const(dtypes.int32, size + 1)), a % (size + 1)
        table = np.concatenate([version.array, np.zeros_like(version.array[:1])])
        node = version.node.reshape(version.array.shape)
        self.values.append((make(Op.INDEX, None, (node, index)), table[at]))

    def scatter(self) -> None:
        version = self.draw.choice(self.versions)
        array = version.array.copy()
        positions = [self.draw.randint(-1, array.shape[0]) for _ in range(self.draw.randint(1, 4))]
        value, content = self._value((len(positions), *array.shape[1:]), version)
        where = self.sheet.memory(np.array(positions, np.int32))
        op = self.draw.choice((None, Op.ADD, Op.MAX))
        for position, new in zip(positions, content, strict=True):
            if 0 <= position < array.shape[0]:
                old = array[position]
                array[position] = (
                    old + new if op is Op.ADD else np.maximum(old, new) if op is Op.MAX else new
                )
        node = version.node.reshape(version.array.shape)
        scattered = make(Op.SCATTER, None, (node, value, where), op)
        self._written(version, node.store(scattered))
        version.array = array

    def accumulate(self) -> None:
        """The running sums of a value, and their last, with one register an element."""
        if not self.values:
            return
        x, a = self.draw.choice(self.values)
        if not a.ndim or not a.size:
            return
        number, rest = self._recurrences(), a.shape[1:]
        step = steps(number, a.shape[0])
        following = state(number, 0, rest, dtypes.int32) + x.index(step)
        sums = scan(number, step, [full(dtypes.int32, 0, rest)], [following], [following])
        total = np.cumsum(a, 0, dtype=np.int32)
        position = self.draw.randrange(2)
        self.values.append((result(sums, position), total if position else total[-1]))

    def turn(self) -> None:
        """A state that each step reads in another order, so that it is an array in memory."""
        if not self.values:
            return
        x, a = self.draw.choice(self.values)
        if not a.ndim or not a.size:
            return
        number = self._recurrences()
        now = state(number, 0, a.shape, dtypes.int32)
        following = now.flip((0,)) * 2 + x
        turned = loop(number, steps(number, 3), [x], [following])
        expected = a
        for _ in range(3):
            expected = expected[::-1] * 2 + a
        self.values.append((result(turned, 0), expected))

    def _recurrences(self) -> int:
        self.recurrences += 1
        return self.recurrences

    def keep(self) -> None:
        if self.values:
            x, a = self.draw.choice(self.values)
            self.outputs[self.sheet.output(x)] = a

    def expected(self) -> dict[int, Array]:
        """What every slot that was written holds in the end."""
        return self.outputs | {version.slot: version.array for version in self.versions}
