"""The process of one peer: reads orders as JSON lines, answers each with a JSON line."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import numpy as np

from peers import Call, Peer, Timed, peer_named
from works import work_named

PAUSE = 0.003
"""Seconds before calls are timed: threads that still spin for the one before go to sleep."""

BATCH = 0.002
"""Seconds; calls that take less are timed many at once: the clock and cold caches weigh less."""

MOST_CALLS = 100

WARM_UP = 2
"""Calls before the first that is timed."""

FOLDERS = re.compile(r"(?<![\w.])/(?:[^\s/'\"]+/)+")
"""Of a path from the root: what is kept of a run does not say where it ran."""

Order = dict[str, Any]
Answer = dict[str, Any]


def failure(error: Exception) -> Answer:
    """What the table says of an exception."""
    lines = str(error).splitlines() or [""]
    said = FOLDERS.sub("", lines[0])[:160]
    return {"failed": f"{type(error).__name__}: {said}"}


class Worker:
    """Keeps one work at a time."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.call: Call | None = None

    def answer(self, order: Order) -> Answer:
        """Do what an order says; a failure is an answer too."""
        orders: dict[str, Callable[[Order], Answer]] = {
            "prepare": self.prepare,
            "time": self.time,
            "drop": self.drop,
        }
        try:
            return orders[order["order"]](order)
        except Exception as error:  # noqa: BLE001
            # Whatever a peer raises is what the table says of it.
            return failure(error)

    def prepare(self, order: Order) -> Answer:
        """Take a work in, call it, and leave its result in a file."""
        self.call = None
        work = work_named(order["work"], order["quick"])
        call = self.peer.prepare(work, work.inputs())
        if call is None:
            return {"absent": True}
        ready = perf_counter()
        result = call()
        first = perf_counter() - ready
        numbers = self.peer.numbers(result)
        if numbers is not None:
            np.save(order["result"], numbers)
        told = {"first": first, "checked": numbers is None, **self.counts(call)}
        slow = first > order["patience"] and self._is_slow(call, order["patience"])
        if slow:
            return told | {"wall": [slow]}
        for _ in range(WARM_UP):
            call()
        self.call = call
        return told

    @staticmethod
    def _is_slow(call: Call, patience: float) -> float:
        """Seconds of another call, which compiles nothing, where it takes too long for rounds."""
        start = perf_counter()
        result = call()
        seconds = perf_counter() - start
        if isinstance(result, Timed) or seconds < patience:
            return 0.0
        return seconds

    def counts(self, call: Call) -> Answer:
        """What one more call of ours launches."""
        if "tiny_tensor" not in sys.modules:
            return {}
        from tiny_tensor import current_session  # only in our own process

        counters = current_session().counters
        counters.reset()
        call()
        return {name: getattr(counters, name) for name in ("kernels", "operations", "nbytes")}

    def time(self, order: Order) -> Answer:
        """Call the work until the time is up; at least once."""
        assert self.call is not None
        call = self.call
        start = perf_counter()
        call()
        calls = max(1, min(MOST_CALLS, int(BATCH / (perf_counter() - start))))
        wall: list[float] = []
        end = start + order["seconds"]
        while not wall or (perf_counter() < end and len(wall) < order["most"]):
            sleep(PAUSE)
            start = perf_counter()
            for _ in range(calls):
                result = call()
            seconds = (perf_counter() - start) / calls
            wall.append(result.seconds if isinstance(result, Timed) else seconds)
        return {"wall": wall}

    def drop(self, order: Order) -> Answer:
        """Forget the work."""
        self.call = None
        return {}


def main() -> None:
    """Answer orders until there are no more. Whatever a library prints goes to the other stream."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    try:
        answer = Worker(peer_named(sys.argv[1])).answer
    except Exception as error:  # noqa: BLE001
        refusal = failure(error)  # a library that cannot be imported fails in each of its rows

        def answer(order: Order) -> Answer:
            return refusal

    for line in sys.stdin:
        answers.write(json.dumps(answer(json.loads(line))) + "\n")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    main()
