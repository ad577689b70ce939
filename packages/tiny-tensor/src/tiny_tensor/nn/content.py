"""Bytes are kept under their hash: whoever knows it finds them, and they are what it says."""

from __future__ import annotations

import hashlib
import os
import tempfile

from tiny_ir import FileFormatError, StateError, dtypes
from tiny_plugin import boundary
from tiny_tensor.engine.outside import FileName
from tiny_tensor.explained import explained
from tiny_tensor.methods.hashing import BLOCK_NBYTES, CHUNK_NBYTES, HASH_NBYTES
from tiny_tensor.tensor import Tensor


@explained
@boundary
def fs_store(tensor: Tensor, folder: FileName) -> Tensor:
    """Keep the bytes of a tensor in a folder, in chunks of 1 MiB, each under its hash.

    What is there already is not written again. Hashes of chunks are kept in chunks, too, up to one.

    Args:
        tensor: of any dtype.
        folder: where; it is made where there is none.

    Returns:
        (16,) of uint8: what `tensor.hash()` gives.

    Raises:
        OSError: the folder cannot be written.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     key = fs_store(Tensor([1, 2, 3], dtype="uint8"), folder)
        ...     fs_load(key, 3, folder).tolist()
        [1, 2, 3]
    """
    data = bytes(tensor.flatten().bitcast(dtypes.uint8).data())
    os.makedirs(folder, exist_ok=True)
    while True:
        hashes = []
        for begin in range(0, max(1, len(data)), CHUNK_NBYTES):
            chunk = data[begin : begin + CHUNK_NBYTES]
            name = _hash_of(chunk)
            _write(os.path.join(folder, name.hex()), chunk)
            hashes.append(name)
        data = b"".join(hashes)
        if len(hashes) == 1:
            return Tensor(data, tensor.device)


@explained
@boundary
def fs_load(key: Tensor | bytes, size: int, folder: FileName, device: str | None = None) -> Tensor:
    """Read back what `fs_store` kept; every chunk is compared with its hash.

    Args:
        key: the hash: 16 bytes, or (16,) of uint8.
        size: how many bytes there are.
        folder: where they are kept.
        device: where the tensor lives.

    Returns:
        (size,) of uint8.

    Raises:
        StateError: there is no such chunk.
        FileFormatError: a chunk is not what its hash says, or there are more or fewer bytes.
    """
    level = [size]
    while level[-1] > CHUNK_NBYTES:
        level.append(-(-level[-1] // CHUNK_NBYTES) * HASH_NBYTES)
    data = key if isinstance(key, bytes) else bytes(key.data())
    for nbytes in reversed(level):
        hashes = [data[at : at + HASH_NBYTES] for at in range(0, len(data), HASH_NBYTES)]
        data = b"".join(_read(folder, name) for name in hashes)
        if len(data) != nbytes:
            raise FileFormatError(
                f"there are {len(data)} bytes where {nbytes} belong.",
                why=f"{size} bytes were asked for.",
                fix="ask for as many as were kept.",
            )
    return Tensor(data, device)


def _hash_of(chunk: bytes) -> bytes:
    """The hash of one chunk, as `Tensor.hash` has it."""
    filled = chunk + bytes(CHUNK_NBYTES - len(chunk))
    blocks = (filled[at : at + BLOCK_NBYTES] for at in range(0, CHUNK_NBYTES, BLOCK_NBYTES))
    joined = b"".join(hashlib.shake_128(block).digest(HASH_NBYTES) for block in blocks)
    return hashlib.shake_128(joined).digest(HASH_NBYTES)


def _write(path: str, data: bytes) -> None:
    if os.path.exists(path) and os.path.getsize(path) == len(data):
        return
    handle, draft = tempfile.mkstemp(dir=os.path.dirname(path))
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    os.replace(draft, path)


def _read(folder: FileName, name: bytes) -> bytes:
    path = os.path.join(folder, name.hex())
    try:
        with open(path, "rb") as file:
            data = file.read()
    except FileNotFoundError as error:
        raise StateError(
            f"there is no {name.hex()} in {os.fspath(folder)}.",
            why="what was kept there has other hashes.",
            fix="look whether folder and hash belong together.",
        ) from error
    if len(data) > CHUNK_NBYTES or _hash_of(data) != name:
        raise FileFormatError(
            f"{path} is damaged.",
            why="its bytes have another hash than its name.",
            fix="remove it, and store what it belongs to again.",
        )
    return data
