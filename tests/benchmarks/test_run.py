"""`hatch run bench --quick`, with NumPy as the only peer."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).parents[2] / "benchmarks" / "run.py"
CHOSEN = {
    "dispatch": "adds of 4 elements, replayed",
    "compile": "import",
}
"""Of each kind a row or two: a test is no benchmark."""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that a quick run leaves."""
    folder = tmp_path_factory.mktemp("results")
    flags = ["--quick", "--keep", "--peers", "numpy", "--only", "|".join(CHOSEN.values())]
    command = [sys.executable, str(RUN), *CHOSEN, *flags, "--results", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.parametrize("kind", CHOSEN)
def test_a_run_leaves_a_table_and_a_line_of_history(results: Path, kind: str) -> None:
    line = json.loads((results / f"{kind}.jsonl").read_text(encoding="utf-8"))
    assert line["kind"] == kind
    assert line["rows"]
    for what, row in line["rows"].items():
        assert row["ratio"] > 0
        assert f"| {what} |" in (results / f"{kind}.md").read_text(encoding="utf-8")


def test_history_does_not_name_the_machine(results: Path) -> None:
    text = (results / "dispatch.jsonl").read_text(encoding="utf-8")
    assert platform.node() not in text
    assert json.loads(text)["machine"]["threads"] >= 1
