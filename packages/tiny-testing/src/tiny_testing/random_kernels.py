"""Random Programs for a Target: elementwise graphs over many dtypes, nothing in them undefined."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from tiny_ir import ELEMENTWISE, DType, Op, UOp, const, dtypes, has_meaning, make, pack_values
from tiny_plugin import Program, Target
from tiny_testing.cases import COMPARISONS, specials
from tiny_testing.programs import (
    Scalar,
    load,
    loop,
    number,
    parameter,
    program_of,
    store,
)

_UNARY = (Op.NEG, Op.SQRT, Op.TRUNC, Op.FLOOR, Op.CEIL, Op.ROUND)
_BINARY = (Op.ADD, Op.SUB, Op.MUL, Op.FDIV, Op.CDIV, Op.CMOD, Op.MAX, Op.MIN) + (
    Op.AND,
    Op.OR,
    Op.XOR,
    Op.SHL,
    Op.SHR,
)
_SMALL = 63  # divisors and shifts stay below
_INPUTS = 5
_CONSTANTS = 4


@dataclass(frozen=True, slots=True)
class RandomKernel:
    """A program, and what its arguments hold before the launch."""

    program: Program
    contents: tuple[bytes, ...]


def random_kernel(
    target: Target, seed: int, *, nodes: int = 24, turns: int = 5, lanes: int = 0
) -> RandomKernel:
    """Make a program of random ops that the target claims.

    Args:
        target: whose claims are used.
        seed: the same seed gives the same kernel for the same target.
        nodes: how many ops.
        turns: how often the loop runs.
        lanes: how wide values are; 0 makes a scalar program.

    Returns:
        A program that stores its last values, one of each dtype.
    """
    return _Maker(target, random.Random(seed), lanes).kernel(f"random_{seed}", nodes, turns)


class _Maker:
    """Grows a pool of values."""

    def __init__(self, target: Target, source: random.Random, lanes: int) -> None:
        self.target, self.source, self.lanes = target, source, lanes
        stored = [dtype for dtype in dtypes.DTYPES.values() if target.stores(dtype)]
        self.known = [dtype for dtype in stored if target.supports(Op.WHERE, dtype)]
        self.ops = [
            (op, dtype)
            for op in sorted(ELEMENTWISE, key=lambda op: op.name)
            for dtype in self.known
            if op in (*_UNARY, *_BINARY, *COMPARISONS, Op.WHERE, Op.FMA, Op.CAST, Op.BITCAST)
            if target.supports(op, dtype)
            and (op in (Op.CAST, Op.BITCAST) or has_meaning(op, dtype))
        ]
        self.pool: dict[DType, list[UOp]] = {}

    def kernel(self, name: str, nodes: int, turns: int) -> RandomKernel:
        """The program and the contents of its arguments."""
        elements = turns * max(1, self.lanes)
        axis = loop(0, turns)
        offset = axis * number(self.lanes) if self.lanes else axis
        inputs = [self.source.choice(self.known) for _ in range(_INPUTS)]
        buffers = [parameter(i, dtype, elements) for i, dtype in enumerate(inputs)]
        loads = [load(buffer, offset, self.lanes or None) for buffer in buffers]
        for value in loads:
            self._keep(value)
        for _ in range(_CONSTANTS):
            dtype = self.source.choice(self.known)
            self._keep(const(dtype, self.source.choice(specials(dtype))))
        for _ in range(nodes):
            self._keep(self._grown())
        results = [values[-1] for values in self.pool.values()]
        writes = [
            store(parameter(_INPUTS + i, value.dtype, elements), offset, value, self.lanes or None)
            for i, value in enumerate(results)
        ]
        end = make(Op.END, None, (*writes, axis))
        contents = [pack_values(dtype, self._values(dtype, elements)) for dtype in inputs]
        contents += [bytes(elements * value.dtype.nbytes) for value in results]
        return RandomKernel(
            program_of(name, self.target, axis, *loads, *writes, end), tuple(contents)
        )

    def _values(self, dtype: DType, count: int) -> Sequence[Scalar]:
        """Special and ordinary values."""
        found: list[Scalar] = []
        for _ in range(count):
            if dtype.is_bool or self.source.random() < 0.4:
                found.append(self.source.choice(specials(dtype)))
            elif dtype.is_float:
                found.append(self.source.gauss(0.0, 100.0))
            else:
                found.append(self.source.getrandbits(dtype.bits))
        return found

    def _keep(self, value: UOp) -> None:
        self.pool.setdefault(value.dtype, []).append(value)

    def _any(self, dtype: DType) -> UOp:
        """A value of a dtype: one there is, converted or made of nothing where there is none."""
        values = self.pool.get(dtype)
        if values:
            return self.source.choice(values)
        return const(dtype, self.source.choice(specials(dtype)))

    def _grown(self) -> UOp:
        op, dtype = self.source.choice(self.ops)
        x = self._any(dtype)
        if op is Op.CAST:
            return self._converted(x, self.source.choice(self._castable(x.dtype)))
        if op is Op.BITCAST:
            fitting = [
                other
                for other in self.known
                if other.nbytes == dtype.nbytes and self.target.supports(op, other)
            ]
            if self.target.supports(Op.CMPEQ, dtype) and dtype.is_float:
                # All NaNs are one value, but not the same bits on every machine.
                x = x.eq(x).where(x, 0.0)
            return x.bitcast(self.source.choice(fitting))
        if op is Op.WHERE:
            return self._any(dtypes.bool_).where(x, self._any(dtype))
        if op in (Op.CDIV, Op.CMOD):
            return x.alu(op, self._small(self._any(dtype)) | 1)
        if op in (Op.SHL, Op.SHR):
            return x.alu(op, self._any(dtype) & (dtype.bits - 1))
        others = 2 if op is Op.FMA else 0 if op in _UNARY else 1
        return x.alu(op, *(self._any(dtype) for _ in range(others)))

    def _small(self, x: UOp) -> UOp:
        return x & _SMALL

    def _castable(self, source: DType) -> list[DType]:
        return [dtype for dtype in self.known if self.target.converts(source, dtype)]

    def _converted(self, x: UOp, dtype: DType) -> UOp:
        """A cast; a float is brought into the range of an integer first, with room for rounding."""
        if x.dtype.is_float and dtype.is_int:
            bits = min(dtype.bits - 1, x.dtype.mantissa_bits)
            high, low = 2.0**bits - 1, 0.0 if dtype.is_unsigned else -(2.0**bits)
            x = x.eq(x).where(x, 0.0)
            x = (x < high).where(x, high)
            x = (x > low).where(x, low)
        return x.cast(dtype)
