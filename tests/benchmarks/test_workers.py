"""A peer that fails or hangs is a row of the table, not the end of a run."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import numpy as np

from measuring.crew import Member
from measuring.rounds import QUICK, measure_works
from measuring.worker import Worker
from peers import Call, Timed
from works import Work, work_named
from works.work import Array, Arrays

WORK = "sum axis 0 64x64"


class Peer:
    """Gives what it was made with; raises it where it is an error."""

    def __init__(self, result: Any) -> None:
        self.result = result

    def prepare(self, work: Work, arrays: Arrays) -> Call | None:
        """A call."""
        if isinstance(self.result, Exception):
            raise self.result
        return None if self.result is None else lambda: self.result

    def numbers(self, result: Any) -> Array:
        """The result itself."""
        return np.asarray(result)


class Local(Member):
    """A member of a crew without a process."""

    def __init__(self, name: str, result: Any) -> None:
        super().__init__(name, 1, io.StringIO())
        self.worker = Worker(Peer(result))

    def ask(self, limit: float, /, **order: Any) -> dict[str, Any]:
        """Answer at once."""
        return self.worker.answer(order)


def prepare(result: Any, path: Path) -> dict[str, Any]:
    order = {"order": "prepare", "work": WORK, "quick": True, "patience": 1.0}
    return Worker(Peer(result)).answer(order | {"result": str(path)})


def test_what_a_peer_raises_is_said(tmp_path: Path) -> None:
    assert prepare(ValueError("no\nmore"), tmp_path / "x.npy") == {"failed": "ValueError: no"}


def test_what_is_said_names_no_folders(tmp_path: Path) -> None:
    error = OSError(f"no '{tmp_path / 'library.so'}' here")
    assert prepare(error, tmp_path / "x.npy") == {"failed": "OSError: no 'library.so' here"}


def test_what_a_peer_does_not_offer_is_absent(tmp_path: Path) -> None:
    assert prepare(None, tmp_path / "x.npy") == {"absent": True}


def test_a_call_may_say_itself_how_long_it_took() -> None:
    worker = Worker(Peer(Timed(7.0)))
    worker.call = lambda: Timed(7.0)
    assert worker.answer({"order": "time", "seconds": 0.0, "most": 1}) == {"wall": [7.0]}


def test_a_peer_that_does_not_answer_is_given_up() -> None:
    with open(os.devnull, "w", encoding="utf-8") as log:
        member = Member("numpy", 1, log)
        answer = member.ask(0.0, order="drop")
    assert answer == {"failed": "took longer than 0 s"}
    assert member.process is None


def test_a_run_goes_on_past_peers_that_fail() -> None:
    work = work_named(WORK, quick=True)
    right = work.inputs()["x"].sum(0)
    results = {
        "tiny": right,
        "numpy": right + 1,
        "jax": MemoryError("all of it"),
        "torch": None,
    }
    crew = type("Some", (), {"members": [Local(name, found) for name, found in results.items()]})
    (measured,) = measure_works([work], crew(), QUICK)
    assert list(measured.times) == ["tiny", "numpy", "jax"]
    assert measured.times["tiny"].wall
    assert "off by" in measured.times["numpy"].failed
    assert measured.times["jax"].failed == "MemoryError: all of it"
