"""What is told to, or asked of, every plugin at once: extra stages, doctor lines, profiler events.

These are the broadcasts, and pluggy carries them. Whatever is asked of one plugin by name (open a
runtime, render) goes through the registry instead, and nothing on the way of the data comes here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from tiny_plugin.artifacts import ExtraStage
from tiny_plugin.contracts import Claimer
from tiny_plugin.errors import BrokenPluginError, SignatureError
from tiny_plugin.records import record
from tiny_plugin.target import Target
from tiny_plugin.typed import LEVEL, boundary

if LEVEL:
    from tiny_plugin.checks import checked_function

if TYPE_CHECKING:
    from pluggy import PluginManager

__all__ = ["HookSpecs", "Hooks", "ProbeLine", "ProfileEvent", "hook"]

PROJECT = "tiny"
Function = TypeVar("Function", bound=Callable[..., object])


@boundary
@record(frozen=True, slots=True)
class ProbeLine:
    """One line of `tiny doctor`: what was looked at, whether it is good, and what to do if not."""

    subject: str
    good: bool
    text: str
    fix: str = ""


@boundary
@record(frozen=True, slots=True)
class ProfileEvent:
    """Something that took time.

    Args:
        name: of the Program, the copy, the stage, ...
        device: where; "" for the host.
        kind: "launch", "copy", "compile", "schedule", ...
        start: seconds on the clock of that device.
        seconds: how long.
    """

    name: str
    device: str
    kind: str
    start: float
    seconds: float


def hook(function: Function) -> Function:
    """Mark a function or method as the answer to the hook of the same name in `HookSpecs`.

    It is what pluggy's HookimplMarker("tiny") does; a plugin need not import pluggy for it.
    """
    function.__dict__[f"{PROJECT}_impl"] = {
        "wrapper": False,
        "hookwrapper": False,
        "optionalhook": False,
        "tryfirst": False,
        "trylast": False,
        "specname": None,
    }
    return function


def _spec(function: Function) -> Function:
    """Mark a hook as part of `HookSpecs`, as pluggy's HookspecMarker("tiny") does."""
    function.__dict__[f"{PROJECT}_spec"] = {
        "firstresult": False,
        "historic": False,
        "warn_on_impl": None,
        "warn_on_impl_args": None,
    }
    return function


class HookSpecs:
    """The hooks there are. An answer may take fewer parameters than these."""

    @_spec
    def stages(self) -> Sequence[ExtraStage]:
        """Stages to add to the pipeline, each in a slot that the pipeline names."""
        return ()

    @_spec
    def claimers(self, target: Target) -> Sequence[Claimer]:
        """Libraries that may take whole kernels on a target."""
        return ()

    @_spec
    def probe(self) -> Sequence[ProbeLine]:
        """Lines for `tiny doctor`."""
        return ()

    @_spec
    def profile(self, event: ProfileEvent) -> None:
        """Take note of something that took time."""
        return None


@boundary
class Hooks:
    """The broadcasts of one registry: without an answer anywhere, pluggy is never imported."""

    def __init__(self) -> None:
        self._manager: PluginManager | None = None

    def add(self, plugin: object, owner: str) -> None:
        """Register whatever of `plugin` is marked as an answer to a hook.

        Raises:
            SignatureError: an answer has no such hook, or differs from it.
        """
        answers = _marked(plugin)
        if not answers:
            return
        from tiny_plugin.signatures import complaints_about_hook  # only when there are answers

        for name, function in answers.items():
            spec = vars(HookSpecs).get(name)
            complaints = (
                [f"is no hook; the hooks are {', '.join(_specs())}"]
                if spec is None
                else complaints_about_hook(function, spec)
            )
            if complaints:
                raise SignatureError(
                    f"the hook {name}() of {owner} {complaints[0]}",
                    why="an answer to a hook that differs from it would never be called as meant",
                    fix="write it as in tiny_plugin.HookSpecs, with the same names and no defaults",
                )
        manager = self._opened_manager()
        manager.register(_Guarded(answers, owner), name=owner)
        manager.check_pending()

    def stages(self) -> tuple[ExtraStage, ...]:
        """The extra stages of all plugins, by name."""
        if self._manager is None:
            return ()
        lists: list[Sequence[ExtraStage]] = self._manager.hook.stages()
        return tuple(sorted((s for stages in lists for s in stages), key=lambda s: s.name))

    def claimers(self, target: Target) -> tuple[Claimer, ...]:
        """The claimers of all plugins for a target, by name."""
        if self._manager is None:
            return ()
        lists: list[Sequence[Claimer]] = self._manager.hook.claimers(target=target)
        return tuple(sorted((c for claimers in lists for c in claimers), key=lambda c: c.name))

    def probe(self) -> tuple[ProbeLine, ...]:
        """The doctor lines of all plugins, by subject."""
        if self._manager is None:
            return ()
        lists: list[Sequence[ProbeLine]] = self._manager.hook.probe()
        return tuple(sorted((one for lines in lists for one in lines), key=lambda p: p.subject))

    def profile(self, event: ProfileEvent) -> None:
        """Tell all plugins of something that took time."""
        if self._manager is not None:
            self._manager.hook.profile(event=event)

    @property
    def is_listened_to(self) -> bool:
        """Whether any plugin wants profiler events; without, none need be made."""
        return self._manager is not None and bool(self._manager.hook.profile.get_hookimpls())

    def _opened_manager(self) -> PluginManager:
        """The PluginManager, made with the first answer."""
        if self._manager is None:
            from pluggy import PluginManager  # 15 ms, and most processes have no answers

            self._manager = PluginManager(PROJECT)
            self._manager.add_hookspecs(HookSpecs)
        return self._manager


class _Guarded:
    """The answers of one plugin, each of which names the plugin when it fails."""

    def __init__(self, answers: dict[str, Callable[..., object]], owner: str) -> None:
        for name, function in answers.items():
            setattr(self, name, _guard(name, function, owner))


def _guard(name: str, function: Callable[..., object], owner: str) -> Callable[..., object]:
    """An answer whose failure is an error of its plugin; under TYPED=1 its result is checked."""
    from functools import wraps  # with the first answer only, as pluggy

    answer = function
    if LEVEL:
        answer = checked_function(function, f"{owner}.{name}", hints_of=vars(HookSpecs)[name])

    @wraps(function)
    def call(*arguments: object) -> object:
        try:
            return answer(*arguments)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise BrokenPluginError(
                f"the hook {name}() of {owner} failed: {type(error).__name__}: {error}",
                why="it raised this while it was called",
                fix=f"upgrade or remove {owner}; TINY_BLOCK leaves it out",
            ) from error

    return call


def _marked(plugin: object) -> dict[str, Callable[..., object]]:
    """The functions of a module or object that carry the mark of `hook`, by name."""
    found: dict[str, Callable[..., object]] = {}
    for name in dir(plugin):
        if name.startswith("_"):
            continue
        member = getattr(plugin, name, None)
        if callable(member) and isinstance(getattr(member, f"{PROJECT}_impl", None), dict):
            found[name] = member
    return found


def _specs() -> list[str]:
    return [name for name in vars(HookSpecs) if not name.startswith("_")]
