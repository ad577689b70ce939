"""What every test may ask for: goldens, and which tests this environment can run."""

from __future__ import annotations

import importlib.util
import os
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tiny_plugin import Registry

pytest_plugins = ("tiny_testing.firings",)  # each firing of each rule is checked by values

ROOT = Path(__file__).parent
EXAMPLES = ROOT / "examples"
GOLDENS = ROOT / "tests" / "golden"
AGAINST_TORCH = (
    ROOT / "tests" / "against_torch",
    ROOT / "tests" / "oracle",
    ROOT / "tests" / "judges" / "judge_opinfo.py",
)
HAS_TORCH = importlib.util.find_spec("torch") is not None

# Plugins are seen through views that have only the names of their contract.
os.environ.setdefault("TINY_VIEW", "1")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer `--update-golden`, which `hatch run golden` uses."""
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write the goldens under tests/golden/ anew instead of comparing with them",
    )


def pytest_report_header() -> str | None:
    """Say which tests are left to another environment, and how to run them."""
    if HAS_TORCH:
        return None
    return "tests/against_torch: left out here (no torch); run them with `hatch run torch:test`"


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave the comparisons with torch to the environment that has it."""
    if collection_path in AGAINST_TORCH and not HAS_TORCH:
        return True
    return None


@pytest.fixture(scope="session")
def cache_folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where kernels of this run are kept: one place for all workers."""
    base = tmp_path_factory.getbasetemp()
    if hasattr(request.config, "workerinput"):
        base = base.parent
    folder = base / "kernels"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def plugins() -> Registry:
    """The plugins that the Sessions of tests share: what is opened holds no data of theirs."""
    return Registry()


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text with the file of that name under tests/golden/.

    `golden("matmul.llvm", text)` fails when the texts differ; `hatch run golden` writes the file.
    """

    def compare(name: str, text: str) -> None:
        path = GOLDENS / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        if not path.exists():
            pytest.fail(
                f"there is no golden {name}: run `hatch run golden`, and read what it wrote"
            )
        assert text == path.read_text(encoding="utf-8"), (
            f"golden {name} changed: run `hatch run golden`, read the diff, say why in the commit"
        )

    return compare


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


@pytest.fixture(scope="module")
def installed_examples(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
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
