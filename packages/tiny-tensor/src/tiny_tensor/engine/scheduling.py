"""What computing tensors would take: the Schedule of what is pending, made without running it."""

from __future__ import annotations

from typing import Self

from tiny_ir import ArgumentError, JitError, UOp
from tiny_plugin import Schedule, boundary
from tiny_tensor.engine.canonical import Canonical, canonical_of
from tiny_tensor.engine.pending import pending_of
from tiny_tensor.realize import live_nodes, schedules_of
from tiny_tensor.session import current_session
from tiny_tensor.tensor_core import TensorCore


@boundary
class SchedulingMethods(TensorCore):
    """Looks at, and preparations of, a run."""

    __slots__ = ()

    def linear_with_vars(self, *others: Self) -> tuple[Schedule, dict[str, int]]:
        """The steps that would compute this tensor and the others, and the numbers they would take.

        Returns:
            The Schedule, whose Programs have their nodes, and the number of each variable by name.
            Both are empty where everything is in memory already.

        Raises:
            JitError: a captured function asks for it.

        Example:
            >>> from tiny_tensor import Tensor
            >>> schedule, values = (Tensor([1, 2]) + Tensor([3, 4])).linear_with_vars()
            >>> len(schedule.steps), values
            (1, {})
        """
        session = current_session()
        with session.lock:
            canonical = self._pending((self, *others))
            if canonical is None:
                return Schedule((), ()), {}
            return schedules_of(session).schedule_of(canonical.graph), canonical.values()

    def schedule_linear(self, *others: Self) -> Schedule:
        """The steps that would compute this tensor and the others, where they take no numbers.

        Raises:
            ArgumentError: they take some, such as a symbolic size or a random key.
            JitError: a captured function asks for it.

        Example:
            >>> from tiny_tensor import Tensor
            >>> [step.program.name for step in (Tensor([1, 2]) + 1).schedule_linear().steps]
            ['e_2']
        """
        schedule, values = self.linear_with_vars(*others)
        if values:
            raise ArgumentError(
                f"the schedule takes the numbers {values}.",
                why="they are given at launch: symbolic sizes, and positions of random draws.",
                fix="use linear_with_vars().",
            )
        return schedule

    def callify(self, *others: Self) -> Self:
        """Compile what is pending in this tensor and the others, without running it.

        The next `realize` of the same tensors only launches.

        Returns:
            The tensor itself, as lazy as before.

        Raises:
            JitError: a captured function asks for it.

        Example:
            >>> from tiny_tensor import Tensor
            >>> (Tensor([1, 2]) + Tensor([3, 4])).callify().tolist()
            [4, 6]
        """
        session = current_session()
        with session.lock:
            canonical = self._pending((self, *others))
            if canonical is not None:
                schedules_of(session).plan_of(canonical.graph)
        return self

    @staticmethod
    def _pending(tensors: tuple[TensorCore, ...]) -> Canonical | None:
        """The graph that computing tensors would run; None where they are in memory."""
        session = current_session()
        if session.capture is not None:
            raise JitError(
                "a captured function asks what computing a tensor takes.",
                why="it runs once, on stand-ins for its tensors.",
                fix="ask outside of it.",
            )
        done: dict[UOp, UOp] = {}
        wanted = {session.finished.resolve(tensor.whole, done): tensor.device for tensor in tensors}
        pending = pending_of(wanted, live_nodes(session), session)
        return None if pending is None else canonical_of(pending.sink)
