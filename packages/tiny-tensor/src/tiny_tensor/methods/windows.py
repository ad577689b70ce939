"""Numbers of a sliding window, as a user writes them, for each axis that it slides over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from tiny_ir import ArgumentError, ShapeError, UOp
from tiny_plugin import record
from tiny_tensor.choices import check_choice

Numbers: TypeAlias = int | Sequence[int]
Sides: TypeAlias = int | Sequence[int] | Sequence[Sequence[int]]
NamedSides: TypeAlias = Sides | str
"""Padding in numbers, or "same" or "valid"."""


@record(frozen=True, slots=True)
class Windows:
    """Sizes, steps, distances inside, and padding (before, after), one for each spatial axis."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]

    @property
    def reach(self) -> tuple[int, ...]:
        """How many positions a window covers, its holes included."""
        return tuple(
            dilation * (size - 1) + 1
            for size, dilation in zip(self.sizes, self.dilations, strict=True)
        )


def windows(
    sizes: Sequence[int], stride: Numbers | None, dilation: Numbers, padding: Sides
) -> Windows:
    """Read the arguments of a convolution or a pooling.

    Args:
        sizes: of the window, one for each spatial axis.
        stride: from one window to the next; None for windows side by side.
        dilation: the distance of neighbours in a window.
        padding: one number for all sides; one for each axis; two for each axis, flat with the last
            axis first; or a pair for each axis.

    Raises:
        ArgumentError: the numbers do not fit the axes, or are too small.

    Example:
        >>> windows((3, 3), 1, 1, (1, 2)).padding
        ((1, 1), (2, 2))
    """
    rank = len(sizes)
    if not all(isinstance(size, int) and size > 0 for size in sizes):
        raise ArgumentError(
            f"a window cannot have the sizes {tuple(sizes)}.",
            why="every size is 1 or more.",
            fix="choose positive numbers.",
        )
    strides = tuple(sizes) if stride is None else numbers_for(rank, stride, "stride", 1)
    return Windows(
        tuple(sizes),
        strides,
        numbers_for(rank, dilation, "dilation", 1),
        padding_for(rank, padding),
    )


def numbers_for(rank: int, value: Numbers, name: str, least: int) -> tuple[int, ...]:
    """One number an axis.

    Raises:
        ArgumentError: there are too many or too few, or one is less than `least`.
    """
    numbers = (value,) * rank if isinstance(value, int) else tuple(value)
    if len(numbers) != rank or not all(isinstance(n, int) and n >= least for n in numbers):
        raise ArgumentError(
            f"{name} cannot be {value!r}.",
            why=f"it is one number for all {rank} spatial axes, or one for each, from {least} up.",
            fix="write such numbers.",
        )
    return numbers


def padding_for(rank: int, value: Sides) -> tuple[tuple[int, int], ...]:
    """(before, after) for each axis.

    Raises:
        ArgumentError: the numbers do not fit the axes, or one is negative.
    """
    pairs = _pairs(rank, value)
    if pairs is None or not all(isinstance(n, int) and n >= 0 for pair in pairs for n in pair):
        raise ArgumentError(
            f"padding cannot be {value!r}.",
            why=f"it is one number, or one or two for each of the {rank} spatial axes, from 0 up.",
            fix="write such numbers; shrink() cuts edges off.",
        )
    return pairs


def _pairs(rank: int, value: Sides) -> tuple[tuple[int, int], ...] | None:
    """The numbers of padding as pairs; None where they do not fit the axes."""
    if isinstance(value, int):
        return ((value, value),) * rank
    items = list(value)
    if all(isinstance(item, int) for item in items):
        flat = [item for item in items if isinstance(item, int)]
        if len(flat) == rank:
            return tuple((n, n) for n in flat)
        if len(flat) == 2 * rank:
            pairs = [(flat[n], flat[n + 1]) for n in range(0, len(flat), 2)]
            return tuple(pairs[::-1])
    elif len(items) == rank and all(
        isinstance(item, Sequence) and len(item) == 2 for item in items
    ):
        return tuple((item[0], item[1]) for item in items if isinstance(item, Sequence))
    return None


def sides(padding: NamedSides, sizes: Sequence[int], stride: Numbers, dilation: Numbers) -> Sides:
    """Padding in numbers; "same" keeps the sizes of the axes, and "valid" pads nothing.

    Raises:
        ArgumentError: it has another name, or a stride changes the sizes anyway.

    Example:
        >>> sides("same", (3, 4), 1, 1)
        ((1, 1), (1, 2))
    """
    if not isinstance(padding, str):
        return padding
    check_choice("padding", padding, ("same", "valid"))
    if padding == "valid":
        return 0
    rank = len(sizes)
    if any(step != 1 for step in numbers_for(rank, stride, "stride", 1)):
        raise ArgumentError(
            f"padding 'same' does not go with stride {stride}.",
            why="a result of the same size has a place for every place of the input.",
            fix="use stride 1, or pass the padding in numbers.",
        )
    gaps = numbers_for(rank, dilation, "dilation", 1)
    reach = [gap * (size - 1) for gap, size in zip(gaps, sizes, strict=True)]
    return tuple((n // 2, n - n // 2) for n in reach)


def windowed(node: UOp, first: int, of: Windows) -> UOp:
    """Slide a window over the axes from `first` on; positions in it become further last axes.

    Raises:
        ShapeError: the window is longer than an axis.
    """
    for n, reach in enumerate(of.reach):
        size = node.shape[first + n]
        if isinstance(size, int) and size < reach:
            raise ShapeError(
                f"a window that covers {reach} positions does not fit axis {first + n} of "
                f"{node.shape}.",
                why="it may not reach beyond the padded axis.",
                fix="pad more, or make the window or its dilation smaller.",
            )
        node = node.window(first + n, of.sizes[n], of.strides[n], of.dilations[n])
    return node
