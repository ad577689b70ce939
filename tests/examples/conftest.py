"""Lets the tests of this folder see the examples as if pip had installed them."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def install(project: Path, site: Path) -> None:
    """Leave in a folder what pip leaves for a distribution in development mode."""
    table = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    info = site / f"{table['name'].replace('-', '_')}-{table['version']}.dist-info"
    info.mkdir(parents=True)
    head = f"Metadata-Version: 2.1\nName: {table['name']}\nVersion: {table['version']}\n"
    (info / "METADATA").write_text(head, encoding="utf-8")
    groups = [
        "\n".join([f"[{group}]", *(f"{name} = {module}" for name, module in names.items())])
        for group, names in table["entry-points"].items()
    ]
    (info / "entry_points.txt").write_text("\n".join(groups) + "\n", encoding="utf-8")


@pytest.fixture(scope="module", autouse=True)
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """All examples, installed while the tests of one module run."""
    site = tmp_path_factory.mktemp("site")
    folders = [str(site)]
    for file in sorted(EXAMPLES.glob("*/pyproject.toml")):
        install(file.parent, site)
        folders.append(str(file.parent / "src"))
    before = list(sys.path)
    sys.path[:0] = folders
    yield
    sys.path[:] = before
