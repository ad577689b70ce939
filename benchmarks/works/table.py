"""The works of each kind of run."""

from __future__ import annotations

from collections.abc import Callable

from works.growth import growth
from works.operations import operations
from works.quantized import quantized
from works.shapes import shapes
from works.tiny_ops import tiny_ops
from works.whole_models import whole_models
from works.work import Work, Works

KINDS: dict[str, tuple[Callable[[bool], Works], ...]] = {
    "ops": (operations, shapes),
    "models": (whole_models,),
    "dispatch": (tiny_ops,),
    "llm": (quantized,),
    "growth": (growth,),
}


def works_of(kind: str, quick: bool) -> list[Work]:
    """The works of one kind; small ones when a run shall be quick."""
    return [work for group in KINDS[kind] for work in group(quick)]


def work_named(name: str, quick: bool) -> Work:
    """The work that a table calls so."""
    for kind in KINDS:
        for work in works_of(kind, quick):
            if work.name == name:
                return work
    raise KeyError(name)
