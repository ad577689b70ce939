"""Axes as a user writes them, turned into numbers from 0."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import SupportsIndex

from tiny_ir import ArgumentTypeError, AxisError


def resolved_axis(axis: int, rank: int) -> int:
    """The axis counted from 0.

    Args:
        axis: from `-rank` to `rank - 1`; one element has an axis 0 that holds it.
        rank: how many axes there are.

    Raises:
        AxisError: there is no such axis.

    Example:
        >>> resolved_axis(-1, 3)
        2
    """
    if not isinstance(axis, SupportsIndex) or isinstance(axis, bool):
        raise ArgumentTypeError(
            f"{axis!r} is not an axis.",
            why="an axis is an integer.",
            fix="pass a number such as 0 or -1.",
        )
    axis = operator.index(axis)  # one of NumPy is an integer too
    if not -rank <= axis < rank:
        raise AxisError(
            f"axis {axis} does not exist.",
            why=f"the tensor has {rank} axes.",
            fix=f"choose one from {-rank} to {rank - 1}." if rank else "reshape the tensor first.",
        )
    return axis % rank


def resolved_axes(axes: int | Sequence[int] | None, rank: int) -> tuple[int, ...]:
    """Several axes counted from 0, in ascending order; None means all of them.

    Raises:
        AxisError: an axis does not exist or is named twice.
        ArgumentTypeError: it is no integer.

    Example:
        >>> resolved_axes((-1, 0), 3), resolved_axes(None, 2)
        ((0, 2), (0, 1))
    """
    if axes is None:
        return tuple(range(rank))
    if not isinstance(axes, Sequence):
        # One element may be reduced along the axes 0 and -1, as everywhere in Python.
        return () if rank == 0 and axes in (0, -1) else (resolved_axis(axes, rank),)
    found = sorted(resolved_axis(axis, rank) for axis in axes)
    if len(set(found)) != len(found):
        raise AxisError(
            f"axes {tuple(axes)} name an axis twice.",
            why="each axis is reduced or moved once.",
            fix="list every axis once.",
        )
    return tuple(found)
