"""Examples are as small as their pages say, and use what any stranger may use."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
LINES = {"tiny-backend-stack": 150, "tiny-codegen-simple": 200}
PUBLIC = ("tiny_ir", "tiny_plugin")


def sources_of(example: str) -> list[str]:
    """Return the text of each file that the wheel of an example holds."""
    return [path.read_text(encoding="utf-8") for path in (EXAMPLES / example / "src").rglob("*.py")]


@pytest.mark.parametrize("example", LINES)
def test_example_has_at_most_so_many_lines(example: str) -> None:
    assert sum(len(text.splitlines()) for text in sources_of(example)) <= LINES[example]


@pytest.mark.parametrize("example", LINES)
def test_example_imports_the_language_and_the_door_only(example: str) -> None:
    own = example.replace("-", "_")
    for text in sources_of(example):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            else:
                continue
            for name in names:
                top = name.partition(".")[0]
                assert name in PUBLIC or top == own or top in sys.stdlib_module_names, name


def test_every_example_has_a_limit() -> None:
    assert {path.parent.name for path in EXAMPLES.glob("*/pyproject.toml")} == set(LINES)
