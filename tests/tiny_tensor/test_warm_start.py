"""A second process does nothing twice, and an import loads next to nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import json, sys, time
from tiny_tensor import Tensor, current_session
start = time.perf_counter()
x = Tensor([[1.0, 2.0], [3.0, 4.0]])
result = ((x @ x + 1).exp2() if hasattr(x, "exp2") else x @ x + 1).sum(1).tolist()
seconds = time.perf_counter() - start
counters = current_session().counters.as_dict()
print(json.dumps([result, seconds, counters, sorted(sys.modules)]))
"""
COMPILING = {"tiny_codegen", "tiny_renderers", "llvmlite", "numpy", "pluggy"}


def run(program: str, cache: Path, **settings: str) -> list[object]:
    """What a new Python prints, as JSON."""
    environment = {**os.environ, "TINY_CACHE": str(cache), **settings}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    found: list[object] = json.loads(done.stdout)
    return found


def test_a_second_process_runs_no_code_generator(tmp_path: Path) -> None:
    cold, _, first, _ = run(PROGRAM, tmp_path / "cache")
    warm, _, second, modules = run(PROGRAM, tmp_path / "cache")
    assert warm == cold
    assert first["schedules"] >= 1  # type: ignore[index]
    assert second["schedules"] == second["binaries"] == 0  # type: ignore[index]
    loaded = {name.partition(".")[0] for name in modules}  # type: ignore[attr-defined]
    assert not loaded & COMPILING


def test_other_options_are_another_entry(tmp_path: Path) -> None:
    run(PROGRAM, tmp_path / "cache")
    _, _, counters, _ = run(PROGRAM, tmp_path / "cache", TINY_THREADS="1")
    assert counters["schedules"] >= 1  # type: ignore[index]


def test_damaged_entries_are_made_again(tmp_path: Path) -> None:
    cold, _, _, _ = run(PROGRAM, tmp_path / "cache")
    for path in (tmp_path / "cache" / "kernels").rglob("*"):
        if path.is_file():
            data = bytearray(path.read_bytes())
            data[len(data) // 2] ^= 255
            path.write_bytes(data)
    again, _, counters, _ = run(PROGRAM, tmp_path / "cache")
    assert again == cold
    assert counters["cached_schedules"] == 0  # type: ignore[index]


def test_a_missing_binary_is_made_again(tmp_path: Path) -> None:
    cold, _, _, _ = run(PROGRAM, tmp_path / "cache")
    for path in (tmp_path / "cache" / "kernels" / "binaries").rglob("*"):
        if path.is_file():
            path.unlink()
    again, _, counters, _ = run(PROGRAM, tmp_path / "cache")
    assert again == cold
    assert counters["binaries"] >= 1  # type: ignore[index]


def test_no_cache_is_kept_where_none_is_wanted(tmp_path: Path) -> None:
    folder = tmp_path / "home"
    run(PROGRAM, Path(), TINY_CACHE="", XDG_CACHE_HOME=str(folder))
    assert not folder.exists()


def test_an_import_loads_no_plugin_and_no_array_library(tmp_path: Path) -> None:
    program = "import json, sys, tiny_tensor; print(json.dumps(sorted(sys.modules)))"
    modules = run(program, tmp_path / "cache", TYPED="0")
    loaded = {str(name).partition(".")[0] for name in modules}
    ours = {name for name in loaded if name.startswith("tiny_")}
    assert ours == {"tiny_ir", "tiny_plugin", "tiny_tensor"}
    assert not loaded & {"numpy", "pluggy", "llvmlite", "typeguard", "safetensors"}
    assert "importlib.metadata" not in modules


TRAINING = """
import json, sys, time
from tiny_tensor import Session, current_session
from tiny_tensor.demo import Plan, digits, train
from tiny_tensor.demo.driver import bundled_digits
bundled_digits()  # what loading takes is not ours
start = time.perf_counter()
first = next(train(digits(), Plan()))
seconds = time.perf_counter() - start
counters = current_session().counters.as_dict()
print(json.dumps([first.loss, seconds, counters, sorted(sys.modules)]))
"""


def test_a_second_process_trains_ten_times_as_soon(tmp_path: Path) -> None:
    cold, slow, _, _ = run(TRAINING, tmp_path / "cache")
    warm, fast, counters, modules = run(TRAINING, tmp_path / "cache")
    assert warm == cold
    assert counters["schedules"] == counters["binaries"] == 0  # type: ignore[index]
    loaded = {name.partition(".")[0] for name in modules}  # type: ignore[attr-defined]
    assert not loaded & (COMPILING - {"numpy"})  # scikit-learn brings numpy
    assert fast * 10 <= slow  # type: ignore[operator]
