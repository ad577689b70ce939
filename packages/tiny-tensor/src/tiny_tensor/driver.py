"""What Python's own library does for us at first use, and only then: the net, and compression."""

from __future__ import annotations

from tiny_ir import DownloadError, FileFormatError

PATIENCE = 30.0
"""Seconds without a byte after which a download has failed."""


def fetched(url: str) -> bytes:
    """The bytes that a URL names.

    Raises:
        DownloadError: they cannot be had.
    """
    from http.client import HTTPException
    from urllib.request import urlopen

    try:
        with urlopen(url, timeout=PATIENCE) as answer:
            return bytes(answer.read())
    except (OSError, HTTPException, ValueError) as error:
        raise DownloadError(
            f"cannot download {url}: {error}.",
            why="the address is wrong, or there is no way to it from here.",
            fix="look whether the machine is online; or pass the file itself: Tensor(data).",
        ) from error


def gunzipped(data: bytes, name: str) -> bytes:
    """What was compressed.

    Raises:
        FileFormatError: it was not, or is damaged.
    """
    import gzip
    import zlib

    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise FileFormatError(
            f"{name} is not a good gzip file: {error}.",
            why="what is decompressed was compressed before.",
            fix="use it as it is, or download it again.",
        ) from error
