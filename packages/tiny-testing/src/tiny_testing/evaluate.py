"""Computes a graph of elementwise nodes, one value at a time, by the meaning of each op."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from itertools import product
from typing import Any, TypeAlias
from zlib import crc32

from tiny_ir import OP_TABLE, DType, Op, UOp, toposort
from tiny_ir.dtypes import bool_
from tiny_ir.floats import round_to
from tiny_ir.meaning import meaning

Value: TypeAlias = Any
"""A Python bool, int or float; a list of them for a node with lanes."""


class CannotEvaluateError(Exception):
    """A node is no value that can be computed here: an effect, or storage that is not read."""


def evaluate(node: UOp, environment: Mapping[UOp, Value]) -> Value:
    """Compute `node` where leaves have the values of `environment`.

    Args:
        node: elementwise nodes, lanes, reductions over ranges, reads of storage.
        environment: values of RANGE, SPECIAL, VARIABLE, and of any other node that shall not be
            computed. What is read from storage need not be there: each element of each buffer
            has a value of its own, drawn from the buffer and the offset; an accumulator holds
            one value all the time.

    Returns:
        The value, or a list with one value a lane.

    Raises:
        CannotEvaluateError: the graph holds a node without a value.

    Example:
        >>> from tiny_ir import Op, VariableArg, dtypes, make
        >>> n = make(Op.VARIABLE, dtypes.weakint, (), VariableArg("n", 0, 9))
        >>> evaluate(n * 2 + 1, {n: 4})
        9
    """
    values: dict[UOp, Value] = {}
    stack = [node]
    while stack:
        top = stack[-1]
        if top in values:
            stack.pop()
            continue
        if top in environment:
            values[top] = environment[top]
            continue
        if top.op is Op.REDUCE and not top.arg.axes:
            values[top] = _reduced(top, environment)
            continue
        sources = _sources_with_values(top)
        missing = [source for source in sources if source not in values]
        if missing:
            stack += missing
            continue
        values[top] = _computed(top, [values[source] for source in sources])
    return values[node]


def _sources_with_values(node: UOp) -> tuple[UOp, ...]:
    match node.op:
        case Op.INDEX:
            return node.src[1:]
        case Op.LOAD:
            address = node.src[0]
            return (*address.src[1:], *node.src[1:]) if address.op is Op.INDEX else node.src
        case Op.AFTER:
            return node.src[:1]
        case _:
            return node.src


def _computed(node: UOp, sources: list[Value]) -> Value:
    op = node.op
    if OP_TABLE[op].is_elementwise:
        return _elementwise(node, sources)
    match op:
        case Op.CONST:
            return node.arg
        case Op.IOTA:
            return list(range(node.arg))
        case Op.SPLAT:
            return [sources[0]] * node.arg
        case Op.STACK:
            return list(sources)
        case Op.EXTRACT:
            return sources[0][node.arg]
        case Op.SHUFFLE:
            lanes = [lane for source in sources for lane in source]
            return [lanes[at] for at in node.arg]
        case Op.AFTER:
            return sources[0]
        case Op.REGISTER:
            return _held(node)
        case Op.INDEX:
            return _read(node, node.src[0], sources, node.dtype)
        case Op.LOAD if node.src[0].op is Op.INDEX:
            return _loaded(node, sources)
        case Op.LOAD if len(node.src) == 1:
            return sources[0]
        case _:
            raise CannotEvaluateError(f"{node!r} has no value of its own")


def _elementwise(node: UOp, sources: list[Value]) -> Value:
    first = node.src[0].dtype
    function = meaning(node.op, node.dtype, first)
    lanes = {len(source) for source in sources if isinstance(source, list)}
    if not lanes:
        return function(*sources)
    (count,) = lanes
    columns = [source if isinstance(source, list) else [source] * count for source in sources]
    return [function(*values) for values in zip(*columns, strict=True)]


def _loaded(node: UOp, sources: list[Value]) -> Value:
    address = node.src[0]
    count = len(address.src) - 1
    read = _read(address, address.src[0], sources[:count], node.dtype)
    if len(node.src) < 3:
        return read
    otherwise, gate = sources[count:]
    if isinstance(read, list):
        gates = gate if isinstance(gate, list) else [gate] * len(read)
        others = otherwise if isinstance(otherwise, list) else [otherwise] * len(read)
        return [a if g else b for a, b, g in zip(read, others, gates, strict=True)]
    return read if gate else otherwise


def _read(index: UOp, storage: UOp, sources: list[Value], dtype: DType) -> Value:
    """The elements at the offsets; 0 where the last source, a bool, says that none is valid."""
    offsets = [s for s, n in zip(sources, index.src[1:], strict=True) if n.dtype is not bool_]
    valid = [s for s, n in zip(sources, index.src[1:], strict=True) if n.dtype is bool_]
    if index.arg is not None:
        return [_element(storage, (offsets[0] + lane,), dtype) for lane in range(index.arg)]
    lanes = {len(source) for source in sources if isinstance(source, list)}
    if not lanes:
        return _element(storage, tuple(offsets), dtype) if all(valid) else _zero(dtype)
    (count,) = lanes
    columns = [s if isinstance(s, list) else [s] * count for s in (*offsets, *valid)]
    rows = list(zip(*columns, strict=True))
    split = len(offsets)
    return [
        _element(storage, row[:split], dtype) if all(row[split:]) else _zero(dtype) for row in rows
    ]


def _held(register: UOp) -> Value:
    """What an accumulator holds, whenever it is read: a rule must hold for equal values too."""
    (lanes,) = register.arg.lanes or (0,)
    if not lanes:
        return _element(register, (0,), register.dtype)
    return [_element(register, (lane,), register.dtype) for lane in range(lanes)]


def _zero(dtype: DType) -> Value:
    return 0.0 if dtype.is_float else False if dtype.is_bool else 0


def _element(storage: UOp, offsets: tuple[int, ...], dtype: DType) -> Value:
    """A value that depends on the storage and the offset only."""
    seed = crc32(repr((storage.op.name, storage.arg, offsets)).encode())
    return drawn(random.Random(seed), dtype)


def drawn(draw: random.Random, dtype: DType) -> Value:
    """A random value of a dtype: mostly small, sometimes an extreme."""
    if dtype.is_bool:
        return draw.random() < 0.5
    if dtype.is_float:
        return round_to(dtype, draw.choice((draw.gauss(0, 4), float(draw.randrange(-8, 9)))))
    low = -64 if dtype.is_weak else max(int(dtype.minimum), -64)
    high = 64 if dtype.is_weak else min(int(dtype.maximum), 64)
    if not dtype.is_weak and draw.random() < 0.2:
        return draw.choice((int(dtype.minimum), int(dtype.maximum)))
    return draw.randrange(low, high + 1)


_LONGEST_REDUCTION = 4096
_START: Mapping[Op, Callable[[DType], Value]] = {
    Op.ADD: _zero,
    Op.MUL: lambda dtype: 1.0 if dtype.is_float else 1,
    Op.MAX: lambda dtype: dtype.minimum,
    Op.MIN: lambda dtype: dtype.maximum,
    Op.AND: lambda dtype: True if dtype.is_bool else -1,
    Op.OR: _zero,
}


def _reduced(node: UOp, environment: Mapping[UOp, Value]) -> Value:
    """Combine the values of the first source over all values of the ranges, in order."""
    value, *ranges = node.src
    sizes = [evaluate(axis.src[0], environment) for axis in ranges]
    count = 1
    for size in sizes:
        count *= max(size, 0)
    if count > _LONGEST_REDUCTION:
        raise CannotEvaluateError(f"{node!r} combines {count} values")
    combine = meaning(node.arg.op, node.dtype, node.dtype)
    total = _START[node.arg.op](node.dtype)
    for positions in product(*map(range, sizes)):
        inner = {**environment, **dict(zip(ranges, positions, strict=True))}
        found = evaluate(value, inner)
        if isinstance(found, list):
            total = [combine(a, b) for a, b in zip(_lanes(total, found), found, strict=True)]
        else:
            total = combine(total, found)
    return total


def leaves(roots: list[UOp]) -> list[UOp]:
    """The nodes below the roots whose values must be given: ranges and variables."""
    wanted = (Op.RANGE, Op.SPECIAL, Op.VARIABLE, Op.BIND)
    return [node for node in toposort(roots) if node.op in wanted]


def is_same(a: Value, b: Value) -> bool:
    """Whether two values are one value: NaN is NaN, and -0 is not +0."""
    if isinstance(a, list) or isinstance(b, list):
        pairs = zip(_lanes(a, b), _lanes(b, a), strict=True)
        return all(is_same(x, y) for x, y in pairs)
    if a != a or b != b:
        return bool(a != a and b != b)
    if a != b:
        return False
    return bool(a != 0 or math.copysign(1.0, a) == math.copysign(1.0, b))


def _lanes(value: Value, other: Value) -> list[Value]:
    return value if isinstance(value, list) else [value] * len(other)
