"""A judge's table, its slices and its progress."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

HERE = Path(__file__).parent

JUDGE = '''"""Halves are exact."""

CASES = 40


def judge(case):
    assert case != 13 or not {broken}
    return {{"kind": "even" if case % 2 == 0 else "odd", "worst": case / 2}}
'''


@pytest.fixture
def judges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The runner, moved into a folder of its own."""
    folder = tmp_path / "tests" / "judges"
    folder.mkdir(parents=True)
    path = folder / "run.py"
    path.write_text((HERE / "run.py").read_text())
    specification = importlib.util.spec_from_file_location("judges_under_test", path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    monkeypatch.setitem(sys.modules, "judges_under_test", module)
    specification.loader.exec_module(module)
    monkeypatch.setattr(
        module,
        "judge_cases",
        lambda name, cases: iter(module.judge_chunk(name, cases)),
    )
    (folder / "judge_halves.py").write_text(JUDGE.format(broken=False))
    return module


def test_whole_run_writes_table(judges: ModuleType) -> None:
    assert judges.main(["halves"]) == 0
    page = (judges.TABLES / "halves.md").read_text()
    assert "| even | 20 | 19 |" in page
    assert "| odd | 20 | 19.5 |" in page


def test_slice_writes_no_table(judges: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert judges.main(["--slice", "10"]) == 0
    assert capsys.readouterr().out == "halves: 4 passed, 0 failed\n"
    assert not judges.TABLES.exists()


def test_failure_names_its_case(judges: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    (folder_of(judges) / "judge_halves.py").write_text(JUDGE.format(broken=True))
    assert judges.main(["halves"]) == 1
    assert "hatch run judge halves --case 13" in capsys.readouterr().out
    assert not judges.TABLES.exists()


def test_stopped_run_goes_on(judges: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def stop_after_ten(name: str, cases: list[int]) -> object:
        for case in cases:
            if len(seen) == 10:
                raise KeyboardInterrupt
            seen.append(case)
            yield from judges.judge_chunk(name, [case])

    monkeypatch.setattr(judges, "judge_cases", stop_after_ten)
    with pytest.raises(KeyboardInterrupt):
        judges.main(["halves"])
    assert sorted(judges.finished_verdicts("halves")) == list(range(10))
    seen[:] = [-1] * 11
    assert judges.main(["halves"]) == 0
    assert seen[11:] == list(range(10, 40))


def test_progress_of_other_sources_is_forgotten(judges: ModuleType) -> None:
    judges.main(["halves"])
    assert len(judges.finished_verdicts("halves")) == 40
    (folder_of(judges) / "judge_halves.py").write_text(JUDGE.format(broken=False) + "\n")
    assert judges.finished_verdicts("halves") == {}


def folder_of(module: ModuleType) -> Path:
    """The folder of the moved runner."""
    return Path(str(module.__file__)).parent
