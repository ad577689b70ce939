"""Patterns: shapes of small graphs with names, written in the operators of the language."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Union

from tiny_ir.dtypes import DType
from tiny_ir.errors import ArgumentError
from tiny_ir.op import Op

ANY_ARGUMENT: Final = object()
"""Matches every `arg`; None is an argument too."""

DTypeTest = Callable[[DType], bool]
Literal_ = bool | int | float
PatternOperand = Union["Pattern", bool, int, float]


class Pattern:
    """What a node must look like to match.

    Attributes:
        ops: the ops it may have; None for any.
        src: a pattern a source; None where the sources do not matter.
        name: what a match is called; one name stands for one node.
        arg: the argument that is required.
        literal: the constant's value that is required, None where it is no literal.
        of: what the dtype must be, None for any.
        in_order: the sources match in this order only, also where the op commutes.
    """

    __slots__ = ("arg", "in_order", "literal", "name", "of", "ops", "src")

    def __init__(
        self,
        ops: tuple[Op, ...] | None = None,
        src: tuple[Pattern, ...] | None = None,
        name: str | None = None,
        arg: Any = ANY_ARGUMENT,
        literal: Literal_ | None = None,
        of: DTypeTest | None = None,
        in_order: bool = False,
    ) -> None:
        self.ops = ops
        self.src = src
        self.name = name
        self.arg = arg
        self.literal = literal
        self.of = of
        self.in_order = in_order

    def names(self) -> tuple[str, ...]:
        """The names that a match gives to nodes, each once, left to right."""
        found: dict[str, None] = {}
        stack = [self]
        while stack:
            pattern = stack.pop()
            if pattern.name is not None:
                found[pattern.name] = None
            stack += reversed(pattern.src or ())
        return tuple(found)

    def _with(self, op: Op, other: PatternOperand, *, swapped: bool = False) -> Pattern:
        pair = (self, _pattern_of(other))
        return Pattern((op,), pair[::-1] if swapped else pair)

    def __add__(self, other: PatternOperand) -> Pattern:
        return self._with(Op.ADD, other)

    def __radd__(self, other: PatternOperand) -> Pattern:
        return self._with(Op.ADD, other, swapped=True)

    def __sub__(self, other: PatternOperand) -> Pattern:
        return self._with(Op.SUB, other)

    def __rsub__(self, other: PatternOperand) -> Pattern:
        return self._with(Op.SUB, other, swapped=True)

    def __mul__(self, other: PatternOperand) -> Pattern:
        return self._with(Op.MUL, other)

    def __rmul__(self, other: PatternOperand) -> Pattern:
        return self._with(Op.MUL, other, swapped=True)

    def __truediv__(self, other: PatternOperand) -> Pattern:
        return self._with(Op.FDIV, other)

    def __floordiv__(self, other: PatternOperand) -> Pattern:
        return self._with(Op.FLOORDIV, other)

    def __mod__(self, other: PatternOperand) -> Pattern:
        return self._with(Op.FLOORMOD, other)

    def __and__(self, other: PatternOperand) -> Pattern:
        return self._with(Op.AND, other)

    def __or__(self, other: PatternOperand) -> Pattern:
        return self._with(Op.OR, other)

    def __xor__(self, other: PatternOperand) -> Pattern:
        return self._with(Op.XOR, other)

    def __lshift__(self, other: PatternOperand) -> Pattern:
        return self._with(Op.SHL, other)

    def __rshift__(self, other: PatternOperand) -> Pattern:
        return self._with(Op.SHR, other)

    def __lt__(self, other: PatternOperand) -> Pattern:
        return self._with(Op.CMPLT, other)

    def __le__(self, other: PatternOperand) -> Pattern:
        return self._with(Op.CMPLE, other)

    def __gt__(self, other: PatternOperand) -> Pattern:
        return self._with(Op.CMPLT, other, swapped=True)

    def __ge__(self, other: PatternOperand) -> Pattern:
        return self._with(Op.CMPLE, other, swapped=True)

    def __neg__(self) -> Pattern:
        return Pattern((Op.NEG,), (self,))

    def eq(self, other: PatternOperand) -> Pattern:
        """A CMPEQ node."""
        return self._with(Op.CMPEQ, other)

    def ne(self, other: PatternOperand) -> Pattern:
        """A CMPNE node."""
        return self._with(Op.CMPNE, other)

    def where(self, x: PatternOperand, y: PatternOperand) -> Pattern:
        """A WHERE node whose condition is this pattern."""
        return Pattern((Op.WHERE,), (self, _pattern_of(x), _pattern_of(y)))

    def maximum(self, other: PatternOperand) -> Pattern:
        """A MAX node."""
        return self._with(Op.MAX, other)

    def minimum(self, other: PatternOperand) -> Pattern:
        """A MIN node."""
        return self._with(Op.MIN, other)

    def named(self, name: str) -> Pattern:
        """This pattern, with a name for the node it matches."""
        return Pattern(self.ops, self.src, name, self.arg, self.literal, self.of, self.in_order)


def anything(name: str, of: DTypeTest | None = None) -> Pattern:
    """Match any node, or any whose dtype passes the test `of`.

    Example:
        >>> from tiny_ir import anything
        >>> (anything("x") + anything("y")).names()
        ('x', 'y')
    """
    return Pattern(name=name, of=of)


def constant(name: str, of: DTypeTest | None = None) -> Pattern:
    """Match any CONST."""
    return Pattern((Op.CONST,), None, name, of=of)


def literal(value: Literal_) -> Pattern:
    """Match the CONST of this value in any dtype; 0.0 and -0.0 differ in float dtypes."""
    return Pattern((Op.CONST,), literal=value)


def node(
    op: Op | tuple[Op, ...],
    *src: PatternOperand,
    name: str | None = None,
    arg: Any = ANY_ARGUMENT,
    of: DTypeTest | None = None,
    in_order: bool = False,
) -> Pattern:
    """Match a node by its op; with patterns for its sources, there must be exactly as many.

    Args:
        op: the op, or several of them.
        src: patterns of the sources; without any, the sources do not matter.
        name: what the node is called.
        arg: the argument that is required.
        of: what the dtype must be.
        in_order: do not try the sources of an op that commutes in the other order.
    """
    ops = (op,) if isinstance(op, Op) else op
    if not ops:
        raise ArgumentError(
            "a pattern needs at least one op.",
            why="an empty tuple of ops matches nothing.",
            fix="list the ops, or use anything(name).",
        )
    sources = tuple(map(_pattern_of, src)) or None
    return Pattern(ops, sources, name, arg, None, of, in_order)


def _pattern_of(operand: PatternOperand) -> Pattern:
    return operand if isinstance(operand, Pattern) else literal(operand)


# Names for what a variable of a law may be; the law prover draws values of exactly these kinds.
def integer(name: str) -> Pattern:
    """Any node of an integer dtype, weakint included."""
    return anything(name, is_integer)


def wrapping(name: str) -> Pattern:
    """Any node of an integer dtype of fixed width."""
    return anything(name, is_wrapping)


def index(name: str) -> Pattern:
    """Any weakint node: a mathematical integer."""
    return anything(name, is_index)


def boolean(name: str) -> Pattern:
    """Any bool node."""
    return anything(name, is_boolean)


def floating(name: str) -> Pattern:
    """Any node of a float dtype."""
    return anything(name, is_floating)


def is_integer(dtype: DType) -> bool:
    """Whether values wrap or are mathematical integers."""
    return dtype.is_int


def is_wrapping(dtype: DType) -> bool:
    """Whether values are integers that wrap at a width."""
    return dtype.is_int and dtype.bits > 0


def is_index(dtype: DType) -> bool:
    """Whether values are mathematical integers."""
    return dtype.kind == "weakint"


def is_boolean(dtype: DType) -> bool:
    """Whether values are True and False."""
    return dtype.is_bool


def is_floating(dtype: DType) -> bool:
    """Whether values are floats."""
    return dtype.is_float
