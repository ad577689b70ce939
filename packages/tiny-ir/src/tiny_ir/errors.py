"""What went wrong, why, and how to fix it: errors, each with a code that its page explains."""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "ArgumentError",
    "ArgumentTypeError",
    "AxisError",
    "CompileError",
    "DTypeError",
    "DeviceError",
    "DownloadError",
    "ExchangeError",
    "FileFormatError",
    "GradientError",
    "IndexingError",
    "JitError",
    "OutOfMemoryError",
    "OutOfRangeError",
    "ParseError",
    "RandomError",
    "RuleError",
    "RunError",
    "SettingError",
    "ShapeError",
    "SizeError",
    "StateError",
    "TinyError",
    "UnsupportedError",
    "VerificationError",
    "WriteError",
]


class TinyError(Exception):
    """An error that says what went wrong, why, and how to fix it.

    Args:
        what: one line about the thing the user typed, such as "cannot multiply (3, 4) by (5, 6)".
        why: the rule that was broken.
        fix: what to do about it.
        code: the section of docs/reference/errors.md; the class has a default.

    Example:
        >>> print(TinyError("no room", why="the box is full", fix="use a bigger box"))
        no room.
          why: the box is full.
          fix: use a bigger box.
          see: docs/reference/errors.md#tiny-100
    """

    code: str = "tiny-100"
    page: ClassVar[str] = "docs/reference/errors.md"

    def __init__(self, what: str, why: str = "", fix: str = "", code: str | None = None) -> None:
        super().__init__(what, why, fix, code)
        self.what = what
        self.why = why
        self.fix = fix
        if code is not None:
            self.code = code

    def __str__(self) -> str:
        lines = [_sentence(self.what)]
        if self.why:
            lines.append(f"  why: {_sentence(self.why)}")
        if self.fix:
            lines.append(f"  fix: {_sentence(self.fix)}")
        lines.append(f"  see: {self.page}#{self.code}")
        return "\n".join(lines)


def _sentence(text: str) -> str:
    """Close a sentence with a full stop, unless it has an end of its own."""
    text = text.rstrip()
    return text if text.endswith((".", "!", "?", ":")) else text + "."


class ShapeError(TinyError, ValueError):
    """Shapes that do not go together."""

    code = "tiny-110"


class SizeError(ShapeError):
    """Two sizes that could not be proved equal, or a size that is negative or unbounded."""

    code = "tiny-111"


class DTypeError(TinyError, TypeError):
    """A dtype that an operation does not take, or that does not exist."""

    code = "tiny-120"


class DeviceError(TinyError, ValueError):
    """Tensors on different devices, or a device that cannot do what was asked."""

    code = "tiny-130"


class AxisError(TinyError, ValueError, IndexError):
    """An axis that the tensor does not have, or an axis named twice."""

    code = "tiny-140"


class IndexingError(TinyError, IndexError):
    """An index that a tensor cannot be read or written with."""

    code = "tiny-150"


class ArgumentError(TinyError, ValueError):
    """An argument whose value is not one of those allowed."""

    code = "tiny-160"


class ArgumentTypeError(TinyError, TypeError):
    """An argument of a type that the function does not take."""

    code = "tiny-161"


class OutOfRangeError(ArgumentError, OverflowError):
    """A Python integer that the dtype it meets does not hold."""

    code = "tiny-162"


class VerificationError(TinyError, ValueError):
    """A node that may not stand where it stands: arity, dtype, shape, level or scope is wrong."""

    code = "tiny-170"


class RuleError(TinyError, ValueError):
    """A rule, a law or a pattern that is not well formed."""

    code = "tiny-171"


class ParseError(TinyError, ValueError):
    """Text that is not the text form of a graph."""

    code = "tiny-172"


class GradientError(TinyError, RuntimeError):
    """A gradient that does not exist or cannot be taken here."""

    code = "tiny-180"


class WriteError(TinyError, RuntimeError):
    """A write to memory that may not be written that way."""

    code = "tiny-190"


class StateError(TinyError, KeyError):
    """A state dict that does not fit the model."""

    code = "tiny-191"


class RandomError(TinyError, ValueError):
    """A random stream that was asked for something it cannot give."""

    code = "tiny-192"


class JitError(TinyError, RuntimeError):
    """A function that cannot be captured, or was called in a way the capture did not see."""

    code = "tiny-200"


class CompileError(TinyError, RuntimeError):
    """A compiler refused what it was given."""

    code = "tiny-210"


class UnsupportedError(TinyError, NotImplementedError):
    """A target that lacks what a program needs."""

    code = "tiny-211"


class RunError(TinyError, RuntimeError):
    """A program or a copy that failed on the device."""

    code = "tiny-212"


class OutOfMemoryError(TinyError, MemoryError):
    """A device that has no room left."""

    code = "tiny-213"


class ExchangeError(TinyError, BufferError):
    """Memory that cannot be shared with another library as it was asked for."""

    code = "tiny-214"


class FileFormatError(TinyError, ValueError):
    """A file that is not what it claims to be."""

    code = "tiny-220"


class DownloadError(TinyError, OSError):
    """Something on the net that could not be had."""

    code = "tiny-221"


class SettingError(TinyError, ValueError):
    """An environment variable or a setting whose value is not one of those allowed."""

    code = "tiny-240"
