"""A pytest plugin: of the tests chosen, `--part 1/4` runs every fourth, from the second."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.addoption("--part", default="0/1", help="which part of the tests, of how many")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave one part; last, so that tests that were deselected do not count."""
    part, parts = map(int, config.getoption("--part").split("/"))
    items[:] = items[part::parts]
