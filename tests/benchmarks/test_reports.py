"""What a run says of its times."""

from __future__ import annotations

from pathlib import Path

import pytest

from measuring.limits import Limits
from measuring.times import Measured, Times
from reports import Entry, Row, keep, last_entry, line_of, moved, row_of, summary
from works import Work

MACHINE: dict[str, str | int | float] = {"cpu": "one", "cores": 2, "threads": 2}


def row(what: str, ours: float, theirs: float, target: float | None = None) -> Row:
    return Row(what, {"tiny": Times([ours, 2 * ours]), "numpy": Times([theirs, theirs])}, target)


def entry(*rows: Row, quick: bool = False) -> Entry:
    return Entry.of("ops", quick, MACHINE, {}, rows)


def test_a_ratio_is_our_fastest_call_by_that_of_the_best_peer() -> None:
    found = row("sum", 3.0, 4.0)
    found.times["torch"] = Times([2.0])
    assert found.best == "torch"
    assert found.ratio == 1.5
    assert found.median_ratio == 2.25


def test_only_rivals_count_where_there_are_some() -> None:
    found = row("first", 3.0, 1.0)._replace(rivals=frozenset({"jax"}))
    found.times["jax"] = Times([6.0])
    assert found.ratio == 0.5


def test_a_peer_that_fails_is_named_and_is_not_the_best() -> None:
    found = row("sort", 1.0, 4.0, 0.5)
    found.times["torch"] = Times([], failed="ValueError: no")
    assert found.best == "numpy"
    assert "| failed |" in line_of(found, ["numpy", "torch"])
    assert "sort: torch ValueError: no" in summary([found])


def test_a_failure_of_ours_has_no_ratio() -> None:
    found = Row("sort", {"tiny": Times([], failed="wrong"), "numpy": Times([1.0])}, 0.5)
    assert found.ratio is None
    assert summary([found])[0] == "0 of 1 targets reached."


def test_a_group_says_its_median_and_its_greatest_ratio() -> None:
    rows = [row(str(n), float(n), 1.0)._replace(group="matmul shapes") for n in (1, 2, 6)]
    assert summary(rows) == [
        "matmul shapes: median ratio 2.00 (target 0.9), greatest 6.00 (target 1.1)."
    ]


def test_growth_is_said_as_a_power_of_n() -> None:
    rows = [row(str(n), n**2, n)._replace(group="matmul", size=n) for n in (2, 4)]
    assert "matmul: from n = 2 to 4 time grows like n^2.00." in summary(rows)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (1.0, 1.1, []),
        (1.0, 2.0, ["sum: ratio 1 -> 2, slower"]),
        (1.0, 0.5, ["sum: ratio 1 -> 0.5, faster"]),
    ],
)
def test_a_ratio_that_moved_is_told(before: float, after: float, said: list[str]) -> None:
    assert moved(entry(row("sum", before, 1.0)), entry(row("sum", after, 1.0))) == said


def test_what_fails_since_the_last_run_is_told_first() -> None:
    before = entry(row("sum", 1.0, 1.0), row("sort", 1.0, 1.0))
    failed = Row("sort", {"tiny": Times([], failed="wrong")})
    after = entry(row("sum", 9.0, 1.0), failed)
    assert moved(before, after)[0] == "sort: fails now"


def test_a_run_is_compared_with_the_last_of_its_kind_on_such_a_machine(tmp_path: Path) -> None:
    first, quick = entry(row("sum", 1.0, 1.0)), entry(row("sum", 2.0, 1.0), quick=True)
    other = first._replace(machine=MACHINE | {"cpu": "another"})
    for kept in (first, quick, other):
        keep(kept, tmp_path)
    assert last_entry(first, tmp_path) == first


def test_a_limit_says_how_much_more_than_the_least_work_is_done() -> None:
    work = Work("sum", "sum", dict, operations=1e9, nbytes=1e6)
    ours = Times([0.1], kernels=3, operations=2e9, nbytes=1e6)
    found = row_of(Measured(work, {"tiny": ours}), Limits(1e11, 1e10))
    assert found.limit == "10% of arithmetic, 3 kernels, 2.0x the least arithmetic"
