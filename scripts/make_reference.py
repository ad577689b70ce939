"""Make the pages of docs/reference/ that name a table, from that table.

hatch run reference            writes them
hatch run reference --check    fails where one is older than its table
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tiny_codegen import PIPELINE
from tiny_ir import OP_TABLE

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "reference"
MADE = "<!-- Made by `hatch run reference`; do not edit. -->"
SETTING = re.compile(r"(?P<name>[A-Z][A-Z_]+(?:<NAME>)?): (?P<text>.+)", re.DOTALL)
LEVELS = ("graph", "kernel", "program")


def table(titles: Sequence[str], rows: Iterator[Sequence[str]]) -> str:
    """Return a markdown table."""
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def page(title: str, sentence: str, body: str) -> str:
    """Return a page."""
    return f"{MADE}\n\n# {title}\n\n{sentence}\n\n{body}\n"


def op_rows() -> Iterator[Sequence[str]]:
    """Yield a line for each op."""
    for op, row in OP_TABLE.items():
        fewest, most = row.minimum_arity, row.maximum_arity
        arity = f"{fewest} or more" if most is None else f"{fewest} to {most}"
        kinds = [
            word
            for word, applies in (
                ("elementwise", row.is_elementwise),
                ("commutative", row.is_commutative),
                ("movement", row.is_movement),
            )
            if applies
        ]
        levels = "all" if len(row.levels) == len(LEVELS) else ", ".join(sorted(row.levels))
        yield f"`{op.name}`", str(fewest) if fewest == most else arity, levels, ", ".join(kinds)


def setting_rows() -> Iterator[Sequence[str]]:
    """Yield a line for each setting: functions of settings.py whose docstring opens with a name."""
    for path in sorted(ROOT.glob("packages/*/src/*/settings.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef):
                sentence = (ast.get_docstring(node) or "").split("\n\n")[0]
                match = SETTING.match(" ".join(sentence.split()))
                if match is not None:
                    yield f"`{match['name']}`", path.parent.name, match["text"]


def stage_rows() -> Iterator[Sequence[str]]:
    """Yield a line for each stage, in order."""
    for number, stage in enumerate(PIPELINE, start=1):
        yield str(number), stage.name


def pages() -> dict[str, str]:
    """Return the text of each page by its name."""
    ops = table(("op", "sources", "levels", "kind"), op_rows())
    settings = table(("variable", "read by", "what it does"), setting_rows())
    stages = table(("", "stage"), stage_rows())
    return {
        "ops.md": page("Ops", "One row for each op, as in `tiny_ir/op_table.py`.", ops),
        "settings.md": page("Settings", "Variables, each read in one `settings.py`.", settings),
        "stages.md": page("Stages", "From a graph to a Program, in order.", stages),
    }


def main(arguments: Sequence[str]) -> int:
    """Write the pages, or compare with them."""
    old = []
    for name, text in pages().items():
        path = PAGES / name
        if "--check" not in arguments:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            old.append(name)
    if old:
        print(f"older than their tables: {', '.join(old)}; run `hatch run reference`")
    return 1 if old else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
