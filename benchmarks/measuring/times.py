"""What was measured: seconds of calls, and what the counters said."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from works import Work

OURS = "tiny"


class Times(NamedTuple):
    """What one peer took for one work.

    Attributes:
        wall: seconds of each call.
        first: seconds of the first call, with everything it compiled.
        kernels: launches of a call, where it is known.
        operations: arithmetic operations of a call, as our Programs estimate them.
        nbytes: bytes that a call moves, as our Programs estimate them.
        failed: why there are no times; empty where there are.
    """

    wall: list[float]
    first: float = 0.0
    kernels: int | None = None
    operations: float = 0.0
    nbytes: float = 0.0
    failed: str = ""

    @property
    def is_waiting(self) -> bool:
        """Whether turns are still to come."""
        return not self.failed and not self.wall

    @property
    def least(self) -> float:
        """Seconds of the fastest call."""
        return min(self.wall)

    @property
    def median(self) -> float:
        """Seconds of the call in the middle."""
        return statistics.median(self.wall)

    def with_turn(self, got: Mapping[str, Any]) -> Self:
        """And what one more turn brought."""
        if "failed" in got:
            return self._replace(failed=got["failed"])
        return self._replace(wall=self.wall + got["wall"])


class Measured(NamedTuple):
    """One work and what the peers took for it; those that do not offer it are not among them."""

    work: Work
    times: dict[str, Times]
