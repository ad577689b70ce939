"""Files of llama.cpp become tensors that stay quantized until they are used."""

from __future__ import annotations

import math
import os
import re
import tempfile
from collections.abc import Mapping
from types import MappingProxyType

from tiny_ir import DType, FileFormatError, dtypes
from tiny_plugin import boundary
from tiny_tensor.explained import explained
from tiny_tensor.nn.archives import Bytes, bytes_of, typed
from tiny_tensor.nn.gguf.dequantize import DECODERS
from tiny_tensor.nn.gguf.driver import Entry, decoded, read
from tiny_tensor.tensor import Tensor

__all__ = ["gguf_load"]

NATIVE: Mapping[str, DType] = MappingProxyType(
    {
        "F64": dtypes.float64,
        "F32": dtypes.float32,
        "F16": dtypes.float16,
        "BF16": dtypes.bfloat16,
        "I8": dtypes.int8,
        "I16": dtypes.int16,
        "I32": dtypes.int32,
        "I64": dtypes.int64,
    }
)
"""Types whose elements are ours."""

PART = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$")
"""How the parts of one model are called."""


@explained
@boundary
def gguf_load(
    source: Bytes, device: str | None = None
) -> tuple[dict[str, object], dict[str, Tensor]]:
    """Read a GGUF file: texts and numbers by name, and tensors by name.

    The file is mapped into memory. Quantized tensors are graphs over its bytes, in float32: they
    are unpacked where they are used, in the kernel that uses them, unless they are realized. The
    types Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K to Q6_K, IQ4_NL, IQ4_XS and MXFP4 are; others are
    unpacked now, by the gguf library, where it can. A model in several parts is read as a whole
    where the name of its first part is given.

    Args:
        source: the name of the file, or its bytes: (n,) of uint8.
        device: where the tensors live; by default where the bytes are.

    Returns:
        The values of the header, and the tensors; shapes as torch writes them, rows first.

    Raises:
        MissingExtraError: the extra `tiny-tensor[gguf]` is not installed.
        FileFormatError: the file is not what it claims to be, or a part is missing.
        UnsupportedError: a tensor is of a type that nobody here can unpack.
        OSError: the file cannot be read.
    """
    if isinstance(source, Tensor):
        handle, path = tempfile.mkstemp(suffix=".gguf")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(source.data())
            values, entries = read(path)
        finally:
            os.unlink(path)
        return values, _tensors(bytes_of(source, device), entries)
    values, entries = read(source)
    tensors = _tensors(bytes_of(source, device), entries)
    for other in _other_parts(os.fspath(source), values):
        _, entries = read(other)
        tensors |= _tensors(bytes_of(other, device), entries)
    return values, tensors


def _other_parts(path: str, values: Mapping[str, object]) -> list[str]:
    """The names of the further parts of a model, where this is the first of several."""
    count = values.get("split.count", 1)
    if not isinstance(count, int) or count < 2:
        return []
    found = PART.search(path)
    if found is None or found[1] != "00001" or int(found[2]) != count:
        raise FileFormatError(
            f"{path} is one of {count} parts, and not called like the first.",
            why="the others are found by its name, such as model-00001-of-00003.gguf.",
            fix="pass the first part, under the name it was made with.",
        )
    names = [f"{path[: found.start()]}-{n:05}-of-{count:05}.gguf" for n in range(2, count + 1)]
    missing = [name for name in names if not os.path.isfile(name)]
    if missing:
        raise FileFormatError(
            f"{missing[0]} is missing.",
            why=f"the model has {count} parts, which lie side by side.",
            fix="download all parts into one folder.",
        )
    return names


def _tensors(data: Tensor, entries: list[Entry]) -> dict[str, Tensor]:
    return {entry.name: _tensor(data, entry) for entry in entries}


def _tensor(data: Tensor, entry: Entry) -> Tensor:
    part = data[entry.offset : entry.offset + entry.nbytes]
    native = NATIVE.get(entry.kind)
    if native is not None:
        return typed(part, native).reshape(entry.shape)
    if entry.kind not in DECODERS:
        rows = part.reshape(math.prod(entry.shape[:-1]), -1).numpy()
        return Tensor(decoded(rows, entry), data.device).reshape(entry.shape)
    elements, nbytes, decode = DECODERS[entry.kind]
    blocks = part.reshape(math.prod(entry.shape) // elements, nbytes)
    return decode(blocks).reshape(entry.shape)
