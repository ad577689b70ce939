"""Run the judges: the long comparisons, at full size, resumable, each with a table in docs/judges/.

    hatch run judge                     every judge, at full size
    hatch run judge movement            one judge; a run that was stopped goes on where it was
    hatch run judge --slice 2           a seeded 2 percent of every judge; writes no table
    hatch run judge movement --case 17  one case alone, as a failure names it

A judge is a file beside this one, `judge_<name>.py`, with a sentence on top, `CASES`, and
`judge(case)`. That function settles everything by the number of the case, raises when the case is
wrong, and returns its row: words say which line of the table the case belongs to, numbers are
measurements, of which the table keeps the largest.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import multiprocessing
import os
import random
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
TABLES = ROOT / "docs" / "judges"
PROGRESS = ROOT / ".judges"
CHUNK = 16  # cases that a worker takes at once
ENVIRONMENTS = {"opinfo": "torch"}
"""Judges that run in another environment of hatch.toml than the default one."""
TORCH_PYTHON = (3, 11)  # the Python that the pinned torch wheel in hatch.toml is built for

Row = Mapping[str, str | float]


@dataclass(frozen=True, slots=True)
class Judge:
    """One file: its name, its first sentence, how many cases it has, and how one is judged."""

    name: str
    sentence: str
    cases: int
    judge: Callable[[int], Row]
    write_page: Callable[[Iterable[Row]], None] | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came out of one case: its row, or the trouble."""

    case: int
    row: Row
    trouble: str | None = None


def all_names() -> list[str]:
    """Return the names of all judges."""
    return sorted(
        path.stem.removeprefix("judge_") for path in Path(__file__).parent.glob("judge_*.py")
    )


def judge_named(name: str) -> Judge:
    """Load one judge."""
    path = Path(__file__).parent / f"judge_{name}.py"
    specification = importlib.util.spec_from_file_location(path.stem, path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module  # dataclasses look their module up
    specification.loader.exec_module(module)
    sentence = (module.__doc__ or "").splitlines()[0]
    own_page = getattr(module, "write_page", None)
    return Judge(name, sentence, module.CASES, module.judge, own_page)


def judge_chunk(name: str, cases: Sequence[int]) -> list[Verdict]:
    """Judge some cases; runs in a worker."""
    judge = judge_named(name)
    verdicts = []
    for case in cases:
        try:
            verdicts.append(Verdict(case, judge.judge(case)))
        except Exception:  # noqa: BLE001 (whatever a case raises is its verdict, and is shown)
            verdicts.append(Verdict(case, {}, traceback.format_exc()))
    return verdicts


def judge_cases(name: str, cases: Sequence[int]) -> Iterator[Verdict]:
    """Yield a verdict for each case, from as many workers as there are processors."""
    chunks = [cases[i : i + CHUNK] for i in range(0, len(cases), CHUNK)]
    spawn = multiprocessing.get_context("spawn")
    workers = max(1, min(os.cpu_count() or 1, len(chunks)))
    with ProcessPoolExecutor(workers, mp_context=spawn) as pool:
        for verdicts in pool.map(judge_chunk, [name] * len(chunks), chunks):
            yield from verdicts


def fingerprint(name: str) -> str:
    """Return a digest of all that a verdict follows from: our sources, and the judge."""
    digest = hashlib.sha256()
    for path in [
        *sorted(ROOT.glob("packages/*/src/**/*.py")),
        *(sorted(ROOT.glob("tests/oracle/*")) if name in ENVIRONMENTS else ()),
        Path(__file__).parent / f"judge_{name}.py",
    ]:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def finished_verdicts(name: str) -> dict[int, Verdict]:
    """Return what an earlier run of the same sources finished well."""
    path = PROGRESS / f"{name}.jsonl"
    if not path.exists():
        return {}
    first, *lines = path.read_text(encoding="utf-8").splitlines() or [""]
    if first != fingerprint(name):
        return {}
    whole = [json.loads(line) for line in lines if line.endswith("}]")]
    return {case: Verdict(case, row) for case, row in whole}


def remember(name: str, verdicts: Iterable[Verdict]) -> Iterator[Verdict]:
    """Pass verdicts on, writing down those that are well."""
    finished = finished_verdicts(name)
    PROGRESS.mkdir(exist_ok=True)
    with (PROGRESS / f"{name}.jsonl").open("w", encoding="utf-8") as file:
        file.write(fingerprint(name) + "\n")
        for verdict in finished.values():
            file.write(json.dumps([verdict.case, verdict.row]) + "\n")
        for verdict in verdicts:
            if verdict.trouble is None:
                file.write(json.dumps([verdict.case, verdict.row]) + "\n")
                file.flush()
            yield verdict


def table_of(rows: Iterable[Row]) -> str:
    """Return a markdown table: one line for each combination of words, the largest numbers."""
    lines: dict[tuple[tuple[str, str], ...], dict[str, float]] = {}
    for row in rows:
        key = tuple((column, word) for column, word in row.items() if isinstance(word, str))
        line = lines.setdefault(key, {"cases": 0})
        line["cases"] += 1
        for column, number in row.items():
            if not isinstance(number, str):
                line[column] = max(number, line.get(column, number))
    words = list(dict.fromkeys(column for key in lines for column, _ in key))
    numbers = list(dict.fromkeys(column for line in lines.values() for column in line))
    text = [f"| {' | '.join([*words, *numbers])} |", "|" + " --- |" * (len(words) + len(numbers))]
    for key, line in sorted(lines.items()):
        cells = [dict(key).get(column, "") for column in words]
        cells += [f"{line[column]:.4g}" if column in line else "" for column in numbers]
        text.append(f"| {' | '.join(cells)} |")
    return "\n".join(text) + "\n"


def write_table(judge: Judge, rows: Iterable[Row]) -> None:
    """Write the page of a judge that has finished all its cases."""
    if judge.write_page is not None:
        judge.write_page(rows)
        return
    TABLES.mkdir(parents=True, exist_ok=True)
    page = f"# {judge.name}\n\n{judge.sentence}\n\n{table_of(rows)}\n"
    page += f"All {judge.cases} cases passed. Made by `hatch run judge {judge.name}`.\n"
    (TABLES / f"{judge.name}.md").write_text(page, encoding="utf-8")


def run_judge(judge: Judge, cases: Sequence[int], whole: bool) -> int:
    """Judge these cases; return how many failed."""
    earlier = finished_verdicts(judge.name) if whole else {}
    verdicts = judge_cases(judge.name, [case for case in cases if case not in earlier])
    if whole:
        verdicts = remember(judge.name, verdicts)
    rows = {case: verdict.row for case, verdict in earlier.items()}
    failed = 0
    for verdict in verdicts:
        if verdict.trouble is None:
            rows[verdict.case] = verdict.row
            continue
        failed += 1
        print(f"{verdict.trouble}again: hatch run judge {judge.name} --case {verdict.case}\n")
    if whole and not failed:
        write_table(judge, (rows[case] for case in sorted(rows)))
    print(f"{judge.name}: {len(cases) - failed} passed, {failed} failed", flush=True)
    return failed


def hand_over(name: str, arguments: Sequence[str]) -> int:
    """Run a judge in its own environment; return 1 when it failed there."""
    if sys.version_info[:2] != TORCH_PYTHON:
        versions = "{}.{}, this is {}.{}".format(*TORCH_PYTHON, *sys.version_info)
        print(f"{name}: skipped: torch needs Python {versions}", flush=True)
        return 0
    command = [sys.executable, "-m", "hatch", "run", f"{ENVIRONMENTS[name]}:judge", name]
    done = subprocess.run([*command, *arguments], check=False)
    return 1 if done.returncode else 0


def main(arguments: Sequence[str]) -> int:
    """Return 0 when no case failed."""
    parser = argparse.ArgumentParser(
        prog="hatch run judge", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("names", nargs="*", help="which judges; all when none is named")
    parser.add_argument("--slice", type=float, metavar="PERCENT", help="judge a random part only")
    parser.add_argument("--seed", type=int, default=1, help="which part that is")
    parser.add_argument("--case", type=int, help="judge one case alone")
    chosen = parser.parse_args(arguments)
    unknown = set(chosen.names) - set(all_names())
    if unknown:
        parser.error(
            f"no judge is called {', '.join(sorted(unknown))}; there are {', '.join(all_names())}"
        )
    failed = 0
    here = os.environ.get("HATCH_ENV_ACTIVE", "default")
    for name in chosen.names or all_names():
        if name in ENVIRONMENTS and ENVIRONMENTS[name] != here:
            options = [word for word in arguments if word not in chosen.names]
            failed += hand_over(name, options)
            continue
        judge = judge_named(name)
        cases: Sequence[int] = range(judge.cases)
        if chosen.case is not None:
            cases = [chosen.case]
        elif chosen.slice is not None:
            amount = max(1, round(judge.cases * chosen.slice / 100))
            cases = random.Random(f"{name} {chosen.seed}").sample(cases, min(amount, judge.cases))
        failed += run_judge(judge, cases, whole=len(cases) == judge.cases)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
