"""Generates, for one root op, one Python function that tries all rules of a set."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product as combinations
from typing import TYPE_CHECKING, Any

from tiny_ir.op import Op
from tiny_ir.op_table import OP_TABLE
from tiny_ir.pattern import ANY_ARGUMENT, Pattern

if TYPE_CHECKING:
    from tiny_ir.rule import Rule
    from tiny_ir.uop import UOp

Observer = Callable[["Rule", "UOp", "UOp"], None]
Matcher = Callable[["UOp", Any, "Observer | None"], "UOp | None"]


def matcher_for(op: Op, rules: Sequence[Rule]) -> Matcher | None:
    """Return a function that rewrites a node of `op` by the first rule that applies."""
    writer = _Writer()
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
    if len(pattern.src) == 2 and ops and all(OP_TABLE[op].is_commutative for op in ops):
        a, b = pattern.src
        both_plain = a.ops is None and b.ops is None and a.of is b.of
        if not (both_plain and a.name != b.name and root is not None):
            versions += [version[::-1] for version in versions]
    return [
        Pattern(pattern.ops, src, pattern.name, pattern.arg, pattern.literal, pattern.of)
        for src in versions
    ]


class _Writer:
    """Collects the source text of one matcher and the objects it refers to."""

    def __init__(self) -> None:
        self.scope: dict[str, Any] = {"copysign": math.copysign, "inf": math.inf}
        self.lines: list[str] = []
        self._names: dict[int, str] = {}
        self._root_arity: set[int] = set()

    def text(self) -> str:
        head = ["def match(u, target, observer):", "    src = u.src", "    n = len(src)"]
        return "\n".join(head + self.lines + ["    return None"])

    def refer(self, value: Any, stem: str) -> str:
        name = self._names.get(id(value))
        if name is None:
            name = self._names[id(value)] = f"{stem}_{len(self._names)}"
            self.scope[name] = value
        return name

    def add_rule(self, rule: Rule, pattern: Pattern) -> None:
        self._bound: dict[str, str] = {}
        self._depth = 1
        self._temporary = 0
        self._conditions(pattern, "u", is_root=True)
        call = ", ".join(
            f"{name}={self._bound[name]}"
            for name in rule.parameters
            if name not in ("target", "root")
        )
        if "root" in rule.parameters:
            root = self._bound.get("root", "u")
            call = f"root={root}, {call}" if call else f"root={root}"
        if "target" in rule.parameters:
            call = f"{call}, target=target" if call else "target=target"
        self.emit(f"result = {self.refer(rule.replace, 'replace')}({call})")
        self.emit("if result is not None and result is not u:")
        self.emit(f"    if observer is not None: observer({self.refer(rule, 'rule')}, u, result)")
        self.emit("    return result")

    def emit(self, line: str) -> None:
        self.lines.append("    " * self._depth + line)

    def test(self, condition: str) -> None:
        self.emit(f"if {condition}:")
        self._depth += 1

    def _conditions(self, pattern: Pattern, node: str, *, is_root: bool = False) -> None:
        if pattern.ops is not None and not is_root:
            if len(pattern.ops) == 1:
                self.test(f"{node}.op is {self.refer(pattern.ops[0], pattern.ops[0].name)}")
            else:
                self.test(f"{node}.op in {self.refer(frozenset(pattern.ops), 'ops')}")
        if pattern.literal is not None:
            self.test(self._is_literal(node, pattern.literal))
        if pattern.arg is not ANY_ARGUMENT:
            self.test(f"{node}.arg == {self.refer(pattern.arg, 'arg')}")
        if pattern.of is not None:
            self.test(f"{self.refer(pattern.of, 'of')}({node}.dtype)")
        if pattern.name is not None:
            known = self._bound.get(pattern.name)
            if known is not None:
                self.test(f"{node} is {known}")
            else:
                self._bound[pattern.name] = node
        if pattern.src is None:
            return
        sources = "src" if is_root else f"{node}_src"
        if is_root:
            self.test(f"n == {len(pattern.src)}")
        else:
            self.emit(f"{sources} = {node}.src")
            self.test(f"len({sources}) == {len(pattern.src)}")
        names = []
        for _ in pattern.src:
            names.append(f"v{self._temporary}")
            self._temporary += 1
        self.emit(f"{', '.join(names)}, = {sources}")
        # Sources with an op are looked at first: they refuse early.
        order = sorted(range(len(names)), key=lambda at: pattern.src[at].ops is None)  # type: ignore[index]
        for at in order:
            self._conditions(pattern.src[at], names[at])

    def _is_literal(self, node: str, value: bool | int | float) -> str:
        if isinstance(value, bool):
            return f"{node}.arg is {value}"
        same = f"{node}.arg == {value!r} and {node}.arg is not {bool(value)}"
        if value == 0:
            sign = math.copysign(1.0, value)
            same += f" and copysign(1.0, {node}.arg) == {sign}"
        return same
