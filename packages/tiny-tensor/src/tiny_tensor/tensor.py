"""Tensor: what a user holds, a node of the graph and a device.

Its methods live in rooms of their own: `elementwise`, `movement`, `reductions`, `linear_algebra`,
`convolution`, `indexing`, `creation`, `random`, `gradient`. Here stands what connects a Tensor with
data: making one from Python, reading it back, realizing it, writing it in place.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Self

from tiny_ir import (
    ArgumentError,
    ArgumentTypeError,
    DeviceError,
    DType,
    DTypeError,
    Op,
    UOp,
    dtypes,
    make,
)
from tiny_plugin import boundary
from tiny_tensor.arrays import (
    Array,
    Nested,
    Scalar,
    array_bytes,
    dtype_of_values,
    is_array,
    nested_values,
    number_of,
    packed,
    to_nested,
    to_numpy,
)
from tiny_tensor.broadcast import broadcast
from tiny_tensor.downloads import DownloadMethods
from tiny_tensor.engine.outside import mapped_file
from tiny_tensor.engine.scheduling import SchedulingMethods
from tiny_tensor.explained import explained_methods
from tiny_tensor.gradient import GradientMethods
from tiny_tensor.methods.adaptive import AdaptiveMethods
from tiny_tensor.methods.arranging import ArrangingMethods
from tiny_tensor.methods.attention import AttentionMethods
from tiny_tensor.methods.bags import BagMethods
from tiny_tensor.methods.combinations import CombinationMethods
from tiny_tensor.methods.creation import constant, symbolic
from tiny_tensor.methods.custom_kernels import KernelMethods
from tiny_tensor.methods.decompositions import DecompositionMethods
from tiny_tensor.methods.describing import DescribingMethods
from tiny_tensor.methods.distributions import DistributionMethods
from tiny_tensor.methods.exchange import ExchangeMethods
from tiny_tensor.methods.fourier import FourierMethods
from tiny_tensor.methods.hashing import HashingMethods
from tiny_tensor.methods.images import ImageMethods
from tiny_tensor.methods.likes import LikeMethods
from tiny_tensor.methods.margins import MarginMethods
from tiny_tensor.methods.patches import PatchMethods
from tiny_tensor.methods.random_words import RandomWordMethods
from tiny_tensor.methods.sampling import SamplingMethods
from tiny_tensor.methods.sharding import ShardingMethods
from tiny_tensor.methods.synonyms import SynonymMethods
from tiny_tensor.realize import read_bytes, realize, upload
from tiny_tensor.session import current_session
from tiny_tensor.storage import Storage
from tiny_tensor.tensor_core import concrete_dtype
from tiny_tensor.training import TrainingMethods


@explained_methods
@boundary
class Tensor(
    MarginMethods,
    SynonymMethods,
    DecompositionMethods,
    FourierMethods,
    BagMethods,
    AttentionMethods,
    DistributionMethods,
    AdaptiveMethods,
    ArrangingMethods,
    CombinationMethods,
    PatchMethods,
    SamplingMethods,
    GradientMethods,
    LikeMethods,
    TrainingMethods,
    DescribingMethods,
    ExchangeMethods,
    KernelMethods,
    ImageMethods,
    HashingMethods,
    RandomWordMethods,
    DownloadMethods,
    SchedulingMethods,
    ShardingMethods,
):
    """An array of elements of one dtype on one device; computed when its data is asked for.

    Args:
        data: a Python number, nested lists of them, bytes, a NumPy array, another Tensor, or the
            Path of a file, which is read when its bytes are looked at, and must stay as it is.
        device: where it lives; by default the device of the Session.
        dtype: by default bool, int32 (int64 where numbers are large) or the default float for
            Python numbers, uint8 for bytes and files, and the same dtype for arrays.

    Raises:
        ShapeError: lists of one level differ in length.
        ArgumentError: a number does not fit the dtype.
        ArgumentTypeError: there is something that is not a number.
        PluginError: there is no such device.

    Example:
        >>> x = Tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> (x @ x + 1).tolist()
        [[8.0, 11.0], [16.0, 23.0]]
    """

    __slots__ = ()

    def __init__(
        self,
        data: Tensor | Nested | bytes | bytearray | memoryview | UOp | object | None,
        device: str | None = None,
        dtype: DType | str | None = None,
    ) -> None:
        session = current_session()
        place = session.device_name(device)
        wanted = None if dtype is None else concrete_dtype(dtype)
        node = _node_of(data, place, wanted)
        if wanted is not None:
            node = node.cast(wanted)
        self._hold(Storage(node), node, place)

    # Reading.

    def realize(self, *others: Tensor, do_update_stats: bool = True) -> Self:
        """Compute this tensor, and the others, now and together.

        Args:
            others: tensors of any device.
            do_update_stats: False leaves the counters of the Session as they are.

        Returns:
            The tensor itself, whose data is in memory then.
        """
        session = current_session()
        before = None if do_update_stats else session.counters.as_dict()
        realize((self, *others), session)
        if before is not None:
            session.counters.restore(before)
        return self

    def _data(self) -> tuple[bytearray, tuple[int, ...]]:
        return read_bytes(self, current_session())

    def numpy(self) -> Array:
        """The elements as a new NumPy array; bfloat16 and float8 become float32."""
        data, shape = self._data()
        return to_numpy(data, self.dtype, shape)

    def tolist(self) -> Nested:
        """The elements as nested lists of Python numbers, or one number for shape ().

        Example:
            >>> Tensor([[1, 2], [3, 4]]).tolist()
            [[1, 2], [3, 4]]
        """
        data, shape = self._data()
        return to_nested(data, self.dtype, shape)

    def item(self) -> Scalar:
        """The one element as a Python number.

        Raises:
            ArgumentError: there is not exactly one element.

        Example:
            >>> Tensor([[7]]).item()
            7
        """
        if self.numel() != 1:
            raise ArgumentError(
                f"a tensor of shape {self.shape} is not one number.",
                why=f"it has {self.numel()} elements.",
                fix="take one element first, or use tolist().",
            )
        data, _ = self._data()
        value = to_nested(data, self.dtype, ())
        assert isinstance(value, bool | int | float)
        return value

    def data(self) -> memoryview:
        """The elements as a memoryview in the tensor's shape.

        Raises:
            DTypeError: Python has no format for the dtype (bfloat16, float8).

        Example:
            >>> Tensor([[1, 2], [3, 4]]).data()[1, 0]
            3
        """
        if not self.dtype.format:
            raise DTypeError(
                f"there is no memoryview of {self.dtype.name}.",
                why="Python has no format for it.",
                fix="cast it first, for example to float32.",
            )
        data, shape = self._data()
        view = memoryview(data)
        if 0 in shape:
            return view
        return view.cast(self.dtype.format, shape)  # type: ignore[call-overload,no-any-return]

    # Writing.

    def assign(self, value: object) -> Self:
        """Write all elements in place: every view of the same data sees them.

        Args:
            value: a tensor of this dtype and device, or Python numbers or an array; it broadcasts
                to the shape of this tensor. It is read completely before anything is written.

        Returns:
            The tensor itself.

        Raises:
            ShapeError: the value does not broadcast.
            DTypeError: it is a tensor of another dtype.
            ArgumentTypeError: it is no number, and nothing that holds numbers.
            DeviceError: it is a tensor on another device.
            WriteError: this tensor is a view in which elements share a place.

        Example:
            >>> x = Tensor([1, 2, 3])
            >>> x[1:].assign(Tensor([8, 9])).tolist(), x.tolist()
            ([8, 9], [1, 8, 9])
        """
        node = broadcast(self._value_to_write(value), self.shape)
        session = current_session()
        if session.capture is not None:
            session.capture.writes(self._storage)
        with session.lock:
            self._storage.write(self.uop, node, session, self.device)
        return self

    def _value_to_write(self, value: object) -> UOp:
        if value is None:
            raise ArgumentTypeError(
                "None cannot be written into a Tensor.",
                why="it is not a number.",
                fix="write 0, or NaN, or a Tensor.",
            )
        if not isinstance(value, Tensor):
            number = number_of(value)
            if number is not None:
                return constant(number, self.dtype)
            value = Tensor(value, self.device, self.dtype)
        if value.dtype is not self.dtype:
            raise DTypeError(
                f"cannot write {value.dtype.name} into a tensor of {self.dtype.name}.",
                why="a write changes no dtype.",
                fix=f"cast the value first: value.cast('{self.dtype.name}').",
            )
        if value.device != self.device:
            raise DeviceError(
                f"cannot write a tensor on {value.device!r} into one on {self.device!r}.",
                why="a write copies nothing between devices.",
                fix=f"move it first: value.to({self.device!r}).",
            )
        return value.uop

    def __delitem__(self, key: object) -> None:
        raise ArgumentTypeError(
            "elements of a Tensor cannot be deleted.",
            why="its shape is fixed.",
            fix="take the parts to keep, and join them with cat().",
        )

    def replace(self, other: Tensor) -> Self:
        """Let this tensor, and every view of it, stand for the data of another of the same shape.

        Raises:
            ShapeError: the shapes differ.
        """
        return self.assign(other)

    def clone(self, device: str | None = None) -> Self:
        """A copy with memory of its own, which no other tensor has: not even another copy.

        Example:
            >>> x = Tensor([1, 2])
            >>> y = x.clone()
            >>> _ = y.assign(x + 1)
            >>> x.tolist(), y.tolist()
            ([1, 2], [2, 3])
        """
        source = self if device is None else self.to(device)
        session = current_session()
        buffer, place = session.new_place(source.uop, source.device)
        written = buffer.after(place.store(source.uop))
        return source._apply(session.view_of(written, source.uop))

    # Devices.

    def to(self, device: str | Sequence[str] | None) -> Self:
        """This tensor on another device, copied when it is needed; itself where it lives there.

        Args:
            device: where. Several are what `shard` says of them.

        Raises:
            PluginError: there is no such device.
            UnsupportedError: there are several.
        """
        if isinstance(device, Sequence) and not isinstance(device, str):
            return self.shard(device)
        place = current_session().device_name(device)
        if place == self.device:
            return self
        moved = self._from_uop(make(Op.COPY, None, (self.uop,), place), place)
        if self.grad is not None:
            moved.grad = self.grad.to(place)
        return moved

    # Python.

    def __len__(self) -> int:
        if not self.shape:
            raise ArgumentTypeError(
                "one element has no length.",
                why="the tensor has shape ().",
                fix="use numel().",
            )
        size = self.shape[0]
        if not isinstance(size, int):
            raise ArgumentTypeError(
                f"the length {size} is symbolic.",
                why="len() gives a Python int.",
                fix="use shape[0].",
            )
        return size

    def __iter__(self) -> Iterator[Self]:
        return (self[n] for n in range(len(self)))


def _node_of(data: object, device: str, dtype: DType | None) -> UOp:
    """The graph node for what a user passed to `Tensor`."""
    session = current_session()
    if isinstance(data, Tensor):
        return data.to(device).uop
    if data is None:
        return session.marked(constant(0, dtype or session.default_float))
    if is_array(data):  # a float64 of NumPy is a Python float too
        view, shape, present = array_bytes(data)
        return upload(view, present, device, session).reshape(shape)
    if isinstance(data, bool | int | float):
        return session.marked(constant(data, dtype))
    if isinstance(data, UOp):
        return symbolic(data)
    if isinstance(data, os.PathLike):
        return mapped_file(data, device, session)
    if isinstance(data, bytes | bytearray | memoryview):
        return upload(data, dtypes.uint8, device, session)
    if isinstance(data, list | tuple):
        values, shape = nested_values(data)
        kept = dtype or dtype_of_values(values, session.default_float)
        return upload(packed(values, kept), kept, device, session).reshape(shape)
    raise ArgumentTypeError(
        f"a Tensor cannot be made of a {type(data).__name__}.",
        why="data is a Python number, nested lists of them, bytes, an array, or a Path.",
        fix="convert it first.",
    )
