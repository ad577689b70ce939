"""Judge parts of the database: each sample agrees, is listed as different, or is trouble."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch

from oracle.comparing import Outcome, compare, must_raise
from oracle.reasons import all_reasons, reason_of
from oracle.samples import entries, errors_of, samples_of, spread
from oracle.spellings import spelling_of
from oracle.unmapped import UNMAPPED
from tiny_tensor import Tensor

KNOWN = Path(__file__).parent / "differences.json"
"""Samples that are known to differ, by entry and class, each with what is different."""
DTYPES = {
    name: getattr(torch, name) for name in ("float32", "int64", "bool", "float16", "bfloat16")
}
CLASSES = (*DTYPES, "errors")
NUMBERS = (
    "samples",
    "values by float64",
    "values differ",
    "gradients",
    "gradients by float64",
    "gradients differ",
)
NO_COUNTERPART = "not written yet"
SAMPLES = 5
"""So many of each entry and class are judged; `python -m oracle` judges more."""
SCOPE = "Of each entry and class five samples were judged, or all of fewer; and all errors."


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of some samples of one entry in one class."""

    samples: int
    gradients: int
    values: Mapping[int, str]
    slopes: Mapping[int, str]
    values_by_float64: int = 0
    slopes_by_float64: int = 0


def verdict_of(key: str, kind: str, chosen: slice | int) -> Verdict:
    """Compare samples of an entry: a slice of all, or so many of them, spread evenly (all errors).

    What torch itself refuses, here or without other packages, is left out.
    """
    spelling = spelling_of(key)
    if spelling is None:
        return Verdict(0, 0, {}, {})
    outcomes: dict[int, Outcome] = {}
    if kind == "errors":
        calls = errors_of(key)
        for i in range(len(calls)) if isinstance(chosen, int) else _numbers(chosen, len(calls)):
            found = must_raise(spelling, calls[i][0])
            trouble = found.values and f"{found.values}; torch says {calls[i][1]}"
            outcomes[i] = Outcome(trouble, None, False, found.applies)
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
        sum(o.by_float64[0] and o.values is None for o in asked.values()),
        sum(o.by_float64[1] and o.gradient is None for o in asked.values()),
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


def page_of(rows: Iterable[Mapping[str, str | float]], scope: str) -> str:
    """Return the page: totals, what differs and why, and what has no counterpart.

    Args:
        rows: the numbers of entries and classes.
        scope: a sentence that says how much of the database was judged.
    """
    totals: dict[str, Counter[str]] = defaultdict(Counter)
    numbers = NUMBERS
    for row in rows:
        for number in numbers:
            totals[str(row["class"])][number] += int(row[number])
    lines = ["# Agreement with torch", "", *_introduction(scope), "", *_totals(totals), ""]
    lines += ["## What differs", "", "The reasons are explained below.", ""]
    lines += ["| entry | class | samples | reason | first of them |", "| --- |" + " --- |" * 4]
    for name, found in sorted(known_differences().items()):
        entry, kind = name.rsplit(" ", 1)
        first = next(iter(found.values())).replace("|", "/")
        reason = reason_of(entry, kind, first)
        named = "" if reason is None else reason.name
        lines.append(f"| {entry} | {kind} | {len(found)} | {named} | {first[:110]} |")
    lines += ["", "## Reasons", "", "| name | why |", "| --- | --- |"]
    lines += [f"| {reason.name} | {reason.text} |" for reason in all_reasons()]
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


def composed_names() -> list[str]:
    """Return the mapped names of which no method of the same name exists here."""
    return [name for name in mapped_names() if not hasattr(Tensor, name.split(".")[-1])]


def _introduction(scope: str) -> list[str]:
    names = {entry.name for entry in entries().values()}
    mapped, composed = mapped_names(), composed_names()
    return [
        f"Torch {torch.__version__.split('+')[0]} and we are given the same calls. {scope}",
        "",
        f"{len(mapped)} of the {len(names)} names of its OpInfo database are mapped:",
        f"{len(mapped) - len(composed)} to a method of the same name, and {len(composed)} to a",
        "spelling in `tests/oracle/` made of other methods. The latter show that the parts are",
        "right, not that the function is there to be called.",
        "",
        "Strictly means within torch's own tolerances of its result. What does not may still agree",
        "with torch's float64 result within them, or be no further from it than torch is: the",
        "second share counts these too. Random functions agree when shape and dtype do. Samples",
        "that need complex numbers or other layouts, and errors of calls on plain numbers or with",
        "`out=`, are left out of the counts. Of `topk`, `kthvalue` and `lstsq` the first result is",
        "compared.",
    ]


def on_purpose() -> Counter[str]:
    """Return of how many samples of each class the values differ on purpose."""
    found: Counter[str] = Counter()
    for name, samples in known_differences().items():
        entry, kind = name.rsplit(" ", 1)
        for trouble in samples.values():
            reason = reason_of(entry, kind, trouble)
            is_value = not trouble.startswith("gradient")
            found[kind] += reason is not None and reason.on_purpose and is_value
    return found


def _totals(totals: Mapping[str, Counter[str]]) -> list[str]:
    head = "class | samples | strictly, % | agree, % | differ on purpose"
    head += " | gradients | strictly, % | agree, %"
    lines = [f"| {head} |", "| --- |" + " --- |" * 7]
    wanted = on_purpose()
    for kind in CLASSES:
        cells = [kind]
        for of, what in (("samples", "values"), ("gradients", "gradients")):
            count, bad = totals[kind][of], totals[kind][f"{what} differ"]
            loose = totals[kind][f"{what} by float64"]
            cells.append(str(count) if count else "")
            cells += [f"{100 - 100 * n / count:.2f}" if count else "" for n in (bad + loose, bad)]
            if what == "values":
                cells.append(str(wanted[kind]))
        lines.append(f"| {' | '.join(cells)} |")
    return lines
