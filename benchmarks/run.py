"""Measure tiny beside its peers, in one run on one machine, and show the ratios.

    hatch run bench             everything
    hatch run bench rewrite     one file, bench_rewrite.py

A benchmark is a file beside this one, `bench_<name>.py`, whose `measure()` yields Rows. Only the
ratio of two times from one run says anything; nothing asserts it. `--write` keeps the table of a
run in benchmarks/results/.
"""

from __future__ import annotations

import argparse
import importlib.util
import platform
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, cast

HERE = Path(__file__).parent


class Row(NamedTuple):
    """One thing measured: how long we took, and how long a peer took."""

    what: str
    ours: float
    peer: str
    theirs: float


class Measured(Protocol):
    """A benchmark's module."""

    def measure(self) -> Iterable[tuple[str, float, str, float]]:
        """Yield (what, our seconds, peer, the peer's seconds)."""
        ...


def all_names() -> list[str]:
    """Return the names of all benchmarks."""
    return sorted(path.stem.removeprefix("bench_") for path in HERE.glob("bench_*.py"))


def rows_of(name: str) -> Iterator[Row]:
    """Run one benchmark."""
    specification = importlib.util.spec_from_file_location(name, HERE / f"bench_{name}.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module  # dataclasses look their module up
    specification.loader.exec_module(module)
    for row in cast(Measured, module).measure():
        yield Row(*row)


def line_of(row: Row) -> str:
    """Return a line of the table."""
    ratio = row.theirs / row.ours
    times = f"{row.ours * 1e3:.3f} | {row.theirs * 1e3:.3f}"
    return f"| {row.what} | {times} | {row.peer} | {ratio:.2f}x |"


def main(arguments: Sequence[str]) -> int:
    """Run the benchmarks named, or all."""
    parser = argparse.ArgumentParser(prog="hatch run bench")
    parser.add_argument("names", nargs="*", help="which benchmarks; all when none is named")
    parser.add_argument(
        "--write", action="store_true", help="keep the tables in benchmarks/results/"
    )
    chosen = parser.parse_args(arguments)
    for name in chosen.names or all_names():
        lines = ["| what | tiny, ms | peer, ms | peer | tiny is faster by |", "|" + " --- |" * 5]
        print(f"\n{name}\n" + "\n".join(lines), flush=True)
        for row in rows_of(name):
            lines.append(line_of(row))
            print(lines[-1], flush=True)
        if chosen.write:
            (HERE / "results").mkdir(exist_ok=True)
            machine = f"Python {platform.python_version()}, {platform.machine()}"
            page = f"# {name}\n\n" + "\n".join(lines) + f"\n\nOne run on {machine}.\n"
            (HERE / "results" / f"{name}.md").write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
