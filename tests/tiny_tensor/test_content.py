"""Bytes that are kept under their hash."""

from __future__ import annotations

from pathlib import Path

import pytest

from tiny_ir import FileFormatError, StateError
from tiny_tensor import Tensor
from tiny_tensor.nn import content
from tiny_tensor.nn.state import fs_load, fs_store

pytestmark = pytest.mark.usefixtures("session")


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content, "CHUNK_NBYTES", 64)
    monkeypatch.setattr(content, "BLOCK_NBYTES", 32)


@pytest.mark.parametrize("size", [0, 1, 64, 65, 1000])
def test_bytes_come_back(size: int, tmp_path: Path) -> None:
    x = Tensor(bytearray(number * 7 % 256 for number in range(size)))
    key = fs_store(x, tmp_path / "store")
    assert key.shape == (16,)
    assert fs_load(bytes(key.data()), size, tmp_path / "store").tolist() == x.tolist()


def test_equal_bytes_are_kept_once(tmp_path: Path) -> None:
    x = Tensor([7] * 64)
    first = fs_store(x, tmp_path)
    count = len(list(tmp_path.iterdir()))
    assert fs_store(x, tmp_path).tolist() == first.tolist()
    assert len(list(tmp_path.iterdir())) == count == 2


def test_what_is_not_there_or_damaged_is_an_error(tmp_path: Path) -> None:
    key = fs_store(Tensor(b"abc"), tmp_path)
    with pytest.raises(StateError, match="there is no"):
        fs_load(bytes(16), 3, tmp_path)
    with pytest.raises(FileFormatError, match="3 bytes where 4"):
        fs_load(key, 4, tmp_path)
    (file,) = tmp_path.iterdir()
    file.write_bytes(b"abd")
    with pytest.raises(FileFormatError, match="damaged"):
        fs_load(key, 3, tmp_path)
