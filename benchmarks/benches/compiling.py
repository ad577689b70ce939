"""What comes before the first result: imports, new processes, and first calls, cold and warm.

Every time is taken in a process of its own. Cold means that our disk cache is empty, warm that the
same program ran before. Peers are as their users find them: they keep nothing between processes.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benches.run import Run
from measuring import OURS, Times
from measuring.crew import environment_of
from reports import Row
from works.whole_models import whole_models

ROUNDS = 5
PATIENCE = 3.0
"""Seconds; what takes longer is done once."""

IMPORTS = {
    OURS: "tiny_tensor",
    "numpy": "numpy",
    "torch": "torch",
    "onnxruntime": "onnxruntime",
    "jax": "jax",
    "tinygrad": "tinygrad",
}

IMPORTING = """
import time
start = time.perf_counter()
import {module}
print(time.perf_counter() - start)
"""

STARTING = """
import time
start = time.perf_counter()
{program}
print(time.perf_counter() - start)
"""

PROGRAMS = {
    OURS: "from tiny_tensor import Tensor; (Tensor([1, 2, 3]) + 1).tolist()",
    "numpy": "import numpy; (numpy.array([1, 2, 3]) + 1).tolist()",
    "torch": "import torch; (torch.tensor([1, 2, 3]) + 1).tolist()",
    "jax": "import jax; jax.jit(lambda x: x + 1)(jax.numpy.array([1, 2, 3])).tolist()",
    "tinygrad": "from tinygrad import Tensor; (Tensor([1, 2, 3]) + 1).tolist()",
}

COMPILERS = frozenset({"jax", "tinygrad"})
"""The peers of targets about first results: they make kernels, as we do."""

EAGER = {"torch.compile"}
"""Left out: a first call of its takes half a minute, and says nothing new."""

FIRST_CALL = Path(__file__).parents[1] / "measuring" / "first_call.py"
LIMIT = 120.0


class Start(NamedTuple):
    """One row: a command for each peer, and the targets for an empty and for a filled cache."""

    what: str
    commands: dict[str, list[str]]
    cold: float | None
    warm: float
    rivals: frozenset[str]


def compiling(run: Run) -> Iterator[Row]:
    """Imports, first results of new processes, first calls of networks."""
    rounds = 1 if run.pace.is_quick else ROUNDS
    with tempfile.TemporaryDirectory() as bytecode:
        for start in filter(lambda start: run.wants(start.what), starts(run)):
            yield from _rows(start, run, rounds, bytecode)


def starts(run: Run) -> Iterator[Start]:
    """What is started."""

    def python(text: str) -> list[str]:
        return [sys.executable, "-c", text]

    names = [OURS, *(name for name in run.peers if name not in EAGER)]
    yield Start(
        "import",
        {n: python(IMPORTING.format(module=IMPORTS[n])) for n in names if n in IMPORTS},
        None,
        1.0,
        frozenset({"numpy"}),
    )
    programs = {n: PROGRAMS[n] for n in names if n in PROGRAMS}
    yield Start(
        "new process to first result",
        {n: python(STARTING.format(program=program)) for n, program in programs.items()},
        0.5,
        0.2,
        COMPILERS,
    )
    targets = ((1.75, 0.22), (0.67, 0.08))
    for work, (cold, warm) in zip(whole_models(run.pace.is_quick), targets, strict=True):
        quick = ["--quick"] if run.pace.is_quick else []
        yield Start(
            f"{work.name}, first call",
            {n: [sys.executable, str(FIRST_CALL), n, work.name, *quick] for n in names},
            cold,
            warm,
            COMPILERS,
        )


def _rows(start: Start, run: Run, rounds: int, bytecode: str) -> Iterator[Row]:
    cold = {name: Times([]) for name in start.commands}
    warm = {OURS: Times([])}
    if not run.pace.is_quick:
        for name in start.commands if start.cold is None else (OURS,):
            _seconds(start, name, run, bytecode, bytecode)  # leaves bytecode of what it imports
    for turn in range(rounds):
        for name, so_far in cold.items():
            if so_far.failed or (turn and so_far.wall[-1] > PATIENCE):
                continue
            with tempfile.TemporaryDirectory() as cache:
                cold[name] = so_far.with_turn(_seconds(start, name, run, bytecode, cache))
                if name == OURS:
                    got = _seconds(start, name, run, bytecode, cache)
                    warm[OURS] = warm[OURS].with_turn(got)
    found = {name: times for name, times in cold.items() if not _is_absent(times)}
    if start.cold is None:
        yield Row(start.what, found, start.warm, rivals=start.rivals)
        return
    yield Row(f"{start.what}, cold", found, start.cold, rivals=start.rivals)
    yield Row(f"{start.what}, warm", found | warm, start.warm, rivals=start.rivals)


def _is_absent(times: Times) -> bool:
    return times.failed == ABSENT


ABSENT = "does not offer it"


def _seconds(
    start: Start, name: str, run: Run, bytecode: str, cache: str
) -> dict[str, str | list[float]]:
    """What one process says; an empty `cache` folder makes it a cold one."""
    environment = environment_of(name, run.threads)
    environment |= {"TINY_CACHE": cache, "XDG_CACHE_HOME": cache}
    if not run.pace.is_quick:
        environment["PYTHONPYCACHEPREFIX"] = bytecode
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
    try:
        out = subprocess.run(
            start.commands[name],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
            timeout=LIMIT,
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"took longer than {LIMIT:.0f} s"}
    except subprocess.CalledProcessError as error:
        run.log.write(error.stderr)
        lines = error.stderr.strip().splitlines() or ["its process ended"]
        return {"failed": lines[-1][:160]}
    said = json.loads(out.stdout.splitlines()[-1])
    return {"failed": ABSENT} if said is None else {"wall": [float(said)]}
