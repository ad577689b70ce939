"""Training mode: in it dropout drops, and batch norm looks at the batch."""

from __future__ import annotations

from contextlib import ContextDecorator

from tiny_plugin import boundary
from tiny_tensor.session import Session, current_session
from tiny_tensor.tensor_core import TensorCore


class Training(ContextDecorator):
    """Inside of the block, or of the function it decorates, tensors are in training mode or not.

    Args:
        mode: whether they are.
    """

    def __init__(self, mode: bool) -> None:
        self._mode = mode
        self._before: list[tuple[Session, bool]] = []

    def __enter__(self) -> None:
        session = current_session()
        self._before.append((session, session.is_training))
        session.is_training = self._mode

    def __exit__(self, *error: object) -> None:
        session, mode = self._before.pop()
        session.is_training = mode


class _Mode:
    """`Tensor.training`, which the Session knows."""

    def __get__(self, tensor: object, kind: type[object]) -> bool:
        return current_session().is_training


@boundary
class TrainingMethods(TensorCore):
    """The mode that layers ask for."""

    __slots__ = ()

    training = _Mode()

    @staticmethod
    def train(mode: bool = True) -> Training:
        """Be in training mode for a block or a function.

        Args:
            mode: False leaves it.

        Example:
            >>> from tiny_tensor import Tensor
            >>> with Tensor.train():
            ...     Tensor.training
            True
            >>> Tensor.training
            False
        """
        return Training(mode)
