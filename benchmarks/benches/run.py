"""What a run was asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import IO, NamedTuple

from measuring import Pace
from measuring.limits import Limits
from reports import Row


class Run(NamedTuple):
    """What a run was asked for.

    Attributes:
        peers: the names of those that are measured beside us.
        threads: of each.
        pace: how long to measure.
        limits: what the machine could do.
        only: pieces of the names of rows that are wanted, divided by |; empty: all.
        log: where processes write what they have to say.
    """

    peers: list[str]
    threads: int
    pace: Pace
    limits: Limits
    only: str
    log: IO[str]

    def wants(self, name: str) -> bool:
        """Whether a row is among those asked for."""
        return any(piece in name.lower() for piece in self.only.lower().split("|"))


Bench = Callable[[Run], Iterator[Row]]
