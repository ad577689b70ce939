"""Arguments that name one of several ways."""

from __future__ import annotations

from collections.abc import Sequence

from tiny_ir import ArgumentError


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
