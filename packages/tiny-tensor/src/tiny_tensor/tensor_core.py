"""What every room of Tensor builds on: the node, the device, and the ways to make another tensor.

The rooms (`elementwise.py`, `movement.py`, `reductions.py`, ...) are mixins over `TensorCore`. They
use what stands here and in each other, and nothing of the engine:

- `self.uop`: the graph node that is the newest version of this tensor.
- `self._apply(node)`: another tensor, with its own data.
- `self._view(node)`: a view: `node` is a chain of movement ops over `self.uop`.
- `self._operand(other)` and `self._broadcasted(other)`: tensors and Python numbers as nodes.
"""

from __future__ import annotations

from typing import Self, TypeAlias, TypeVar, Union

from tiny_ir import (
    ArgumentTypeError,
    DeviceError,
    DType,
    DTypeError,
    Op,
    Shape,
    Size,
    UOp,
    const,
    dtypes,
    make,
    product,
    substitute,
)
from tiny_tensor.arrays import check_range, is_array, number_of
from tiny_tensor.axes import resolved_axis
from tiny_tensor.broadcast import broadcast, broadcast_shape
from tiny_tensor.session import Session, current_session
from tiny_tensor.storage import Storage, is_in_memory, is_whole

Core = TypeVar("Core", bound="TensorCore")
Scalar: TypeAlias = bool | int | float
Operand: TypeAlias = Union["TensorCore", Scalar]


class TensorCore:
    """A node of the graph, the device it lives on, and the box it shares with its views."""

    __slots__ = ("__weakref__", "_device", "_seen", "_settled", "_storage", "grad", "is_param")

    _storage: Storage
    _seen: tuple[UOp, UOp, UOp | None]
    """A version of the box, this tensor as a view of it, and the memory that holds its elements
    where it was computed by itself: replaced together, in one step."""
    _settled: UOp | None
    """What the box held when it and this view were found in memory: nothing is left to compute."""
    _device: str
    grad: Self | None
    is_param: bool

    def _hold(self, storage: Storage, node: UOp, device: str) -> None:
        """Fill a new tensor: `node` is the newest version of the box, or a view of it."""
        self._storage = storage
        self._seen = (storage.newest(), node, None)
        self._settled = None
        self._device = device
        self.grad = None
        self.is_param = False
        current_session().remember(self)

    @classmethod
    def _from_uop(cls, node: UOp, device: str | None = None) -> Self:
        """A tensor with data of its own; `device` is the current one where it is None."""
        tensor = cls.__new__(cls)
        tensor._hold(Storage(node), node, device or current_session().default_device)
        return tensor

    @classmethod
    def _from_nothing(cls, node: UOp, device: str) -> Self:
        """A tensor of what depends on no data; its gradient is its own."""
        return cls._from_uop(current_session().marked(node), device)

    def _apply(self, node: UOp) -> Self:
        """A tensor with data of its own on the device of this one."""
        return self._from_uop(node, self._device)

    def _view(self, node: UOp) -> Self:
        """A view of this tensor: `node` is a chain of movement ops over `self.uop`.

        It shares the box: it reads the newest version, and a write through it writes the box.
        """
        tensor = self.__new__(type(self))
        tensor._hold(self._storage, node, self._device)
        return tensor

    @property
    def uop(self) -> UOp:
        """The graph node of the newest version of this tensor."""
        newest = self._storage.newest()
        version, node, _ = self._seen
        if newest is not version:
            node = newest if node is version else substitute(node, {version: newest})
            self._seen = (newest, node, None)
        return node

    @property
    def whole(self) -> UOp:
        """What is computed for this tensor: its box, where it has all that is in it."""
        node, newest = self.uop, self._storage.newest()
        return newest if is_whole(node, newest) else node

    def settle(self, session: Session, done: dict[UOp, UOp]) -> None:
        """Let the box, and this view of it, lead to memory where their nodes have been computed."""
        before = self.uop
        result = session.finished.result_of(before) or self._seen[2]
        storage = self._storage
        storage.node = session.finished.resolve(storage.node, done)
        node = self.uop
        # A view of memory is what a write through it writes: no other memory may stand for it.
        if result is not None and node is not result and not is_in_memory(node):
            if node is not before:
                session.finished.add(node, result)
            self._seen = (self._seen[0], node, result)
        self._settled = storage.node if is_in_memory(storage.node) and is_in_memory(node) else None

    @property
    def shape(self) -> Shape:
        """The sizes of the axes: ints, and nodes where they are symbolic."""
        return self._seen[1].shape

    @property
    def dtype(self) -> DType:
        """The type of the elements; never a weak one."""
        return self._seen[1].dtype

    @property
    def device(self) -> str:
        """The name of the device the data lives on."""
        return self._device

    @property
    def ndim(self) -> int:
        """How many axes there are."""
        return len(self._seen[1].shape)

    def numel(self) -> Size:
        """How many elements there are."""
        return product(self._seen[1].shape)

    @property
    def _session(self) -> Session:
        return current_session()

    def _wrap(self, other: object) -> Self:
        """A tensor for what stands beside this one in a call: a tensor, a number or an array."""
        if isinstance(other, type(self)):
            if other._device != self._device:
                raise DeviceError(
                    f"cannot combine a tensor on {self._device!r} with one on {other._device!r}.",
                    why="both sides of an operation live on one device.",
                    fix=f"move one of them: other.to({self._device!r}).",
                )
            return other
        number = number_of(other)
        if number is not None:
            return self._apply(self._constant(number))
        if is_array(other):
            return type(self)(other, device=self._device)  # type: ignore[call-arg]
        raise ArgumentTypeError(
            f"cannot combine a Tensor with a {type(other).__name__}.",
            why="the other side must be a Tensor, a Python number or a NumPy array.",
            fix="wrap it first: Tensor(...).",
        )

    def _constant(self, value: Scalar, dtype: DType | None = None) -> UOp:
        """A Python number as a constant in the dtype where it meets this tensor's.

        Raises:
            OutOfRangeError: an integer that the dtype does not hold.
        """
        meeting = dtype or dtypes.promote(self.dtype, weak_dtype(value))
        check_range(value, meeting)
        return const(meeting, value)

    def _operand(self, other: object, dtype: DType | None = None) -> UOp:
        """The other side as a node, in its own shape; `dtype` casts it.

        A Python number is weak: without `dtype` it takes the dtype where it meets this tensor's.
        """
        number = number_of(other)
        if number is not None:
            return self._constant(number, dtype)
        if isinstance(other, UOp) and other.shape == ():
            meeting = dtypes.promote(self.dtype, other.dtype) if dtype is None else dtype
            return other.cast(meeting)
        node = self._wrap(other).uop
        return node if dtype is None else node.cast(dtype)

    def _broadcasted(self, other: object, *, reverse: bool = False) -> tuple[UOp, UOp]:
        """Both sides as nodes of one shape and one dtype; a number may keep shape ().

        With `reverse` the other side comes first.
        """
        mine, theirs = self.uop, self._operand(other)
        dtype = dtypes.promote(mine.dtype, theirs.dtype)
        shape = broadcast_shape(mine.shape, theirs.shape)
        first = _spread(mine.cast(dtype), shape)
        second = _spread(theirs.cast(dtype), shape)
        return (second, first) if reverse else (first, second)

    def _binary(self, op: Op, other: object, *, reverse: bool = False) -> Self:
        """Apply an elementwise op of two sources, after broadcasting and promotion."""
        return self._apply(make(op, None, self._broadcasted(other, reverse=reverse)))

    def _unary(self, op: Op) -> Self:
        """Apply an elementwise op of one source."""
        return self._apply(make(op, None, (self.uop,)))

    def _resolve_axis(self, axis: int, extra: int = 0) -> int:
        """The axis counted from 0; `extra` more axes are allowed than the tensor has."""
        return resolved_axis(axis, len(self._seen[1].shape) + extra)


def _spread(node: UOp, shape: Shape) -> UOp:
    """Broadcast a node; one element stands beside any shape as it is."""
    return node if node.shape == () else broadcast(node, shape)


def weak_dtype(value: Scalar) -> DType:
    """The dtype that a Python number takes part in promotion with."""
    if isinstance(value, bool):
        return dtypes.bool_
    return dtypes.weakint if isinstance(value, int) else dtypes.weakfloat


def concrete_dtype(dtype: DType | str) -> DType:
    """The dtype that a user named: one that memory can hold.

    Raises:
        DTypeError: the name is unknown, or the dtype is weak or void.
        ArgumentTypeError: it is neither a dtype nor a name.

    Example:
        >>> concrete_dtype("half")
        dtypes.float16
    """
    if isinstance(dtype, str):
        dtype = dtypes.dtype_named(dtype)
    if not isinstance(dtype, DType):
        raise ArgumentTypeError(
            f"{dtype!r} is not a dtype.",
            why="a dtype is one of those in tiny_ir.dtypes, or its name.",
            fix="pass for example dtypes.float32 or 'float32'.",
        )
    if dtype.nbytes == 0:
        raise DTypeError(
            f"a Tensor cannot have dtype {dtype.name}.",
            why="weak dtypes belong to Python numbers, and void to effects.",
            fix="choose a dtype with a size, such as int32 or float32.",
        )
    return dtype
