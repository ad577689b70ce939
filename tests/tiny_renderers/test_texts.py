"""The texts of a few kernels, in every language, beside their goldens."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tiny_plugin import Registry

from .kernels import KERNELS, WIDE

SUFFIXES = {"llvm": "ll", "c": "c", "python": "py.txt"}


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("language", SUFFIXES)
def test_text_is_the_golden(golden: Callable[[str, str], None], kernel: str, language: str) -> None:
    source = Registry().open_renderer(language, WIDE).render(KERNELS[kernel])
    golden(f"renderers/{kernel}.{SUFFIXES[language]}", source.text)


@pytest.mark.parametrize("language", SUFFIXES)
def test_a_text_is_the_same_each_time(language: str) -> None:
    renderer = Registry().open_renderer(language, WIDE)
    for program in KERNELS.values():
        assert renderer.render(program) == renderer.render(program)
