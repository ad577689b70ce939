"""Functions agree with torch's on the samples of its OpInfo database, or are listed as different.

Runs in the environment that has torch; see tests/oracle/ for how its calls are spelled here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from oracle.samples import entries
from oracle.verdicts import CLASSES, SAMPLES, SCOPE, known_differences, page_of, verdict_of

CASES = len(entries()) * len(CLASSES)
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "opinfo.md"


def judge(case: int) -> Mapping[str, str | float]:
    """Compare some samples of one entry in one class."""
    number, kind = divmod(case, len(CLASSES))
    key = list(entries())[number]
    name = f"{key} {CLASSES[kind]}"
    verdict = verdict_of(key, CLASSES[kind], SAMPLES)
    known = known_differences().get(name, {})
    for index, trouble in (dict(verdict.slopes) | dict(verdict.values)).items():
        assert str(index) in known, f"{name}, sample {index}: {trouble}"
    return {
        "entry": key,
        "class": CLASSES[kind],
        "samples": verdict.samples,
        "values differ": len(verdict.values),
        "gradients": verdict.gradients,
        "gradients differ": len(verdict.slopes),
        "values by float64": verdict.values_by_float64,
        "gradients by float64": verdict.slopes_by_float64,
    }


def write_page(rows: Iterable[Mapping[str, str | float]]) -> None:
    """Write the page of a finished run."""
    PAGE.write_text(page_of(rows, SCOPE), encoding="utf-8")
