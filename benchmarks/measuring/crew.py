"""Processes of peers, which are started when they are first asked and ended when they hang."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from pathlib import Path
from typing import IO, Any, Self

from peers import PEERS

HERE = Path(__file__).parent
THREAD_SETTINGS = (
    "BENCH_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "TINY_THREADS",
)


def environment_of(name: str, threads: int) -> dict[str, str]:
    """The environment of a process of a peer."""
    environment = os.environ | dict.fromkeys(THREAD_SETTINGS, str(threads))
    environment |= {"OMP_WAIT_POLICY": "PASSIVE", "KMP_BLOCKTIME": "0"}  # idle means idle
    environment |= PEERS[name].environment
    before = [environment["PYTHONPATH"]] if environment.get("PYTHONPATH") else []
    environment["PYTHONPATH"] = os.pathsep.join([str(HERE.parent), *before])
    return environment


class Member:
    """The process of one peer."""

    def __init__(self, name: str, threads: int, log: IO[str]) -> None:
        self.name = name
        self.threads = threads
        self.log = log
        self.process: subprocess.Popen[str] | None = None

    def ask(self, limit: float, /, **order: Any) -> dict[str, Any]:
        """Give an order and wait for the answer; a process that takes too long is ended."""
        if self.process is None or self.process.poll() is not None:
            self._start()
        assert self.process is not None
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps(order) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            self.end()
            return {"failed": "its process ended"}
        ready, _, _ = select.select([self.process.stdout], [], [], limit)
        if not ready:
            self.end()
            return {"failed": f"took longer than {limit:.0f} s"}
        line = self.process.stdout.readline()
        if not line:
            self.end()
            return {"failed": "its process ended"}
        answer: dict[str, Any] = json.loads(line)
        return answer

    def end(self) -> None:
        """End the process, if there is one."""
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None

    def _start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "worker.py"), self.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            env=environment_of(self.name, self.threads),
            text=True,
        )


class Crew:
    """All processes of a run; leaving it ends them."""

    def __init__(self, names: list[str], threads: int, log: IO[str]) -> None:
        self.members = [Member(name, threads, log) for name in names]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for member in self.members:
            member.end()
