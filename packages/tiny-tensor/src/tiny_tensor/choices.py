"""Arguments that name one of several ways, or the limits of a range."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import SupportsIndex

from tiny_ir import ArgumentError, ArgumentTypeError


def check_choice(argument: str, value: object, choices: Sequence[str]) -> None:
    """Refuse a value that is not one of the choices.

    Raises:
        ArgumentError: lists the choices.

    Example:
        >>> check_choice("reduction", "sum", ("mean", "sum", "none"))
    """
    if value not in choices:
        listed = ", ".join(map(repr, choices))
        raise ArgumentError(
            f"{argument} cannot be {value!r}.",
            why=f"the choices are {listed}.",
            fix="pass one of them.",
        )


def whole_number(argument: str, value: object) -> int:
    """An integer that a user passed: of Python, or of NumPy; a bool is none.

    Raises:
        ArgumentTypeError: it is something else.

    Example:
        >>> whole_number("steps", 3)
        3
    """
    if not isinstance(value, bool) and isinstance(value, SupportsIndex):
        return operator.index(value)
    raise ArgumentTypeError(
        f"{argument} cannot be {value!r}.",
        why="it is an integer.",
        fix="pass an int.",
    )


def check_order(name: str, low: float, high: float) -> None:
    """Refuse limits of which the lower one is above the other, or NaN.

    Raises:
        ArgumentError: there is nothing between them.

    Example:
        >>> check_order("hardtanh", -1.0, 1.0)
    """
    if not low <= high:
        raise ArgumentError(
            f"{name} has nothing from {low} to {high}.",
            why="the lower limit is at most the upper one.",
            fix="let them change places.",
        )
