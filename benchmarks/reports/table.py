"""Tables in Markdown."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Sequence

from measuring.times import OURS, Times
from reports.row import Row

GREATEST = 1.1
"""Of a group: no row's ratio may be above this; its median has the target of the group."""

GROUP_TARGETS = {"matmul shapes": 0.9}


def header(peers: Sequence[str]) -> str:
    """The first two lines. Times are milliseconds, fastest / median."""
    names = ["work", "ratio", "of medians", "target", "best peer", OURS, *peers, "what limits us"]
    return "| " + " | ".join(names) + " |\n|" + " --- |" * len(names)


def line_of(row: Row, peers: Sequence[str]) -> str:
    """The line of a row."""
    cells = [
        row.what,
        ratio_text(row.ratio),
        ratio_text(row.median_ratio),
        "-" if row.target is None else f"{row.target:g}",
        row.best or "-",
        *(_times_text(row.times.get(name)) for name in (OURS, *peers)),
        row.limit,
    ]
    return "| " + " | ".join(cells) + " |"


def summary(rows: Sequence[Row]) -> list[str]:
    """How many targets are reached, and the median and the greatest ratio of each group."""
    lines = []
    judged = [(row, row.ratio) for row in rows if row.target is not None]
    if judged:
        reached = sum(
            ratio is not None and ratio <= row.target for row, ratio in judged if row.target
        )
        lines.append(f"{reached} of {len(judged)} targets reached.")
    for group in sorted({row.group for row in rows if row.group}):
        ratios = [row.ratio for row in rows if row.group == group and row.ratio is not None]
        if ratios:
            said = f"{group}: median ratio {statistics.median(ratios):.2f}"
            if group in GROUP_TARGETS:
                said += f" (target {GROUP_TARGETS[group]:g}), greatest {max(ratios):.2f}"
                said += f" (target {GREATEST:g})"
            lines.append(f"{said}.")
    lines += _growths(rows)
    failed: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row in rows:
        for name, times in row.times.items():
            if times.failed:
                failed[name, times.failed].append(row.what)
    for (name, reason), names in failed.items():
        where = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
        lines.append(f"{where}: {name} {reason}")
    return lines


def _growths(rows: Sequence[Row]) -> list[str]:
    """How our time grows between the last two sizes of each group."""
    lines = []
    for group in dict.fromkeys(row.group for row in rows if row.size):
        points = [(r.size, r.ours.least) for r in rows if r.group == group and r.ours]
        if len(points) > 1:
            (small, before), (large, after) = points[-2:]
            power = math.log(after / before) / math.log(large / small)
            lines.append(f"{group}: from n = {small:,} to {large:,} time grows like n^{power:.2f}.")
    return lines


def ratio_text(ratio: float | None) -> str:
    """Two digits behind the point; more where it is small."""
    if ratio is None:
        return "-"
    return f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.3f}"


def _times_text(times: Times | None) -> str:
    if times is None:
        return "-"
    if times.failed:
        return "failed"
    return f"{milliseconds(times.least)} / {milliseconds(times.median)}"


def milliseconds(seconds: float) -> str:
    """Three digits that count."""
    value = seconds * 1e3
    digits = 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 1 else 3
    return f"{value:.{digits}f}"
