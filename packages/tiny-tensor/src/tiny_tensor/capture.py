"""What happens inside a function while it is captured: writes, new data, draws, forbidden reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tiny_ir import JitError, Op, UOp, toposort
from tiny_tensor.launch_values import bound

if TYPE_CHECKING:
    from tiny_tensor.session import Session
    from tiny_tensor.storage import Storage
    from tiny_tensor.tensor_core import TensorCore


class Capture:
    """One call of a function, seen as a graph.

    Args:
        session: in which it is called.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self.draws = 0
        """Random draws taken so far."""
        self.constants: set[UOp] = set()
        """BUFFERs of data that the function made from Python numbers or arrays."""
        self.written: dict[Storage, UOp] = {}
        """Boxes that the function wrote, and the node each held before."""
        self.position = bound("position", session.random.position)
        self.key = bound("key", session.random.key)

    def draw(self, count: int) -> tuple[UOp, UOp]:
        """Positions counted from where the stream is when the function is called."""
        position = self.position + self.draws
        self.draws += count
        return position, self.key

    def writes(self, storage: Storage) -> None:
        """The function is about to write a box."""
        self.written.setdefault(storage, storage.node)

    def makes(self, buffer: UOp) -> None:
        """The function made data."""
        self.constants.add(buffer)

    def reads(self, tensor: TensorCore) -> None:
        """The function asks for the bytes of a tensor: it may, where they are the same each time.

        Raises:
            JitError: they depend on what is not made in the function.
        """
        for node in toposort((tensor.uop,)):
            if (node.op is Op.BUFFER and node not in self.constants) or node.op is Op.BIND:
                raise JitError(
                    "a captured function asks for the numbers in a tensor.",
                    why="it runs once, and is replayed with other data: what Python does with the "
                    "numbers would not be done again.",
                    fix="return the tensor and read it outside, or use where() instead of if.",
                )
