"""The gradient functions that users wrote, kept by a Session under numbers that CUSTOM nodes name.

    CUSTOM(value, *inputs; number)   is the value; its gradient goes to the inputs, as the function
                                     with that number says

The number says how a node is differentiated, not what it is: it is gone before a graph becomes a
key, a Schedule or a kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeAlias

from tiny_ir import UOp

CustomRule: TypeAlias = Callable[[UOp, UOp], Sequence[UOp]]
"""From a CUSTOM and the gradient that arrives at it to the gradients of its inputs, in order."""


class CustomGradients:
    """The functions. Each stays as long as the Session, and is there once, however often used."""

    def __init__(self) -> None:
        self._rules: list[CustomRule] = []
        self._numbers: dict[Hashable, int] = {}

    def number_of(self, key: Hashable, rule: CustomRule) -> int:
        """The number of a function; calls with equal keys get one number, and the first rule."""
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._rules)
            self._rules.append(rule)
        return number

    def parts(self, node: UOp, g: UOp) -> Sequence[UOp]:
        """Ask the function that a CUSTOM names."""
        parts: Sequence[UOp] = self._rules[node.arg](node, g)
        return parts
