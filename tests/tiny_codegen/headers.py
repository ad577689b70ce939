"""Reads the before and after of a stage's header: the notation, its names, and what they stand for.

    before   END(STORE(INDEX(p, t*8 + i), x), t, i)      t walked as THREAD
    after    END(STORE(INDEX(p, SPECIAL grid0 * 8 + i), x), i)

An op is called like a function: sources first, then the arg after a semicolon. `IOTA 4` is short
for `IOTA(; 4)`. Three spaces end an expression; if what follows is an integer dtype, indices are
computed in it. `x, where y is ...` names parts. All other names stand in `vocabulary`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple, TypeAlias

from tiny_ir import (
    AxisKind,
    DType,
    KernelArg,
    Op,
    ParamArg,
    RangeArg,
    ReduceArg,
    RegisterArg,
    StoreArg,
    UOp,
    VariableArg,
    const,
    dtypes,
    make,
)

Value: TypeAlias = "UOp | int | float | str | DType | Axis | Op"


class Axis(NamedTuple):
    """The axis of a reduction in a graph."""

    number: int


class Example(NamedTuple):
    """One before and after, as written."""

    before: str
    after: str


def examples_of(path: Path) -> list[Example]:
    """The pairs in the docstring of a module."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    joined = re.sub(r"\n {9,}", " ", text)
    lines = [line for line in joined.splitlines() if line.startswith(("before ", "after "))]
    stripped = [line.split(maxsplit=1)[1] for line in lines]
    return [Example(*pair) for pair in zip(stripped[::2], stripped[1::2], strict=True)]


def vocabulary(index: DType) -> dict[str, object]:
    """What the names of headers stand for; indices and sizes have the dtype `index`."""

    def axis(number: int, size: int, kind: AxisKind = AxisKind.LOOP) -> UOp:
        return make(Op.RANGE, None, (const(index, size),), RangeArg(number, kind))

    def memory(slot: int, dtype: DType = dtypes.float32, elements: int = 8000) -> UOp:
        return make(Op.PARAM, dtype, (), ParamArg(slot, elements, ""))

    def number(name: str, dtype: DType = index) -> UOp:
        return make(Op.VARIABLE, dtype, (), VariableArg(name, 0, 9))

    def value(name: str) -> UOp:
        return number(name, dtypes.int32).cast(dtypes.float32)

    threads = axis(90, 4, AxisKind.THREAD)
    return {
        **{name: memory(slot) for slot, name in enumerate(("p", "q", "m", "table"))},
        "picks": memory(4, dtypes.int32),
        "big": memory(5, elements=1 << 24).reshape((4096, 4096)),
        **{name: value(name) for name in ("x", "y", "z")},
        **{name: number(name) for name in ("base", "c")},
        "n": number("n", dtypes.int32),
        "valid": number("valid", dtypes.int32) < 5,
        **{name: axis(at, 8) for at, name in enumerate(("i", "j", "k", "o"))},
        "a": axis(9, 1),
        "r": axis(10, 8, AxisKind.REDUCE),
        "l": axis(11, 4, AxisKind.LANE),
        "u": axis(12, 2, AxisKind.UNROLL),
        "t": threads,
        "acc": make(Op.REGISTER, dtypes.float32, (), RegisterArg(0, ())),
        **{op.name: _builder(op, index) for op in Op},
        "IOTA": lambda arg: make(Op.IOTA, index, (), arg),
        "RANGE": lambda arg: axis(20, arg),
        "SPECIAL": lambda arg: make(Op.SPECIAL, None, threads.src, arg),
        "REGISTER": lambda arg: make(Op.REGISTER, dtypes.float32, (), RegisterArg(arg, ())),
        "CAST": lambda source, dtype=dtypes.int32: source.cast(dtype),
        "Axis": Axis,
        **{name: name for name in ("grid0", "grid1")},
        **{dtype.name: dtype for dtype in dtypes.DTYPES.values()},
        **{op.name.lower(): op for op in (Op.ADD, Op.MUL, Op.MAX, Op.MIN)},
        "streamed": StoreArg(is_streamed=True),
    }


def _builder(op: Op, index: DType) -> Callable[..., UOp]:
    """A function that makes nodes of an op; numbers get the dtype of what stands beside them."""

    def build(*sources: Value, arg: Value | None = None) -> UOp:
        axes = tuple(source.number for source in sources if isinstance(source, Axis))
        values = [source for source in sources if not isinstance(source, Axis)]
        first = 1 if op is Op.WHERE else 0
        peers = [value.dtype for value in values[first:] if isinstance(value, UOp)]
        peer = index if op is Op.INDEX else peers[0] if peers else dtypes.int32
        nodes = tuple(v if isinstance(v, UOp) else const(peer, v) for v in values)  # type: ignore[arg-type]
        if op is Op.REDUCE:
            assert isinstance(arg, Op)
            return make(op, None, nodes, ReduceArg(arg, axes))
        if op is Op.RESHAPE:
            return nodes[0].reshape(tuple(int(size.arg) for size in nodes[1:]))
        return make(op, None, nodes, arg)

    return build


def read(text: str) -> UOp:
    """The graph that an expression of a header stands for, as a SINK."""
    expression, _, comment = (part.strip() for part in re.split(r"(   +|$)", text, maxsplit=1)[:3])
    named = [part.strip() for part in re.split(r", where |, and (?=\w+ is )", expression)]
    index = dtypes.DTYPES.get(comment, dtypes.weakint)
    names: dict[str, object] = vocabulary(index if index.is_int else dtypes.weakint)
    for definition in reversed(named[1:]):
        name, _, meaning = definition.partition(" is ")
        names[name] = _evaluated(meaning, names)
    root = _evaluated(named[0], names)
    assert isinstance(root, UOp)
    return _as_kernel(root)


def _evaluated(text: str, names: Mapping[str, object]) -> object:
    text = re.sub(r"\b(IOTA|RANGE|REGISTER|SPECIAL) (-?\w+)", r"\1(\2)", text)
    text = re.sub(r"\baxis (\d+)", r"Axis(\1)", text)
    text = re.sub(r"; ([A-Z]+)\)", lambda match: f", arg={match[1].lower()})", text)
    text = re.sub(r"; (\d+)\)", r", arg=\1)", text)
    return eval(text, {"__builtins__": {}}, dict(names))


def _as_kernel(root: UOp) -> UOp:
    """A value is stored, an effect stands in a SINK."""
    if root.op is Op.SINK:
        return root
    if root.dtype is not dtypes.void:
        place = make(Op.PARAM, root.dtype, (), ParamArg(9, 64, ""))
        root = place.index(const(dtypes.int32, 0)).store(root)
    return make(Op.SINK, None, (root,), KernelArg("header"))
