"""Judge parts of the database: each sample agrees, is listed as different, or is trouble."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch

from oracle.comparing import Outcome, compare, must_raise
from oracle.samples import entries, errors_of, samples_of, spread
from oracle.spellings import spelling_of
from oracle.unmapped import UNMAPPED

KNOWN = Path(__file__).parent / "differences.json"
"""Samples that are known to differ, by entry and class, each with what is different."""
DTYPES = {
    name: getattr(torch, name) for name in ("float32", "int64", "bool", "float16", "bfloat16")
}
CLASSES = (*DTYPES, "errors")
NO_COUNTERPART = "not written yet"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of some samples of one entry in one class."""

    samples: int
    gradients: int
    values: Mapping[int, str]
    slopes: Mapping[int, str]


def verdict_of(key: str, kind: str, chosen: slice | int) -> Verdict:
    """Compare samples of an entry: a slice of all, or so many of them, spread evenly."""
    spelling = spelling_of(key)
    if spelling is None:
        return Verdict(0, 0, {}, {})
    outcomes: dict[int, Outcome] = {}
    if kind == "errors":
        calls = errors_of(key)
        for i in _numbers(chosen, len(calls)):
            trouble = must_raise(spelling, calls[i][0])
            outcomes[i] = Outcome(trouble and f"{trouble}; torch says {calls[i][1]}", None, False)
    else:
        wanted = kind == "float32"
        samples = samples_of(key, DTYPES[kind], gradient=wanted)
        for i in _numbers(chosen, len(samples)):
            outcomes[i] = compare(key, spelling, samples[i], gradient=wanted)
    asked = {i: outcome for i, outcome in outcomes.items() if outcome.applies}
    return Verdict(
        len(asked),
        sum(outcome.has_gradient for outcome in asked.values()),
        {i: o.values for i, o in asked.items() if o.values is not None},
        {i: o.gradient for i, o in asked.items() if o.has_gradient and o.gradient is not None},
    )


def _numbers(chosen: slice | int, count: int) -> list[int]:
    if isinstance(chosen, slice):
        return list(range(count))[chosen]
    return spread(list(range(count)), chosen)


def known_differences() -> dict[str, dict[str, str]]:
    """Return what is listed: entry and class, then the number of the sample."""
    if not KNOWN.exists():
        return {}
    found: dict[str, dict[str, str]] = json.loads(KNOWN.read_text(encoding="utf-8"))
    return found


def page_of(rows: Iterable[Mapping[str, str | float]]) -> str:
    """Return the page: totals, what differs and why, and what has no counterpart."""
    totals: dict[str, Counter[str]] = defaultdict(Counter)
    numbers = ("samples", "values differ", "gradients", "gradients differ")
    for row in rows:
        for number in numbers:
            totals[str(row["class"])][number] += int(row[number])
    lines = ["# Agreement with torch", "", *_introduction(), "", *_totals(totals), ""]
    lines += ["## What differs", "", "| entry | class | samples | first of them |"]
    lines += ["| --- | --- | --- | --- |"]
    for name, found in sorted(known_differences().items()):
        entry, kind = name.rsplit(" ", 1)
        reason = next(iter(found.values())).replace("|", "/")
        lines.append(f"| {entry} | {kind} | {len(found)} | {reason[:160]} |")
    lines += ["", "## Names without a counterpart", "", "| name | why |", "| --- | --- |"]
    lines += [f"| {name} | {why} |" for name, why in sorted(unmapped().items())]
    return "\n".join(lines) + "\n"


def mapped_names() -> list[str]:
    """Return the names of which at least one entry is spelled here."""
    return sorted({e.name for key, e in entries().items() if spelling_of(key) is not None})


def unmapped() -> dict[str, str]:
    """Return the other names, each with the reason."""
    mapped = set(mapped_names())
    names = {entry.name for entry in entries().values()}
    return {name: UNMAPPED.get(name, NO_COUNTERPART) for name in names - mapped}


def _introduction() -> list[str]:
    names = {entry.name for entry in entries().values()}
    return [
        f"Torch {torch.__version__.split('+')[0]} and we are given the same calls: "
        f"{len(mapped_names())} of the {len(names)} names of its OpInfo database are spelled here.",
        "Values agree when they are within torch's own tolerances of its result, or of its",
        "result in float64, or are no further from that than twice its own error. Gradients are",
        "compared in float32. Of random functions only shape and dtype are compared. Made by",
        "`hatch run judge opinfo`.",
    ]


def _totals(totals: Mapping[str, Counter[str]]) -> list[str]:
    lines = ["| class | samples | agree, % | gradients | agree, % |", "| --- |" + " --- |" * 4]
    for kind in CLASSES:
        count = totals[kind]
        shares = [
            f"{100 - 100 * count[bad] / count[of]:.2f}" if count[of] else ""
            for of, bad in (("samples", "values differ"), ("gradients", "gradients differ"))
        ]
        slopes = str(count["gradients"]) if count["gradients"] else ""
        lines.append(f"| {kind} | {count['samples']} | {shares[0]} | {slopes} | {shares[1]} |")
    return lines
