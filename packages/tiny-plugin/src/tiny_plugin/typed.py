"""Checks at the borders: TYPED=1 compares arguments, results and records with their types.

TYPED=0   `boundary` returns what it was given: not a wrapper, the very same object
TYPED=1   functions, records and classes marked by `boundary`, and every method of a plugin
TYPED=2   also every function of every package of tiny except tiny_ir
"""

from __future__ import annotations

from typing import TypeVar

from tiny_plugin import settings

LEVEL = settings.typed_level()
"""TYPED as it was when tiny_plugin was imported."""

if LEVEL:
    # Only then: it needs typeguard, an optional requirement, and both take long to import.
    from tiny_plugin.checks import check_whole_packages, checked

__all__ = ["LEVEL", "boundary"]

Anything = TypeVar("Anything")


def boundary(thing: Anything) -> Anything:
    """Check a public function, record or class under TYPED=1; else return the very same object.

    Args:
        thing: a function (every argument and the result), a record (every field, when it is made)
            or another class (its public methods and operators).

    Example:
        >>> @boundary
        ... def double(x: int) -> int:
        ...     return 2 * x
        >>> double(4)
        8
    """
    if not LEVEL:
        return thing
    return checked(thing)


if LEVEL == 2:
    check_whole_packages()
