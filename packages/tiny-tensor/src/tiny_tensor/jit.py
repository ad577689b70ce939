"""A function of tensors is captured once, and replayed without its Python from then on."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import update_wrapper
from types import MethodType
from typing import Concatenate, Generic, ParamSpec, TypeVar, cast, overload
from weakref import WeakKeyDictionary

from tiny_ir import ArgumentTypeError, JitError
from tiny_plugin import boundary
from tiny_tensor.engine.call_arguments import CallArguments, Key, tensors_in
from tiny_tensor.engine.capture import Capture
from tiny_tensor.engine.recording import Recording
from tiny_tensor.session import Session, current_session

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
Owner = TypeVar("Owner")

KEPT_RECORDINGS = 64
"""Of one function: more kinds of calls than that point to an argument that should be a Tensor."""


class Jitted(Generic[P, R]):
    """What `jit` returns: called like the function.

    Attributes:
        function: the function itself.
    """

    def __init__(self, function: Callable[P, R]) -> None:
        self.function = function
        self._recordings: WeakKeyDictionary[Session, dict[Key, Recording]] = WeakKeyDictionary()
        update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        session = current_session()
        if session.capture is not None:
            return self.function(*args, **kwargs)
        arguments = CallArguments(args, kwargs)
        recordings = self._recordings.setdefault(session, {})
        # Layers do other things while they are trained.
        key = (session.is_training, *arguments.key)
        recording = recordings.get(key)
        if recording is None:
            if len(recordings) == KEPT_RECORDINGS:
                raise JitError(
                    f"{self._name()} was captured for {KEPT_RECORDINGS} different kinds of calls.",
                    why="each other shape, dtype, device or Python value needs a capture.",
                    fix="pass numbers that change as a Tensor, and data in batches of one shape.",
                )
            recording = recordings[key] = self._captured(arguments, session)
        return cast(R, recording.replay(arguments))

    @overload
    def __get__(self, instance: None, owner: type) -> Jitted[P, R]: ...

    @overload
    def __get__(
        self: Jitted[Concatenate[Owner, Q], R], instance: Owner, owner: type
    ) -> Callable[Q, R]: ...

    def __get__(self, instance: object, owner: type) -> object:
        """As a method: `self` is an argument, told apart by identity."""
        return self if instance is None else MethodType(self, instance)

    def __reduce__(self) -> str | tuple[object, ...]:
        """Pickled by its name or as its function: it captures anew where it is loaded."""
        name = self._name()
        home = sys.modules.get(getattr(self.function, "__module__", ""))
        return name if getattr(home, name, None) is self else (Jitted, (self.function,))

    def reset(self) -> None:
        """Forget everything that was captured."""
        self._recordings.clear()

    def captures(self) -> int:
        """How many kinds of calls were captured in the current Session."""
        return len(self._recordings.get(current_session(), ()))

    def _name(self) -> str:
        return getattr(self.function, "__qualname__", repr(self.function))

    def _captured(self, arguments: CallArguments, session: Session) -> Recording:
        with session.lock:
            capture = Capture(session, arguments.tensors)
            try:
                with capture:
                    args, kwargs = arguments.with_tensors(capture.stand_ins)
                    returned = self.function(*args, **kwargs)  # type: ignore[arg-type]
                capture.check_kept(tensors_in(returned))
                return Recording(capture, arguments, returned, session)
            finally:
                capture.close()


@boundary
def jit(function: Callable[P, R]) -> Jitted[P, R]:
    """Capture a function at its first call, and replay what it did with tensors at every other.

    A replay runs no Python of the function. It gives fresh results, repeats writes in place to
    arguments and to other tensors, and draws new random numbers. Calls are told apart by shapes,
    dtypes and devices of tensors, by Python values, and by the identity of other objects; lists,
    tuples and dicts are looked into. Gradients that the function leaves in `.grad` are not kept.

    Args:
        function: takes and returns tensors, Python values, and containers of them.

    Returns:
        A callable of the same signature.

    Raises:
        ArgumentTypeError: it is no function.
        JitError: (when called) the function reads numbers out of a tensor, keeps a tensor that it
            made, or was called in a way that a replay would not see.

    Example:
        >>> from tiny_tensor import Tensor
        >>> @jit
        ... def double(x: Tensor) -> Tensor:
        ...     return x + x
        >>> double(Tensor([1, 2])).tolist(), double(Tensor([3, 4])).tolist()
        ([2, 4], [6, 8])
    """
    if not callable(function):
        raise ArgumentTypeError(
            f"{function!r} cannot be captured.",
            why="it is no function.",
            fix="pass a function of tensors, or write @jit above one.",
        )
    return Jitted(function)


TinyJit = jit
