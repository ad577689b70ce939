"""A broadcast reaches every plugin, and one that answers wrongly is named."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from tiny_plugin import (
    BrokenPluginError,
    ProfileEvent,
    Registry,
    SignatureError,
    Target,
)

Install = Callable[..., Path]

ANSWERS = """
from collections.abc import Sequence
from tiny_ir import RuleSet
from tiny_plugin import ExtraStage, ProbeLine, ProfileEvent, hook

TINY_API = (1, 0)
heard = []

class Answers:
    @hook
    def stages(self) -> Sequence[ExtraStage]:
        return [ExtraStage("after loops", "z last", RuleSet(())),
                ExtraStage("after loops", "a first", RuleSet(()))]

    @hook
    def probe(self) -> Sequence[ProbeLine]:
        return [ProbeLine("bus", True, "two lanes")]

    @hook
    def profile(self, event: ProfileEvent) -> None:
        heard.append(event)

def hooks():
    return Answers()
"""

EVENT = ProfileEvent("kernel", "npu", "launch", 1.0, 0.5)


def installed(install: Install, module: str, name: str = "acme-hooks") -> None:
    """Install a plugin of the group tiny.hooks."""
    install(name, module, group="tiny.hooks", name=name)


def test_answers_of_all_plugins_come_together(install: Install, registry: Registry) -> None:
    installed(install, ANSWERS)
    installed(install, ANSWERS, "brand-hooks")
    hooks = registry.broadcasts()
    assert [stage.name for stage in hooks.stages()] == ["a first", "a first", "z last", "z last"]
    assert [line.text for line in hooks.probe()] == ["two lanes", "two lanes"]
    assert hooks.claimers(Target("toy")) == ()
    assert hooks.is_listened_to
    hooks.profile(EVENT)
    assert sys.modules["acme_hooks.plugin"].heard == [EVENT]
    assert sys.modules["brand_hooks.plugin"].heard == [EVENT]


def test_a_plugin_joins_once(install: Install, registry: Registry) -> None:
    installed(install, ANSWERS)
    registry.broadcasts()
    registry.broadcasts().profile(EVENT)
    assert len(sys.modules["acme_hooks.plugin"].heard) == 1


def test_without_plugins_there_is_nothing_to_hear(registry: Registry) -> None:
    hooks = registry.broadcasts()
    assert hooks.stages() == hooks.probe() == hooks.claimers(Target("toy")) == ()
    assert not hooks.is_listened_to
    hooks.profile(EVENT)


def test_without_answers_pluggy_is_not_imported() -> None:
    program = """
    import sys
    from tiny_plugin import Registry
    registry = Registry()
    registry.broadcasts().stages()
    print("pluggy" in sys.modules)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


def test_the_module_of_an_opened_plugin_may_answer_too(
    install: Install, registry: Registry, good_runtime: str
) -> None:
    module = good_runtime + (
        "from tiny_plugin import ProbeLine, hook\n"
        "@hook\n"
        "def probe() -> Sequence[ProbeLine]:\n"
        "    return [ProbeLine('fan', False, 'stands still', 'clean it')]\n"
    )
    install("acme-npu", module)
    registry.open_runtime("npu")
    assert [line.fix for line in registry.hooks.probe()] == ["clean it"]


def test_an_answer_may_take_fewer_parameters(install: Install, registry: Registry) -> None:
    module = ANSWERS.replace("def profile(self, event: ProfileEvent)", "def profile(self)")
    installed(install, module.replace("heard.append(event)", "heard.append(1)"))
    registry.broadcasts().profile(EVENT)
    assert sys.modules["acme_hooks.plugin"].heard == [1]


def test_pluggys_own_mark_works_as_well(install: Install, registry: Registry) -> None:
    module = ANSWERS.replace("class Answers", "import pluggy\nclass Answers")
    module = module.replace("@hook", "@pluggy.HookimplMarker('tiny')(trylast=True)")
    installed(install, module.replace("(trylast=True)", ""))
    assert len(registry.broadcasts().stages()) == 2


@pytest.mark.parametrize(
    ("right", "wrong", "complaint"),
    [
        ("def probe(", "def prob(", "prob() of acme-hooks.acme-hooks is no hook; the hooks are"),
        ("event: ProfileEvent)", "event: ProfileEvent = None)", "has a default for 'event'"),
        ("event: ProfileEvent)", "happening: ProfileEvent)", "takes 'happening'; the hook passes"),
        ("event: ProfileEvent)", "**events)", "takes **events, which a hook cannot be given"),
        ("-> Sequence[ProbeLine]", "-> int", "returns int; the contract returns"),
        ("event: ProfileEvent)", "event: str)", "takes str as 'event'"),
    ],
)
def test_an_answer_that_differs_from_its_hook_is_refused(
    install: Install, registry: Registry, right: str, wrong: str, complaint: str
) -> None:
    installed(install, ANSWERS.replace(right, wrong))
    with pytest.raises(SignatureError) as caught:
        registry.open_hooks("acme-hooks")
    assert complaint in str(caught.value)


def test_a_broken_hook_plugin_is_left_out_with_a_warning(
    install: Install, registry: Registry
) -> None:
    installed(install, "raise SystemExit(1)", "acme-bad")
    installed(install, ANSWERS)
    with pytest.warns(UserWarning, match="acme-bad 1.2 failed when imported: SystemExit: 1"):
        hooks = registry.broadcasts()
    assert len(hooks.stages()) == 2


def test_a_blocked_hook_plugin_is_left_out_quietly(
    install: Install, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(install, ANSWERS)
    monkeypatch.setenv("TINY_BLOCK", "acme-hooks")
    assert registry.broadcasts().stages() == ()


@pytest.mark.parametrize("failure", ["1 / 0", "raise SystemExit"])
def test_an_answer_that_fails_names_its_plugin(
    install: Install, registry: Registry, failure: str
) -> None:
    installed(install, ANSWERS.replace('return [ProbeLine("bus", True, "two lanes")]', failure))
    with pytest.raises(BrokenPluginError, match=r"the hook probe\(\) of acme-hooks.acme-hooks"):
        registry.broadcasts().probe()


def test_the_result_of_an_answer_is_checked_under_typed(install: Install) -> None:
    installed(install, ANSWERS.replace('[ProbeLine("bus", True, "two lanes")]', "5"))
    program = f"""
    import os, sys
    sys.path[:] = {sys.path!r}
    from tiny_plugin import Registry
    try:
        Registry().broadcasts().probe()
    except Exception as error:
        print(error)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        env={**os.environ, "TYPED": "1"},
    )
    assert "acme-hooks.acme-hooks.probe: return value" in done.stdout, done.stderr
