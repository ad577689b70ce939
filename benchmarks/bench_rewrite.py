"""The rewrite engine beside tinygrad's: the medians of rewrite_engine.py, which says more."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # as if rewrite_engine.py itself were run

from rewrite_engine import MEASURED
from rewrite_engine import measure as measure_engines


def measure() -> Iterator[tuple[str, float, str, float]]:
    """Compare building, rewriting, rewriting where no rule fires, and sorting."""
    results = measure_engines(sys.executable)
    for what in MEASURED:
        ours, theirs = (
            statistics.median(run[what] for run in results[engine])
            for engine in ("tiny", "tinygrad")
        )
        yield what, ours, "tinygrad", theirs
