"""The operations of torch's OpInfo database, and their sample inputs."""

from __future__ import annotations

import functools
import hashlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch.testing._internal.common_methods_invocations import op_db


@dataclass(frozen=True, slots=True)
class Sample:
    """One call: the input, and all other arguments."""

    input: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    process: Callable[[Any], Any]


@functools.cache
def entries() -> dict[str, Any]:
    """Return the entries of the database, each under its name and the name of its variant."""
    found = {}
    for entry in op_db:
        variant = f" {entry.variant_test_name}" if entry.variant_test_name else ""
        found[entry.name + variant] = entry
    return found


def seeded(text: str) -> None:
    """Start torch's random numbers anew, from a text."""
    torch.manual_seed(int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "little"))


def samples_of(key: str, dtype: torch.dtype, *, gradient: bool) -> list[Sample]:
    """Return the sample inputs of an entry, the same ones at every call."""
    entry = entries()[key]
    if dtype not in entry.supported_dtypes("cpu"):
        return []
    seeded(f"{key} {dtype}")
    wanted = gradient and entry.supports_autograd
    return [
        Sample(s.input, tuple(s.args), dict(s.kwargs), s.output_process_fn_grad)
        for s in entry.sample_inputs("cpu", dtype, requires_grad=wanted)
    ]


def errors_of(key: str) -> list[tuple[Sample, str]]:
    """Return calls that must raise, each with what torch says."""
    entry = entries()[key]
    if entry.error_inputs_func is None:
        return []
    seeded(f"{key} errors")
    return [
        (
            Sample(
                e.sample_input.input,
                tuple(e.sample_input.args),
                dict(e.sample_input.kwargs),
                lambda out: out,
            ),
            str(e.error_regex),
        )
        for e in entry.error_inputs("cpu")
    ]


def spread(items: list[Any], limit: int | None) -> list[Any]:
    """Return at most so many items, spread evenly over all."""
    if limit is None or len(items) <= limit:
        return items
    return [items[i * len(items) // limit] for i in range(limit)]
