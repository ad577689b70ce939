"""A model's tensors by name, and files of them."""

from __future__ import annotations

import ctypes
import io
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType, ModuleType
from typing import TypedDict

from safetensors import SafetensorError, TensorSpec, deserialize, safe_open, serialize_file

from tiny_ir import DType, FileFormatError, ShapeError, StateError, dtypes
from tiny_plugin import boundary
from tiny_tensor.engine.outside import FileName
from tiny_tensor.explained import explained
from tiny_tensor.jit import Jitted
from tiny_tensor.nn.archives import (
    TensorIO,
    bytes_of,
    file_of,
    tar_extract,
    typed,
    zip_extract,
)
from tiny_tensor.nn.content import fs_load, fs_store
from tiny_tensor.nn.driver import progress_bar
from tiny_tensor.nn.gguf import gguf_load
from tiny_tensor.nn.torch_files import torch_load
from tiny_tensor.realize import realize as realize_all
from tiny_tensor.session import Session, current_session
from tiny_tensor.tensor import Tensor

__all__ = [
    "TensorIO",
    "fs_load",
    "fs_store",
    "get_parameters",
    "get_state_dict",
    "gguf_load",
    "load_state_dict",
    "safe_load",
    "safe_load_metadata",
    "safe_save",
    "tar_extract",
    "torch_load",
    "zip_extract",
]

DTYPE_NAMES: Mapping[str, DType] = MappingProxyType(
    {
        "BOOL": dtypes.bool_,
        "U8": dtypes.uint8,
        "I8": dtypes.int8,
        "U16": dtypes.uint16,
        "I16": dtypes.int16,
        "U32": dtypes.uint32,
        "I32": dtypes.int32,
        "U64": dtypes.uint64,
        "I64": dtypes.int64,
        "F16": dtypes.float16,
        "BF16": dtypes.bfloat16,
        "F32": dtypes.float32,
        "F64": dtypes.float64,
        "F8_E4M3": dtypes.float8_e4m3,
        "F8_E5M2": dtypes.float8_e5m2,
        "F8_E4M3FNUZ": dtypes.float8_e4m3fnuz,
        "F8_E5M2FNUZ": dtypes.float8_e5m2fnuz,
    }
)
"""What a safetensors file calls our dtypes."""


class TensorEntry(TypedDict):
    """What a header says of a tensor."""

    dtype: str
    shape: list[int]
    data_offsets: list[int]


NOT_MODELS = (type, ModuleType, Session, Jitted)
"""Objects that hold tensors, if at all, for themselves."""


@explained
@boundary
def get_state_dict(
    model: object, prefix: str = "", tensor_type: type[Tensor] = Tensor
) -> dict[str, Tensor]:
    """The tensors of an object by name: attributes, items of lists and dicts, and so on below.

    Args:
        model: the object.
        prefix: what every name begins with.
        tensor_type: which tensors to take.

    Returns:
        Names such as "layers.0.weight", in the order in which the object holds them.

    Example:
        >>> from tiny_tensor import nn
        >>> list(get_state_dict([nn.Linear(2, 3)]))
        ['0.weight', '0.bias']
    """
    found: dict[str, Tensor] = {}
    stack: list[tuple[str, object, tuple[int, ...]]] = [(prefix.strip("."), model, ())]
    while stack:
        name, value, above = stack.pop()
        if isinstance(value, tensor_type):
            found[name] = value
        elif id(value) not in above:  # what holds itself is not looked into twice
            parts = reversed(list(_parts(value)))
            stack += [
                (f"{name}.{part}" if name else part, inner, (*above, id(value)))
                for part, inner in parts
            ]
    return found


def _parts(value: object) -> Iterator[tuple[str, object]]:
    """The named parts of an object."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        yield from zip(value._fields, value, strict=True)
    elif isinstance(value, list | tuple):
        yield from ((str(at), item) for at, item in enumerate(value))
    elif isinstance(value, dict):
        yield from ((str(key), item) for key, item in value.items())
    elif hasattr(value, "__dict__") and not isinstance(value, NOT_MODELS):
        yield from vars(value).items()


@explained
@boundary
def get_parameters(model: object) -> list[Tensor]:
    """The float tensors of an object that gradients may change, each once.

    Running statistics are among them only where they were marked with `is_param_()`; a model none
    of whose tensors is marked gives all its float tensors.

    Example:
        >>> from tiny_tensor import nn
        >>> len(get_parameters([nn.Linear(2, 3), nn.BatchNorm(3)]))
        4
    """
    tensors = {id(t): t for t in get_state_dict(model).values() if t.dtype.is_float}
    marked = [tensor for tensor in tensors.values() if tensor.is_param]
    return marked or list(tensors.values())


@explained
@boundary
def load_state_dict(
    model: object,
    state_dict: Mapping[str, Tensor],
    strict: bool = True,
    verbose: bool = True,
    consume: bool = False,
    realize: bool = True,
) -> list[Tensor]:
    """Write tensors into those of a model that have the same names.

    Args:
        model: any object that holds tensors.
        state_dict: the values. They are moved and cast to the device and dtype of the model's, and
            copied, so that two models never share memory.
        strict: refuse names that the other side lacks.
        verbose: show a progress bar, where there is a terminal to show it on.
        consume: take what was loaded out of `state_dict`, which must be a dict.
        realize: write now, one tensor after another.

    Returns:
        The model's tensors that were written.

    Raises:
        StateError: a name is missing on one side.
        ShapeError: two shapes differ; (1,) and () do not.

    Example:
        >>> from tiny_tensor import nn
        >>> a, b = nn.Linear(2, 1), nn.Linear(2, 1)
        >>> _ = load_state_dict(a, get_state_dict(b))
        >>> (a.weight == b.weight).all().item()
        True
    """
    mine = get_state_dict(model)
    if strict:
        _check_names(mine, state_dict)
    written: list[Tensor] = []
    names = [name for name in mine if name in state_dict]
    for name in names:
        _check_shapes(name, mine[name], state_dict[name])
    with progress_bar(len(names), "tensors", shown=verbose and realize) as bar:
        for name in names:
            tensor, value = mine[name], state_dict[name]
            moved = value.detach().to(tensor.device).cast(tensor.dtype).reshape(tensor.shape)
            tensor.assign(moved.clone())
            written.append(tensor)
            if realize:
                tensor.realize()
            if consume and isinstance(state_dict, dict):
                del state_dict[name]
            bar.update()
    return written


def _check_names(mine: Mapping[str, Tensor], given: Mapping[str, Tensor]) -> None:
    missing = [name for name in mine if name not in given]
    unknown = [name for name in given if name not in mine]
    if missing:
        raise StateError(
            f"the state lacks {_listed(missing)}.",
            why="the model has tensors of these names.",
            fix="load the state of such a model, or pass strict=False.",
        )
    if unknown:
        raise StateError(
            f"the model has no {_listed(unknown)}.",
            why="the state has tensors of these names.",
            fix="load the state of such a model, or pass strict=False.",
        )


def _check_shapes(name: str, mine: Tensor, given: Tensor) -> None:
    is_one = mine.numel() == 1 and given.numel() == 1 and mine.ndim < 2 and given.ndim < 2
    if mine.shape != given.shape and not is_one:
        raise ShapeError(
            f"cannot load {name!r} of shape {given.shape} into shape {mine.shape}.",
            why="a tensor keeps its shape.",
            fix="build the model with the sizes that the state was made with.",
        )


def _listed(names: Sequence[str], most: int = 5) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


@explained
@boundary
def safe_save(
    tensors: Mapping[str, Tensor], path: FileName, metadata: Mapping[str, str] | None = None
) -> None:
    """Write tensors into a safetensors file.

    The file is complete or not there: what fails on the way leaves the one before untouched.

    Args:
        tensors: by name.
        path: of the file.
        metadata: texts by name, to be kept with them.

    Raises:
        StateError: a tensor has the name that the format keeps for itself.
        OSError: the file cannot be written.

    Example:
        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "x.safetensors")
        ...     safe_save({"x": Tensor([1, 2])}, path)
        ...     safe_load(path)["x"].tolist()
        [1, 2]
    """
    if "__metadata__" in tensors:
        raise StateError(
            "a tensor cannot be called '__metadata__'.",
            why="the format keeps that name for itself.",
            fix="choose another name.",
        )
    realize_all(list(tensors.values()), current_session())
    kept: list[bytearray] = []
    entries: dict[str, TensorSpec] = {}
    for name, tensor in tensors.items():
        data, shape = tensor._data()
        kept.append(data)
        entries[name] = TensorSpec(
            dtype=_written_name(tensor.dtype),
            shape=shape,
            data_ptr=_address_of(data),
            data_len=len(data),
        )
    texts = dict(metadata) if metadata else None
    _write_whole(path, lambda draft: serialize_file(entries, draft, texts))


def _written_name(dtype: DType) -> str:
    """What the library calls a dtype when it writes: the variant without infinities has an n."""
    return "float8_e4m3fn" if dtype is dtypes.float8_e4m3 else dtype.name


def _address_of(data: bytearray) -> int:
    """Where the bytes are, for as long as the bytearray lives."""
    return ctypes.addressof(ctypes.c_char.from_buffer(data)) if data else 0


def _write_whole(path: FileName, write: Callable[[str], None]) -> None:
    """Write a file beside the one of that name, and then let it take its place."""
    folder, name = os.path.split(os.path.abspath(path))
    handle, draft = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
    try:
        with os.fdopen(handle, "rb") as file:
            write(draft)
            os.fsync(file.fileno())
        os.chmod(draft, _mode_of(path))
        os.replace(draft, path)
    except BaseException:
        os.unlink(draft)
        raise


def _mode_of(path: FileName) -> int:
    """The permissions of the file that is replaced, or those that a new one gets."""
    try:
        return os.stat(path).st_mode & 0o7777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


@explained
@boundary
def safe_load(path: FileName | Tensor, device: str | None = None) -> dict[str, Tensor]:
    """Read the tensors of a safetensors file.

    The file is mapped into memory, and read when its tensors are used: it must stay as it is.

    Args:
        path: of the file; or its bytes, (n,) of uint8.
        device: where the tensors live.

    Raises:
        FileFormatError: the file is not what it claims to be: sizes that do not fit, bytes that
            belong to no tensor, an unknown dtype.
        OSError: the file cannot be read.
    """
    if isinstance(path, Tensor):
        header, start = _header_of_bytes(path)
    else:
        header, start = _header_of_file(path)
    data = bytes_of(path, device)
    tensors: dict[str, Tensor] = {}
    for name, entry in header.items():
        dtype = DTYPE_NAMES.get(str(entry["dtype"]))
        if dtype is None:
            raise _refused(path, f"{name!r} has dtype {entry['dtype']}, which tiny does not know")
        begin, end = entry["data_offsets"]
        part = data[start + begin : start + end]
        tensors[name] = typed(part, dtype).reshape(entry["shape"])
    return tensors


def _header_of_file(path: FileName) -> tuple[dict[str, TensorEntry], int]:
    """What a file says of its tensors, where their bytes begin, and that both are right."""
    try:
        with safe_open(os.fspath(path), framework="numpy"):
            pass  # the library has compared the header with the file
    except SafetensorError as error:
        raise _refused(path, str(error)) from error
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        return _entries(file.read(size)), 8 + size


def _header_of_bytes(tensor: Tensor) -> tuple[dict[str, TensorEntry], int]:
    data = bytes(tensor.data())
    try:
        deserialize(data)  # type: ignore[no-untyped-call]  # for what it refuses
    except SafetensorError as error:
        raise _refused(tensor, str(error)) from error
    size = int.from_bytes(data[:8], "little")
    return _entries(data[8 : 8 + size]), 8 + size


def _entries(header: bytes) -> dict[str, TensorEntry]:
    """The tensors in a header, in the order of their bytes."""
    entries: dict[str, TensorEntry] = json.loads(header)
    entries.pop("__metadata__", None)
    return dict(sorted(entries.items(), key=lambda item: item[1]["data_offsets"]))


@explained
@boundary
def safe_load_metadata(path: FileName | Tensor) -> dict[str, str]:
    """Read the texts that were saved with the tensors of a safetensors file.

    Raises:
        FileFormatError: the file has no header that can be read.
        OSError: the file cannot be read.
    """
    with file_of(bytes_of(path)) as file:
        size = int.from_bytes(file.read(8), "little")
        if size > file.seek(0, io.SEEK_END) - 8:
            raise _refused(path, f"its header would have {size} bytes")
        file.seek(8)
        header = file.read(size)
    try:
        metadata = json.loads(header).get("__metadata__", {})
    except (ValueError, AttributeError) as error:
        raise _refused(path, f"its header is no JSON object: {error}") from error
    return {str(name): str(text) for name, text in dict(metadata).items()}


def _refused(path: FileName | Tensor, reason: str) -> FileFormatError:
    name = "what these bytes are" if isinstance(path, Tensor) else os.fspath(path)
    return FileFormatError(
        f"{name} is not a good safetensors file: {reason}.",
        why="its header must describe every byte of the file, once.",
        fix="download or save it again.",
    )
