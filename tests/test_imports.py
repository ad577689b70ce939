"""What an import loads, seen from a fresh process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

NOT_AT_IMPORT = (
    "importlib.metadata",
    "llvmlite",
    "numpy",
    "pluggy",
    "safetensors",
    "tiny_codegen",
    "tiny_renderers",
    "tiny_runtime_cpu",
    "typeguard",
)


def modules_after(program: str) -> set[str]:
    """Return the names of all modules that a program has loaded in the end, unchecked."""
    ending = "\nimport sys\nprint('loaded:', *sys.modules)"
    command = [sys.executable, "-I", "-c", program + ending]
    unchecked = {**os.environ, "TYPED": "0"}
    output = subprocess.run(
        command, capture_output=True, text=True, check=True, env=unchecked
    ).stdout
    return set(output.rpartition("loaded:")[2].split())


@pytest.fixture(scope="module")
def untouched() -> set[str]:
    """What a Python of this environment loads by itself."""
    return modules_after("")


def test_the_language_loads_the_standard_library_only(untouched: set[str]) -> None:
    loaded = {name.partition(".")[0] for name in modules_after("import tiny_ir") - untouched}
    assert loaded - set(sys.stdlib_module_names) == {"tiny_ir"}


@pytest.mark.parametrize("module", NOT_AT_IMPORT)
def test_importing_tensors_does_not_load(module: str, loaded_by_tensors: set[str]) -> None:
    assert module not in loaded_by_tensors


@pytest.fixture(scope="module")
def loaded_by_tensors(untouched: set[str]) -> set[str]:
    """What `import tiny_tensor` adds."""
    return modules_after("import tiny_tensor") - untouched


@pytest.mark.parametrize(
    "package",
    ["tiny_codegen", "tiny_renderers", "tiny_runtime_cpu", "tiny_runtime_python", "tiny_tensor"],
)
def test_a_package_loads_no_sibling(package: str, untouched: set[str]) -> None:
    loaded = {name.partition(".")[0] for name in modules_after(f"import {package}") - untouched}
    ours = {name for name in loaded if name.startswith("tiny_")}
    assert ours <= {package, "tiny_plugin", "tiny_ir"}
