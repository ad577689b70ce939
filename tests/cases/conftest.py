"""A Session of its own for each case, with one cache of kernels, and plugins opened once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tiny_plugin import Registry
from tiny_tensor import Session


@pytest.fixture(autouse=True)
def session(plugins: Registry, cache_folder: Path) -> Iterator[Session]:
    """A new Session, current during the test."""
    with Session(plugins, cache_folder=str(cache_folder)) as opened:
        yield opened
