"""Survey the database: some samples of every entry, resumably, and write what was found.

    python -m oracle float32 --limit 5            judge five samples of each entry in one class
    python -m oracle float32 --limit 5 --part 0/2 the first of two halves, for two processes
    python -m oracle float32 --again              only the entries in which something differed
    python -m oracle --write                      write differences.json and the page of the docs

Run it in the folder tests/, in the environment that has torch. `hatch run judge opinfo` judges all
samples; this is what is faster on the way there.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from oracle.samples import entries
from oracle.spellings import spelling_of
from oracle.verdicts import CLASSES, KNOWN, page_of, verdict_of

ROOT = Path(__file__).parents[2]
PROGRESS = ROOT / ".judges"
PAGE = ROOT / "docs" / "reference" / "opinfo.md"


def survey(kind: str, keys: Sequence[str], limit: int, path: Path) -> None:
    """Judge some samples of some entries, and append a line for each entry."""
    with path.open("a", encoding="utf-8") as file:
        for key in keys:
            try:
                verdict = verdict_of(key, kind, limit)
            except (RuntimeError, NotImplementedError) as error:  # torch itself refuses the call
                print(f"{key}: {error}", file=sys.stderr)
                continue
            row = {
                "entry": key,
                "class": kind,
                "samples": verdict.samples,
                "gradients": verdict.gradients,
                "values": verdict.values,
                "slopes": verdict.slopes,
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
            }
        )
    KNOWN.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    PAGE.write_text(page_of(totals), encoding="utf-8")


def main() -> None:
    """Do what the arguments say."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("kind", nargs="?", choices=CLASSES)
    parser.add_argument("--limit", type=int, default=5, help="samples of each entry")
    parser.add_argument("--part", default="0/1", help="which part of the entries")
    parser.add_argument("--again", action="store_true", help="what differed, or was not judged")
    parser.add_argument("--write", action="store_true")
    chosen = parser.parse_args()
    PROGRESS.mkdir(exist_ok=True)
    if chosen.write:
        write()
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
