"""The rewrite engine beside tinygrad's: the medians of rewrite_engine.py, which says more."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from benches.run import Run
from measuring import OURS, Times
from reports import Row
from rewrite_engine import MEASURED
from rewrite_engine import measure as measure_engines

PEER = "tinygrad"


def rewriting(run: Run) -> Iterator[Row]:
    """Building, rewriting, rewriting where no rule fires, and sorting."""
    if PEER not in run.peers:
        return
    results = measure_engines(sys.executable)
    for what in filter(run.wants, MEASURED):
        times = {name: Times([one[what] for one in results[name]]) for name in (OURS, PEER)}
        yield Row(what, times)
