"""Plots as SVG files, which say the same run in the same bytes; needs matplotlib."""

from __future__ import annotations

import importlib.util
from collections import defaultdict
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from measuring.times import OURS
from reports.row import Row


def _pyplot() -> Any:
    """matplotlib without a screen; None where it is not installed."""
    if importlib.util.find_spec("matplotlib") is None:
        return None
    matplotlib: Any = import_module("matplotlib")
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "tiny"
    return import_module("matplotlib.pyplot")


def plot_ratios(rows: Sequence[Row], title: str, path: Path) -> bool:
    """A bar for each ratio, a mark for its target. False where nothing can be drawn."""
    pyplot = _pyplot()
    shown = [(row, row.ratio) for row in rows if row.ratio is not None]
    if pyplot is None or not shown:
        return False
    figure, axes = pyplot.subplots(figsize=(9, 1.2 + 0.24 * len(shown)), layout="constrained")
    for place, (row, ratio) in enumerate(shown):
        bound = row.target if row.target is not None else 1.0
        axes.barh(place, ratio, color="#4a7" if ratio <= bound else "#c65", height=0.7)
        if row.target is not None:
            axes.plot([row.target] * 2, [place - 0.4, place + 0.4], color="black", linewidth=2)
    axes.axvline(1, color="grey", linewidth=1, linestyle=":")
    axes.set_xscale("log")
    axes.set_yticks(range(len(shown)), [row.what for row, _ in shown], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel("our time / time of the best peer; black: the target")
    axes.set_title(title)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
    return True


def plot_growth(rows: Sequence[Row], title: str, path: Path) -> bool:
    """Seconds against size, a panel for each group. False where nothing can be drawn."""
    pyplot = _pyplot()
    if pyplot is None or not rows:
        return False
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.group].append(row)
    figure, panels = pyplot.subplots(
        1, len(groups), figsize=(4 * len(groups), 3.6), layout="constrained", squeeze=False
    )
    for axes, (group, members) in zip(panels[0], groups.items(), strict=True):
        names = {name for row in members for name, times in row.times.items() if not times.failed}
        for name in sorted(names, key=lambda name: (name != OURS, name)):
            points = [
                (row.size, row.times[name].least)
                for row in members
                if name in row.times and not row.times[name].failed
            ]
            sizes, seconds = zip(*points, strict=True)
            axes.loglog(sizes, seconds, marker="o", markersize=3, label=name)
        axes.set_title(group, fontsize=10)
        axes.set_xlabel("n")
        axes.legend(fontsize=8)
    panels[0][0].set_ylabel("seconds")
    figure.suptitle(title)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
    return True
