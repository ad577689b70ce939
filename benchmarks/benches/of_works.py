"""Benches that time the same works again and again, in processes that stay."""

from __future__ import annotations

from collections.abc import Iterator

from benches.run import Bench, Run
from measuring import OURS, Crew, measure_works
from reports import Row, row_of
from works import works_of


def of_works(kind: str) -> Bench:
    """The bench that measures the works of a kind."""

    def bench(run: Run) -> Iterator[Row]:
        works = [work for work in works_of(kind, run.pace.is_quick) if run.wants(work.name)]
        with Crew([OURS, *run.peers], run.threads, run.log) as crew:
            for measured in measure_works(works, crew, run.pace):
                yield row_of(measured, run.limits)

    return bench
