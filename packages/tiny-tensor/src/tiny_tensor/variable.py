"""A size that is known only when a graph runs: a name with bounds, bound to a number."""

from __future__ import annotations

from tiny_ir import ArgumentError, ArgumentTypeError, UOp
from tiny_plugin import boundary
from tiny_tensor.choices import whole_number
from tiny_tensor.engine.launch_values import bound


@boundary
class Variable:
    """A name for a number within inclusive bounds.

    Bound to a number it is a size: graphs with other numbers are the same graph, and are compiled
    once. Memory is taken for the largest.

    Args:
        name: what listings call it.
        minimum: the lowest number, at least 0.
        maximum: the highest number.

    Raises:
        ArgumentError: the bounds are negative or in the wrong order.
        ArgumentTypeError: the name is no text, or a bound no integer.

    Example:
        >>> from tiny_tensor import Tensor
        >>> n = Variable("n", 1, 10)
        >>> [Tensor.ones(10)[: n.bind(k)].sum().item() for k in (2, 7)]
        [2.0, 7.0]
    """

    __slots__ = ("maximum", "minimum", "name")

    def __init__(self, name: str, minimum: int, maximum: int) -> None:
        if not isinstance(name, str):
            raise ArgumentTypeError(
                f"{name!r} is not a name.",
                why="listings call the variable by it.",
                fix="pass a text, and the bounds after it.",
            )
        minimum, maximum = whole_number("minimum", minimum), whole_number("maximum", maximum)
        if not 0 <= minimum <= maximum:
            raise ArgumentError(
                f"{name!r} cannot lie between {minimum} and {maximum}.",
                why="a size is at least 0, and the minimum is not above the maximum.",
                fix="choose other bounds.",
            )
        self.name = name
        self.minimum = minimum
        self.maximum = maximum

    def bind(self, value: int) -> UOp:
        """The variable with a number, to be used as a size or an index.

        Raises:
            ArgumentError: the number is not within the bounds.
            ArgumentTypeError: it is no integer.
        """
        value = whole_number("value", value)
        if not self.minimum <= value <= self.maximum:
            raise ArgumentError(
                f"{self.name!r} cannot be {value}.",
                why=f"it lies between {self.minimum} and {self.maximum}.",
                fix="choose another number, or make a Variable with wider bounds.",
            )
        return bound(self.name, value, self.minimum, self.maximum)

    def __repr__(self) -> str:
        return f"Variable({self.name!r}, {self.minimum}, {self.maximum})"
