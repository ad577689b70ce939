"""A plugin is found by name, opened alone, and refused with a message that says what to do."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from tiny_ir import TinyError
from tiny_plugin import (
    ApiVersionError,
    BlockedPluginError,
    BrokenPluginError,
    Call,
    DuplicatePluginError,
    Mark,
    PluginError,
    Registry,
    SignatureError,
    Target,
    UnknownPluginError,
)

Install = Callable[..., Path]


def refusal(registry: Registry, kind: type[TinyError], name: str = "npu") -> str:
    """The message with which a runtime is refused."""
    with pytest.raises(kind) as caught:
        registry.open_runtime(name)
    return str(caught.value)


def test_a_plugin_that_keeps_its_contract_opens(
    install: Install, registry: Registry, good_runtime: str
) -> None:
    install("acme-npu", good_runtime)
    runtime = registry.open_runtime("npu")
    memory = runtime.allocate(4)
    runtime.copy_in(memory, b"\1\2\3\4")
    data = bytearray(4)
    runtime.wait(runtime.copy_out(memory, data))
    assert bytes(data) == b"\1\2\3\4"


def test_a_name_is_found_in_any_case(
    install: Install, registry: Registry, good_runtime: str
) -> None:
    install("acme-npu", good_runtime, name="NPU")
    assert registry.open_runtime("npu").name == "npu"


def test_nothing_is_imported_before_it_is_asked_for(
    install: Install, registry: Registry, good_runtime: str
) -> None:
    install("acme-bomb", "raise RuntimeError('imported')", name="bomb")
    install("acme-npu", good_runtime)
    assert {"npu", "bomb"} <= set(registry.names("tiny.runtime"))
    registry.open_runtime("npu")
    assert "acme_bomb.plugin" not in sys.modules


# --- broken plugins ------------------------------------------------------------------------------


def test_one_that_raises_at_import_is_refused_with_its_cause(
    install: Install, registry: Registry
) -> None:
    install("acme-npu", "raise OSError('no driver here')")
    with pytest.raises(BrokenPluginError) as caught:
        registry.open_runtime("npu")
    text = str(caught.value)
    assert "acme-npu 1.2" in text
    assert "OSError: no driver here" in text
    assert "pip install --upgrade acme-npu" in text
    assert isinstance(caught.value.__cause__, OSError)


@pytest.mark.parametrize(
    "module",
    ["import sys; sys.exit(3)", "raise SystemExit", "class Odd(BaseException): pass\nraise Odd"],
)
def test_one_that_leaves_is_refused_and_the_process_stays(
    install: Install, registry: Registry, module: str
) -> None:
    install("acme-npu", module)
    text = refusal(registry, BrokenPluginError)
    assert "SystemExit" in text or "Odd" in text


def test_the_user_can_still_interrupt(install: Install, registry: Registry) -> None:
    install("acme-npu", "raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        registry.open_runtime("npu")


def test_one_that_failed_fails_again_without_being_imported_again(
    install: Install, registry: Registry
) -> None:
    package = install("acme-npu", "raise OSError('first')")
    refusal(registry, BrokenPluginError)
    (package / "plugin.py").write_text("raise OSError('second')")
    assert "first" in refusal(registry, BrokenPluginError)


def test_one_whose_factory_raises_is_refused(install: Install, registry: Registry) -> None:
    module = "TINY_API = (1, 0)\ndef runtime(ordinal):\n    raise SystemExit('no such device')"
    install("acme-npu", module)
    assert "failed when opened: SystemExit: no such device" in refusal(registry, BrokenPluginError)


def test_a_refusal_of_its_own_keeps_its_reason_and_its_cure(
    install: Install, registry: Registry
) -> None:
    install(
        "acme-npu",
        """
        from tiny_ir import DeviceError
        TINY_API = (1, 0)
        def runtime(ordinal):
            raise DeviceError("there is no npu 0", why="the bus is empty", fix="plug one in")
        """,
    )
    text = refusal(registry, BrokenPluginError)
    assert "there is no npu 0" in text
    assert "why: the bus is empty; its module" in text
    assert "fix: plug one in." in text


def test_one_without_a_factory_is_refused(install: Install, registry: Registry) -> None:
    install("acme-npu", "TINY_API = (1, 0)")
    assert "the factory runtime() in acme_npu.plugin is missing" in refusal(
        registry, SignatureError
    )


def test_one_whose_factory_takes_something_else_is_refused(
    install: Install, registry: Registry
) -> None:
    install("acme-npu", "TINY_API = (1, 0)\ndef runtime(device): pass")
    assert "takes (device) instead of (ordinal)" in refusal(registry, SignatureError)


def test_an_entry_point_without_a_module_is_refused_alone(
    install: Install, registry: Registry
) -> None:
    install("acme-npu", lines="[tiny.runtime]\nnpu\ntoy = acme_npu.plugin:runtime\n")
    assert "cannot be read" in refusal(registry, BrokenPluginError)
    assert "'acme_npu.plugin:runtime'" in refusal(registry, BrokenPluginError, "toy")


def test_a_factory_that_serves_several_names_is_told_which(
    install: Install, registry: Registry, good_runtime: str
) -> None:
    module = good_runtime.replace(
        "def runtime(ordinal: int) -> Toy:\n    return Toy()",
        "def runtime(name, ordinal):\n    toy = Toy()\n    toy.name = name\n    return toy",
    )
    install("acme-npu", module, lines="[tiny.runtime]\na = acme_npu.plugin\nb = acme_npu.plugin\n")
    assert registry.open_runtime("a").name == "a"
    assert registry.open_runtime("b").name == "b"


# --- versions ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "cure"),
    [
        ("(2, 0)", "pip install --upgrade tiny-plugin"),
        ("(1, 1)", "pip install --upgrade tiny-plugin"),
        ("(0, 9)", "pip install --upgrade acme-npu"),
    ],
)
def test_another_version_is_refused_by_both_versions(
    install: Install, registry: Registry, version: str, cure: str
) -> None:
    install("acme-npu", f"TINY_API = {version}\ndef runtime(ordinal): raise SystemExit")
    text = refusal(registry, ApiVersionError)
    assert "acme-npu 1.2" in text
    assert f"TINY_API {version.strip('()').replace(', ', '.')}" in text
    assert "takes 1.0" in text
    assert cure in text


@pytest.mark.parametrize("line", ["", "TINY_API = 1", "TINY_API = '1.0'", "TINY_API = (1, 0, 0)"])
def test_a_version_that_is_none_is_refused(install: Install, registry: Registry, line: str) -> None:
    install("acme-npu", line)
    assert "TINY_API" in refusal(registry, ApiVersionError)


# --- signatures ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("right", "wrong", "complaint"),
    [
        ("        values: Sequence[int] = (),\n", "", "launch() drops the parameter 'values'"),
        ("def wait(self, mark", "def wait(self, point", "wait() drops the parameter 'mark'"),
        ("def clock(self)", "def clock(self, unit)", "clock() wants 'unit', which it is never"),
        ("def clock(self)", "def clock(self, *units)", "clock() takes *units, which hides"),
        ("def clock(self)", "def clock(self, **units)", "clock() takes **units, which hides"),
        ("after: Sequence[Mark] = ()\n", "after: Sequence[Mark]\n", "has no default for 'after'"),
        ("after: Sequence[Mark] = ()\n", "after: Sequence[Mark] = None\n", "has None for 'after'"),
        ("-> float", "-> str", "clock() returns str; the contract returns float"),
        ("nbytes: int)", "nbytes: str)", "allocate() takes str as 'nbytes'"),
        ("def wait(self, mark", "def wait(self, *, mark", "takes 'mark' as keyword-only"),
        ("    def clock(self)", "    async def clock(self)", "clock() is a coroutine"),
        ("    def free(", "    def release(", "the method 'free' is missing"),
        ('    renderer = "c"\n', "", "the property 'renderer' is missing"),
        ('renderer = "c"', "renderer = 3", "the property 'renderer' is 3, not of type str"),
        ('    compiler = "c"\n', '    compiler = "c"\n    clock = 5\n', ""),
    ],
)
def test_a_plugin_that_breaks_its_contract_is_refused(
    install: Install,
    registry: Registry,
    good_runtime: str,
    right: str,
    wrong: str,
    complaint: str,
) -> None:
    assert right in good_runtime
    module = good_runtime.replace(right, wrong)
    if not complaint:
        module = module.replace("def clock", "def other_clock")
        complaint = "clock() is not a method but 5"
    install("acme-npu", module)
    text = refusal(registry, SignatureError)
    assert complaint in text
    assert "acme-npu 1.2" in text


def test_every_difference_is_listed_at_once(
    install: Install, registry: Registry, good_runtime: str
) -> None:
    module = good_runtime.replace("nbytes: int", "size: int").replace("def clock", "def time")
    install("acme-npu", module.replace("bytearray(nbytes), nbytes", "bytearray(size), size"))
    text = refusal(registry, SignatureError)
    assert "drops the parameter 'nbytes'" in text
    assert "'clock' is missing" in text


def test_swapped_parameters_are_refused(
    install: Install, registry: Registry, good_runtime: str
) -> None:
    module = good_runtime.replace(
        "        executable: object,\n        memories: Sequence[Memory],\n",
        "        memories: Sequence[Memory],\n        executable: object,\n",
    )
    install("acme-npu", module)
    assert "the contract's order is (executable, memories" in refusal(registry, SignatureError)


def test_names_that_exist_for_type_checkers_only_are_refused(
    install: Install, registry: Registry, good_runtime: str
) -> None:
    module = "from __future__ import annotations\nfrom typing import TYPE_CHECKING\n"
    module += good_runtime.replace("-> float", "-> Seconds")
    install("acme-npu", module)
    assert "import the names at run time" in refusal(registry, SignatureError)


def test_wider_parameters_and_narrower_results_keep_a_contract(
    install: Install, registry: Registry, good_runtime: str
) -> None:
    module = good_runtime.replace("nbytes: int)", "nbytes: int | float)")
    module = module.replace("-> float", "-> int").replace("return 0.0", "return 0")
    module = module.replace("def clock(self)", "def clock(self, unit=1)")
    install("acme-npu", module.replace("bytearray(nbytes)", "bytearray(int(nbytes))"))
    assert registry.open_runtime("npu").clock() == 0


def test_a_plugin_without_annotations_keeps_a_contract(
    install: Install, registry: Registry
) -> None:
    install(
        "acme-render",
        """
        TINY_API = (1, 0)
        class Render:
            name = language = "toy"
            def __init__(self, target): self.target = target
            def render(self, program): return None
        def renderer(target): return Render(target)
        """,
        group="tiny.renderer",
        name="toy",
    )
    assert registry.open_renderer("toy", Target("toy")).language == "toy"


# --- optional methods ----------------------------------------------------------------------------


def test_optional_methods_have_defaults(
    install: Install, registry: Registry, good_runtime: str
) -> None:
    install("acme-npu", good_runtime)
    runtime = registry.open_runtime("npu")
    calls = [Call("one", (), (1,)), Call("two", (), (2,))]
    mark = runtime.submit(calls, (Mark("npu", 7),))
    assert mark == Mark("npu", 4)
    assert runtime.statistics() == {}
    assert runtime.capture(calls) is None
    with pytest.raises(NotImplementedError):
        runtime.replay(None, ())
    source = runtime.allocate(3)
    runtime.copy_in(source, b"abc")
    destination = runtime.allocate(3)
    runtime.wait(runtime.copy(source, destination))
    assert destination.handle == b"abc"


def test_a_plugin_that_has_everything_is_handed_out_itself(
    install: Install, registry: Registry
) -> None:
    install(
        "acme-render",
        """
        TINY_API = (1, 0)
        class Render:
            name = language = "toy"
            def __init__(self, target): self.target = target
            def render(self, program): return None
        def renderer(target): return Render(target)
        """,
        group="tiny.renderer",
        name="toy",
    )
    opened = registry.open_renderer("toy", Target("toy"))
    assert type(opened).__name__ == "Render"


def test_a_view_has_only_the_names_of_the_contract(install: Install, good_runtime: str) -> None:
    install("acme-npu", good_runtime)
    runtime = Registry(views=True).open_runtime("npu")
    assert runtime.clock() == 0.0
    assert repr(runtime) == "<Runtime acme-npu.npu>"
    with pytest.raises(AttributeError, match="Runtime has no 'secret'"):
        runtime.secret  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError):
        runtime.anything = 1  # type: ignore[attr-defined]


# --- names ---------------------------------------------------------------------------------------


def test_an_unknown_name_lists_what_there_is(install: Install, registry: Registry) -> None:
    install("acme-npu", "")
    text = refusal(registry, UnknownPluginError, "npux")
    assert "installed here:" in text
    assert "did you mean 'npu'?" in text
    with pytest.raises(LookupError):
        registry.open_runtime("npux")


def test_a_name_of_an_extra_names_the_pip_line(
    registry: Registry, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    text = refusal(registry, UnknownPluginError, "python")
    assert "pip install tiny-tensor[python]" in text
    assert "no runtime at all" in text


def test_two_distributions_with_one_name_are_refused_by_both_names(
    install: Install, registry: Registry, good_runtime: str
) -> None:
    install("acme-npu", good_runtime)
    install("brand-npu", good_runtime, version="3.4")
    text = refusal(registry, DuplicatePluginError)
    assert "acme-npu 1.2 and brand-npu 3.4" in text
    assert "TINY_PLUGIN_NPU=" in text
    assert "acme_npu.plugin" not in sys.modules


@pytest.mark.parametrize("spelling", ["brand-npu", "Brand_NPU"])
def test_a_setting_chooses_between_them(
    install: Install,
    registry: Registry,
    good_runtime: str,
    monkeypatch: pytest.MonkeyPatch,
    spelling: str,
) -> None:
    install("acme-npu", good_runtime)
    install("brand-npu", good_runtime)
    monkeypatch.setenv("TINY_PLUGIN_NPU", spelling)
    registry.open_runtime("npu")
    assert "brand_npu.plugin" in sys.modules
    assert "acme_npu.plugin" not in sys.modules


def test_a_setting_that_chooses_nobody_is_refused(
    install: Install, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("acme-npu", "")
    install("brand-npu", "")
    monkeypatch.setenv("TINY_PLUGIN_NPU", "other")
    assert "TINY_PLUGIN_NPU=other is none of them" in refusal(registry, DuplicatePluginError)


def test_a_setting_that_chooses_nobody_is_refused_where_only_one_offers(
    install: Install, registry: Registry, good_runtime: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("acme-npu", good_runtime)
    install("brand-npu", "", group="tiny.renderer")
    monkeypatch.setenv("TINY_PLUGIN_NPU", "other")
    text = refusal(registry, UnknownPluginError)
    assert "'other' offers no runtime 'npu'" in text
    assert "set it to acme-npu" in text
    monkeypatch.setenv("TINY_PLUGIN_NPU", "brand-npu")  # it chooses the renderer of that name
    assert registry.open_runtime("npu").name == "npu"


def test_one_name_in_two_groups_is_no_conflict(
    install: Install, registry: Registry, good_runtime: str
) -> None:
    install("acme-npu", good_runtime)
    install("brand-npu", "", group="tiny.renderer")
    assert registry.open_runtime("npu").name == "npu"


def test_of_a_distribution_that_is_there_twice_the_first_counts(
    install: Install,
    registry: Registry,
    good_runtime: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install("acme-npu", good_runtime)
    install("acme-npu", "raise OSError", version="0.1", folder=tmp_path / "behind")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "behind")])
    assert registry.offer_of("tiny.runtime", "npu").version == "1.2"


@pytest.mark.parametrize("word", ["npu", "acme-npu", "other, Acme_NPU"])
def test_a_blocked_plugin_is_refused(
    install: Install,
    registry: Registry,
    good_runtime: str,
    monkeypatch: pytest.MonkeyPatch,
    word: str,
) -> None:
    install("acme-npu", good_runtime)
    monkeypatch.setenv("TINY_BLOCK", word)
    assert "TINY_BLOCK" in refusal(registry, BlockedPluginError)
    assert "npu" not in registry.names("tiny.runtime")


def test_blocking_one_of_two_leaves_the_other(
    install: Install, registry: Registry, good_runtime: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("acme-npu", "raise OSError")
    install("brand-npu", good_runtime)
    monkeypatch.setenv("TINY_BLOCK", "acme-npu")
    assert registry.open_runtime("npu").name == "npu"


def test_the_code_generator_is_a_setting(
    install: Install, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("acme-gen", "raise OSError('mine')", group="tiny.codegen", name="simple")
    monkeypatch.setenv("TINY_CODEGEN", "simple")
    with pytest.raises(BrokenPluginError, match="code generator 'simple' of acme-gen"):
        registry.open_codegen()


def test_every_refusal_is_an_error_a_python_user_would_catch() -> None:
    assert issubclass(PluginError, RuntimeError)
    assert issubclass(UnknownPluginError, LookupError)
    assert issubclass(SignatureError, TypeError)


# --- what an import costs ------------------------------------------------------------------------


def test_the_import_brings_nothing_that_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TYPED", "0")
    program = """
    import sys, tiny_plugin
    slow = "importlib.metadata pluggy typeguard numpy json subprocess llvmlite difflib"
    print([name for name in slow.split() if name in sys.modules])
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]", done.stderr
