"""Memory that a gradient may still read stays, as long as there is something to differentiate by.

What is watched here are the BUFFERs and the versions of boxes that a gradient could be asked for.
Their ends may come in any thread at any time: they are only noted then, and dealt with at the next
call.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, TypeAlias
from weakref import WeakKeyDictionary, WeakSet, WeakValueDictionary, ref

from tiny_ir import UOp
from tiny_tensor.engine.memory import Allocation
from tiny_tensor.storage import Version

if TYPE_CHECKING:
    from tiny_tensor.engine.history import Making

KEPT_NBYTES = 1 << 28
"""Bytes kept for gradients alone: where there are more, what was kept first is given back."""

Witness: TypeAlias = UOp | Version
"""What shows that a gradient could still be asked for: a BUFFER, or a version of a box."""


class Held:
    """The numbers of a BUFFER, kept for gradients whether a tensor has them or not.

    Attributes:
        allocation: where they are; None once they were written in place, or given back.
    """

    __slots__ = ("__weakref__", "allocation")

    def __init__(self, allocation: Allocation) -> None:
        self.allocation: Allocation | None = allocation

    @property
    def nbytes(self) -> int:
        """How many bytes they are."""
        return 0 if self.allocation is None else self.allocation.memory.nbytes


class Watch:
    """Who has to know when a witness is gone."""

    __slots__ = ("held", "makings", "reference")

    def __init__(self, witness: Witness, gone: deque[Watch]) -> None:
        self.makings: WeakSet[Making] | None = None
        self.held: ref[Held] | None = None
        self.reference: ref[Witness] | None = ref(witness, lambda _: gone.append(self))


class Kept:
    """What is held, and what is watched.

    Args:
        limit: how many bytes may be held that nothing but a gradient would read.
    """

    def __init__(self, limit: int = KEPT_NBYTES) -> None:
        self.limit = limit
        self._held: WeakValueDictionary[int, Held] = WeakValueDictionary()
        self._watches: WeakKeyDictionary[Witness, Watch] = WeakKeyDictionary()
        self._gone: deque[Watch] = deque()
        self._alone: deque[ref[Held]] = deque()
        """What nothing but gradients wants any more, the oldest first."""
        self._alone_nbytes = 0
        """The size of these, some of which may have been given back since."""

    def hold(self, buffer: UOp, allocation: Allocation) -> Held:
        """Keep the numbers of a BUFFER, as long as the result of this call is there."""
        held = self._held.get(buffer.arg.identity)
        if held is None:
            held = self._held[buffer.arg.identity] = Held(allocation)
            self._watch_of(buffer).held = ref(held)
        return held

    def lose(self, buffer: UOp) -> None:
        """The numbers of a BUFFER were written in place."""
        held = self._held.get(buffer.arg.identity)
        if held is not None:
            held.allocation = None

    def watch(self, witness: Witness, making: Making) -> None:
        """Let a making be among the `bereaved` once a witness is gone."""
        watch = self._watch_of(witness)
        if watch.makings is None:
            watch.makings = WeakSet()
        watch.makings.add(making)

    def bereaved(self) -> list[Making]:
        """The makings whose witnesses have gone since the last call."""
        found: list[Making] = []
        while self._gone:
            watch = self._gone.popleft()
            watch.reference = None  # or it would hold itself
            found += watch.makings or ()
            held = None if watch.held is None else watch.held()
            if held is not None:
                self._alone.append(ref(held))
                self._alone_nbytes += held.nbytes
        if self._alone_nbytes > self.limit:
            self.give_back(self.limit // 2)
        return found

    def held_nbytes(self) -> int:
        """How many bytes are held."""
        return sum(held.nbytes for held in self._held.values())

    def give_back(self, left: int = 0) -> bool:
        """Give back what nothing but gradients wants, the oldest first.

        Args:
            left: how many bytes of it may stay.

        Returns:
            Whether there was anything to give.
        """
        there = [held for reference in self._alone if (held := reference()) is not None]
        total = sum(held.nbytes for held in there)
        gives = total > left
        while total > left:
            held = there.pop(0)
            total -= held.nbytes
            held.allocation = None
        self._alone = deque(map(ref, there))
        self._alone_nbytes = total
        return gives

    def _watch_of(self, witness: Witness) -> Watch:
        watch = self._watches.get(witness)
        if watch is None:
            watch = self._watches[witness] = Watch(witness, self._gone)
        return watch
