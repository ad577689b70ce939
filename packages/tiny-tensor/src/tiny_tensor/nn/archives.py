"""Bytes in a tensor are read as a file, and as an archive of files, zip or tar."""

from __future__ import annotations

import errno
import io
import tarfile
import zipfile
import zlib
from os import PathLike
from typing import TypeAlias

from tiny_ir import DType, DTypeError, FileFormatError, ShapeError, dtypes
from tiny_plugin import boundary
from tiny_tensor.engine.outside import reinterpreted
from tiny_tensor.explained import explained
from tiny_tensor.session import current_session
from tiny_tensor.sizes import concrete_size
from tiny_tensor.tensor import Tensor

Bytes: TypeAlias = Tensor | str | PathLike[str]
"""A tensor of bytes, or the name of a file of them."""
LOCAL_HEADER_NBYTES = 30
"""Before the name of a zip member. Source: PKWARE, "APPNOTE.TXT", 4.3.7."""


class TensorIO(io.RawIOBase):
    """A tensor of bytes as a file that is read; wrap it in `io.BufferedReader` for small reads.

    Args:
        tensor: (n,) of uint8.

    Raises:
        DTypeError: the elements are no bytes.
        ShapeError: there is not exactly one axis.

    Example:
        >>> with TensorIO(Tensor(b"one two")) as file:
        ...     _ = file.seek(4)
        ...     file.read()
        b'two'
    """

    def __init__(self, tensor: Tensor) -> None:
        super().__init__()
        if tensor.dtype is not dtypes.uint8:
            raise DTypeError(
                f"a file is not made of {tensor.dtype.name}.",
                why="it is made of bytes.",
                fix="see the bytes of a tensor: bitcast('uint8').",
            )
        if tensor.ndim != 1:
            raise ShapeError(
                f"a file has no shape {tensor.shape}.",
                why="its bytes stand in one row.",
                fix="flatten() it.",
            )
        self._tensor = tensor
        self._size = concrete_size(tensor.shape[0])
        self._position = 0

    def readable(self) -> bool:
        """It can be read."""
        return True

    def seekable(self) -> bool:
        """It can be read anywhere."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Read on at another place; behind the end there is nothing."""
        starts = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}
        position = starts[whence] + offset
        if position < 0:
            # Who reads archives tries places and expects what files of the system raise.
            raise OSError(errno.EINVAL, f"there is no byte {position} in a file")
        self._position = position
        return position

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Read as many bytes as there is room for, or as there are."""
        room = memoryview(buffer).cast("B")
        count = max(0, min(room.nbytes, self._size - self._position))
        if count:
            end = self._position + count
            room[:count] = self._tensor[self._position : end].data().cast("B")
            self._position = end
        return count


def bytes_of(source: Bytes, device: str | None = None) -> Tensor:
    """The bytes that a user named: a tensor, or a file that is mapped into memory."""
    if isinstance(source, Tensor):
        return source if device is None else source.to(device)
    # A Path says that a text is the name of a file.
    return Tensor(_Name(source), device)


def typed(part: Tensor, dtype: DType) -> Tensor:
    """Bytes of a file, whole elements, as a flat tensor of them: in place where they lie right."""
    if dtype.is_bool:
        return part != 0
    node = reinterpreted(part, dtype, current_session())
    return part.bitcast(dtype) if node is None else Tensor._from_uop(node, part.device)


class _Name(PathLike[str]):
    """The name of a file, marked as such: a str may be anything."""

    def __init__(self, name: str | PathLike[str]) -> None:
        self._name = name if isinstance(name, str) else name.__fspath__()

    def __fspath__(self) -> str:
        return self._name


def file_of(tensor: Tensor) -> io.BufferedReader:
    """The tensor as a file in which small reads are cheap."""
    return io.BufferedReader(TensorIO(tensor), 1 << 16)


@explained
@boundary
def tar_extract(source: Bytes, device: str | None = None) -> dict[str, Tensor]:
    """The files in a tar archive, by name: parts of its bytes. Folders and links are left out.

    Args:
        source: the archive, uncompressed: (n,) of uint8, or the name of a file.
        device: where the parts live; by default where the archive is.

    Returns:
        (n,) of uint8 for each file, in the order of the archive.

    Raises:
        FileFormatError: it is no tar archive, or a damaged one.

    Example:
        >>> import io, tarfile
        >>> stream = io.BytesIO()
        >>> with tarfile.open(fileobj=stream, mode="w") as archive:
        ...     entry = tarfile.TarInfo("a.txt")
        ...     entry.size = 3
        ...     archive.addfile(entry, io.BytesIO(b"abc"))
        >>> {name: bytes(x.data()) for name, x in tar_extract(Tensor(stream.getvalue())).items()}
        {'a.txt': b'abc'}
    """
    tensor = bytes_of(source, device)
    size = concrete_size(tensor.shape[0])
    found: dict[str, Tensor] = {}
    try:
        with tarfile.open(fileobj=file_of(tensor), mode="r:") as archive:
            for member in archive:
                if not member.isreg():
                    continue
                begin, end = member.offset_data, member.offset_data + member.size
                if member.issparse() or end > size:
                    raise _refused("tar", f"{member.name!r} does not lie in it as it is")
                found[member.name] = tensor[begin:end]
    except (tarfile.TarError, ValueError, EOFError) as error:
        if isinstance(error, FileFormatError):
            raise
        raise _refused("tar", str(error)) from error
    return found


@explained
@boundary
def zip_extract(source: Bytes, device: str | None = None) -> dict[str, Tensor]:
    """The files in a zip archive, by name: parts of its bytes, where they are not compressed.

    Args:
        source: the archive: (n,) of uint8, or the name of a file.
        device: where the parts live; by default where the archive is.

    Returns:
        (n,) of uint8 for each file, in the order of the archive. Compressed ones are unpacked now.

    Raises:
        FileFormatError: it is no zip archive, a damaged one, or one with a password.

    Example:
        >>> import io, zipfile
        >>> stream = io.BytesIO()
        >>> with zipfile.ZipFile(stream, "w") as archive:
        ...     archive.writestr("a.txt", b"abc")
        >>> {name: bytes(x.data()) for name, x in zip_extract(Tensor(stream.getvalue())).items()}
        {'a.txt': b'abc'}
    """
    tensor = bytes_of(source, device)
    size = concrete_size(tensor.shape[0])
    found: dict[str, Tensor] = {}
    try:
        with file_of(tensor) as file, zipfile.ZipFile(file) as archive:
            for member in archive.infolist():
                if member.is_dir():
                    continue
                if member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1:
                    found[member.filename] = Tensor(archive.read(member), tensor.device)
                    continue
                begin = _data_offset(file, member.header_offset)
                if begin + member.file_size > size:
                    raise _refused("zip", f"{member.filename!r} ends behind its end")
                found[member.filename] = tensor[begin : begin + member.file_size]
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise _refused("zip", str(error)) from error
    return found


def _data_offset(file: io.BufferedReader, header: int) -> int:
    """Where the data of a member begins, behind its own header."""
    file.seek(header)
    head = file.read(LOCAL_HEADER_NBYTES)
    if len(head) < LOCAL_HEADER_NBYTES or head[:4] != b"PK\x03\x04":
        raise _refused("zip", f"there is no member at byte {header}")
    lengths = int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little")
    return header + LOCAL_HEADER_NBYTES + lengths


def _refused(kind: str, reason: str) -> FileFormatError:
    return FileFormatError(
        f"these bytes are no good {kind} archive: {reason}.",
        why="every member must lie within the bytes.",
        fix="download or pack it again.",
    )
