"""What a peer offers: a call for each work that it can do."""

from __future__ import annotations

from collections.abc import Callable
from importlib import metadata
from typing import Any, NamedTuple, Protocol

from works.work import Array, Arrays, Work

Call = Callable[[], Any]
"""Computes the work once more and returns when the result is there."""


class Timed(NamedTuple):
    """What a call returns that took its time itself."""

    seconds: float


class Peer(Protocol):
    """A library. It is imported by the process that measures it, and by no other."""

    def prepare(self, work: Work, arrays: Arrays) -> Call | None:
        """Take the inputs in; None where the library does not offer the work."""
        ...

    def numbers(self, result: Any) -> Array | None:
        """A result as a NumPy array, floats as float32; None where it checked that itself."""
        ...


class Facts:
    """How to find a library and how to start a process that measures it.

    Attributes:
        name: what the tables call it.
        module: the module among `peers` that has `make()`.
        needs: distributions that must be installed.
        environment: set in the process that measures.
        compiles: whether it makes kernels for what it is asked, as we do.
    """

    def __init__(
        self,
        name: str,
        module: str,
        needs: tuple[str, ...],
        environment: dict[str, str] | None = None,
        compiles: bool = False,
    ) -> None:
        self.name = name
        self.module = module
        self.needs = needs
        self.environment = environment or {}
        self.compiles = compiles

    def versions(self) -> dict[str, str] | None:
        """Of the distributions it needs; None where one is missing."""
        try:
            return {name: metadata.version(name) for name in self.needs}
        except metadata.PackageNotFoundError:
            return None
