"""Proves laws of the algebra by the meaning of the ops.

A law is proved on all small values, on the extremes and on random values of every dtype that its
variables may have, and by z3 for all values where it is installed. Rules that are functions are
checked where they fire: see `tiny_testing.firings`.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import islice, product
from typing import Any

from tiny_ir import DType, Law, Op, ParamArg, Pattern, Rule, UOp, const, dtypes, make
from tiny_ir.meaning import has_meaning, meaning
from tiny_ir.op_table import COMPARISONS
from tiny_testing.driver import Verdict, verdict_of
from tiny_testing.evaluate import Value, drawn, is_same

_DTYPES = tuple(
    dtype for dtype in dtypes.DTYPES.values() if dtype not in (dtypes.void, dtypes.weakfloat)
)


class LawError(AssertionError):
    """A law or a rule is wrong: the message holds the values that show it."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What stands behind a law.

    Attributes:
        cases: how many assignments of values were computed on both sides.
        dtypes: how many assignments of dtypes.
        solved: for how many of them z3 proved all values at once.
    """

    cases: int
    dtypes: int
    solved: int


def prove(rule: Rule, *, samples: int = 200, seed: int = 0, solve: bool = True) -> Proof:
    """Prove a law for every dtype that its variables may have.

    Args:
        rule: made by `law`.
        samples: how many random assignments are tried a dtype, besides the small values.
        seed: of the random values.
        solve: ask z3 too, where it is installed.

    Raises:
        LawError: the sides differ, with the values for which they do; or nothing could be tried.

    Example:
        >>> from tiny_ir import integer, law
        >>> x = integer("x")
        >>> prove(law(x * 1, x, "multiplying by one"), samples=5, solve=False).dtypes
        9
    """
    stated = rule.law
    if stated is None:
        raise LawError(f"{rule.name} is a function: check it where it fires, by check_firing.")
    draw = random.Random(f"{seed} {rule.name}")
    cases = solved = 0
    assignments = list(_assignments(stated))
    for types in assignments:
        left, right = _compiled(stated.left, types), _compiled(stated.right, types)
        holds = _condition(stated, types.of)
        tried = 0
        for values in _values(types, samples, draw):
            if not holds(values):
                continue
            tried += 1
            a, b = left(values), right(values)
            if not is_same(a, b):
                names = ", ".join(f"{name}={types.of[name]}({v})" for name, v in values.items())
                raise LawError(f"{stated.sentence}: {a} is not {b} for {names}.")
        cases += tried
        if solve and stated.when is None:
            verdict, example = verdict_of(stated, types.of, types.of_pattern)
            if verdict is Verdict.FALSE:
                raise LawError(f"{stated.sentence}: z3 refutes it in {types.of}: {example}.")
            solved += verdict is Verdict.TRUE
    if not cases:
        raise LawError(f"{stated.sentence}: no dtype and no value fits the left side.")
    return Proof(cases, len(assignments), solved)


# Which dtypes a law speaks about ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Types:
    """The dtype of each variable, and of each part of both sides."""

    of: Mapping[str, DType]
    of_pattern: Mapping[int, DType]


class _Classes:
    """Parts of a law that have one dtype, joined by what each op says about its sources."""

    def __init__(self) -> None:
        self.parent: dict[Any, Any] = {}

    def find(self, key: Any) -> Any:
        self.parent.setdefault(key, key)
        while self.parent[key] != key:
            key = self.parent[key]
        return key

    def join(self, a: Any, b: Any) -> None:
        self.parent[self.find(a)] = self.find(b)


def _key(pattern: Pattern) -> Any:
    return pattern.name if pattern.name is not None and pattern.src is None else id(pattern)


def _parts(pattern: Pattern) -> Iterator[Pattern]:
    stack = [pattern]
    while stack:
        part = stack.pop()
        yield part
        stack += part.src or ()


def _assignments(law: Law) -> Iterator[_Types]:
    """Every choice of dtypes for which both sides can be built."""
    classes = _Classes()
    classes.join(_key(law.left), _key(law.right))
    parts = [*_parts(law.left), *_parts(law.right)]
    for part in parts:
        classes.find(_key(part))
        if part.src is None:
            continue
        (op,) = part.ops or ()
        keys = [_key(source) for source in part.src]
        if op is Op.WHERE:
            classes.join(keys[0], bool)
            classes.join(keys[1], keys[2])
            classes.join(keys[1], _key(part))
            continue
        for key in keys[1:]:
            classes.join(keys[0], key)
        classes.join(bool if op in COMPARISONS else keys[0], _key(part))
    roots = sorted({classes.find(_key(part)) for part in parts}, key=str)
    boolean = classes.find(bool)
    candidates = [
        [dtype for dtype in _DTYPES if _fits(parts, classes, root, dtype)] for root in roots
    ]
    for choice in product(*candidates):
        of_class = dict(zip(roots, choice, strict=True))
        if of_class.get(boolean, dtypes.bool_) is not dtypes.bool_:
            continue
        of = {p.name: of_class[classes.find(_key(p))] for p in parts if p.name and p.src is None}
        yield _Types(of, {id(part): of_class[classes.find(_key(part))] for part in parts})


def _fits(parts: list[Pattern], classes: _Classes, root: Any, dtype: DType) -> bool:
    for part in parts:
        here = classes.find(_key(part)) == root
        if here and part.of is not None and not part.of(dtype):
            return False
        if here and isinstance(part.literal, bool) and not dtype.is_bool:
            return False
        if here and part.literal is not None and not _is_value(part.literal, dtype):
            return False
        if part.src is None:
            continue
        (op,) = part.ops or ()
        first = part.src[1] if op is Op.WHERE else part.src[0]
        if classes.find(_key(first)) == root and not has_meaning(op, dtype):
            return False
    return True


def _is_value(value: bool | int | float, dtype: DType) -> bool:
    if isinstance(value, bool):
        return dtype.is_bool
    if dtype.is_bool or (isinstance(value, float) and not dtype.is_float):
        return False
    return is_same(const(dtype, value).arg, value)


Compiled = Callable[[Mapping[str, Value]], Value]


def _compiled(pattern: Pattern, types: _Types) -> Compiled:
    """A side of a law as a Python function of the values of its variables."""
    if pattern.literal is not None:
        value = const(types.of_pattern[id(pattern)], pattern.literal).arg
        return lambda values: value
    if pattern.src is None:
        name = pattern.name
        assert name is not None
        return lambda values: values[name]
    (op,) = pattern.ops or ()
    dtype = types.of_pattern[id(pattern)]
    function = meaning(op, dtype, types.of_pattern[id(pattern.src[0])])
    parts = [_compiled(source, types) for source in pattern.src]
    return lambda values: function(*[part(values) for part in parts])


def _condition(law: Law, of: Mapping[str, DType]) -> Callable[[Mapping[str, Value]], bool]:
    when = law.when
    if when is None:
        return lambda values: True
    names = when.__code__.co_varnames[: when.__code__.co_argcount]
    return lambda values: bool(when(*[const(of[name], values[name]) for name in names]))


def instances(rule: Rule, *, seed: int = 0) -> Iterator[UOp]:
    """Build the left side of a law once in every choice of dtypes that fits.

    Variables are reads of storage; constants have a value for which the law's condition holds.
    """
    stated = rule.law
    if stated is None:
        return
    draw = random.Random(seed)
    constants = {part.name for part in _parts(stated.left) if part.ops == (Op.CONST,) and part.name}
    for types in _assignments(stated):
        holds = _condition(stated, types.of)
        for values in _values(types, 50, draw):
            if holds(values):
                nodes = {
                    name: const(dtype, values[name]) if name in constants else _read(dtype, slot)
                    for slot, (name, dtype) in enumerate(types.of.items())
                }
                yield _built(stated.left, nodes, types)
                break


def _read(dtype: DType, slot: int) -> UOp:
    """An element of storage, about which nothing is known."""
    storage = make(Op.PARAM, dtype, (), ParamArg(slot, 8, "cpu"))
    return storage.index(const(dtypes.weakint, slot))


def _built(pattern: Pattern, nodes: Mapping[str, UOp], types: _Types) -> UOp:
    if pattern.literal is not None:
        return const(types.of_pattern[id(pattern)], pattern.literal)
    if pattern.src is None:
        return nodes[pattern.name or ""]
    (op,) = pattern.ops or ()
    return make(op, None, tuple(_built(source, nodes, types) for source in pattern.src))


# Which values are tried ---------------------------------------------------------------------------


_EXHAUSTIVE = 65_536


def _values(types: _Types, samples: int, draw: random.Random) -> Iterator[dict[str, Value]]:
    """All values of one narrow variable, products of interesting ones, then random ones."""
    names = list(types.of)
    if len(names) == 1 and 0 < types.of[names[0]].bits <= 8:
        for value in _all_values(types.of[names[0]]):
            yield {names[0]: value}
        return
    limit = max(2, int(_EXHAUSTIVE ** (1 / max(len(names), 1)) / 4))
    columns = [list(islice(interesting_values(types.of[name]), limit)) for name in names]
    for row in islice(product(*columns), 4096):
        yield dict(zip(names, row, strict=True))
    for _ in range(samples):
        yield {name: _any_value(types.of[name], draw) for name in names}


@cache
def _all_values(dtype: DType) -> tuple[Value, ...]:
    """Every value of a dtype of at most 8 bits."""
    if dtype.is_bool:
        return (False, True)
    if dtype.is_int:
        return tuple(range(int(dtype.minimum), int(dtype.maximum) + 1))
    decode = meaning(Op.BITCAST, dtype, dtypes.uint8)
    found = {repr(value): value for value in map(decode, range(256))}
    return tuple(found.values())


def interesting_values(dtype: DType) -> Iterator[Value]:
    """Zeros, ones, extremes, NaN, infinities, denormals, neighbours of powers of two."""
    if dtype.is_bool:
        yield from (False, True)
        return
    seen: set[str] = set()
    for number in _float_corners(dtype) if dtype.is_float else _integer_corners(dtype):
        value = const(dtype, number).arg
        if repr(value) not in seen:
            seen.add(repr(value))
            yield value


def _float_corners(dtype: DType) -> Iterable[float]:
    largest, smallest, normal = float(dtype.largest), float(dtype.smallest), dtype.smallest_normal
    positive = (0.0, 1.0, math.inf, largest, smallest, normal, 0.5, 2.0, 3.0, 1 + dtype.epsilon)
    yield math.nan
    for value in (*positive, normal - smallest, 1 / 3, largest / 2, 1.5, 7.0):
        yield value
        yield -value


def _integer_corners(dtype: DType) -> Iterable[int]:
    if dtype.is_weak:
        yield from (0, 1, -1, 2, -2, 3, -3, 7, -7, 8, -12, 255, -256, 1 << 70, -(1 << 70))
        return
    low, high = int(dtype.minimum), int(dtype.maximum)
    yield from (0, 1, -1, low, high, 2, -2, 3, low + 1, high - 1, -3, 7, high // 2, low // 2)
    yield from (dtype.bits, dtype.bits - 1, 8, 100)


def _any_value(dtype: DType, draw: random.Random) -> Value:
    """A random value; half of the time any bits, else a small one."""
    if dtype.is_weak or dtype.is_bool or draw.random() < 0.5:
        return drawn(draw, dtype)
    bits = draw.getrandbits(dtype.bits)
    word = {8: dtypes.uint8, 16: dtypes.uint16, 32: dtypes.uint32, 64: dtypes.uint64}[dtype.bits]
    return meaning(Op.BITCAST, dtype, word)(bits)
