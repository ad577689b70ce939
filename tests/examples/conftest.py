"""Lets the tests of this folder see the examples as if pip had installed them."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module", autouse=True)
def installed(installed_examples: None) -> None:
    """All examples are installed while the tests of one module run."""
