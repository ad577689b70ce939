"""Formulas such as "b (h w) -> b h w" as three steps: split axes, reorder them, merge them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tiny_ir import ArgumentError, Shape, Size, is_same_size, product
from tiny_plugin import record

_TOKEN = re.compile(r"\s*(\.\.\.|[A-Za-z_]\w*|[()]|1)")
_ELLIPSIS = "..."
"""All axes without a name, as one axis: it stands in parentheses."""
_SPREAD = "... spread"
"""The same axes, each by itself."""


@record(frozen=True, slots=True)
class Rearrangement:
    """The sizes after splitting, the order of these axes, and the sizes after merging."""

    split: Shape
    order: tuple[int, ...]
    merged: Shape


def rearrangement(formula: str, shape: Shape, sizes: Mapping[str, int]) -> Rearrangement:
    """Read a formula for a tensor of this shape.

    Raises:
        ArgumentError: the formula is not well formed, or does not fit the shape and the sizes.

    Example:
        >>> rearrangement("(a b) c -> c (b a)", (6, 4), {"a": 2})
        Rearrangement(split=(2, 3, 4), order=(2, 1, 0), merged=(4, 6))
    """
    sides = formula.split("->")
    if len(sides) != 2:
        raise _wrong(formula, "it has not exactly one arrow")
    left, right = (_groups(side, formula) for side in sides)
    left, right = _spelled_out(left, right, len(shape), formula)
    if len(left) != len(shape):
        raise _wrong(formula, f"its left side has {len(left)} axes, and the tensor {len(shape)}")
    known: dict[str, Size] = dict(sizes)
    split: list[Size] = []
    for group, size in zip(left, shape, strict=True):
        split += _sizes_of(group, size, known, formula)
    names = [name for group in left for name in group]
    wanted = [name for group in right for name in group]
    if sorted(names) != sorted(wanted) or len(set(names)) != len(names):
        raise _wrong(formula, "each name stands once on each side")
    unknown = set(sizes) - set(names)
    if unknown:
        raise _wrong(formula, f"it does not name {', '.join(sorted(unknown))}")
    order = tuple(names.index(name) for name in wanted)
    merged = tuple(product(tuple(known[name] for name in group)) for group in right)
    return Rearrangement(tuple(split), order, merged)


def _wrong(formula: str, why: str) -> ArgumentError:
    return ArgumentError(
        f"cannot rearrange by {formula!r}.",
        why=f"{why}.",
        fix='write it like "b (h w) c -> b c h w", and give the sizes that do not follow: h=3.',
    )


def _groups(side: str, formula: str) -> list[list[str]]:
    """The axes of one side; each is a list of names, which is empty for an axis of size 1."""
    groups: list[list[str]] = []
    inside = False
    at = 0
    side = side.rstrip()
    while at < len(side):
        match = _TOKEN.match(side, at)
        if match is None:
            raise _wrong(formula, f"{side[at:].strip()[0]!r} means nothing here")
        at = match.end()
        token = match.group(1)
        if token in "()":
            if inside == (token == "("):
                raise _wrong(formula, "its parentheses are not closed, or nested")
            inside = token == "("
            if inside:
                groups.append([])
        elif inside and token != "1":
            groups[-1].append(token)
        elif not inside:
            groups.append([] if token == "1" else [_SPREAD if token == _ELLIPSIS else token])
    if inside:
        raise _wrong(formula, "its parentheses are not closed")
    return groups


def _spelled_out(
    left: list[list[str]], right: list[list[str]], rank: int, formula: str
) -> tuple[list[list[str]], list[list[str]]]:
    """Both sides with names in place of an ellipsis."""
    dots = (_ELLIPSIS, _SPREAD)
    first = [name for group in left for name in group if name in dots]
    second = [name for group in right for name in group if name in dots]
    if len(first) != len(second) or len(first) > 1:
        raise _wrong(formula, "an ellipsis stands once on each side, or nowhere")
    if not first:
        return left, right
    if first != [_SPREAD]:
        raise _wrong(formula, "on the left side an ellipsis does not stand in parentheses")
    names = [f"...{n}" for n in range(rank - len(left) + 1)]
    sides: list[list[list[str]]] = []
    for side in (left, right):
        spread: list[list[str]] = []
        for group in side:
            if group == [_SPREAD]:
                spread += [[name] for name in names]
            else:
                parts = [names if name == _ELLIPSIS else [name] for name in group]
                spread.append([name for part in parts for name in part])
        sides.append(spread)
    return sides[0], sides[1]


def _sizes_of(group: list[str], size: Size, known: dict[str, Size], formula: str) -> list[Size]:
    """The sizes of the axes that one axis splits into; the one that is unknown follows."""
    missing = [name for name in group if name not in known]
    if len(missing) > 1:
        raise _wrong(formula, f"the sizes of {' and '.join(missing)} do not follow")
    rest = product(tuple(known[name] for name in group if name in known))
    if missing:
        if isinstance(rest, int) and isinstance(size, int) and (not rest or size % rest):
            raise _wrong(formula, f"an axis of {size} does not divide by {rest}")
        known[missing[0]] = size // rest
        rest = rest * known[missing[0]]
    if not is_same_size(rest, size):
        raise _wrong(formula, f"its names give an axis of {rest}, and the tensor has {size}")
    return [known[name] for name in group]
