"""What other libraries do for `nn` at first use, and only then: tqdm's progress bar."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self


class Bar(Protocol):
    """The part of a tqdm bar that is used."""

    def update(self, n: float = 1) -> bool | None:
        """Move on."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...


class NoBar:
    """Shows nothing."""

    def update(self, n: float = 1) -> bool | None:
        """Move on."""
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Be done."""


def progress_bar(total: int, unit: str, *, shown: bool) -> Bar:
    """A bar on standard error, where that is a terminal."""
    if not shown:
        return NoBar()
    from tqdm import tqdm

    bar: Bar = tqdm(total=total, unit=f" {unit}", dynamic_ncols=True, disable=None)
    return bar
