"""Rows of words become lines with columns."""

from __future__ import annotations

from collections.abc import Sequence


def table(rows: Sequence[Sequence[str]]) -> str:
    """Align the columns of rows; the last one is as long as it is.

    Example:
        >>> print(table([["a", "b"], ["long", "c"]]))
        a     b
        long  c
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
    return "\n".join(lines)
