"""What is kept on disk is whole, private and bounded; everything else is a miss."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tiny_plugin.settings import scan_folder
from tiny_tensor.engine.disk_cache import DiskCache
from tiny_tensor.settings import cache_folder

KEY = "ab" * 32


def entry_of(folder: Path) -> Path:
    """The one entry below a folder."""
    (path,) = (path for path in folder.rglob("*") if path.is_file())
    return path


def test_what_was_written_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    DiskCache(str(folder), 1 << 20).write("kind", KEY, b"data")
    assert DiskCache(str(folder), 1 << 20).read("kind", KEY) == b"data"
    assert DiskCache(str(folder), 1 << 20).read("other", KEY) is None
    assert os.stat(folder).st_mode & 0o077 == 0


@pytest.mark.parametrize("position", [0, 14, 30, -1])
def test_a_damaged_entry_is_a_miss(tmp_path: Path, position: int) -> None:
    folder = tmp_path / "cache"
    cache = DiskCache(str(folder), 1 << 20)
    cache.write("kind", KEY, b"some data that matters")
    path = entry_of(folder)
    data = bytearray(path.read_bytes())
    data[position] ^= 1
    path.write_bytes(data)
    assert cache.read("kind", KEY) is None


def test_a_cut_entry_is_a_miss(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    cache = DiskCache(str(folder), 1 << 20)
    cache.write("kind", KEY, b"some data that matters")
    path = entry_of(folder)
    for nbytes in (0, 5, 20, 40):
        path.write_bytes(path.read_bytes()[:nbytes])
        assert cache.read("kind", KEY) is None


def test_an_entry_under_another_key_is_a_miss(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    cache = DiskCache(str(folder), 1 << 20)
    cache.write("kind", KEY, b"data")
    other = "ab" + "00" * 31
    os.rename(entry_of(folder), entry_of(folder).with_name(other))
    assert cache.read("kind", other) is None


def test_a_folder_that_others_may_write_is_ignored_with_one_warning(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    DiskCache(str(folder), 1 << 20).write("kind", KEY, b"data")
    folder.chmod(0o777)
    cache = DiskCache(str(folder), 1 << 20)
    with pytest.warns(UserWarning, match="others may write there"):
        assert cache.read("kind", KEY) is None
    cache.write("kind", "cd" * 32, b"data")
    assert cache.read("kind", "cd" * 32) is None


def test_a_folder_that_cannot_be_made_is_left_alone_with_one_warning(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("no folder")
    cache = DiskCache(str(file / "cache"), 1 << 20)
    with pytest.warns(UserWarning, match="Set TINY_CACHE to a folder of your own"):
        cache.write("kind", KEY, b"data")
    cache.write("kind", KEY, b"data")
    assert cache.read("kind", KEY) is None


@pytest.mark.parametrize("none", ["", "0"])
def test_a_setting_keeps_nothing(none: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINY_CACHE", none)
    assert (cache_folder(), scan_folder()) == (None, None)


def test_the_folder_is_bounded(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    cache = DiskCache(str(folder), 10_000)
    for number in range(200):
        cache.write("kind", f"{number:064x}", bytes(1000))
    DiskCache(str(folder), 10_000).write("kind", "f" * 64, b"the newest")
    total = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    assert total <= 10_000
    assert cache.read("kind", "f" * 64) == b"the newest"


def test_no_folder_keeps_nothing() -> None:
    cache = DiskCache(None, 1 << 20)
    cache.write("kind", KEY, b"data")
    assert cache.read("kind", KEY) is None
