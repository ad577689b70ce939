"""Rules (pattern -> replacement), laws (both sides in one language) and sets of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from tiny_ir.errors import ArgumentError
from tiny_ir.matcher import Matcher, matcher_for
from tiny_ir.op import Op
from tiny_ir.pattern import Pattern
from tiny_ir.uop import UOp, const, make

if TYPE_CHECKING:
    from tiny_ir.dtypes import DType

Replacement = Callable[..., UOp | None]


class Rule:
    """A pattern and what replaces a match; `replace` returns None to decline.

    Attributes:
        name: a sentence in snake case.
        pattern: what is matched.
        replace: called with the captured nodes by name, and with `target` if it asks for it.
        parameters: the names that `replace` takes.
        law: both sides, where the rule is pure algebra.
    """

    __slots__ = ("law", "name", "parameters", "pattern", "replace")

    def __init__(
        self,
        name: str,
        pattern: Pattern,
        replace: Replacement,
        parameters: tuple[str, ...],
        law: Law | None = None,
    ) -> None:
        self.name = name
        self.pattern = pattern
        self.replace = replace
        self.parameters = parameters
        self.law = law


class Law:
    """An equation that always holds, read from left to right.

    Attributes:
        left: the pattern.
        right: what it is equal to, in the names of the left.
        sentence: what it says.
        when: a condition on the captured nodes under which it holds, or None.
    """

    __slots__ = ("left", "right", "sentence", "when")

    def __init__(
        self,
        left: Pattern,
        right: Pattern,
        sentence: str,
        when: Callable[..., bool] | None,
    ) -> None:
        self.left = left
        self.right = right
        self.sentence = sentence
        self.when = when


def rule(pattern: Pattern) -> Callable[[Replacement], Rule]:
    """Make a Rule of the decorated function, whose parameters are the pattern's names.

    Raises:
        ArgumentError: a parameter is no name of the pattern (and not `target`).

    Example:
        >>> from tiny_ir import Op, RuleSet, anything, const, dtypes, node, rewrite, rule
        >>> @rule(node(Op.NEG, node(Op.NEG, anything("x"))))
        ... def two_negations_cancel(x):
        ...     return x
        >>> x = const(dtypes.float32, 2)
        >>> rewrite(-(-x), RuleSet((two_negations_cancel,))) is x
        True
    """

    def make_rule(replace: Replacement) -> Rule:
        code = replace.__code__
        parameters = code.co_varnames[: code.co_argcount]
        _check_names(replace.__name__, pattern, parameters)
        return Rule(replace.__name__, pattern, replace, parameters)

    return make_rule


def law(
    left: Pattern,
    right: Pattern | bool | int | float,
    sentence: str,
    when: Callable[..., bool] | None = None,
) -> Rule:
    """State that `left` equals `right`, and use it from left to right.

    Args:
        left: a pattern; its variables say which dtypes the law holds for.
        right: an expression in the same names, or a number.
        sentence: what the law says.
        when: a condition on the captured nodes; its parameters are their names.
    """
    goal = right if isinstance(right, Pattern) else Pattern((Op.CONST,), literal=right)
    build = _builder(goal)
    names = left.names()
    if when is None:

        def replace(root: UOp, **nodes: UOp) -> UOp | None:
            return _in_shape_of(root, build(nodes, root.dtype))
    else:
        condition = when
        wanted = condition.__code__.co_varnames[: condition.__code__.co_argcount]
        _check_names(sentence, left, wanted)

        def replace(root: UOp, **nodes: UOp) -> UOp | None:
            if not condition(*[nodes[name] for name in wanted]):
                return None
            return _in_shape_of(root, build(nodes, root.dtype))

    return Rule(
        sentence.replace(" ", "_"),
        left,
        replace,
        ("root", *names),
        Law(left, goal, sentence, when),
    )


def _in_shape_of(root: UOp, result: UOp) -> UOp | None:
    """A law declines where one element would stand in the place of many."""
    return result if result.shape == root.shape else None


def _builder(goal: Pattern) -> Callable[[dict[str, UOp], DType], UOp]:
    """What builds the node that a pattern describes, from the nodes that its names stand for."""
    if goal.literal is not None:
        value = goal.literal
        return lambda nodes, dtype: const(dtype, value)
    if goal.src is None:
        name = goal.name
        if name is None:
            raise ArgumentError(
                "the right side of a law has a part without a name.",
                why="only names of the left side and numbers can be built.",
                fix="name it on the left and use that name.",
            )
        return lambda nodes, dtype: nodes[name]
    parts = [_builder(source) for source in goal.src]
    is_literal = [source.literal is not None for source in goal.src]
    assert goal.ops is not None
    op = goal.ops[0]
    skip_first = op is Op.WHERE

    def build(nodes: dict[str, UOp], dtype: DType) -> UOp:
        built: list[UOp | None] = [
            None if literal_here else part(nodes, dtype)
            for part, literal_here in zip(parts, is_literal, strict=True)
        ]
        peers = [node for node in built[1 if skip_first else 0 :] if node is not None]
        peer = peers[0].dtype if peers else dtype
        sources = tuple(
            part(nodes, peer) if node is None else node
            for part, node in zip(parts, built, strict=True)
        )
        return make(op, None, sources)

    return build


def _check_names(what: str, pattern: Pattern, parameters: Iterable[str]) -> None:
    unknown = set(parameters) - set(pattern.names()) - {"target"}
    if unknown:
        raise ArgumentError(
            f"rule {what!r} asks for {', '.join(sorted(unknown))}.",
            why=f"its pattern captures {', '.join(pattern.names()) or 'nothing'}.",
            fix="use the pattern's names as parameters, and `target` for the target.",
        )


class RuleSet:
    """Rules in order of preference, grouped by root op into matchers made at first use.

    Example:
        >>> from tiny_ir import RuleSet, law, integer
        >>> x = integer("x")
        >>> len(RuleSet((law(x * 1, x, "multiplying by one"),)) + RuleSet(()))
        1
    """

    __slots__ = ("_matchers", "rules")

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = tuple(rules)
        self._matchers: dict[Op, Matcher | None] = _Matchers(self.rules)

    def __add__(self, other: RuleSet) -> RuleSet:
        return RuleSet(self.rules + other.rules)

    def __len__(self) -> int:
        return len(self.rules)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    @property
    def matchers(self) -> dict[Op, Matcher | None]:
        """A function (node, target, observer) -> replacement or None an op; None if no rule."""
        return self._matchers


class _Matchers(dict[Op, Any]):
    """Matchers by root op, each generated when first asked for."""

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        super().__init__()
        self._rules = rules

    def __missing__(self, op: Op) -> Matcher | None:
        matcher = self[op] = matcher_for(op, self._rules)
        return matcher
