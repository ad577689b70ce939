"""Bytes read as files: TensorIO, tar and zip archives in all their forms, files mapped by name."""

from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from tiny_ir import DTypeError, FileFormatError, ShapeError
from tiny_tensor import Tensor
from tiny_tensor.nn.state import TensorIO, tar_extract, zip_extract

pytestmark = pytest.mark.usefixtures("session")

FILES = {
    "/".join(["folder" * 2] * 11) + "/name.txt": b"deep",
    "n" * 100: b"exactly a hundred",
    "größe/数.bin": bytes(range(256)),
    "empty": b"",
}


def tar(kind: int) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=kind) as archive:
        for name, data in FILES.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
        for name, type_ in (("a folder", tarfile.DIRTYPE), ("a link", tarfile.SYMTYPE)):
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = type_, "empty" if type_ == tarfile.SYMTYPE else ""
            archive.addfile(entry)
    return stream.getvalue()


def zipped(method: int) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        archive.mkdir("a folder")
        for name, data in FILES.items():
            archive.writestr(name, data)
    return stream.getvalue()


def contents(found: dict[str, Tensor]) -> dict[str, bytes]:
    return {name: bytes(tensor.data()) for name, tensor in found.items()}


@pytest.mark.parametrize("kind", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_names_and_bytes_of_tar_members_are_intact(kind: int, tmp_path: Path) -> None:
    assert contents(tar_extract(Tensor(tar(kind)))) == FILES
    path = tmp_path / "archive.tar"
    path.write_bytes(tar(kind))
    assert contents(tar_extract(path)) == contents(tar_extract(str(path))) == FILES


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_names_and_bytes_of_zip_members_are_intact(method: int) -> None:
    assert contents(zip_extract(Tensor(zipped(method)), "python")) == FILES


def test_what_is_no_archive_is_refused() -> None:
    whole = tar(tarfile.GNU_FORMAT)
    for data in (b"", b"no archive" * 100, whole[: 512 * 3], b"\0" + whole[1:]):
        with pytest.raises(FileFormatError, match="tar archive"):
            tar_extract(Tensor(bytearray(data)))
    whole = zipped(zipfile.ZIP_STORED)
    damaged = whole.replace(b"PK\x03\x04", b"PK\x03\x05", 2)
    for data in (b"", b"no archive" * 100, whole[:-30], damaged):
        with pytest.raises(FileFormatError, match="zip archive"):
            zip_extract(Tensor(bytearray(data)))


def test_a_tensor_is_read_as_a_file() -> None:
    with TensorIO(Tensor(b"0123456789")) as file:
        assert (file.read(3), file.tell(), file.seek(-2, io.SEEK_END)) == (b"012", 3, 8)
        assert (file.read(), file.read(1), file.seek(20), file.read()) == (b"89", b"", 20, b"")
        assert (file.readable(), file.seekable(), file.writable()) == (True, True, False)
        with pytest.raises(OSError, match="no byte -1"):
            file.seek(-1)
    with pytest.raises(DTypeError, match="int32"):
        TensorIO(Tensor([1]))
    with pytest.raises(ShapeError, match="one row"):
        TensorIO(Tensor(b"1234").reshape(2, 2))


@pytest.mark.parametrize("device", ["cpu", "python"])
def test_a_path_is_the_bytes_of_its_file(device: str, tmp_path: Path) -> None:
    path = tmp_path / "bytes"
    path.write_bytes(bytes(range(8)))
    x = Tensor(path, device)
    assert (x.shape, x[2:4].tolist()) == ((8,), [2, 3])
    assert x.bitcast("uint32").tolist() == [0x03020100, 0x07060504]
    x[0] = 9
    assert (x[:2].tolist(), path.read_bytes()[:2]) == ([9, 1], b"\x00\x01")
    path.write_bytes(b"")
    assert Tensor(path, device).shape == (0,)
