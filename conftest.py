"""What every test may ask for: goldens, and which tests this environment can run."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest

pytest_plugins = ("tiny_testing.firings",)  # each firing of each rule is checked by values

ROOT = Path(__file__).parent
GOLDENS = ROOT / "tests" / "golden"
AGAINST_TORCH = ROOT / "tests" / "against_torch"
HAS_TORCH = importlib.util.find_spec("torch") is not None


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
    if collection_path == AGAINST_TORCH and not HAS_TORCH:
        return True
    return None


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
