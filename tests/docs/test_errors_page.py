"""The page of errors has a section for each error there is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

# All packages that define errors, so that every subclass is seen.
import tiny_codegen  # noqa: F401 (defines errors)
import tiny_plugin  # noqa: F401 (defines errors)
import tiny_tensor  # noqa: F401 (defines errors)
from tiny_ir import TinyError

PAGE = Path(__file__).parents[2] / TinyError.page
CODES = re.compile(r"^## (tiny-\d+)\n\n`(\w+)`", re.MULTILINE)


def kinds_of_error(kind: type[TinyError] = TinyError) -> Iterator[type[TinyError]]:
    """Yield an error and everything derived from it, if it has a code of its own."""
    if "code" in vars(kind):
        yield kind
    for derived in kind.__subclasses__():
        yield from kinds_of_error(derived)


SECTIONS = dict(CODES.findall(PAGE.read_text(encoding="utf-8")))


@pytest.mark.parametrize("kind", sorted(set(kinds_of_error()), key=lambda kind: kind.code))
def test_error_has_its_section(kind: type[TinyError]) -> None:
    assert SECTIONS.get(kind.code) == kind.__name__


def test_no_code_stands_twice() -> None:
    codes = [code for code, _ in CODES.findall(PAGE.read_text(encoding="utf-8"))]
    assert len(codes) == len(set(codes))
