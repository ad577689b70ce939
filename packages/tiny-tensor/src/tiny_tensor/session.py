"""All that a run remembers: devices, memory, caches, live tensors, random draws, counters."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from contextvars import ContextVar
from threading import RLock
from typing import TYPE_CHECKING, Self
from weakref import WeakKeyDictionary, WeakSet, ref

from tiny_ir import (
    BufferArg,
    DeviceError,
    DType,
    Op,
    OutOfMemoryError,
    UOp,
    make,
    product,
    toposort,
)
from tiny_plugin import (
    Mark,
    Memory,
    Options,
    ProfileEvent,
    Registry,
    Runtime,
    Target,
    boundary,
)
from tiny_tensor import settings
from tiny_tensor.custom_gradients import CustomGradients
from tiny_tensor.engine.counters import Counters
from tiny_tensor.engine.expectations import Expectations
from tiny_tensor.engine.finished import Finished
from tiny_tensor.engine.history import History
from tiny_tensor.engine.launch_values import bound
from tiny_tensor.engine.memory import Allocation, Arena
from tiny_tensor.engine.random_stream import RandomStream
from tiny_tensor.engine.toolchain import Toolchain
from tiny_tensor.storage import Storage, most

if TYPE_CHECKING:
    from tiny_tensor.engine.capture import Tracing
    from tiny_tensor.engine.schedule_cache import ScheduleCache
    from tiny_tensor.tensor_core import TensorCore


IDENTITY_BITS = 40
"""Room for the BUFFERs of one Session; the bits above are a random number of its own."""


class Device:
    """An opened runtime, and the memory that is taken from it."""

    __slots__ = ("arena", "mark", "name", "runtime", "target", "toolchain")

    def __init__(self, name: str, runtime: Runtime, toolchain: Toolchain) -> None:
        self.name = name
        self.runtime = runtime
        self.target: Target = runtime.target
        self.toolchain = toolchain
        self.arena = Arena(runtime)
        self.mark: Mark | None = None
        """Where the last work that was started ends."""

    def marks(self) -> tuple[Mark, ...]:
        """What new work has to wait for."""
        return () if self.mark is None else (self.mark,)


class Session:
    """What tensors are made, realized and counted in.

    Args:
        registry: where plugins come from; a new one by default.
        device: the device of tensors that name none; by default the setting TINY_DEVICE, or "cpu".
        options: how graphs are compiled.
        cache_folder: where Schedules and Binaries are kept; None takes the setting, "" keeps none.

    One Session is current without being asked for, for all threads. Another one is made current by
    `with Session() as session:`.

    Example:
        >>> with Session() as session:
        ...     assert current_session() is session
    """

    @boundary
    def __init__(
        self,
        registry: Registry | None = None,
        *,
        device: str | None = None,
        options: Options | None = None,
        cache_folder: str | None = None,
    ) -> None:
        self.lock = RLock()
        self.counters = Counters()
        self.random = RandomStream()
        self.is_training = False
        """Whether dropout drops, and batch norm looks at the batch."""
        self._capture: Tracing | None = None
        self.cache_folder = cache_folder
        self._registry = registry
        self._default_device = device
        self._options = options
        self._default_float: DType | None = None
        self._devices: dict[str, Device] = {}
        self.schedules: ScheduleCache | None = None
        # A BUFFER node is only identity; its memory lives as long as the node.
        self._memories: WeakKeyDictionary[UOp, Allocation] = WeakKeyDictionary()
        # What has been computed already, and the memory that holds it.
        self.finished = Finished()
        # BUFFERs made without content: while they have no memory, nobody has written them.
        self.unwritten: WeakSet[UOp] = WeakSet()
        self.history = History()
        self.custom_gradients = CustomGradients()
        self.expectations = Expectations()
        self._live: dict[int, ref[TensorCore]] = {}
        # Identities are unique in the process, since nodes are.
        self._number = int.from_bytes(os.urandom(4), "little")
        self._identities = itertools.count(self._number << IDENTITY_BITS)

    def __enter__(self) -> Self:
        _CURRENT.set((*_CURRENT.get(), self))
        return self

    def __exit__(self, *error: object) -> None:
        _CURRENT.set(_CURRENT.get()[:-1])

    @property
    def capture(self) -> Tracing | None:
        """The function that this thread captures or maps; None where there is none."""
        capture = self._capture
        return capture if capture is not None and capture.is_active() else None

    def begin_capture(self, capture: Tracing) -> None:
        """See a function as a graph. The caller holds the lock."""
        self._capture = capture

    def end_capture(self) -> None:
        """See tensors as they are again."""
        self._capture = None

    # What is opened when it is first needed.

    @property
    def registry(self) -> Registry:
        """Where plugins come from."""
        if self._registry is None:
            self._registry = Registry()
        return self._registry

    @property
    def options(self) -> Options:
        """How graphs are compiled."""
        if self._options is None:
            self._options = Options(threads=settings.threads(), spec=settings.spec())
        return self._options

    @property
    def codegen_name(self) -> str:
        """The name of the code generator."""
        return settings.code_generator()

    @property
    def default_device(self) -> str:
        """The device of tensors that name none."""
        if self._default_device is None:
            self._default_device = settings.default_device()
        return self._default_device

    @property
    def default_float(self) -> DType:
        """The dtype of Python floats in a Tensor."""
        if self._default_float is None:
            self._default_float = settings.default_float()
        return self._default_float

    @boundary
    def device(self, name: str) -> Device:
        """Open a device, once.

        Args:
            name: such as "cpu", or "gpu:1" for the second of its kind.

        Raises:
            DeviceError: the name is not one of a device.
            PluginError: no plugin offers it, or it failed.
        """
        found = self._devices.get(name)
        if found is None:
            with self.lock:
                found = self._devices.get(name) or self._open(name)
                self._devices[name] = found
        return found

    def _open(self, name: str) -> Device:
        kind, _, ordinal = name.partition(":")
        if not kind or (ordinal and not ordinal.isdecimal()):
            raise DeviceError(
                f"{name!r} is not the name of a device.",
                why="a device is a name, or a name, a colon and a number.",
                fix=f"choose one of {', '.join(self.registry.names('tiny.runtime'))}.",
            )
        runtime = self.registry.open_runtime(kind, int(ordinal or 0))
        return Device(name, runtime, Toolchain(runtime, self.registry, settings.renderer()))

    def device_name(self, device: str | None) -> str:
        """The full name of the device that a user named; the device is opened.

        Raises:
            DeviceError: it is not the name of a device.
            PluginError: no plugin offers it, or it failed.
        """
        if device is None:
            return self.default_device
        if not isinstance(device, str):
            raise DeviceError(
                f"{device!r} is not the name of a device.",
                why="a device is named by a str.",
                fix="pass for example device='cpu'.",
            )
        name = device.lower().removesuffix(":0")
        self.device(name)
        return name

    def draw(self, count: int) -> tuple[UOp, UOp]:
        """Take `count` draws of the random stream: position and key, as launch values."""
        if self.capture is not None:
            return self.capture.draw(count)
        return bound("position", self.random.take(count)), bound("key", self.random.key)

    # Memory.

    def new_buffer(self, dtype: DType, elements: int, device: str) -> UOp:
        """A BUFFER node: the identity of memory that is not there yet."""
        return make(Op.BUFFER, dtype, (), BufferArg(next(self._identities), elements, device))

    def marked(self, node: UOp) -> UOp:
        """A float constant under a mark of its own, which no kernel sees.

        Equal constants are one node, and gradients are found by node: without it, the gradient
        with respect to one tensor of ones would be that of all of them.
        """
        if not node.dtype.is_float:
            return node
        return make(Op.CONTIGUOUS_BACKWARD, None, (node,), next(self._identities))

    def new_place(self, like: UOp, device: str) -> tuple[UOp, UOp]:
        """A new BUFFER for the elements of a node, and the view of it that has the node's shape."""
        count = product(like.shape)
        buffer = self.new_buffer(like.dtype, most(count), device)
        return buffer, self.view_of(buffer, like)

    def view_of(self, buffer: UOp, like: UOp) -> UOp:
        """The view of a BUFFER's first elements that has the shape of a node."""
        return buffer.shrink([(0, product(like.shape))]).reshape(like.shape)

    def is_shared(self, buffer: UOp) -> bool:
        """Whether somebody else sees the memory of a BUFFER, such as a NumPy array."""
        allocation = self._memories.get(buffer)
        return allocation is not None and allocation.is_shared

    def is_read_elsewhere(self, buffer: UOp, storage: Storage) -> bool:
        """Whether a live tensor of another box, or somebody else, reads a BUFFER."""
        if self.is_shared(buffer):
            return True
        done: dict[UOp, UOp] = {}
        nodes = [
            self.finished.resolve(node, done)
            for tensor in self.live_tensors()
            if tensor._storage is not storage
            for node in (tensor.uop, tensor._storage.newest())
        ]
        return buffer in set(toposort(nodes))

    def hold(self, buffer: UOp, allocation: Allocation) -> None:
        """Say where the bytes of a BUFFER are."""
        self._memories[buffer] = allocation

    def allocate(self, buffer: UOp) -> Memory:
        """Give a BUFFER memory; its content is arbitrary."""
        self.history.settle()
        arg = buffer.arg
        allocation = self.room(arg.device, arg.elements * buffer.dtype.nbytes)
        self._memories[buffer] = allocation
        return allocation.memory

    def room(self, device: str, nbytes: int) -> Allocation:
        """Memory on a device; where there is no more, what is kept for gradients makes room.

        Raises:
            OutOfMemoryError: there is none even so.
        """
        arena = self.device(device).arena
        try:
            return arena.allocate(nbytes)
        except OutOfMemoryError:
            if not self.history.kept.give_back():
                raise
        return arena.allocate(nbytes)

    def owns(self, buffer: UOp) -> bool:
        """Whether a BUFFER was made in this Session."""
        return bool(buffer.arg.identity >> IDENTITY_BITS == self._number)

    def allocation_of(self, buffer: UOp) -> Allocation | None:
        """The memory of a BUFFER; None where it has none (yet, or any more)."""
        return self._memories.get(buffer)

    def move(self, buffer: UOp, newer: UOp) -> None:
        """Let `newer` have the memory of `buffer`, which is a version that no longer exists."""
        self._memories[newer] = self._memories.pop(buffer)
        self.finished.overwrite(buffer)
        self.history.kept.lose(buffer)

    # Profiling.

    @property
    def is_listened_to(self) -> bool:
        """Whether a plugin wants to know what takes time."""
        return self._registry is not None and self._registry.hooks.is_listened_to

    def tell(self, kind: str, name: str, device: str, start: float, seconds: float) -> None:
        """Let plugins know of something that took time."""
        if self.is_listened_to:
            self.registry.hooks.profile(ProfileEvent(name, device, kind, start, seconds))

    # Live tensors.

    def remember(self, tensor: TensorCore) -> None:
        """Know a tensor as long as it lives."""
        identity = id(tensor)
        live = self._live

        def forget(_: object) -> None:
            live.pop(identity, None)

        live[identity] = ref(tensor, forget)

    def unsettled_tensors(self) -> list[TensorCore]:
        """Those live tensors that have not been found in memory since they were written."""
        found = (reference() for reference in list(self._live.values()))
        return [t for t in found if t is not None and t._storage.node is not t._settled]

    def live_tensors(self) -> Iterator[TensorCore]:
        """Every tensor that somebody still holds."""
        for reference in list(self._live.values()):
            tensor = reference()
            if tensor is not None:
                yield tensor


# The Sessions that were entered, the current one last. The first is there for all threads.
_CURRENT: ContextVar[tuple[Session, ...]] = ContextVar("sessions", default=(Session(),))


@boundary
def current_session() -> Session:
    """The Session that tensors are made in now."""
    return _CURRENT.get()[-1]
