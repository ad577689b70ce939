"""Survey the database: some samples of every entry, resumably, and write what was found.

    python -m oracle float32                      judge five samples of each entry in one class
    python -m oracle float32 --limit 1000000      judge all of them
    python -m oracle float32 --part 0/2           the first of two halves, for two processes
    python -m oracle float32 --again              only the entries in which something differed
    python -m oracle --write                      write differences.json and the page of the docs
    python -m oracle int64 --also add 7           list one more sample, which a judge has found

Run it in the folder tests/, in the environment that has torch. It makes the list of differences,
which `hatch run judge opinfo` then holds us to.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from oracle.samples import entries
from oracle.spellings import spelling_of
from oracle.verdicts import (
    CLASSES,
    KNOWN,
    SAMPLES,
    SCOPE,
    known_differences,
    page_of,
    verdict_of,
)

ROOT = Path(__file__).parents[2]
PROGRESS = ROOT / ".judges"
PAGE = ROOT / "docs" / "reference" / "opinfo.md"


def survey(kind: str, keys: Sequence[str], limit: int, path: Path) -> None:
    """Judge some samples of some entries, and append a line for each entry."""
    with path.open("a", encoding="utf-8") as file:
        for key in keys:
            verdict = verdict_of(key, kind, limit)
            row = {
                "entry": key,
                "class": kind,
                "samples": verdict.samples,
                "gradients": verdict.gradients,
                "values": verdict.values,
                "slopes": verdict.slopes,
                "values by float64": verdict.values_by_float64,
                "gradients by float64": verdict.slopes_by_float64,
                "limit": limit,
            }
            file.write(json.dumps(row) + "\n")
            file.flush()


def rows() -> Iterator[dict[str, Any]]:
    """Yield the newest line of each entry and class."""
    newest = {}
    for path in sorted(PROGRESS.glob("survey-*.jsonl"), key=lambda path: path.stat().st_mtime):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            newest[row["entry"], row["class"]] = row
    order = {key: number for number, key in enumerate(entries())}
    yield from sorted(newest.values(), key=lambda row: (order[row["entry"]], row["class"]))


def write() -> None:
    """Write the list of differences, and the page."""
    known = {}
    totals = []
    for row in rows():
        if spelling_of(row["entry"]) is None:
            continue
        found = {i: f"gradient: {why}" for i, why in row["slopes"].items()} | row["values"]
        if found:
            known[f"{row['entry']} {row['class']}"] = found
        totals.append(
            {
                "class": row["class"],
                "samples": row["samples"],
                "values differ": len(row["values"]),
                "gradients": row["gradients"],
                "gradients differ": len(row["slopes"]),
                "values by float64": row["values by float64"],
                "gradients by float64": row["gradients by float64"],
            }
        )
    KNOWN.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    limits = {row["limit"] for row in rows()}
    most = f"Of each entry and class at most {max(limits)} samples were judged."
    PAGE.write_text(page_of(totals, SCOPE if limits == {SAMPLES} else most), encoding="utf-8")


def also(key: str, kind: str, index: int) -> None:
    """List one sample that differs beside those of the survey, which are counted in the page."""
    verdict = verdict_of(key, kind, slice(index, index + 1))
    known = known_differences()
    found = {str(i): f"gradient: {why}" for i, why in verdict.slopes.items()}
    found |= {str(i): why for i, why in verdict.values.items()}
    if found:
        known[f"{key} {kind}"] = known.get(f"{key} {kind}", {}) | found
        KNOWN.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def main() -> None:
    """Do what the arguments say."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("kind", nargs="?", choices=CLASSES)
    parser.add_argument("--limit", type=int, default=SAMPLES, help="samples of each entry")
    parser.add_argument("--part", default="0/1", help="which part of the entries")
    parser.add_argument("--again", action="store_true", help="what differed, or was not judged")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--also", nargs=2, metavar=("ENTRY", "SAMPLE"), help="list it too")
    chosen = parser.parse_args()
    PROGRESS.mkdir(exist_ok=True)
    if chosen.write:
        write()
        return
    if chosen.also is not None:
        also(chosen.also[0], chosen.kind, int(chosen.also[1]))
        return
    mine, parts = map(int, chosen.part.split("/"))
    keys = [key for key in entries() if spelling_of(key) is not None]
    done = {
        row["entry"]: not row["values"] and not row["slopes"]
        for row in rows()
        if row["class"] == chosen.kind
    }
    keys = [key for key in keys if key not in done or (chosen.again and not done[key])]
    warnings.simplefilter("ignore")
    path = PROGRESS / f"survey-{chosen.kind}-{mine}.jsonl"
    survey(chosen.kind, keys[mine::parts], chosen.limit, path)


if __name__ == "__main__":
    main()
