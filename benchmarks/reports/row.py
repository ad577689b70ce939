"""A row of a table: our time, the best peer's, and what limits us."""

from __future__ import annotations

from typing import NamedTuple

from measuring.limits import Limits
from measuring.times import OURS, Measured, Times

CLOSE = 0.7
"""Of a limit: who reaches this much of it is said to be held up by it."""

LEAST = 0.01
"""Of a limit: below this the limit says nothing."""

WASTE = 1.15
"""Times the least work: less than this is not worth a word."""


class Row(NamedTuple):
    """One thing measured.

    Attributes:
        what: how the table calls it.
        times: of ours and of every peer that was asked and offers it.
        target: the ratio to reach; None where none was set.
        group: rows that share a target.
        rivals: the peers whose best time ours is divided by; empty: all.
        limit: what holds us up, in words; empty where nothing is known.
        size: what the cost grows with, in a run that looks at growth.
    """

    what: str
    times: dict[str, Times]
    target: float | None = None
    group: str = ""
    rivals: frozenset[str] = frozenset()
    limit: str = ""
    size: int = 0

    @property
    def ours(self) -> Times | None:
        """Our times; None where we failed."""
        times = self.times.get(OURS)
        return None if times is None or times.failed else times

    @property
    def best(self) -> str | None:
        """The fastest peer; None where there is none."""
        found = {
            name: times.least
            for name, times in self.times.items()
            if name != OURS and not times.failed and (not self.rivals or name in self.rivals)
        }
        return min(found, key=found.__getitem__) if found else None

    @property
    def ratio(self) -> float | None:
        """Our fastest call by the fastest of the best peer."""
        if self.ours is None or self.best is None:
            return None
        return self.ours.least / self.times[self.best].least

    @property
    def median_ratio(self) -> float | None:
        """Our median by the median of the same peer."""
        if self.ours is None or self.best is None:
            return None
        return self.ours.median / self.times[self.best].median


def row_of(measured: Measured, limits: Limits) -> Row:
    """The row of a work."""
    work, times = measured
    ours = times.get(OURS)
    limit = "" if ours is None or ours.failed else limit_of(measured, limits)
    return Row(work.name, times, work.target, work.group, limit=limit, size=work.size)


def limit_of(measured: Measured, limits: Limits) -> str:
    """How near we are to what the machine could do, and what more than the least work we do."""
    work, times = measured
    ours = times[OURS]
    said = []
    shares = {
        "arithmetic": work.operations / limits.operations / ours.least,
        "memory": work.nbytes / limits.nbytes / ours.least,
    }
    name = max(shares, key=shares.__getitem__)
    if shares[name] > 0:
        share = f"{shares[name]:.0%}" if shares[name] >= LEAST else "hardly anything"
        said.append(f"{share} of {name}")
    if ours.kernels and (ours.kernels > 1 or not shares[name]):
        said.append("1 kernel" if ours.kernels == 1 else f"{ours.kernels} kernels")
    if work.nbytes and ours.nbytes > WASTE * work.nbytes:
        said.append(f"{ours.nbytes / work.nbytes:.1f}x the least bytes")
    if work.operations and ours.operations > WASTE * work.operations:
        said.append(f"{ours.operations / work.operations:.1f}x the least arithmetic")
    if 0 < shares[name] < CLOSE and len(said) == 1:
        said.append("neither: the kernel itself or asking for it")
    return ", ".join(said)
