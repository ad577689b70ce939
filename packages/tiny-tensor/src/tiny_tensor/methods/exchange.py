"""A Tensor among other libraries: NumPy, DLPack, the array API, pickle, and Python's own numbers.

Memory is shared where that can be, and nobody is surprised: what others see is never written by a
tensor again (a write goes to a copy), and they see it as constant.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Protocol, Self, runtime_checkable

from tiny_ir import (
    ArgumentError,
    ArgumentTypeError,
    DType,
    ExchangeError,
    RunError,
    Size,
    dtypes,
)
from tiny_plugin import boundary
from tiny_tensor.arrays import (
    Array,
    DTypeLike,
    Scalar,
    array_bytes,
    array_from_dlpack,
    array_text,
    capsule_of,
    constant_array,
    memory_at,
    text_limits,
)
from tiny_tensor.engine.outside import adopted
from tiny_tensor.methods.creation import checked_shape
from tiny_tensor.realize import buffer_of_rows, realize, upload
from tiny_tensor.session import current_session
from tiny_tensor.sizes import concrete_shape
from tiny_tensor.storage import Storage
from tiny_tensor.tensor_core import TensorCore, concrete_dtype

API_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")
"""Versions of the array API standard that the namespace follows."""
CPU_DEVICE = (1, 0)
"""kDLCPU in DLPack's list of devices, and the first of its kind."""


@runtime_checkable
class DLPackSource(Protocol):
    """An array of another library that gives away its memory."""

    def __dlpack__(self) -> object: ...

    def __dlpack_device__(self) -> tuple[int, int]: ...


@boundary
class ExchangeMethods(TensorCore):
    """What other libraries ask of an array."""

    __slots__ = ()

    if TYPE_CHECKING:

        def item(self) -> Scalar:
            """The one element as a Python number; see `Tensor.item`."""

        def numpy(self) -> Array:
            """The elements as a new NumPy array; see `Tensor.numpy`."""

        def clone(self, device: str | None = None) -> Self:
            """A copy with memory of its own; see `Tensor.clone`."""

        def to(self, device: str | None) -> Self:
            """This tensor on another device; see `Tensor.to`."""

        def shrink(self, parts: Sequence[tuple[Size, Size] | None]) -> Self:
            """A part of each axis; see `Tensor.shrink`."""

        def cat(self, *others: object, dim: int = 0) -> Self:
            """Tensors one after another; see `Tensor.cat`."""

        def _data(self) -> tuple[bytearray, tuple[int, ...]]: ...

    # The array API.

    def __array_namespace__(self, *, api_version: str | None = None) -> ModuleType:
        """The functions of the array API standard: `tiny_tensor.array_api`.

        Args:
            api_version: the version of the standard that is wanted; by default the newest.

        Raises:
            ArgumentError: there is no such version, or a newer one than ours.

        Example:
            >>> from tiny_tensor import Tensor
            >>> x = Tensor([1.0, 4.0])
            >>> x.__array_namespace__().sqrt(x).tolist()
            [1.0, 2.0]
        """
        from tiny_tensor import array_api

        if api_version is not None and api_version not in API_VERSIONS:
            raise ArgumentError(
                f"there is no array API {api_version!r} here.",
                why=f"the namespace follows {', '.join(API_VERSIONS)}.",
                fix="ask for one of these, or for none.",
            )
        return array_api

    def to_device(self, device: str, /, *, stream: int | None = None) -> Self:
        """Another name of `to`, from the array API.

        Raises:
            ExchangeError: a stream is named; we have none that others could name.
        """
        if stream is not None:
            raise ExchangeError(
                f"a copy cannot be put on the stream {stream}.",
                why="tensors are copied when they are needed, in the order of their own device.",
                fix="leave the stream out.",
            )
        return self.to(device)

    # Python's numbers: these compute.

    def _one(self, kind: str) -> Scalar:
        """The element of a tensor of shape ()."""
        if self._seen[1].shape != ():
            raise ArgumentTypeError(
                "a Tensor is neither true nor false."
                if kind == "bool"
                else f"a tensor of shape {self.shape} is not one {kind}.",
                why="only a tensor of shape () stands for its element; others may have many.",
                fix="use item() for one element, or any() and all().",
            )
        return self.item()

    def __bool__(self) -> bool:
        return bool(self._one("bool"))

    def __int__(self) -> int:
        return int(self._one("int"))

    def __float__(self) -> float:
        return float(self._one("float"))

    def __complex__(self) -> complex:
        return complex(self._one("complex"))

    def __round__(self, ndigits: int | None = None) -> Scalar:
        return round(self._one("number"), ndigits)

    def __trunc__(self) -> int:
        return math.trunc(self._one("number"))

    def __index__(self) -> int:
        if not self.dtype.is_int:
            raise ArgumentTypeError(
                f"a tensor of {self.dtype.name} is not an index.",
                why="an index is an integer.",
                fix="cast it to an integer first.",
            )
        return int(self._one("index"))

    # Memory.

    def _shared_array(self) -> Array | None:
        """The memory of this tensor as a constant NumPy array; None where it cannot be shared."""
        session = current_session()
        if not self.dtype.format or session.capture is not None:
            return None
        with session.lock:
            realize((self,), session)
            shape = concrete_shape(self.shape)
            if 0 in shape:
                return None
            buffer, offset = buffer_of_rows(self.uop, self.device, session)
            allocation = session.allocation_of(buffer)
            if allocation is None:
                return None
            size = self.dtype.nbytes
            count = size
            for length in shape:
                count *= length
            device = session.device(self.device)
            if device.mark is not None:
                device.runtime.wait(device.mark)
            view = device.runtime.view(allocation.memory.piece(offset * size, count))
            if view is None:
                return None
            allocation.is_shared = True
            return constant_array(view, self.dtype, shape, allocation)

    def __array__(self, dtype: DTypeLike = None, copy: bool | None = None) -> Array:
        """A NumPy array: a constant view of our memory, or a copy.

        Args:
            dtype: the NumPy dtype.
            copy: True always copies, False never does, None copies where it must.

        Raises:
            ArgumentError: `copy` is False, and there is no memory that both can see.
        """
        array = None if copy else self._shared_array()
        if array is None:
            if copy is False:
                raise self._not_shared()
            array = self.numpy()
        if dtype is None or array.dtype == dtype:
            return array
        if copy is False:
            raise self._not_shared()
        return array.astype(dtype)

    def _not_shared(self) -> ArgumentError:
        return ArgumentError(
            f"this tensor of {self.dtype.name} on {self.device} has no array without a copy.",
            why="NumPy has to know the dtype, and the host to see the memory.",
            fix="allow a copy.",
        )

    def __dlpack_device__(self) -> tuple[int, int]:
        """Where `__dlpack__` puts the elements: in the memory of the host."""
        return CPU_DEVICE

    def __dlpack__(
        self,
        *,
        stream: object = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> object:
        """A DLPack capsule: our own memory where the host sees it and the other side takes
        constant memory (DLPack 1.0), and a copy otherwise.

        Args:
            stream: must be None: this computes, and is finished when it returns.
            max_version: the newest DLPack that the other side understands.
            dl_device: where the elements are wanted: (1, 0), the host.
            copy: True always copies, False never does.

        Raises:
            ExchangeError: (a BufferError) DLPack through NumPy has no such dtype, another device
                is wanted, or `copy` is False and a copy is needed.
        """
        if dl_device is not None and tuple(dl_device) != CPU_DEVICE:
            raise ExchangeError(
                f"DLPack cannot give elements to the device {tuple(dl_device)}.",
                why="they are given in the memory of the host, (1, 0).",
                fix="leave dl_device out, and move them afterwards.",
            )
        if not self.dtype.format:
            raise ExchangeError(
                f"DLPack cannot give elements of {self.dtype.name}.",
                why="NumPy makes the capsule, and has no such dtype.",
                fix="cast to float32, or bitcast to an integer of that size, first.",
            )
        is_modern = max_version is not None and max_version[0] >= 1
        array = self._shared_array() if is_modern and not copy else None
        if array is None:
            if copy is False:
                raise ExchangeError(
                    "DLPack cannot give these elements without a copy.",
                    why="their memory is constant, which needs DLPack 1.0 on the other side, "
                    "and the host has to see it.",
                    fix="allow a copy.",
                )
            return capsule_of(self.numpy(), None)
        return capsule_of(array, max_version)

    @classmethod
    def from_dlpack(
        cls, source: DLPackSource, device: str | None = None, copy: bool | None = None
    ) -> Self:
        """A tensor over the memory of another library's array.

        Args:
            source: anything with `__dlpack__`: a NumPy array, a torch tensor on the CPU.
            device: where the tensor lives.
            copy: True always copies, False never does.

        Returns:
            The same elements, without a copy where the device is in the memory of the host, they
            lie in row-major order, and may be written. Whoever writes them later changes what
            this tensor gives; a write to this tensor goes to a copy.

        Raises:
            ExchangeError: (a BufferError) the other side cannot give them, or `copy` is False and a
                copy is needed.
            DTypeError: there is no such dtype here.

        Example:
            >>> import numpy
            >>> from tiny_tensor import Tensor
            >>> numbers = numpy.arange(3.0)
            >>> (Tensor.from_dlpack(numbers) + 1).tolist()
            [1.0, 2.0, 3.0]
        """
        if isinstance(source, cls):
            return source.clone(device) if copy else source.to(device)
        session = current_session()
        place = session.device_name(device)
        array = array_from_dlpack(source)
        view, shape, dtype = array_bytes(array)
        is_flat = not copy and array.flags.c_contiguous
        node = adopted(view, dtype, place, session) if is_flat else None
        if node is None:
            if copy is False:
                raise ExchangeError(
                    "these elements cannot become a tensor without a copy.",
                    why="they must be writable memory in row-major order, which the device sees.",
                    fix="allow a copy.",
                )
            node = upload(view, dtype, place, session)
        return cls._from_uop(node.reshape(shape), place)

    @classmethod
    def from_blob(
        cls,
        ptr: int,
        shape: Sequence[int],
        dtype: DType | str = dtypes.float32,
        device: str | None = None,
    ) -> Self:
        """A tensor over memory at an address, which must stay there as long as the tensor lives.

        Args:
            ptr: the address of the first element, in the memory of the host.
            shape: the sizes; the elements lie in row-major order.
            dtype: of the elements.
            device: one that sees the memory of the host.

        Returns:
            The elements, without a copy. Whoever writes them later changes what this tensor gives;
            a write to this tensor goes to a copy.

        Raises:
            ArgumentError: the address is 0 or less.
            ExchangeError: (a BufferError) the device does not see that memory.

        Example:
            >>> import numpy
            >>> from tiny_tensor import Tensor
            >>> numbers = numpy.arange(4, dtype="float32")
            >>> x = Tensor.from_blob(numbers.ctypes.data, (2, 2))
            >>> numbers[0] = 9
            >>> x.tolist()
            [[9.0, 1.0], [2.0, 3.0]]
        """
        if ptr <= 0:
            raise ArgumentError(
                f"there is no memory at {ptr}.",
                why="an address is greater than 0.",
                fix="pass the address of the first element.",
            )
        session = current_session()
        place = session.device_name(device)
        sizes = concrete_shape(checked_shape(shape))
        kept = concrete_dtype(dtype)
        nbytes = math.prod(sizes) * kept.nbytes
        if not nbytes:
            return cls._from_uop(upload(b"", kept, place, session).reshape(sizes), place)
        node = adopted(memory_at(ptr, nbytes), kept, place, session)
        if node is None:
            raise ExchangeError(
                f"the device {place!r} does not see the memory of the host.",
                why="it can only be given bytes as a copy.",
                fix="use a device in the memory of the host, and move the tensor then.",
            )
        return cls._from_uop(node.reshape(sizes), place)

    # Copies and texts.

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        data, shape = self._data()
        return _unpickled, (type(self), bytes(data), self.dtype.name, shape, self.device)

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        copy = self.clone()
        copy.is_param = self.is_param
        if self.grad is not None:
            copy.grad = self.grad.clone()
        memo[id(self)] = copy
        return copy

    def __copy__(self) -> Self:
        return self._view(self.uop)

    def __repr__(self) -> str:
        """The elements, few of many, which alone are computed; its shape where none can be read."""
        is_usual = self.device == current_session().default_device
        device = "" if is_usual else f", device={self.device!r}"
        summary = f"<Tensor {self.shape} {self.dtype.name} on {self.device}>"
        if current_session().capture is not None or not self._is_sized():
            return summary
        most, ends = text_limits()
        is_edges = math.prod(concrete_shape(self.shape)) > most
        try:
            array = (self._both_ends(ends) if is_edges else self).numpy()
        except RunError:
            return summary  # a device that keeps no data, or memory of another Session
        text = array_text(array, "Tensor(", is_edges=is_edges)
        return f"Tensor({text}, dtype={self.dtype.name}{device})"

    def _both_ends(self, ends: int) -> Self:
        """So many elements at each end of each axis, and one more where others are between."""
        edges = self
        for axis, size in enumerate(concrete_shape(self.shape)):
            if size > 2 * ends + 1:
                bounds = (0, ends + 1), (size - ends, size)
                first, last = (
                    edges.shrink([bound if n == axis else None for n in range(self.ndim)])
                    for bound in bounds
                )
                edges = first.cat(last, dim=axis)
        return edges

    def __format__(self, specification: str) -> str:
        if not specification:
            return str(self)
        return format(self._one("number"), specification)

    def _is_sized(self) -> bool:
        return all(isinstance(size, int) for size in self.shape)


def _unpickled(
    kind: type[ExchangeMethods], data: bytes, dtype: str, shape: tuple[int, ...], device: str
) -> ExchangeMethods:
    """A tensor from what `__reduce__` wrote."""
    session = current_session()
    place = session.device_name(device)
    node = upload(data, concrete_dtype(dtype), place, session).reshape(shape)
    tensor = kind.__new__(kind)
    tensor._hold(Storage(node), node, place)
    return tensor
