"""Files that torch saved become tensors, without torch, and without running what they say."""

from __future__ import annotations

import io
import math
import pickle
import struct
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from tiny_ir import DType, FileFormatError, dtypes
from tiny_plugin import boundary
from tiny_tensor.explained import explained
from tiny_tensor.nn.archives import Bytes, bytes_of, file_of, tar_extract, typed, zip_extract
from tiny_tensor.sizes import concrete_size
from tiny_tensor.tensor import Tensor

MAGIC = 0x1950A86A20F9469CFC6C
"""The number that files of torch before 1.6 begin with. Source: torch/serialization.py."""

STORAGES: Mapping[str, DType] = MappingProxyType(
    {
        "BoolStorage": dtypes.bool_,
        "ByteStorage": dtypes.uint8,
        "CharStorage": dtypes.int8,
        "ShortStorage": dtypes.int16,
        "IntStorage": dtypes.int32,
        "LongStorage": dtypes.int64,
        "HalfStorage": dtypes.float16,
        "BFloat16Storage": dtypes.bfloat16,
        "FloatStorage": dtypes.float32,
        "DoubleStorage": dtypes.float64,
        "UntypedStorage": dtypes.uint8,
    }
)
"""The dtype in which a class of torch stores elements."""

DTYPES: Mapping[str, DType] = MappingProxyType(
    {
        "bool": dtypes.bool_,
        "uint8": dtypes.uint8,
        "int8": dtypes.int8,
        "uint16": dtypes.uint16,
        "int16": dtypes.int16,
        "uint32": dtypes.uint32,
        "int32": dtypes.int32,
        "uint64": dtypes.uint64,
        "int64": dtypes.int64,
        "float16": dtypes.float16,
        "bfloat16": dtypes.bfloat16,
        "float32": dtypes.float32,
        "float64": dtypes.float64,
        "float8_e4m3fn": dtypes.float8_e4m3,
        "float8_e5m2": dtypes.float8_e5m2,
        "float8_e4m3fnuz": dtypes.float8_e4m3fnuz,
        "float8_e5m2fnuz": dtypes.float8_e5m2fnuz,
    }
)
"""What torch calls our dtypes."""

NO_FILE = (
    pickle.UnpicklingError,
    EOFError,
    AttributeError,
    IndexError,
    KeyError,
    TypeError,
    ValueError,
    struct.error,
)
"""What Python raises about bytes that only look like a pickle."""


@explained
@boundary
def torch_load(source: Bytes, device: str | None = None) -> object:
    """Read what `torch.save` wrote: tensors, and containers and numbers around them.

    All three formats are read: zip archives (torch 1.6 and later), pickles in a row, and tar
    archives (before 0.2). The pickle may name the constructors of tensors and containers, and
    nothing else: no code of the file or of torch runs.

    Args:
        source: the file: its name, or (n,) of uint8.
        device: where the tensors live; by default where the bytes are.

    Returns:
        What was saved, such as a dict of tensors by name. They are parts of the file, which is
        mapped into memory, and read when they are needed.

    Raises:
        FileFormatError: it is no such file, a damaged one, or it names something else.
        OSError: it cannot be read.

    Example:
        >>> try:
        ...     torch_load(Tensor(b"no torch file"))
        ... except FileFormatError:
        ...     "refused"
        'refused'
    """
    data = bytes_of(source, device)
    start = bytes(data[:262].data())
    try:
        if start[:2] == b"PK":
            return _from_zip(data)
        if start[257:262] == b"ustar":
            return _from_tar(data)
        return _from_pickles(data)
    except FileFormatError:
        raise
    except NO_FILE as error:
        raise _refused(f"{type(error).__name__}: {error}") from error


def _refused(reason: str) -> FileFormatError:
    return FileFormatError(
        f"these bytes are no good file of torch: {reason}.",
        why="only tensors, containers and numbers are read from such a file, each within it.",
        fix="save the state again: torch.save(model.state_dict(), path).",
    )


class Storage:
    """Elements of one dtype in a row, which tensors are views of.

    Args:
        data: their bytes.
        dtype: what they are.
    """

    def __init__(self, data: Tensor, dtype: DType) -> None:
        self.data = data
        self.dtype = dtype

    def typed(self, dtype: DType) -> Tensor:
        """The elements; bytes that fill no element are left out."""
        count = concrete_size(self.data.shape[0]) // dtype.nbytes
        whole = self.data[: count * dtype.nbytes]
        return typed(whole, dtype)


class StorageClass:
    """Stands for a class of storages in a pickle."""

    def __init__(self, dtype: DType) -> None:
        self.dtype = dtype


def view_of(
    storage: Storage,
    offset: int,
    size: Sequence[int],
    stride: Sequence[int],
    dtype: DType | None = None,
) -> Tensor:
    """A tensor with the given strides over a storage."""
    elements = storage.typed(dtype or storage.dtype)
    sizes, strides = tuple(map(int, size)), tuple(map(int, stride))
    count = math.prod(sizes)
    last = offset + sum((n - 1) * step for n, step in zip(sizes, strides, strict=True))
    if min((offset, *sizes, *strides)) < 0 or (count and last >= concrete_size(elements.shape[0])):
        raise _refused(f"a tensor of shape {sizes} and strides {strides} leaves its storage")
    order = sorted(range(len(sizes)), key=lambda axis: -strides[axis])
    packed = 1
    for axis in reversed(order):
        if sizes[axis] != 1 and strides[axis] != packed:
            break
        packed *= sizes[axis]
    else:
        rows = elements[offset : offset + count].reshape([sizes[axis] for axis in order])
        return rows.permute([order.index(axis) for axis in range(len(sizes))])
    if not count:
        return elements[:0].reshape(sizes)
    place = Tensor.full((), offset, "int64", elements.device)
    for axis, (n, step) in enumerate(zip(sizes, strides, strict=True)):
        along = Tensor.arange(n, dtype="int64", device=elements.device) * step
        place = place + along.reshape([-1 if at == axis else 1 for at in range(len(sizes))])
    return elements[place.expand(sizes)]


# The constructors that pickles name: their parameters are what torch wrote.


def _rebuild_tensor(
    storage: Storage, offset: int, size: Sequence[int], stride: Sequence[int], *rest: object
) -> Tensor:
    return view_of(storage, offset, size, stride)


def _rebuild_tensor_v3(
    storage: Storage,
    offset: int,
    size: Sequence[int],
    stride: Sequence[int],
    requires_grad: bool,
    hooks: object,
    dtype: DType,
    metadata: object = None,
) -> Tensor:
    return view_of(storage, offset, size, stride, dtype)


def _rebuild_parameter(data: Tensor, *rest: object) -> Tensor:
    return data


def _encode(text: str, encoding: str = "latin1") -> bytes:
    """Bytes, as old pickles spell them."""
    return text.encode("latin1")


CONSTRUCTORS: Mapping[tuple[str, str], object] = MappingProxyType(
    {
        ("collections", "OrderedDict"): OrderedDict,
        ("builtins", "set"): set,
        ("builtins", "frozenset"): frozenset,
        ("__builtin__", "set"): set,
        ("_codecs", "encode"): _encode,
        ("torch._utils", "_rebuild_tensor"): _rebuild_tensor,
        ("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor,
        ("torch._utils", "_rebuild_tensor_v3"): _rebuild_tensor_v3,
        ("torch._utils", "_rebuild_parameter"): _rebuild_parameter,
        ("torch", "Size"): tuple,
        ("torch", "device"): str,
        ("torch.storage", "UntypedStorage"): StorageClass(STORAGES["UntypedStorage"]),
        **{("torch", name): StorageClass(dtype) for name, dtype in STORAGES.items()},
        **{("torch", name): dtype for name, dtype in DTYPES.items()},
    }
)
"""All that a pickle may name."""


class _Reader(pickle.Unpickler):
    """Reads a pickle that names tensors and containers.

    Args:
        file: where it stands.
        load: gives what a persistent name stands for.
    """

    def __init__(self, file: io.BufferedReader, load: Callable[[object], object]) -> None:
        super().__init__(file, encoding="latin1")
        self._load = load

    def find_class(self, module: str, name: str) -> object:
        """Only what is on the list."""
        try:
            return CONSTRUCTORS[module, name]
        except KeyError:
            raise _refused(f"it names {module}.{name}") from None

    def persistent_load(self, name: object) -> object:
        """A storage, in most files."""
        return self._load(name)


def _no_name(name: object) -> object:
    raise _refused(f"there is nothing of the name {name!r}")


def _storage_name(name: object) -> tuple[DType, str, int, object]:
    """The dtype, the key, the count and the part that a persistent name says."""
    match name:
        case ("storage", StorageClass(dtype=dtype), key, _, int(count), *rest):
            return dtype, str(key), count, rest[0] if rest else None
    raise _refused(f"a storage has the name {name!r}")


def _from_zip(data: Tensor) -> object:
    members = zip_extract(data)
    roots = [name.removesuffix("data.pkl") for name in members if name.endswith("data.pkl")]
    if len(roots) != 1:
        raise _refused("there is not exactly one data.pkl in it")
    root = roots[0]
    order = members.get(f"{root}byteorder")
    if order is not None and bytes(order.data()) != b"little":
        raise _refused("its numbers are big-endian")
    storages: dict[str, Storage] = {}

    def load(name: object) -> Storage:
        dtype, key, count, _ = _storage_name(name)
        if key not in storages:
            part = members.get(f"{root}data/{key}")
            if part is None or concrete_size(part.shape[0]) < count * dtype.nbytes:
                raise _refused(f"the storage {key} is not there as a whole")
            storages[key] = Storage(part, dtype)
        return Storage(storages[key].data, dtype)

    return _Reader(file_of(members[f"{root}data.pkl"]), load).load()


def _from_pickles(data: Tensor) -> object:
    file = file_of(data)
    if _Reader(file, _no_name).load() != MAGIC:
        raise _refused("it does not begin with the number of torch")
    for _ in range(2):
        _Reader(file, _no_name).load()  # the version, and facts about the machine
    start = file.tell()
    sizes: dict[str, tuple[DType, int]] = {}

    def measure(name: object) -> Storage:
        dtype, key, count, part = _storage_name(name)
        if part is not None:
            raise _refused("a storage is a part of another one")
        sizes[key] = (dtype, count)
        return Storage(Tensor.zeros(count * dtype.nbytes, dtype="uint8"), dtype)

    # The storages stand behind the pickle: it is read once to find them, and once with them.
    _Reader(file, measure).load()
    keys = _Reader(file, _no_name).load()
    if not isinstance(keys, list) or set(map(str, keys)) != set(sizes):
        raise _refused("its storages are not those that its tensors name")
    storages: dict[str, Storage] = {}
    for key in map(str, keys):
        dtype, count = sizes[key]
        if _number(file) != count:
            raise _refused(f"the storage {key} has another size than its tensors say")
        storages[key] = Storage(_piece(data, file, count * dtype.nbytes), dtype)
    file.seek(start)
    return _Reader(file, lambda name: storages[_storage_name(name)[1]]).load()


def _from_tar(data: Tensor) -> object:
    members = tar_extract(data)
    if not {"storages", "tensors", "pickle"} <= set(members):
        raise _refused("the archive lacks storages, tensors or a pickle")
    storages: dict[str, Storage] = {}
    file = file_of(members["storages"])
    for _ in range(_count(_Reader(file, _no_name).load())):
        match _Reader(file, _no_name).load():
            case (key, _, StorageClass(dtype=dtype)):
                piece = _piece(members["storages"], file, _number(file) * dtype.nbytes)
                storages[str(key)] = Storage(piece, dtype)
            case other:
                raise _refused(f"a storage has the name {other!r}")
    tensors: dict[str, Tensor] = {}
    file = file_of(members["tensors"])
    for _ in range(_count(_Reader(file, _no_name).load())):
        key, storage, _ = _Reader(file, _no_name).load()
        rank, _ = struct.unpack("<ii", file.read(8))
        numbers = [_number(file) for _ in range(2 * rank + 1)]
        tensors[str(key)] = view_of(
            storages[str(storage)], numbers[-1], numbers[:rank], numbers[rank : 2 * rank]
        )
    return _Reader(file_of(members["pickle"]), lambda name: tensors[str(name)]).load()


def _count(value: object) -> int:
    if not isinstance(value, int) or value < 0:
        raise _refused(f"{value!r} is no count")
    return value


def _number(file: io.BufferedReader) -> int:
    """The next signed number of 64 bits."""
    (number,) = struct.unpack("<q", file.read(8))
    return int(number)


def _piece(data: Tensor, file: io.BufferedReader, nbytes: int) -> Tensor:
    """The next bytes as a part of the tensor that the file reads."""
    begin = file.tell()
    if nbytes < 0 or begin + nbytes > concrete_size(data.shape[0]):
        raise _refused("a storage ends behind its end")
    file.seek(nbytes, io.SEEK_CUR)
    return data[begin : begin + nbytes]
