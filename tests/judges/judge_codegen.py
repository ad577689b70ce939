"""The Tensor tests pass on a code generator that is not ours: one kernel an op, no fusion."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TENSOR_TESTS = ROOT / "tests" / "tiny_tensor"
PAGE = ROOT / "docs" / "judges" / "codegen.md"
EXAMPLE = ROOT / "examples" / "tiny-codegen-simple"

# What other tests promise is not promised by this one, and why.
NOT_HERE = {
    "test_cli.py": "shows the stages of ours",
    "test_custom_kernels.py": "calls kernels that are loops, which this one does not lower",
    "test_demo.py": "trains for minutes on an interpreter",
    "test_devices.py": "names the devices that it compares",
    "test_exchange.py": "looks into memory that an interpreter keeps to itself",
    "test_hashing.py": "takes minutes on an interpreter",
    "test_kernel_counts.py": "counts kernels",
    "test_null.py": "compiles for a device that lacks functions, which this one does not spell",
    "test_profile.py": "counts what ours does",
    "test_sharding.py": "names the devices that it compares",
    "test_warm_start.py": "measures how ours starts",
}
NOT_PROMISED = {
    "kernels": "how many there are",
    "counters": "how many kernels there are",
    "far_away": "that elements are computed where they are read",
    "long_half": "the order of a long sum",
    "32_bits": "that repeated elements take no memory",
    "COPY": "names the device that it copies from",
    "long_rows": "takes an hour on an interpreter",
    "random_keys": "takes minutes on an interpreter",
    "number_once": "takes minutes on an interpreter",
}
FILES = [path for path in sorted(TENSOR_TESTS.rglob("test_*.py")) if path.name not in NOT_HERE]
PARTS = 4
"""Each file is run in so many parts, since a slice takes whole cases."""
CASES = len(FILES) * PARTS


def judge(case: int) -> dict[str, str | float]:
    """Run one part of a file of tests."""
    file, part = FILES[case // PARTS], case % PARTS
    with tempfile.TemporaryDirectory(prefix="tiny-site-") as site:
        install(EXAMPLE, Path(site))
        settings = {
            "PYTHONPATH": os.pathsep.join([site, str(EXAMPLE / "src"), str(HERE)]),
            "TINY_CACHE": "",
            "TINY_CODEGEN": "simple",
            "TINY_DEVICE": "python",
        }
        words = " and ".join(f"not {word}" for word in NOT_PROMISED)
        options = ["-q", "-p", "no:cacheprovider", "-p", "part_of_tests", "-k", words]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *options, "--part", f"{part}/{PARTS}", file],
            cwd=ROOT,
            env={**os.environ, **settings},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
    passed = re.search(r"(\d+) passed", done.stdout)
    nothing = done.returncode == pytest.ExitCode.NO_TESTS_COLLECTED
    assert nothing or (done.returncode == 0 and passed is not None), done.stdout
    count = int(passed[1]) if passed else 0
    return {"file": file.relative_to(TENSOR_TESTS).as_posix(), "passed": count}


def write_page(rows: Iterable[Mapping[str, str | float]]) -> None:
    """Write how many tests of each file passed, all parts together."""
    counts: Counter[str] = Counter()
    for row in rows:
        counts[str(row["file"])] += int(row["passed"])
    lines = [f"| {file} | {passed} |" for file, passed in sorted(counts.items()) if passed]
    table = "\n".join(["| file | passed |", "| --- | --- |", *lines])
    summary = f"All {counts.total()} tests passed. Made by `hatch run judge codegen`."
    PAGE.write_text(f"# codegen\n\n{__doc__}\n\n{table}\n\n{summary}\n", encoding="utf-8")


def install(project: Path, site: Path) -> None:
    """Install a distribution in development mode, as conftest.py does for the tests."""
    specification = importlib.util.spec_from_file_location("conftest", ROOT / "conftest.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    module.install(project, site)
