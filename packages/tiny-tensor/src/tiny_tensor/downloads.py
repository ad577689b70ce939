"""Files on the net become bytes, once: what was downloaded is kept on disk."""

from __future__ import annotations

import os
import tempfile
from hashlib import sha256
from typing import Self

from tiny_ir import dtypes
from tiny_plugin import boundary
from tiny_tensor import settings
from tiny_tensor.driver import fetched, gunzipped
from tiny_tensor.realize import upload
from tiny_tensor.session import current_session
from tiny_tensor.tensor_core import TensorCore


@boundary
class DownloadMethods(TensorCore):
    """Tensors of what lies elsewhere."""

    __slots__ = ()

    @classmethod
    def from_url(cls, url: str, gunzip: bool = False, device: str | None = None) -> Self:
        """The bytes of a file on the net, which is downloaded once and kept on disk.

        It is kept in the folder of all caches (see the setting TINY_CACHE), by its URL: remove it
        there to download it again. What a `file:` URL names is read anew each time.

        Args:
            url: of the file.
            gunzip: the file is compressed, and its content is wanted.
            device: where the bytes live.

        Returns:
            (n,) of uint8.

        Raises:
            DownloadError: (an OSError) it cannot be had.
            FileFormatError: it is not compressed, or damaged.

        Example:
            >>> import pathlib, tempfile
            >>> from tiny_tensor import Tensor
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     path = pathlib.Path(folder, "data")
            ...     _ = path.write_bytes(b"abc")
            ...     Tensor.from_url(path.as_uri()).tolist()
            [97, 98, 99]
        """
        data = _downloaded(url)
        if gunzip:
            data = gunzipped(data, url)
        session = current_session()
        place = session.device_name(device)
        return cls._from_uop(upload(data, dtypes.uint8, place, session), place)


def _downloaded(url: str) -> bytes:
    """The bytes of a URL, from disk where they are kept."""
    folder = None if url.startswith("file:") else settings.download_folder()
    kept = None if folder is None else os.path.join(folder, sha256(url.encode()).hexdigest())
    if kept is not None and os.path.isfile(kept):
        with open(kept, "rb") as file:
            return file.read()
    data = fetched(url)
    if folder is not None and kept is not None:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        handle, draft = tempfile.mkstemp(dir=folder)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(draft, kept)
    return data
