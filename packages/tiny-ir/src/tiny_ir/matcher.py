"""Generates, for one root op, one Python function that tries all rules of a set.

A rule is a list of steps: look at a source, test its op, its argument, its dtype. Rules that
follow each other share the steps that they begin with, so a few comparisons refuse most nodes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import product as combinations
from typing import TYPE_CHECKING, Any

from tiny_ir.dtypes import bool_, weakint
from tiny_ir.op import Op
from tiny_ir.op_table import ARITHMETIC, COMPARISONS, OP_TABLE
from tiny_ir.pattern import (
    ANY_ARGUMENT,
    DTypeTest,
    Pattern,
    is_boolean,
    is_floating,
    is_index,
    is_integer,
    is_wrapping,
)

if TYPE_CHECKING:
    from tiny_ir.rule import Rule
    from tiny_ir.uop import UOp

Observer = Callable[["Rule", "UOp", "UOp"], None]
Matcher = Callable[["UOp", Any, "Observer | None"], "UOp | None"]

_INLINE: dict[DTypeTest, str] = {
    is_integer: "{0}.is_int",
    is_wrapping: "{0}.is_int and {0}.bits",
    is_index: "{0} is weakint",
    is_boolean: "{0} is bool_",
    is_floating: "{0}.is_float",
}
_SAME_DTYPE = frozenset((*ARITHMETIC, *COMPARISONS, Op.FMA))


def matcher_for(op: Op, rules: Sequence[Rule]) -> Matcher | None:
    """Return a function that rewrites a node of `op` by the first rule that applies."""
    writer = _Writer(op)
    for rule in rules:
        if rule.pattern.ops is None or op in rule.pattern.ops:
            for pattern in _orders(rule.pattern, op):
                writer.add_rule(rule, pattern)
    if not writer.lines:
        return None
    scope = writer.scope
    exec(writer.text(), scope)
    matcher: Matcher = scope["match"]
    return matcher


def _orders(pattern: Pattern, root: Op | None = None) -> list[Pattern]:
    """The pattern with the sources of commutative nodes in every order that can differ."""
    if pattern.src is None:
        return [pattern]
    versions = list(combinations(*(_orders(source) for source in pattern.src)))
    ops = (root,) if root is not None else pattern.ops or ()
    swaps = not pattern.in_order and all(OP_TABLE[op].is_commutative for op in ops)
    if len(pattern.src) == 2 and ops and swaps:
        a, b = pattern.src
        both_plain = a.ops is None and b.ops is None and a.of is b.of
        are_alike = both_plain or _is_plain_constant(a, b)
        if not (are_alike and a.name != b.name and root is not None):
            versions += [version[::-1] for version in versions]
    return [
        Pattern(pattern.ops, src, pattern.name, pattern.arg, pattern.literal, pattern.of)
        for src in versions
    ]


def _is_plain_constant(a: Pattern, b: Pattern) -> bool:
    """Whether both are any constants: the other order then matches the same nodes."""
    return all(p.ops == (Op.CONST,) and p.literal is None and p.of is a.of for p in (a, b))


class _Writer:
    """Collects the source text of one matcher and the objects it refers to."""

    def __init__(self, op: Op) -> None:
        self.op = op
        self.scope: dict[str, Any] = {
            "copysign": math.copysign,
            "inf": math.inf,
            "weakint": weakint,
            "bool_": bool_,
        }
        self.lines: list[str] = []
        self._names: dict[int, str] = {}
        self._open: list[str] = []

    def text(self) -> str:
        return "\n".join(["def match(u, target, observer):", *self.lines, "    return None"])

    def refer(self, value: Any, stem: str) -> str:
        name = self._names.get(id(value))
        if name is None:
            name = self._names[id(value)] = f"{stem}_{len(self._names)}"
            self.scope[name] = value
        return name

    def add_rule(self, rule: Rule, pattern: Pattern) -> None:
        """Write the steps of a rule, after those that it shares with the rule before."""
        match = _Match(self, pattern)
        steps = match.steps
        shared = 0
        while shared < min(len(steps), len(self._open)) and steps[shared] == self._open[shared]:
            shared += 1
        self._open = self._open[:shared]
        for step in steps[shared:]:
            self._emit(step)
            self._open.append(step)
        call = ", ".join(f"{name}={self._argument(name, match)}" for name in rule.parameters)
        self._emit(f"result = {self.refer(rule.replace, 'replace')}({call})")
        self._emit("if result is not None and result is not u:")
        noted = f"observer({self.refer(rule, 'rule')}, u, result)"
        self._emit(f"    if observer is not None: {noted}")
        self._emit("    return result")

    def _argument(self, name: str, match: _Match) -> str:
        if name == "target":
            return "target"
        return match.bound.get(name, "u")

    def _emit(self, line: str) -> None:
        depth = 1 + sum(step.startswith("if ") for step in self._open)
        self.lines.append("    " * depth + line)


class _Match:
    """The steps that find out whether a node matches a pattern, in the order to take them."""

    def __init__(self, writer: _Writer, pattern: Pattern) -> None:
        self.writer = writer
        self.bound: dict[str, str] = {}
        self.steps: list[str] = []
        self._dtype_tests: dict[str, None] = {}
        if pattern.name is not None:
            self.bound[pattern.name] = "u"
        if pattern.of is not None:
            self._test(self._dtype_test(pattern.of, "u.dtype"))
        self.steps += self._argument_tests(pattern, "u")
        self._sources(pattern, "u", writer.op)
        for test in self._dtype_tests:
            self._test(test)

    def _test(self, condition: str) -> None:
        step = f"if {condition}:"
        if step not in self.steps:
            self.steps.append(step)

    def _sources(self, pattern: Pattern, node: str, op: Op | None) -> None:
        """Take the sources apart: their ops first, because these refuse most; dtypes come last."""
        if pattern.src is None:
            return
        count = len(pattern.src)
        row = None if op is None else OP_TABLE[op]
        if row is None or row.maximum_arity != row.minimum_arity:
            self._test(f"len({node}.src) == {count}")
        elif row.minimum_arity != count:
            self._test("False")
        names = [f"{node}{at}" for at in range(count)]
        self.steps.append(f"{', '.join(names)}, = {node}.src")
        is_root = node == "u"
        if is_root:
            self.steps += [f"{name}o = {name}.op" for name in names]
        for source, name in zip(pattern.src, names, strict=True):
            if source.ops is not None:
                if not is_root:
                    self.steps.append(f"{name}o = {name}.op")
                self._test(self._op_test(source.ops, name))
        for source, name in zip(pattern.src, names, strict=True):
            self.steps += self._argument_tests(source, name)
            self._bind(source, name)
        for at, source in enumerate(pattern.src):
            name = names[at]
            self._sources(source, name, source.ops[0] if source.ops else None)
            tested = op in _SAME_DTYPE and any(p.of is source.of for p in pattern.src[:at])
            if source.of is not None and not tested:
                self._dtype_tests[self._dtype_test(source.of, f"{name}.dtype")] = None

    def _bind(self, source: Pattern, name: str) -> None:
        if source.name is None:
            return
        known = self.bound.setdefault(source.name, name)
        if known != name:
            self._test(f"{name} is {known}")

    def _op_test(self, ops: tuple[Op, ...], node: str) -> str:
        if len(ops) == 1:
            return f"{node}o is {self.writer.refer(ops[0], ops[0].name)}"
        return f"{node}o in {self.writer.refer(ops, 'ops')}"

    def _dtype_test(self, of: DTypeTest, dtype: str) -> str:
        inline = _INLINE.get(of)
        return inline.format(dtype) if inline else f"{self.writer.refer(of, 'of')}({dtype})"

    def _argument_tests(self, pattern: Pattern, node: str) -> Iterator[str]:
        if pattern.literal is not None:
            yield f"if {_is_literal(node, pattern.literal)}:"
        if pattern.arg is not ANY_ARGUMENT:
            yield f"if {node}.arg == {self.writer.refer(pattern.arg, 'arg')}:"


def _is_literal(node: str, value: bool | int | float) -> str:
    if isinstance(value, bool):
        return f"{node}.arg is {value}"
    same = f"{node}.arg == {value!r} and {node}.arg is not {bool(value)}"
    if value == 0:
        sign = math.copysign(1.0, value)
        same += f" and copysign(1.0, {node}.arg) == {sign}"
    return same
