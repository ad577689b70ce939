"""The rewrite engine beside tinygrad's, each in processes of its own, run in turn.

One graph of 20,000 distinct nodes is drawn once, as a list of (op, left, right), and built in both
languages. Nine rules rewrite it; then nine rules of the same shapes look at every node and never
fire. Both must agree on the number of nodes before and after.

    python benchmarks/rewrite_engine.py        writes benchmarks/rewrite_engine.md

Source: tinygrad is a package of PyPI; only its documented names are used.
"""

from __future__ import annotations

import argparse
import importlib
import json
import platform
import random
import statistics
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path
from typing import Any

from measuring.machine import processor

RUNS = 5
REPEATS = 3  # inside a process; the best counts
NODES = 20_000
LEAVES = 8
SEED = 1
TABLE = Path(__file__).with_suffix(".md")
MEASURED = ("build", "rules fire", "nothing fires", "order")
Plan = list[tuple[str, int, int]]


def draw_plan() -> Plan:
    """Draw distinct nodes as (op, left, right); a negative right is the number -1 - right."""
    dice = random.Random(SEED)
    plan: Plan = []
    seen: set[tuple[str, int, int]] = set()
    while len(plan) < NODES - LEAVES:
        place = LEAVES + len(plan)
        name = dice.choice(("ADD", "ADD", "MUL", "MUL", "SUB", "NEG", "MAX"))
        left = near(dice, place)
        right = -1 - dice.randrange(4) if dice.random() < 0.4 else near(dice, place)
        step = (name, left, 0 if name == "NEG" else right)
        if step not in seen:
            seen.add(step)
            plan.append(step)
    return plan


def near(dice: random.Random, place: int) -> int:
    """An earlier place, most often one of the last."""
    return place - 1 - int(dice.random() ** 2 * min(place, 600))


def unused(plan: Plan) -> list[int]:
    """The places that no later step uses: together they reach every node."""
    used = {place for name, left, right in plan for place in (left, right if name != "NEG" else 0)}
    return [place for place in range(LEAVES + len(plan)) if place not in used]


ENGINES = ("tiny", "tinygrad")


def measure_here(engine: str) -> dict[str, Any]:
    """Measure one engine in this process, in seconds of its processor."""
    work = importlib.import_module(f"rewrite_engine_{engine}").work()
    distribution = {"tiny": "tiny-ir"}.get(engine, engine)
    result: dict[str, Any] = {"version": metadata.version(distribution)}
    result |= {"nodes": work["nodes"]()}  # and matchers are generated here
    for what in MEASURED:
        times = []
        for _ in range(REPEATS):
            start = time.process_time()
            kept = work[what]()
            times.append(time.process_time() - start)
            del kept
        result[what] = min(times)
    return result


def measure(peer_python: str) -> dict[str, list[dict[str, Any]]]:
    """Run both engines in turn, each run in a process of its own."""
    results: dict[str, list[dict[str, Any]]] = {engine: [] for engine in ENGINES}
    for _ in range(RUNS):
        for engine, interpreter in (("tiny", sys.executable), ("tinygrad", peer_python)):
            command = [interpreter, __file__, "--engine", engine]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            results[engine].append(json.loads(done.stdout))
    return results


def table_of(results: dict[str, list[dict[str, Any]]]) -> str:
    """The page of the results."""
    ours, theirs = results["tiny"], results["tinygrad"]
    lines = [
        "# The rewrite engine beside tinygrad's",
        "",
        f"tiny-ir {ours[0]['version']} and tinygrad {theirs[0]['version']} with Python",
        f"{platform.python_version()} on {processor()}. {RUNS} runs of each in turn, each in a",
        "process of its own; milliseconds of processor time. `benchmarks/rewrite_engine.py` writes",
        "this page.",
        "",
        f"Nodes before and after: {nodes_of(ours)} here, {nodes_of(theirs)} there.",
        "",
        "| | tiny, best | tiny, median | tinygrad, best | tinygrad, median | ratio of bests "
        "| ratio of medians |",
        "|---|---|---|---|---|---|---|",
    ]
    for what in MEASURED:
        columns = [[run[what] * 1e3 for run in runs] for runs in (ours, theirs)]
        best = [min(column) for column in columns]
        median = [statistics.median(column) for column in columns]
        lines.append(
            f"| {what} | {best[0]:.1f} | {median[0]:.1f} | {best[1]:.1f} | {median[1]:.1f} "
            f"| {best[1] / best[0]:.2f} | {median[1] / median[0]:.2f} |"
        )
    return "\n".join(lines) + "\n"


def nodes_of(runs: list[dict[str, Any]]) -> str:
    """The two numbers of nodes, which all runs share."""
    before, after = runs[0]["nodes"]
    return f"{before} and {after}"


def main() -> None:
    """Write the table, or measure one engine and print it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--engine", choices=ENGINES, help="measure only this one, here")
    parser.add_argument("--peer-python", default=sys.executable, help="a Python that has tinygrad")
    options = parser.parse_args()
    if options.engine:
        print(json.dumps(measure_here(options.engine)))
        return
    table = table_of(measure(options.peer_python))
    TABLE.write_text(table, encoding="utf-8")
    print(table, end="")


if __name__ == "__main__":
    main()
