"""Every page tells the truth: its code runs, its commands exist, its links lead somewhere.

A fence's first line says what happens to it:

    ```python                     runs; the blocks of a page share their names, top to bottom
    ```python raises=ShapeError   runs, and must raise that error
    ```python file=PATH           runs; these blocks of a page are that file, word for word
    ```output                     is what the block before it printed
    ```text, ```sh, ...           does not run
"""

from __future__ import annotations

import contextlib
import io
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tiny_tensor import Session

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("packages/*/README.md"),
        *ROOT.glob("examples/*/README.md"),
    ]
)
FENCE = re.compile(r"^```(?P<info>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\((?!\w+:)(?P<path>[^)#\s]*)(?:#(?P<anchor>[^)]+))?\)")
COMMAND = re.compile(r"hatch run (?:(?P<environment>[a-z]+):)?(?P<script>[a-z]+)")


@dataclass(frozen=True, slots=True)
class Block:
    """One fence of a page: its kind, its options, the line it starts on, and its text."""

    kind: str
    options: dict[str, str]
    line: int
    text: str


def blocks_of(page: str) -> Iterator[Block]:
    """Yield the fences of a page in order."""
    for match in FENCE.finditer(page):
        kind, *words = match["info"].split() or [""]
        options = dict(word.split("=", 1) for word in words)
        yield Block(kind, options, page[: match.start()].count("\n") + 2, match["body"])


def run_block(block: Block, path: str, names: dict[str, object]) -> str:
    """Run one block; return what it printed."""
    code = compile("\n" * (block.line - 1) + block.text, path, "exec")
    printed = io.StringIO()
    wanted = block.options.get("raises")
    with contextlib.redirect_stdout(printed):
        if wanted is None:
            exec(code, names)
            return printed.getvalue()
        with pytest.raises(Exception) as raised:  # noqa: PT011 (its name is compared below)
            exec(code, names)
    assert wanted in [kind.__name__ for kind in type(raised.value).__mro__]
    return f"{printed.getvalue()}{type(raised.value).__name__}: {raised.value}"


def name_of(page: Path) -> str:
    """Return the path of a page from the root."""
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
@pytest.mark.usefixtures("installed_examples")
def test_code_of_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    printed = ""
    with Session():
        for block in blocks_of(page.read_text(encoding="utf-8")):
            if block.kind == "output":
                where = f"{name_of(page)}:{block.line}"
                assert printed.split() == block.text.split(), f"{where}: printed\n{printed}"
            elif block.kind == "python":
                printed = run_block(block, str(page), names)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_page_shows_files_as_they_are(page: Path) -> None:
    shown: dict[str, list[str]] = {}
    for block in blocks_of(page.read_text(encoding="utf-8")):
        if "file" in block.options:
            shown.setdefault(block.options["file"], []).append(block.text)
    for path, texts in shown.items():
        assert lines_of("\n".join(texts)) == lines_of((ROOT / path).read_text(encoding="utf-8"))


def lines_of(text: str) -> list[str]:
    """Return the lines of a text that are not empty."""
    return [line for line in text.splitlines() if line.strip()]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_of_page_exist(page: Path) -> None:
    environments = tomllib.loads((ROOT / "hatch.toml").read_text(encoding="utf-8"))["envs"]
    for match in COMMAND.finditer(page.read_text(encoding="utf-8")):
        scripts = environments[match["environment"] or "default"]["scripts"]
        assert match["script"] in scripts, f"{name_of(page)}: {match[0]}"


def anchors_of(page: str) -> set[str]:
    """Return the anchors of the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_of_page_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for match in LINK.finditer(FENCE.sub("", text)):
        target = page.parent / match["path"] if match["path"] else page
        assert target.exists(), f"{name_of(page)}: {match[0]}"
        if match["anchor"]:
            anchors = anchors_of(target.read_text(encoding="utf-8"))
            assert match["anchor"] in anchors, f"{name_of(page)}: {match[0]}"


def test_the_example_of_the_readme_has_twelve_lines() -> None:
    first = next(
        block for block in blocks_of((ROOT / "README.md").read_text()) if block.kind == "python"
    )
    assert len([line for line in first.text.splitlines() if line.strip()]) <= 12


def test_every_decision_is_in_the_index() -> None:
    folder = ROOT / "docs" / "decisions"
    index = (folder / "index.md").read_text(encoding="utf-8")
    assert [page.name for page in folder.glob("0*.md") if f"({page.name})" not in index] == []
