"""The command line tells what there is, and errors in words."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tiny_tensor.cli import main
from tiny_tensor.cli.table import table

COMMANDS = ("demo", "doctor", "explain", "plugins")


def test_without_a_command_it_lists_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[3:-2]] == sorted(COMMANDS)


def test_an_unknown_command_is_an_error_that_names_the_others(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["dmeo"]) == 2
    said = capsys.readouterr().err
    assert "'dmeo'" in said
    assert all(name in said for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    assert f"usage: tiny {name}" in capsys.readouterr().out


def test_plugins_lists_ours(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plugins"]) == 0
    rows = {tuple(line.split()[:3]) for line in capsys.readouterr().out.splitlines()}
    assert {("runtime", "cpu", "offered"), ("renderer", "llvm", "offered")} <= rows


def test_plugins_imports_no_other_package() -> None:
    code = (
        "import sys; from tiny_tensor.cli import main; main(['plugins']); "
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert {name for name in loaded if name.startswith("tiny_")} == {
        "tiny_ir",
        "tiny_plugin",
        "tiny_tensor",
    }
    assert not loaded & {"numpy", "llvmlite", "pluggy", "safetensors", "sklearn", "tqdm"}


def test_explain_shows_the_stages_that_changed_something(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["explain", "(Tensor.empty(4, 5) + 1).sum(1)"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("1 kernel\n")
    assert "lower reduce" in said
    assert "add loads" in said


def test_explain_prints_a_stage_and_the_source(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "Tensor.empty(3) * 2", "--stage", "add loads", "--source"]) == 0
    said = capsys.readouterr().out
    assert "load.float32" in said
    assert "define void" in said


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["1 + 1"], "1 + 1"),
        (["Tensor([1])"], "nothing"),
        (["Tensor.empty(3) + 1", "--stage", "no such"], "add loads"),
        (["Tensor.empty(3)[7]"], "index 7"),
        (["Tensor.empty(3) + 1", "--device", "gpu"], "'gpu'"),
    ],
)
def test_what_explain_cannot_do_is_told_in_words(
    words: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", *words]) == 1
    said = capsys.readouterr().err
    assert named in said
    assert "fix:" in said


def test_doctor_opens_every_plugin(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    said = capsys.readouterr().out
    assert "ok   runtime   cpu" in said
    assert said.splitlines()[-1] == "All of them can be used."


def test_columns_are_aligned() -> None:
    assert table([["a", "b", ""], ["long", "c", "d"]]).splitlines() == ["a     b", "long  c  d"]
