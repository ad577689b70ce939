"""The history of runs: one JSON line each, a file for each kind, and what moved since the last."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from measuring.times import OURS
from reports.row import Row

MOVED = 0.15
"""Of a ratio; two runs of the same code differ by less on a quiet machine."""

SAME_MACHINE = ("cpu", "cores", "threads")

Line = dict[str, Any]


class Entry(NamedTuple):
    """A run as it is kept.

    Attributes:
        kind: which works.
        quick: whether they were the small ones.
        machine: facts about the processor and its limits.
        versions: of what was measured.
        rows: by work: ratio, ratio of medians, target, best peer, seconds of all, failures.
        date: in UTC, to the second.
    """

    kind: str
    quick: bool
    machine: dict[str, str | int | float]
    versions: dict[str, str]
    rows: dict[str, Line]
    date: str

    @classmethod
    def of(
        cls,
        kind: str,
        quick: bool,
        machine: dict[str, str | int | float],
        versions: dict[str, str],
        rows: Sequence[Row],
    ) -> Entry:
        """What is kept of a run that ends now."""
        date = datetime.now(UTC).isoformat(timespec="seconds")
        return cls(kind, quick, machine, versions, {row.what: _kept(row) for row in rows}, date)


def _kept(row: Row) -> Line:
    def rounded(number: float | None) -> float | None:
        return None if number is None else float(f"{number:.4g}")

    kept: Line = {
        "ratio": rounded(row.ratio),
        "median_ratio": rounded(row.median_ratio),
        "target": row.target,
        "best": row.best,
        "seconds": {
            name: [rounded(times.least), rounded(times.median)]
            for name, times in row.times.items()
            if not times.failed
        },
    }
    failed = {name: times.failed for name, times in row.times.items() if times.failed}
    if failed:
        kept["failed"] = failed
    if row.ours is not None and row.ours.kernels is not None:
        kept["kernels"] = row.ours.kernels
    return kept


def keep(entry: Entry, folder: Path) -> None:
    """Write a line after the others of its kind."""
    folder.mkdir(exist_ok=True)
    with (folder / f"{entry.kind}.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry._asdict()) + "\n")


def last_entry(entry: Entry, folder: Path) -> Entry | None:
    """The last run that this one may be compared with: of its kind, on such a machine."""
    path = folder / f"{entry.kind}.jsonl"
    if not path.exists():
        return None
    for line in reversed(path.read_text(encoding="utf-8").splitlines()):
        found = Entry(**json.loads(line))
        same = all(found.machine.get(name) == entry.machine.get(name) for name in SAME_MACHINE)
        if same and found.quick == entry.quick:
            return found
    return None


def moved(before: Entry, after: Entry) -> list[str]:
    """Which ratios moved, the worst news first; and what failed or works since."""
    changes: list[tuple[float, str]] = []
    for what, row in after.rows.items():
        old = before.rows.get(what)
        if old is None:
            continue
        if (OURS in old["seconds"]) != (OURS in row["seconds"]):
            works = OURS in row["seconds"]
            changes.append(
                (0.0 if works else 1e9, f"{what}: {'works now' if works else 'fails now'}")
            )
            continue
        first, second = old["ratio"], row["ratio"]
        if first is None or second is None:
            continue
        change = second / first
        if max(change, 1 / change) > 1 + MOVED:
            word = "slower" if change > 1 else "faster"
            changes.append((change, f"{what}: ratio {first:.3g} -> {second:.3g}, {word}"))
    return [text for _, text in sorted(changes, reverse=True)]
