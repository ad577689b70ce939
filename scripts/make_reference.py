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

from tiny_codegen.pipeline import GRAPH_PIPELINE, KERNEL_PIPELINE
from tiny_codegen.stage import PluginSlot
from tiny_ir import OP_TABLE

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "reference"
MADE = "<!-- Made by `hatch run reference`; do not edit. -->"
SETTING = re.compile(r"^([A-Z][A-Z_]+(?:<NAME>)?)(?:: | (?=names ))(.+?)(?=\n\n|\Z)", re.M | re.S)
REASON = re.compile(r'\("(\w[\w ]*)".*\),  # (.+)$', re.MULTILINE)
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
    """Yield a line for each `NAME: what it does` in a docstring of a settings.py."""
    readers: dict[str, list[str]] = {}
    texts: dict[str, str] = {}
    for path in sorted(ROOT.glob("packages/*/src/*/settings.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                for name, text in SETTING.findall(ast.get_docstring(node) or ""):
                    texts.setdefault(name, " ".join(text.split()))
                    readers.setdefault(name, []).append(path.parent.name)
    for name in sorted(texts):
        yield f"`{name}`", texts[name], ", ".join(readers[name])


def reasons_for_places() -> dict[str, str]:
    """Return the comment that stands behind each row of pipeline.py, by the row's name."""
    text = (ROOT / "packages/tiny-codegen/src/tiny_codegen/pipeline.py").read_text(encoding="utf-8")
    return dict(REASON.findall(text))


def stage_rows() -> Iterator[Sequence[str]]:
    """Yield a line for each row of the pipeline, in order."""
    reasons = reasons_for_places()
    for row in GRAPH_PIPELINE + KERNEL_PIPELINE:
        if isinstance(row, PluginSlot):
            yield f"slot `{row.name}`", row.level, "stages of plugins"
        else:
            yield row.name, row.level, reasons.get(row.name, "")


def pages() -> dict[str, str]:
    """Return the text of each page by its name."""
    ops = table(("op", "sources", "levels", "kind"), op_rows())
    settings = table(("variable", "what it does", "who reads it"), setting_rows())
    stages = table(("stage", "level afterwards", "why here"), stage_rows())
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
