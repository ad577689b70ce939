"""What comes from the extra `tiny-tensor[demo]`: scikit-learn's digits, and tqdm's progress bar."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from tiny_plugin import MissingExtraError

if TYPE_CHECKING:
    from tiny_tensor.arrays import Array


class Bar(Protocol):
    """The part of a tqdm bar that the demo uses."""

    def update(self, n: float = 1) -> bool | None:
        """Move on."""

    def set_description(self, desc: str, refresh: bool = True) -> None:
        """Write a text before the bar."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...


def bundled_digits() -> tuple[Array, Array]:
    """Read the handwritten digits that scikit-learn brings along.

    Returns:
        Images (1797, 8, 8) with grey values from 0 to 16, and what they show (1797,).

    Raises:
        MissingExtraError: scikit-learn is not installed.

    Source: E. Alpaydin, C. Kaynak, "Optical recognition of handwritten digits", UCI, 1998.
    """
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise _missing("scikit-learn") from error
    bunch = load_digits()
    return bunch.images, bunch.target


def progress_bar(total: int) -> Bar:
    """Open a progress bar on the standard error stream.

    Raises:
        MissingExtraError: tqdm is not installed.
    """
    try:
        from tqdm import tqdm
    except ImportError as error:
        raise _missing("tqdm") from error
    seconds = 0.1 if sys.stderr.isatty() else 5.0  # a log keeps every state of the bar
    bar: Bar = tqdm(total=total, unit="step", dynamic_ncols=True, mininterval=seconds)
    return bar


def _missing(what: str) -> MissingExtraError:
    return MissingExtraError(
        f"the demo needs {what}, which is not installed.",
        why="it takes its images from scikit-learn, and its progress bar from tqdm.",
        fix="pip install 'tiny-tensor[demo]'",
    )
