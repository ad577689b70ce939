"""Builds graphs from arrays, compiles them for a target and runs them on the reference device."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import numpy.typing as npt

from tiny_codegen.generator import Generator
from tiny_ir import (
    AxisKind,
    DType,
    LoopArg,
    Op,
    ParamArg,
    RangeArg,
    Size,
    StateArg,
    UOp,
    VariableArg,
    const,
    dtypes,
    make,
    substitute,
    toposort,
)
from tiny_plugin import FloatFacts, Options, Program, Schedule, Target, replace
from tiny_runtime_python.target import python_target
from tiny_testing.programs import Bench
from tiny_testing.schedules import run_schedule

Array = npt.NDArray[np.generic]

SCALAR = replace(python_target(), name="scalar")
_WIDE = replace(SCALAR, name="wide", form="wide", vector_registers=32, cores=2)
_NO_FMA = tuple(FloatFacts(facts.dtype, fma=False) for facts in SCALAR.floats)

TARGETS: Mapping[str, Target] = {
    "scalar": SCALAR,
    "scalar without fma": replace(SCALAR, floats=_NO_FMA, grid_limits=()),
    "lanes of 16 bytes": replace(_WIDE, vector_nbytes=(16,), vector_registers=16, cores=1),
    "lanes of 32 bytes": replace(_WIDE, vector_nbytes=(32, 16), floats=_NO_FMA),
    "lanes of 64 bytes": replace(_WIDE, vector_nbytes=(64, 32, 16)),
}
WIDE = TARGETS["lanes of 64 bytes"]

VERIFIED = Options(spec=1)
PLAIN = Options(spec=1, optimize=False)


@cache
def reference() -> Bench:
    """The device that runs every program op by op, and refuses what is out of bounds."""
    return Bench.open("python")


def dtype_of(array: Array) -> DType:
    """The dtype of an array's elements."""
    name = str(array.dtype)
    return dtypes.bool_ if name == "bool" else dtypes.DTYPES[name]


def param(slot: int, shape: Sequence[int], dtype: DType = dtypes.float32) -> UOp:
    """Memory of the graph, under a shape."""
    elements = int(np.prod(shape))
    flat = make(Op.PARAM, dtype, (), ParamArg(slot, elements, "cpu"))
    return flat.reshape(tuple(shape))


def full(dtype: DType, value: float, shape: Sequence[Size]) -> UOp:
    """One constant in every place."""
    return const(dtype, value).reshape((1,) * len(shape)).expand(tuple(shape))


def counting(size: int) -> UOp:
    """0, 1, 2, ... as int32."""
    return make(Op.IOTA, dtypes.weakint, (), size).cast(dtypes.int32)


def variable(name: str, minimum: int, maximum: int) -> UOp:
    """A size that is known at launch."""
    return make(Op.VARIABLE, dtypes.weakint, (), VariableArg(name, minimum, maximum))


@dataclass(slots=True)
class Sheet:
    """A graph that grows: arrays of memory and the effects on them."""

    arrays: list[Array] = field(default_factory=list)
    effects: list[UOp] = field(default_factory=list)

    def memory(self, array: Array) -> UOp:
        """Memory that holds an array."""
        self.arrays.append(np.array(array))
        return param(len(self.arrays) - 1, array.shape, dtype_of(array))

    def output(self, value: UOp) -> int:
        """Store a value into memory of its own, and return the number of its slot."""
        shape = tuple(int(size) for size in value.shape if isinstance(size, int))
        dtype = np.dtype("bool" if value.dtype.is_bool else value.dtype.name)
        place = self.memory(np.zeros(shape, dtype))
        self.effects.append(place.store(value))
        return len(self.arrays) - 1

    def effect(self, effect: UOp) -> UOp:
        """Add a STORE."""
        self.effects.append(effect)
        return effect

    @property
    def graph(self) -> UOp:
        """The SINK of all effects; memory that it does not mention has no slot."""
        sink = make(Op.SINK, None, tuple(self.effects))
        return substitute(sink, {old: _in_slot(old, at) for at, old in enumerate(self._memory())})

    def _memory(self) -> list[UOp]:
        nodes = toposort(self.effects)
        return sorted((n for n in nodes if n.op is Op.PARAM), key=lambda n: int(n.arg.slot))

    def schedule(self, target: Target = SCALAR, options: Options = VERIFIED) -> Schedule:
        """Compile the graph."""
        return Generator().schedule(self.graph, {"cpu": target}, options)

    def run(
        self,
        target: Target = SCALAR,
        options: Options = VERIFIED,
        values: Mapping[str, int] | None = None,
    ) -> list[Array]:
        """Compile the graph and run it; what each array holds afterwards."""
        return self.run_steps(self.schedule(target, options), values)

    def run_steps(self, schedule: Schedule, values: Mapping[str, int] | None = None) -> list[Array]:
        """Run what was compiled from this graph."""
        slots = [int(memory.arg.slot) for memory in self._memory()]
        contents = [self.arrays[slot].tobytes() for slot in slots]
        results = run_schedule(schedule, contents, values, bench=reference())
        after = list(self.arrays)
        for slot, result in zip(slots, results, strict=False):
            before = self.arrays[slot]
            after[slot] = np.frombuffer(result, before.dtype).reshape(before.shape)
        return after


def _in_slot(memory: UOp, slot: int) -> UOp:
    arg: ParamArg = memory.arg
    return make(Op.PARAM, memory.dtype, (), ParamArg(slot, arg.elements, arg.device))


def computed(
    build: Callable[..., UOp],
    *arrays: Array,
    target: Target = SCALAR,
    options: Options = VERIFIED,
    values: Mapping[str, int] | None = None,
) -> Array:
    """The array that `build` makes of memory that holds the arrays."""
    sheet = Sheet()
    slot = sheet.output(build(*map(sheet.memory, arrays)))
    return sheet.run(target, options, values)[slot]


def programs(build: Callable[..., UOp], *arrays: Array, target: Target = SCALAR) -> list[Program]:
    """The Programs that compute what `build` makes of arrays."""
    sheet = Sheet()
    sheet.output(build(*map(sheet.memory, arrays)))
    return [step.program for step in sheet.schedule(target).steps]  # type: ignore[union-attr]


# What kernels are made of in practice -----------------------------------------------------------


def matmul(x: UOp, y: UOp) -> UOp:
    """(m, k) by (k, n)."""
    (m, k), n = x.shape, y.shape[1]
    left = x.reshape((m, 1, k)).expand((m, n, k))
    right = y.permute((1, 0)).reshape((1, n, k)).expand((m, n, k))
    return (left * right).reduce(Op.ADD, (2,))


def keep(x: UOp, op: Op, axis: int) -> UOp:
    """Reduce an axis and spread the result over it again."""
    kept = tuple(1 if at == axis else size for at, size in enumerate(x.shape))
    return x.reduce(op, (axis,)).reshape(kept).expand(x.shape)


def softmax(x: UOp) -> UOp:
    """Along the last axis."""
    last = len(x.shape) - 1
    powers = (x - keep(x, Op.MAX, last)).alu(Op.EXP)
    return powers / keep(powers, Op.ADD, last)


def logsumexp(x: UOp) -> UOp:
    """Along the last axis, which goes."""
    last = len(x.shape) - 1
    top = x.reduce(Op.MAX, (last,))
    shifted = (x - keep(x, Op.MAX, last)).alu(Op.EXP)
    return shifted.reduce(Op.ADD, (last,)).alu(Op.LOG) + top


def layernorm(x: UOp) -> UOp:
    """Along the last axis, without scale and shift."""
    last = len(x.shape) - 1
    share = 1 / int(x.shape[last])  # type: ignore[arg-type]
    centered = x - keep(x, Op.ADD, last) * share
    variance = keep(centered * centered, Op.ADD, last) * share
    return centered / (variance + 1e-5).alu(Op.SQRT)


def convolution(x: UOp, w: UOp) -> UOp:
    """(n, c, h, w) by (o, c, kh, kw), padded so that the sizes stay."""
    (n, c, h, wide), (o, _, kh, kw) = x.shape, w.shape
    reach = ((0, 0), (0, 0), (kh // 2, kh // 2), (kw // 2, kw // 2))  # type: ignore[operator]
    windows = x.pad(reach).window(2, kh).window(3, kw)  # type: ignore[arg-type]
    full_shape = (n, o, c, h, wide, kh, kw)
    left = windows.reshape((n, 1, c, h, wide, kh, kw)).expand(full_shape)
    right = w.reshape((1, o, c, 1, 1, kh, kw)).expand(full_shape)
    return (left * right).reduce(Op.ADD, (2, 5, 6))


def state(number: int, position: int, shape: Sequence[int], dtype: DType = dtypes.float32) -> UOp:
    """The current value of a state, in the body of a recurrence."""
    return make(Op.STATE, dtype, (), StateArg(number, position, tuple(shape)))


def steps(number: int, count: int | UOp) -> UOp:
    """The RANGE that counts the steps of a recurrence."""
    size = const(dtypes.weakint, count) if isinstance(count, int) else count
    return make(Op.RANGE, None, (size,), RangeArg((1 << 20) + number, AxisKind.SERIAL))


def scan(
    number: int, step: UOp, initial: Sequence[UOp], following: Sequence[UOp], outputs: Sequence[UOp]
) -> UOp:
    """A SCAN; take its results with `result`."""
    arg = LoopArg(number, len(initial), len(outputs), False)
    return make(Op.SCAN, None, (step, *initial, *following, *outputs), arg)


def loop(
    number: int,
    step: UOp,
    initial: Sequence[UOp],
    following: Sequence[UOp],
    while_: UOp | None = None,
) -> UOp:
    """A LOOP; take its results with `result`."""
    arg = LoopArg(number, len(initial), 0, while_ is not None)
    condition = () if while_ is None else (while_,)
    return make(Op.LOOP, None, (step, *initial, *following, *condition), arg)


def result(recurrence: UOp, position: int) -> UOp:
    """A final state, or after the states an output at every step."""
    arg: LoopArg = recurrence.arg
    at = 1 + position if position < arg.states else 1 + arg.states + position
    return make(Op.GET, recurrence.src[at].dtype, (recurrence,), position)
