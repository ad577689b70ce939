"""`tiny plugins` imports nothing; `tiny doctor` survives whatever a plugin does."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import tiny_plugin.scan
from tiny_plugin import DoctorLine, PluginError, Registry

Install = Callable[..., Path]


@pytest.fixture
def alone(install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what the test installs is found: our own distributions are left out."""
    scan = tiny_plugin.scan.scan_distributions

    def only_ours() -> tuple[object, ...]:
        return tuple(offer for offer in scan() if str(tmp_path) in offer.source)

    monkeypatch.setattr(tiny_plugin.scan, "scan_distributions", only_ours)


def diagnosis(registry: Registry, timeout: float = 30.0) -> dict[str, DoctorLine]:
    """The doctor's lines by name."""
    return {line.name: line for line in registry.doctor_lines(timeout)}


@pytest.mark.usefixtures("alone")
def test_every_offer_is_listed_with_its_state(
    install: Install, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("acme-one", "raise SystemExit", name="one")
    install("acme-two", "raise SystemExit", name="two")
    install("brand-two", "raise SystemExit", name="two")
    install("acme-three", "raise SystemExit", name="three")
    install("brand-three", "raise SystemExit", name="three")
    install("acme-four", "raise SystemExit", name="four")
    install("acme-five", lines="[tiny.runtime]\nfive\n")
    monkeypatch.setenv("TINY_BLOCK", "four")
    monkeypatch.setenv("TINY_PLUGIN_THREE", "brand-three")
    states = {(p.offer.name, p.offer.distribution): p.state for p in registry.plugin_lines()}
    assert states == {
        ("one", "acme-one"): "offered",
        ("two", "acme-two"): "duplicate",
        ("two", "brand-two"): "duplicate",
        ("three", "acme-three"): "passed over",
        ("three", "brand-three"): "offered",
        ("four", "acme-four"): "blocked",
        ("five", "acme-five"): "unreadable",
    }
    assert not [name for name in sys.modules if name.startswith(("acme_", "brand_"))]


@pytest.mark.usefixtures("alone")
def test_the_doctor_says_what_is_wrong_and_what_to_do(
    install: Install, registry: Registry, good_runtime: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("acme-good", "print('hello')\n" + good_runtime, name="good")
    install("acme-raises", "raise OSError('no driver')", name="raises")
    install("acme-exits", "import os; os._exit(7)", name="exits")
    install(
        "acme-crashes", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", name="crashes"
    )
    install("acme-two", good_runtime, name="two")
    install("brand-two", good_runtime, name="two")
    install("acme-blocked", good_runtime, name="blocked")
    monkeypatch.setenv("TINY_BLOCK", "blocked")
    lines = diagnosis(registry)
    assert lines["good"].good
    assert lines["good"].text == "opened: toy , 1 at a time"
    assert lines["good"].seconds > 0
    assert "OSError: no driver" in lines["raises"].text
    assert "pip install --upgrade acme-raises" in lines["raises"].fix
    assert "ended with exit status 7" in lines["exits"].text
    assert "died of SIGSEGV" in lines["crashes"].text
    assert "TINY_BLOCK=crashes" in lines["crashes"].fix
    assert "acme-two 1.2 and brand-two 1.2" in lines["two"].text
    assert "TINY_PLUGIN_TWO=" in lines["two"].fix
    assert lines["blocked"].good
    assert [name for name, line in lines.items() if not line.good] == [
        "crashes",
        "exits",
        "raises",
        "two",
    ]


@pytest.mark.usefixtures("alone")
def test_the_doctor_waits_only_so_long(install: Install, registry: Registry) -> None:
    install("acme-hangs", "import time; time.sleep(600)", name="hangs")
    assert diagnosis(registry, timeout=1.5)["hangs"].text == "still opening after 1.5 s"


@pytest.mark.usefixtures("alone")
def test_the_doctor_opens_a_compiler_for_the_runtime_that_asks_for_it(
    install: Install, registry: Registry, good_runtime: str
) -> None:
    compiler = """
    from tiny_ir import CompileError
    TINY_API = (1, 0)
    def compiler(target):
        raise CompileError(f"no tool for {target.name}", why="it is not here", fix="install gcc")
    """
    install("acme-npu", good_runtime.replace('compiler = "c"', 'compiler = "toy-c"'))
    install("acme-c", compiler, group="tiny.compiler", name="toy-c")
    install("acme-d", compiler, group="tiny.compiler", name="toy-d")
    lines = diagnosis(registry)
    assert "no tool for toy" in lines["toy-c"].text
    assert lines["toy-c"].fix == "install gcc"
    assert lines["toy-d"].text == "imported; no runtime here asks for it"


@pytest.mark.usefixtures("alone")
def test_the_doctor_shows_the_lines_of_a_plugins_own_probe(
    install: Install, registry: Registry, good_runtime: str
) -> None:
    probe = (
        "from tiny_plugin import ProbeLine, hook\n"
        "@hook\n"
        "def probe() -> Sequence[ProbeLine]:\n"
        "    return [ProbeLine('fan', False, 'stands still', 'clean it')]\n"
    )
    install("acme-npu", good_runtime + probe)
    line = diagnosis(registry)["npu: fan"]
    assert (line.good, line.text, line.fix) == (False, "stands still", "clean it")


def test_a_refusal_does_not_stop_the_next(install: Install, registry: Registry) -> None:
    install("acme-npu", "raise OSError")
    with pytest.raises(PluginError):
        registry.open_runtime("npu")
    assert "npu" in registry.names("tiny.runtime")
