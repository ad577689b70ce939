"""One call of a function, seen as a graph: its arguments, and all tensors it could reach, are open.

While a Capture is entered, every tensor that was there before stands for a BUFFER of its own, whose
bytes are given at each replay. So the graph says which of them the function reads and writes.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Sequence
from threading import get_ident
from typing import TYPE_CHECKING, Protocol

from tiny_ir import JitError, Op, UOp, toposort
from tiny_tensor.engine.launch_values import bound
from tiny_tensor.storage import Storage

if TYPE_CHECKING:
    from tiny_tensor.session import Session
    from tiny_tensor.tensor_core import TensorCore


class Tracing(Protocol):
    """What a thread does while a function runs once, for many runs: what the Session tells it."""

    def is_active(self) -> bool: ...
    def draw(self, count: int) -> tuple[UOp, UOp]: ...
    def writes(self, storage: Storage) -> None: ...
    def makes(self, buffer: UOp) -> None: ...
    def reads(self, tensor: TensorCore) -> None: ...


class Capture:
    """What one thread does while a function runs.

    Args:
        session: in which it runs.
        arguments: the tensors among its arguments, each once.
    """

    def __init__(self, session: Session, arguments: Sequence[TensorCore]) -> None:
        self._session = session
        self._thread = get_ident()
        self.position = bound("position", session.random.position)
        self.key = bound("key", session.random.key)
        self.draws = 0
        """Random draws taken so far."""
        self.constants: set[UOp] = set()
        """BUFFERs of data that the function made from Python numbers or arrays."""
        self.existing = list(session.live_tensors())
        self._grads = [(tensor, tensor.grad) for tensor in self.existing]
        self.boxes: dict[UOp, Storage] = {}
        """For the BUFFER that it stands for, each box that was there before."""
        self._before: dict[Storage, UOp] = {}
        self._written: set[Storage] = set()
        self.inputs: dict[UOp, int] = {}
        """For each argument, the BUFFER it stands for, and its number."""
        self.stand_ins: list[TensorCore] = []
        for number, tensor in enumerate(arguments):
            buffer, node = session.new_place(tensor.uop, tensor.device)
            self.inputs[buffer] = number
            stand_in = tensor._from_uop(node, tensor.device)
            self.stand_ins.append(stand_in)
            self._before[stand_in._storage] = node

    def __enter__(self) -> Capture:
        for tensor in self.existing:
            storage = tensor._storage
            if storage.traced is None:
                buffer, node = self._session.new_place(storage.node, tensor.device)
                storage.traced = (self._thread, node)
                self.boxes[buffer] = storage
                self._before[storage] = node
        self._session.begin_capture(self)
        return self

    def __exit__(self, *error: object) -> None:
        self._session.end_capture()
        for tensor, grad in self._grads:
            tensor.grad = grad  # gradients that the function leaves behind are not replayed

    def close(self) -> None:
        """Let the boxes hold again what they held before."""
        for storage in self.boxes.values():
            storage.traced = None

    def is_active(self) -> bool:
        """Whether this thread is the one that captures."""
        return get_ident() == self._thread

    def draw(self, count: int) -> tuple[UOp, UOp]:
        """Positions counted from where the stream is when the function is called."""
        position = self.position + self.draws
        self.draws += count
        return position, self.key

    def writes(self, storage: Storage) -> None:
        """The function is about to write a box."""
        self._written.add(storage)

    def makes(self, buffer: UOp) -> None:
        """The function made data."""
        self.constants.add(buffer)

    def reads(self, tensor: TensorCore) -> None:
        """The function asks for the bytes of a tensor: it may, where they are the same each time.

        Raises:
            JitError: they depend on what is not made in the function.
        """
        if self._depends_on_call(tensor.uop):
            raise JitError(
                "a captured function asks for the numbers in a tensor.",
                why="it runs once and is replayed with other data: what Python does with the "
                "numbers would not be done again.",
                fix="return the tensor and read it outside, or use where() instead of if.",
            )

    def _depends_on_call(self, node: UOp) -> bool:
        return any(
            at.op is Op.BIND or (at.op is Op.BUFFER and at not in self.constants)
            for at in toposort((node,))
        )

    def owners(self) -> dict[Storage, UOp]:
        """For each box that is there outside of the call, the BUFFER it stands for."""
        owners = {storage: buffer for buffer, storage in self.boxes.items()}
        for buffer, stand_in in zip(self.inputs, self.stand_ins, strict=True):
            owners[stand_in._storage] = buffer
        return owners

    def written(self) -> list[Storage]:
        """Of these, the ones that hold something else now."""
        return [s for s, before in self._before.items() if s.newest() is not before]

    def check_kept(self, returned: Iterable[TensorCore]) -> None:
        """Refuse a function that keeps a tensor it made somewhere outside of itself.

        Raises:
            JitError: it does.
        """
        outside = [*self.stand_ins, *returned]
        for tensor in outside:
            tensor.grad = None
        known = {id(tensor) for tensor in (*self.existing, *outside)}
        if self._kept(known):
            gc.collect()  # a cycle of objects may hold what nobody can reach
            if self._kept(known):
                raise JitError(
                    "a captured function keeps a tensor that it made.",
                    why="it is replayed without Python, so that the tensor would stay as it is.",
                    fix="make the tensor before, and write it in place with assign(); "
                    "or return it.",
                )

    def _kept(self, known: set[int]) -> bool:
        return any(
            id(tensor) not in known
            and (tensor._storage in self._written or self._depends_on_call(tensor.uop))
            for tensor in self._session.live_tensors()
        )
