"""Compare one call of torch with the same call of ours: values, dtypes, gradients, errors."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from oracle.exchange import (
    Arguments,
    NotRepresentableError,
    our_tensor,
    tensors_in,
    their_tensor,
)
from oracle.samples import Sample, entries
from oracle.spelling import Spelling
from tiny_ir import TinyError
from tiny_tensor import Tensor

DEVICE = "cpu"
NARROWER = {(torch.int64, torch.int32): "positions and sums of narrow integers are int32"}
"""Dtypes in which we differ on purpose: torch's, and ours."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one call: None is well, a text says what is wrong; absent is not asked."""

    values: str | None
    gradient: str | None
    has_gradient: bool
    applies: bool = True
    by_float64: tuple[bool, bool] = (False, False)
    """Whether values, and gradients, agree with torch's float64 result only."""


def compare(key: str, spelling: Spelling, sample: Sample, *, gradient: bool) -> Outcome:
    """Compare values and dtypes of one call, and where asked its gradients."""
    entry = entries()[key]
    arguments = Arguments(DEVICE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            mine = [arguments.translate(sample.input), *map(arguments.translate, sample.args)]
            named = {name: arguments.translate(value) for name, value in sample.kwargs.items()}
        except NotRepresentableError:
            return Outcome(None, None, False, applies=False)
        try:
            answer = entry.op(sample.input, *sample.args, **sample.kwargs)
        except (RuntimeError, NotImplementedError):  # torch has no such function for these
            return Outcome(None, None, False, applies=False)
        expected = _flat(sample.process(answer))
        if any(out.layout is not torch.strided for out in expected):
            return Outcome(None, None, False, applies=False)
        expected = [_real(out) for out in expected][: spelling.results]
        try:
            found = spelling(*mine, **named)
            result = list(tensors_in(_processed(sample, found), Tensor))[: spelling.results]
        except Exception as error:  # noqa: BLE001 (whatever we raise is the outcome, and is shown)
            return Outcome(_told(error), "no value", _wants(gradient, arguments, expected))
        if spelling.gives_random(named):
            return Outcome(_same_kind(expected, result), None, False)
        wants = _wants(gradient, arguments, expected)
        if wants:
            return _with_gradient(entry, sample, arguments, expected, result)
        leaned: list[int] = []
        trouble = _values(expected, result, lambda: _exact(entry, sample)[0], leaned)
        return Outcome(trouble, None, False, by_float64=(bool(leaned), False))


def _processed(sample: Sample, found: Any) -> Any:
    """What torch compares of several results: it leaves out what has many right answers."""
    if not isinstance(found, list | tuple):
        return found
    try:
        return sample.process(found)
    except (AttributeError, TypeError):  # written for tensors of torch
        return found


def must_raise(spelling: Spelling, sample: Sample) -> Outcome:
    """Ask for an error of ours where torch raises one.

    What cannot be written here is left out: functions of plain numbers, which have no methods, and
    results written into a tensor that is handed in.
    """
    absent = Outcome(None, None, False, applies=False)
    arguments = Arguments(DEVICE)
    if "out" in sample.kwargs or isinstance(sample.input, bool | int | float | complex):
        return absent
    try:
        mine = [arguments.translate(sample.input), *map(arguments.translate, sample.args)]
        named = {name: arguments.translate(value) for name, value in sample.kwargs.items()}
    except NotRepresentableError:
        return absent
    try:
        spelling(*mine, **named)
    except (TinyError, TypeError):
        return Outcome(None, None, False)
    except Exception as error:  # noqa: BLE001 (shown)
        return Outcome(f"raises no error of ours: {_told(error)}", None, False)
    return Outcome("raises nothing", None, False)


def _flat(value: Any) -> list[torch.Tensor]:
    found = []
    for part in value if isinstance(value, list | tuple) else [value]:
        if isinstance(part, torch.Tensor):
            found.append(part)
        elif isinstance(part, list | tuple):
            found.extend(_flat(part))
        elif isinstance(part, bool | int | float):
            found.append(torch.tensor(part))
    return found


def _real(out: torch.Tensor) -> torch.Tensor:
    """Complex numbers as pairs."""
    return torch.view_as_real(out.resolve_conj()) if out.is_complex() else out


def _wants(gradient: bool, arguments: Arguments, expected: list[torch.Tensor]) -> bool:
    return (
        gradient
        and any(theirs.requires_grad for theirs, _ in arguments.pairs)
        and any(out.requires_grad for out in expected)
    )


def _with_gradient(
    entry: Any,
    sample: Sample,
    arguments: Arguments,
    expected: list[torch.Tensor],
    result: list[Tensor],
) -> Outcome:
    inputs = [(theirs, ours) for theirs, ours in arguments.pairs if theirs.requires_grad]
    chosen = [i for i, out in enumerate(expected) if out.requires_grad and i < len(result)]
    weights = _weights(expected)
    wanted = _slopes(expected, chosen, [theirs for theirs, _ in inputs], weights)
    try:
        total: Tensor | None = None
        for i in chosen:
            weight = our_tensor(weights[i], DEVICE)
            part = (result[i] * weight.reshape(result[i].shape)).sum()
            total = part if total is None else total + part
        assert total is not None
        slopes = total.gradient(*[ours for _, ours in inputs])
    except Exception as error:  # noqa: BLE001 (whatever we raise is the outcome, and is shown)
        values = _values(expected, result, lambda: _exact(entry, sample)[0], [])
        return Outcome(values, _told(error), True)
    try:
        Tensor.realize(*result, *slopes)
    except Exception as error:  # noqa: BLE001 (told apart below, where each is computed alone)
        del error

    def exact_slopes() -> list[torch.Tensor]:
        outputs, leaves = _exact(entry, sample)
        return _slopes(outputs, chosen, leaves, [weight.double() for weight in weights])

    leaned: list[int] = []
    slanted: list[int] = []
    values = _values(expected, result, lambda: _exact(entry, sample)[0], leaned)
    gradient = _values(wanted, slopes, exact_slopes, slanted, dtype=False)
    return Outcome(values, gradient, True, by_float64=(bool(leaned), bool(slanted)))


def _weights(expected: list[torch.Tensor]) -> list[torch.Tensor]:
    """How much each element of each result counts: anything but all alike."""
    generator = torch.Generator().manual_seed(7)
    return [
        (torch.rand(out.shape, generator=generator, dtype=torch.float32) + 0.5).to(out.dtype)
        for out in expected
    ]


def _slopes(
    outputs: list[torch.Tensor],
    chosen: list[int],
    leaves: list[torch.Tensor],
    weights: list[torch.Tensor],
) -> list[torch.Tensor]:
    found = torch.autograd.grad(
        [outputs[i] for i in chosen], leaves, [weights[i] for i in chosen], allow_unused=True
    )
    return [
        torch.zeros_like(leaf) if slope is None else slope.to_dense().detach()
        for leaf, slope in zip(leaves, found, strict=True)
    ]


def _exact(entry: Any, sample: Sample) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """The results of torch in float64, and the tensors that gradients are asked for."""
    wide: dict[int, torch.Tensor] = {}
    leaves: list[torch.Tensor] = []

    def widened(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.is_floating_point():
            if id(value) not in wide:
                double = value.detach().double().requires_grad_(value.requires_grad)
                wide[id(value)] = double
                if value.requires_grad:
                    leaves.append(double)
            return wide[id(value)]
        if isinstance(value, list | tuple) and not isinstance(value, torch.Size):
            return type(value)([widened(part) for part in value])
        return value

    first = widened(sample.input)
    rest = [widened(value) for value in sample.args]
    named = {name: widened(value) for name, value in sample.kwargs.items()}
    outputs = _flat(sample.process(entry.op(first, *rest, **named)))
    return [_real(out) for out in outputs], leaves


def _values(
    expected: list[torch.Tensor],
    result: list[Tensor],
    exact: Callable[[], list[torch.Tensor]],
    leaned: list[int],
    *,
    dtype: bool = True,
) -> str | None:
    """What is wrong, or None; `leaned` gets the results that agree with float64 only."""
    if len(expected) != len(result):
        return f"{len(result)} results where torch has {len(expected)}"
    try:
        if len(result) > 1:
            Tensor.realize(*result)
        got = [their_tensor(ours) for ours in result]
    except Exception as error:  # noqa: BLE001 (whatever we raise is the outcome, and is shown)
        return _told(error)
    for at, (ours, theirs) in enumerate(zip(got, expected, strict=True)):
        if tuple(ours.shape) != tuple(theirs.shape):
            return f"shape {tuple(ours.shape)} where torch has {tuple(theirs.shape)}"
        same = ours.dtype is theirs.dtype or (theirs.dtype, ours.dtype) in NARROWER
        if dtype and not same:
            return f"dtype {ours.dtype} where torch has {theirs.dtype}"
        plain = theirs.detach().resolve_neg().resolve_conj()
        trouble = _apart(ours.to(plain.dtype), plain)
        if trouble is None:
            continue
        if not (plain.is_floating_point() and _is_as_near(ours, plain, exact, at)):
            return trouble
        leaned.append(at)
    return None


def _apart(ours: torch.Tensor, theirs: torch.Tensor) -> str | None:
    try:
        torch.testing.assert_close(ours, theirs, equal_nan=True)
    except AssertionError as error:
        return _short(str(error))
    return None


def _is_as_near(
    ours: torch.Tensor, theirs: torch.Tensor, exact: Callable[[], list[torch.Tensor]], at: int
) -> bool:
    """Whether ours is as near to torch's float64 result as torch's tolerance, or torch itself."""
    try:
        right = exact()[at].detach().double()
    except RuntimeError:  # the call has no float64 form
        return False
    if right.shape != ours.shape:
        return False
    if _apart(ours, right.to(ours.dtype)) is None:
        return True
    mine, other = (ours.double() - right).abs(), (theirs.double() - right).abs()
    return bool(mine.isfinite().all()) and bool(mine.max() <= other.max())


def _same_kind(expected: list[torch.Tensor], result: list[Tensor]) -> str | None:
    if len(expected) != len(result):
        return f"{len(result)} results where torch has {len(expected)}"
    for ours, theirs in zip(result, expected, strict=True):
        mine = their_tensor(ours)
        if tuple(mine.shape) != tuple(theirs.shape):
            return f"shape {tuple(mine.shape)} where torch has {tuple(theirs.shape)}"
        if mine.dtype is not theirs.dtype and (theirs.dtype, mine.dtype) not in NARROWER:
            return f"dtype {mine.dtype} where torch has {theirs.dtype}"
    return None


def _told(error: Exception) -> str:
    return _short(f"{type(error).__name__}: {error}")


def _short(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " ".join(lines[:4])[:300].replace("|", "/")
