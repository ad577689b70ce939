"""Every source file keeps the borders of docs and style: who imports whom, and where.

import-linter (`.importlinter`) checks the arrows between the packages. This file reads each source
and checks what a graph of imports cannot show. Each law is a function from a source to complaints,
and each is itself tested on a source that breaks it.
"""

from __future__ import annotations

import ast
import configparser
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = frozenset(path.name for path in ROOT.glob("packages/*/src/*") if path.is_dir())
BELOW = ("tiny_ir", "tiny_plugin")  # import-linter sees to it that these never look up
PACKAGE_NAME = re.compile(rf"\b({'|'.join(sorted(PACKAGES))})\b")

# Files whose imports may stand inside functions, and what for.
LATE_IMPORTS = {
    "driver.py": "vendor libraries",
    "registry.py": "plugins",
    "hooks.py": "pluggy",
    "compiler.py": "llvmlite",
    "arrays.py": "numpy",
    "exchange.py": "the array API, whose functions are made of Tensors",
}
OPERATOR_WORD = re.compile(
    r"attention|batchnorm|conv([123]d)?|convolutions?|einsum|gem[mv]|layernorm|matmuls?|matvec|softmax"
)
DEVICE_NAMES = frozenset({"cpu", "cuda", "hip", "metal", "null", "opencl", "python", "webgpu"})
VAGUE_NAMES = frozenset({"base", "common", "helpers", "manager", "misc", "util", "utils"})


@dataclass(frozen=True, slots=True)
class Source:
    """One file: the package that holds it, its path inside that package, its text and its tree."""

    package: str
    path: str
    text: str
    tree: ast.Module

    @property
    def file(self) -> str:
        """The last part of the path."""
        return self.path.rsplit("/", 1)[-1]


Law = Callable[[Source], Iterator[tuple[int, str]]]


def source_of(package: str, path: str, text: str) -> Source:
    """Parse a text."""
    return Source(package, path, text, ast.parse(text))


@cache
def all_sources() -> tuple[tuple[Path, Source], ...]:
    """Return every source of every package, each parsed once."""
    sources = []
    for folder in sorted(ROOT.glob("packages/*/src/*")):
        for path in sorted(folder.rglob("*.py")):
            relative = path.relative_to(folder).as_posix()
            sources.append(
                (path, source_of(folder.name, relative, path.read_text(encoding="utf-8")))
            )
    return tuple(sources)


def imports_of(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the line and full name of every absolute import, wherever it stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module is not None:
            yield node.lineno, node.module


def docstrings_of(tree: ast.Module) -> frozenset[int]:
    """Return the identities of all constants that are docstrings or stand alone as statements."""
    alone = (node.value for node in ast.walk(tree) if isinstance(node, ast.Expr))
    return frozenset(id(value) for value in alone if isinstance(value, ast.Constant))


def called_name(call: ast.Call) -> str:
    """Return the last name of what a call calls: `importlib.import_module(...)`: import_module."""
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def language_needs_the_standard_library_only(source: Source) -> Iterator[tuple[int, str]]:
    """tiny_ir imports nothing that a plain Python does not have."""
    if source.package != "tiny_ir":
        return
    for line, name in imports_of(source.tree):
        top = name.partition(".")[0]
        if top != "tiny_ir" and top not in sys.stdlib_module_names:
            yield line, f"tiny_ir imports {top}, which is not in the standard library"


def imports_come_from_fronts(source: Source) -> Iterator[tuple[int, str]]:
    """Across packages a name comes from the front, not from a room; the kit may look inside."""
    if source.package == "tiny_testing":
        return
    for line, name in imports_of(source.tree):
        top, _, room = name.partition(".")
        if top in PACKAGES and top != source.package and room:
            yield line, f"imports from the room {name}: take it from the front, {top}"


def imports_stand_on_top(source: Source) -> Iterator[tuple[int, str]]:
    """Only the named files import inside functions."""
    if source.file in LATE_IMPORTS:
        return
    for function in ast.walk(source.tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            for node in ast.walk(function):
                if isinstance(node, ast.Import | ast.ImportFrom):
                    yield node.lineno, "imports inside a function"


def names_of_packages_stay_out_of_strings(source: Source) -> Iterator[tuple[int, str]]:
    """A package reaches another by an import that can be seen, or through the door."""
    if source.file == "registry.py" or source.package == "tiny_testing":
        return
    docstrings = docstrings_of(source.tree)
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            others = set(PACKAGE_NAME.findall(node.value)) - {source.package, *BELOW}
            if others and id(node) not in docstrings:
                yield node.lineno, f"a string names {', '.join(sorted(others))}"


def imports_can_be_seen(source: Source) -> Iterator[tuple[int, str]]:
    """Modules are imported by name only where LATE_IMPORTS says so."""
    if source.file in LATE_IMPORTS:
        return
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and called_name(node) in ("import_module", "__import__"):
            yield node.lineno, f"{called_name(node)}() hides an import"


def loops_name_no_operator(source: Source) -> Iterator[tuple[int, str]]:
    """What makes a loop fast never depends on which operator it came from."""
    if source.package != "tiny_codegen" or not source.path.startswith("loops/"):
        return
    for line, text in enumerate(source.text.splitlines(), start=1):
        parts = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text)
        for word in re.findall(r"[a-z0-9]+", parts.lower()):
            if OPERATOR_WORD.fullmatch(word):
                yield line, f"names the operator {word}"


def environment_is_read_in_settings(source: Source) -> Iterator[tuple[int, str]]:
    """Settings are read in one place, so that a reader finds them all there."""
    if source.file == "settings.py":
        return
    for node in ast.walk(source.tree):
        match node:
            case ast.Attribute(value=ast.Name(id="os"), attr="environ" | "environb" | "getenv"):
                yield node.lineno, f"reads os.{node.attr} outside settings.py"
            case ast.ImportFrom(module="os") if any(
                alias.name in ("environ", "environb", "getenv") for alias in node.names
            ):
                yield node.lineno, "imports the environment outside settings.py"


def devices_are_asked_for_capabilities(source: Source) -> Iterator[tuple[int, str]]:
    """No code compares a device's name: what a machine can do is data of its Target."""
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Compare):
            continue
        for side in (node.left, *node.comparators):
            if isinstance(side, ast.Constant) and side.value in DEVICE_NAMES:
                yield node.lineno, f"compares with the device name {side.value!r}"


def state_is_not_global(source: Source) -> Iterator[tuple[int, str]]:
    """No function rebinds a name of its module; only settings may."""
    if source.file == "settings.py":
        return
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Global):
            yield node.lineno, f"declares global {', '.join(node.names)}"


def any_stays_with_vendors(source: Source) -> Iterator[tuple[int, str]]:
    """Only a vendor's library is untyped, and what a node of the language may carry."""
    if source.file in LATE_IMPORTS or source.package in ("tiny_ir", "tiny_testing"):
        return
    for node in ast.walk(source.tree):
        match node:
            case ast.ImportFrom(module="typing") if any(a.name == "Any" for a in node.names):
                yield node.lineno, "imports Any"
            case ast.Attribute(value=ast.Name(id="typing"), attr="Any"):
                yield node.lineno, "uses typing.Any"


def files_have_telling_names(source: Source) -> Iterator[tuple[int, str]]:
    """A folder or file is named for what it yields."""
    for part in source.path.removesuffix(".py").split("/"):
        if set(part.split("_")) & VAGUE_NAMES or part.endswith("2"):
            yield 1, f"the name {part} does not say what it holds"


# Each law beside a file that breaks it, as (package, path, text).
LAWS: dict[Law, tuple[str, str, str]] = {
    language_needs_the_standard_library_only: ("tiny_ir", "uop.py", "import numpy"),
    imports_come_from_fronts: ("tiny_codegen", "a.py", "from tiny_ir.uop import UOp"),
    imports_stand_on_top: ("tiny_ir", "a.py", "def f():\n    import os"),
    names_of_packages_stay_out_of_strings: ("tiny_tensor", "a.py", "x = 'tiny_codegen.plugin'"),
    imports_can_be_seen: ("tiny_tensor", "a.py", "import_module(name)"),
    loops_name_no_operator: ("tiny_codegen", "loops/tile.py", "is_matmul = True"),
    environment_is_read_in_settings: ("tiny_tensor", "a.py", "import os\nos.environ['X']"),
    devices_are_asked_for_capabilities: ("tiny_tensor", "a.py", "fast = device == 'cpu'"),
    state_is_not_global: ("tiny_tensor", "a.py", "def f():\n    global x\n    x = 1"),
    any_stays_with_vendors: ("tiny_tensor", "a.py", "from typing import Any"),
    files_have_telling_names: ("tiny_tensor", "graph_utils.py", ""),
}


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_law_holds_everywhere(law: Law) -> None:
    complaints = [
        f"{path.relative_to(ROOT)}:{line}: {complaint}"
        for path, source in all_sources()
        for line, complaint in law(source)
    ]
    assert not complaints, f"{law.__doc__}\n  " + "\n  ".join(complaints)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_law_sees_what_breaks_it(law: Law) -> None:
    assert list(law(source_of(*LAWS[law])))


def test_every_package_stands_in_the_arrows() -> None:
    config = configparser.ConfigParser()
    config.read(ROOT / ".importlinter")
    listed = config["importlinter"]["root_packages"].split()
    layered = re.findall(r"\w+", config["importlinter:contract:arrows"]["layers"])
    assert set(listed) == set(layered) == PACKAGES


def test_the_examples_use_the_public_door_only() -> None:
    allowed = {"tiny_ir", "tiny_plugin", "tiny_testing"}
    complaints = []
    for path in sorted(ROOT.glob("examples/*/**/*.py")):
        for line, name in imports_of(ast.parse(path.read_text(encoding="utf-8"))):
            if name.partition(".")[0] in PACKAGES and name not in allowed:
                complaints.append(f"{path.relative_to(ROOT)}:{line}: imports {name}")
    assert not complaints, "\n".join(complaints)
