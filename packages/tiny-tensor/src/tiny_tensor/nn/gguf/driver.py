"""What comes from the extra `tiny-tensor[gguf]`: the reader of the format, and rare decoders."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

from tiny_ir import FileFormatError, UnsupportedError
from tiny_plugin import MissingExtraError

if TYPE_CHECKING:
    from tiny_tensor.arrays import Array

NO_GGUF = (ValueError, LookupError, TypeError, EOFError, OverflowError, MemoryError)
"""What the reader raises about bytes that only look like the format."""


class Entry(NamedTuple):
    """A tensor in a file: where its bytes are, and what they mean."""

    name: str
    kind: str
    shape: tuple[int, ...]
    offset: int
    nbytes: int


def read(path: str | PathLike[str]) -> tuple[dict[str, object], list[Entry]]:
    """The texts and numbers of a file, and its tensors.

    Raises:
        MissingExtraError: the library is not installed.
        FileFormatError: the file is not what it claims to be.
    """
    gguf = _library()

    class Reader(gguf.GGUFReader):  # type: ignore[misc,name-defined]
        """Refuses to read behind the end, where the library reads nothing, again and again."""

        def _get(self, offset: int, dtype: Any, count: Any = 1, override_order: Any = None) -> Any:
            found = super()._get(offset, dtype, count, override_order)
            if len(found) != int(count):
                raise EOFError(f"there are no {int(count)} numbers at byte {offset}")
            return found

    try:
        reader = Reader(path)
        values = {
            name: field.contents()
            for name, field in reader.fields.items()
            if not name.startswith("GGUF.")
        }
        entries = [
            Entry(
                tensor.name,
                tensor.tensor_type.name,
                tuple(int(size) for size in reversed(tensor.shape)),
                int(tensor.data_offset),
                int(tensor.n_bytes),
            )
            for tensor in reader.tensors
        ]
    except NO_GGUF as error:
        raise FileFormatError(
            f"{path} is not a good GGUF file: {error}.",
            why="its header must describe tensors that lie within it, at whole alignments.",
            fix="download or convert it again.",
        ) from error
    return values, entries


def decoded(data: Array, entry: Entry) -> Array:
    """The elements of a type that we have no code for, in float32.

    Raises:
        UnsupportedError: the library has none either.
    """
    gguf = _library()
    kind = gguf.GGMLQuantizationType[entry.kind]
    try:
        found: Array = gguf.quants.dequantize(data, kind)
    except NotImplementedError as error:
        raise UnsupportedError(
            f"the tensor {entry.name!r} is of type {entry.kind}, which nobody here can read.",
            why="neither tiny nor the gguf library has code for its blocks.",
            fix="convert the file to another type, such as Q4_K or Q8_0.",
        ) from error
    return found


def _library() -> Any:
    try:
        import gguf
    except ImportError as error:
        raise MissingExtraError(
            "cannot read GGUF files: gguf is not installed.",
            why="its reader is that of the format's authors.",
            fix="pip install 'tiny-tensor[gguf]'.",
        ) from error
    return gguf
