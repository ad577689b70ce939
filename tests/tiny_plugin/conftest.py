"""Distributions that exist only for one test: folders on `sys.path`, as pip would leave them."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tiny_plugin import Registry

Install = Callable[..., Path]

GOOD_RUNTIME = """
from collections.abc import Sequence
from tiny_plugin import Binary, Mark, Memory, Target

TINY_API = (1, 0)

class Toy:
    name = "npu"
    target = Target("toy")
    renderer = "c"
    compiler = "c"

    def allocate(self, nbytes: int) -> Memory:
        return Memory("npu", bytearray(nbytes), nbytes)

    def free(self, memory: Memory) -> None:
        pass

    def copy_in(
        self, memory: Memory, data: bytes | bytearray | memoryview, after: Sequence[Mark] = ()
    ) -> Mark:
        memory.handle[: len(data)] = data
        return Mark("npu", 1)

    def copy_out(
        self, memory: Memory, data: bytearray | memoryview, after: Sequence[Mark] = ()
    ) -> Mark:
        data[:] = memory.handle[: len(data)]
        return Mark("npu", 2)

    def load(self, binary: Binary) -> object:
        return binary

    def launch(
        self,
        executable: object,
        memories: Sequence[Memory],
        values: Sequence[int] = (),
        after: Sequence[Mark] = (),
    ) -> Mark:
        self.launched = [*getattr(self, "launched", []), (executable, tuple(values), tuple(after))]
        return Mark("npu", 2 + len(self.launched))

    def wait(self, mark: Mark) -> None:
        pass

    def clock(self) -> float:
        return 0.0

    def secret(self) -> str:
        return "not in the contract"


def runtime(ordinal: int) -> Toy:
    return Toy()
"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for scans that no other test sees, and no setting of the machine's user."""
    for name in ("TINY_BLOCK", "TINY_CODEGEN", "TINY_VIEW"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "cache"
    monkeypatch.setenv("TINY_CACHE", str(folder))
    return folder


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """A function that installs a distribution of one module; its modules are forgotten again."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    before = set(sys.modules)

    def install(
        distribution: str,
        module: str = "",
        *,
        name: str = "npu",
        group: str = "tiny.runtime",
        version: str = "1.2",
        lines: str = "",
        folder: Path | None = None,
    ) -> Path:
        place = site if folder is None else folder
        package = distribution.replace("-", "_")
        info = place / f"{package}-{version}.dist-info"
        info.mkdir(parents=True)
        head = f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n"
        (info / "METADATA").write_text(head)
        (info / "entry_points.txt").write_text(lines or f"[{group}]\n{name} = {package}.plugin\n")
        (place / package).mkdir()
        (place / package / "__init__.py").write_text("")
        (place / package / "plugin.py").write_text(textwrap.dedent(module))
        return place / package

    yield install
    for module in set(sys.modules) - before:
        if getattr(sys.modules[module], "__file__", None) and str(tmp_path) in str(
            sys.modules[module].__file__
        ):
            del sys.modules[module]


@pytest.fixture
def good_runtime() -> str:
    """The module of a runtime that keeps its contract and leaves every optional method out."""
    return GOOD_RUNTIME


@pytest.fixture
def registry(install: Install) -> Registry:
    """A registry that has looked at nothing yet; a test installs first and asks then."""
    return Registry(views=False)
