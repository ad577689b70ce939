"""Measures works: peers take turns, round by round, so that all of them see the same load."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from measuring.crew import Crew, Member
from measuring.times import OURS, Measured, Times
from works import Work
from works.answers import answer_of, comparable
from works.work import Array


class Pace(NamedTuple):
    """How long to measure.

    Attributes:
        rounds: how often each peer has its turn.
        seconds: of a turn; a turn has one call at least.
        most: timings of a turn at most.
        patience: seconds; a peer whose call takes longer is timed once.
        limit: seconds after which a peer that does not answer is given up.
        is_quick: whether the works are small ones.
    """

    rounds: int = 7
    seconds: float = 0.03
    most: int = 40
    patience: float = 1.0
    limit: float = 150.0
    is_quick: bool = False


QUICK = Pace(rounds=1, seconds=0.005, most=3, is_quick=True)


def measure_works(works: Iterable[Work], crew: Crew, pace: Pace) -> Iterator[Measured]:
    """Yield each work as soon as it is measured."""
    with tempfile.TemporaryDirectory() as folder:
        for work in works:
            members = [m for m in crew.members if not work.peers or m.name in {OURS, *work.peers}]
            yield _measure(work, members, pace, Path(folder) / "result.npy")


def _measure(work: Work, members: list[Member], pace: Pace, result: Path) -> Measured:
    answer = answer_of(work)
    times: dict[str, Times] = {}
    for member in members:
        prepared = _prepare(member, work, answer, pace, result)
        if prepared is not None:
            times[member.name] = prepared
    waiting = [m for m in members if m.name in times and times[m.name].is_waiting]
    for _ in range(pace.rounds):
        for member in waiting:
            if times[member.name].failed:
                continue
            got = member.ask(pace.limit, order="time", seconds=pace.seconds, most=pace.most)
            times[member.name] = times[member.name].with_turn(got)
    for member in members:
        if member.process is not None:
            member.ask(pace.limit, order="drop")
    return Measured(work, times)


def _prepare(member: Member, work: Work, answer: Array, pace: Pace, result: Path) -> Times | None:
    got = member.ask(
        pace.limit,
        order="prepare",
        work=work.name,
        quick=pace.is_quick,
        result=str(result),
        patience=pace.patience,
    )
    if "absent" in got:
        return None
    failed = got.get("failed", "")
    if not failed and not got["checked"]:
        failed = difference(work, comparable(work, np.load(result)), answer)
    return Times(
        wall=got.get("wall", []),
        first=got.get("first", 0.0),
        kernels=got.get("kernels"),
        operations=got.get("operations", 0),
        nbytes=got.get("nbytes", 0),
        failed=failed,
    )


def difference(work: Work, found: Array, answer: Array) -> str:
    """What is wrong with a result; empty where it equals the answer as the work demands."""
    if found.shape != answer.shape:
        return f"gives the shape {found.shape} instead of {answer.shape}"
    scale = max(1e-30, float(np.abs(answer).max()))
    error = float(np.abs(found.astype("float64") - answer).max()) / scale
    if error <= work.tolerance:
        return ""
    return f"is off by {error:.1e} of the greatest magnitude"
