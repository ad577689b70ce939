"""Measure tiny beside its peers, in one run on one machine, and show the ratios.

    hatch run bench                  everything
    hatch run bench ops dispatch     some kinds of it
    hatch run bench ops --only sort --peers numpy,torch
    hatch run bench --quick          small sizes, one turn each: whether everything works

Only the ratio of two times from one run says anything; nothing asserts it. A full run is kept: its
table and its plot in benchmarks/results/, and a line of history, by which the next run says what
moved.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from benches import BENCHES, DEFAULT, Run
from measuring import OURS, QUICK, Pace
from measuring.limits import limits_of
from measuring.machine import machine_facts, versions
from peers import PEERS, installed_peers, missing
from reports import (
    Entry,
    Row,
    header,
    keep,
    last_entry,
    line_of,
    moved,
    plot_growth,
    plot_ratios,
    summary,
)

RESULTS = Path(__file__).parent / "results"


def main(arguments: Sequence[str]) -> int:
    """Run the benches named, or all; 1 where something of ours failed."""
    chosen = _parsed(arguments)
    peers = chosen.peers.split(",") if chosen.peers else installed_peers()
    others = [name for name in peers if name != OURS]
    absent = {name: missing(facts) for name, facts in PEERS.items() if name not in peers}
    for name, reason in absent.items():
        if reason:
            print(f"{name} is not measured: it needs {reason}.")
    keeps = chosen.keep or not (chosen.quick or chosen.only or chosen.peers)
    status = 0
    with tempfile.TemporaryFile("w+", encoding="utf-8") as log:
        pace, limits = QUICK if chosen.quick else Pace(), limits_of(chosen.threads)
        run = Run(others, chosen.threads, pace, limits, chosen.only, log)
        for kind in chosen.kinds or DEFAULT:
            status |= _bench(kind, run, chosen.results, keeps)
        if status:
            _tell(log)
    return status


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="hatch run bench")
    parser.add_argument("kinds", nargs="*", choices=[*BENCHES, []], help="which; else all")
    parser.add_argument("--quick", action="store_true", help="small sizes, one turn each")
    parser.add_argument("--only", default="", help="rows whose name has one of these|pieces")
    parser.add_argument("--peers", default="", help=f"some of {', '.join(PEERS)}")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--keep", action="store_true", help="keep also a partial or quick run")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where runs are kept")
    return parser.parse_args(arguments)


def _bench(kind: str, run: Run, folder: Path, keeps: bool) -> int:
    machine = machine_facts(run.threads, run.limits)
    lines = [header(run.peers)]
    print(f"\n## {kind}\n\n{lines[0]}", flush=True)
    rows: list[Row] = []
    for row in BENCHES[kind](run):
        rows.append(row)
        lines.append(line_of(row, run.peers))
        print(lines[-1], flush=True)
    used = [OURS, *run.peers]
    entry = Entry.of(kind, run.pace.is_quick, machine, versions(used), rows)
    said = summary(rows)
    before = last_entry(entry, folder)
    if before is not None:
        changes = moved(before, entry)
        said += [f"Since {before.date}: " + ("; ".join(changes) or "no ratio moved") + "."]
    print("\n" + "\n".join(said), flush=True)
    if keeps and rows:
        _keep(kind, entry, rows, "\n".join(lines), said, folder)
    return int(any(OURS in row.times and row.times[OURS].failed != "" for row in rows))


def _keep(
    kind: str, entry: Entry, rows: list[Row], table: str, said: list[str], folder: Path
) -> None:
    keep(entry, folder)
    plot = plot_growth if kind == "growth" else plot_ratios
    drawn = plot(rows, f"{kind}, {entry.machine['cpu']}", folder / f"{kind}.svg")
    facts = ", ".join(f"{name} {value}" for name, value in entry.machine.items())
    measured = ", ".join(f"{name} {value}" for name, value in entry.versions.items())
    parts = [
        f"# {kind}",
        "Milliseconds, fastest / median of calls; a ratio is our time by the best peer's. "
        f"Written by `hatch run bench {kind}`.",
        table,
        "\n".join(f"- {line}" for line in said),
        f"{entry.date}; {facts}; {measured}.",
    ]
    if drawn:
        parts.insert(3, f"![ratios]({kind}.svg)")
    (folder / f"{kind}.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _tell(log: IO[str]) -> None:
    log.seek(0)
    sys.stderr.write(log.read()[-4000:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
