"""Entries on disk: bytes by key, each with a checksum, in a folder that is the user's alone.

An entry that is damaged is a miss. Writes are atomic renames, so that readers see whole entries.
The folder is bounded: when it grows too large, entries that were not read for longest go first.
"""

from __future__ import annotations

import os
import stat
import warnings
from collections.abc import Iterator
from hashlib import blake2b

MAGIC = b"tiny cache 1\n"
CHECKSUM_NBYTES = 16
SWEEP_EVERY = 64
"""Writes of one process between two looks at the size of the folder."""


class DiskCache:
    """A folder of entries.

    Args:
        folder: where; it is made at the first write. None keeps nothing.
        limit_nbytes: how large it may grow.
    """

    def __init__(self, folder: str | None, limit_nbytes: int) -> None:
        self._folder = folder
        self._limit_nbytes = limit_nbytes
        self._is_private: bool | None = None
        self._writes = 0

    def read(self, kind: str, key: str) -> bytes | None:
        """The bytes kept under a key; None where there are none, or they are damaged."""
        if not self._usable():
            return None
        path = self._path(kind, key)
        try:
            with open(path, "rb") as file:
                entry = file.read()
        except OSError:
            return None
        start = len(MAGIC) + CHECKSUM_NBYTES
        data = entry[start:]
        if not entry.startswith(MAGIC) or entry[len(MAGIC) : start] != checksum(kind, key, data):
            return None
        return data

    def write(self, kind: str, key: str, data: bytes) -> None:
        """Keep bytes under a key; where the disk is full or read-only, nothing is kept."""
        if self._folder is None or not self._usable(make=True):
            return
        path = self._path(kind, key)
        partial = f"{path}.{os.getpid()}.{id(data):x}"
        try:
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            with open(partial, "wb") as file:
                file.write(MAGIC + checksum(kind, key, data) + data)
            os.replace(partial, path)
        except OSError:
            _remove(partial)
            return
        self._writes += 1
        if self._writes % SWEEP_EVERY == 1:
            self._sweep()

    def _path(self, kind: str, key: str) -> str:
        assert self._folder is not None
        return os.path.join(self._folder, kind, key[:2], key)

    def _usable(self, make: bool = False) -> bool:
        """Whether the folder is there and nobody else could have written into it."""
        if self._folder is None:
            return False
        if self._is_private is None:
            if make:
                try:
                    os.makedirs(self._folder, mode=0o700, exist_ok=True)
                except OSError as error:
                    self._is_private = False
                    warnings.warn(
                        f"nothing is kept in {self._folder}: {error.strerror}. "
                        'Set TINY_CACHE to a folder of your own, or to "" for none.',
                        stacklevel=2,
                    )
                    return False
            elif not os.path.isdir(self._folder):
                return False
            self._is_private = is_private(self._folder)
            if not self._is_private:
                warnings.warn(
                    f"the cache in {self._folder} is ignored: others may write there. "
                    "Remove the folder, or set TINY_CACHE to one of your own.",
                    stacklevel=2,
                )
        return self._is_private

    def _sweep(self) -> None:
        """Remove the entries that were not read for longest, until the rest fits."""
        assert self._folder is not None
        entries = sorted(_files(self._folder))
        total = sum(nbytes for _, nbytes, _ in entries)
        for _, nbytes, path in entries:
            if total <= self._limit_nbytes:
                break
            _remove(path)
            total -= nbytes


def checksum(kind: str, key: str, data: bytes) -> bytes:
    """Of an entry and the place it belongs to: a moved entry is a damaged one."""
    digest = blake2b(data, digest_size=CHECKSUM_NBYTES, key=key.encode()[:64])
    digest.update(kind.encode())
    return digest.digest()


def is_private(folder: str) -> bool:
    """Whether a folder is this user's, and closed to all others."""
    if not hasattr(os, "getuid"):
        return True
    status = os.stat(folder)
    return (
        stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o077
    )


def _files(folder: str) -> Iterator[tuple[float, int, str]]:
    """The time, size and path of every file below a folder; what vanishes meanwhile is left out."""
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            try:
                status = os.stat(path)
            except OSError:
                continue
            yield max(status.st_atime, status.st_mtime), status.st_size, path


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return  # somebody else removed it, or it never came to be
