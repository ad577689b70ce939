"""A name that someone asks for becomes an opened plugin, found among the installed distributions.

Nothing is looked at before the first name is asked for, and nothing is imported but the one module
that offers it. This file may import inside functions: what it opens is only known then.
"""

from __future__ import annotations

import importlib
import sys
import threading
import types
import warnings
from collections.abc import Iterator, Mapping
from typing import cast

from tiny_ir import TinyError
from tiny_plugin import settings
from tiny_plugin.contracts import (
    Assembler,
    CodeGenerator,
    Command,
    Communicator,
    Compiler,
    Loader,
    Renderer,
    Runtime,
)
from tiny_plugin.errors import (
    ApiVersionError,
    BlockedPluginError,
    BrokenPluginError,
    DuplicatePluginError,
    PluginError,
    SignatureError,
    UnknownPluginError,
)
from tiny_plugin.hooks import Hooks, HookSpecs
from tiny_plugin.offers import DoctorLine, Offer, PluginLine, read_scan, scan_key, write_scan
from tiny_plugin.records import record
from tiny_plugin.target import Target
from tiny_plugin.typed import boundary

__all__ = ["API", "GROUPS", "Group", "Registry"]

API = (1, 0)
"""The version of the door. The minor part grows with it, the major one when something breaks."""


@boundary
@record(frozen=True, slots=True)
class Group:
    """One kind of plugin: the parameters of its factory, and what the factory returns.

    The factory is called like the group without "tiny.". One that serves several names may also
    take `name`.
    """

    parameters: tuple[str, ...]
    contracts: tuple[type, ...]


GROUPS: Mapping[str, Group] = types.MappingProxyType(
    {
        "tiny.runtime": Group(("ordinal",), (Runtime,)),
        "tiny.renderer": Group(("target",), (Renderer,)),
        "tiny.compiler": Group(("target",), (Compiler, Assembler)),
        "tiny.codegen": Group((), (CodeGenerator,)),
        "tiny.communicator": Group(("rank", "size"), (Communicator,)),
        "tiny.hooks": Group((), (HookSpecs,)),
        "tiny.command": Group((), (Command,)),
        "tiny.loader": Group((), (Loader,)),
    }
)
"""Each entry-point group."""

CURES: Mapping[tuple[str, str], str] = types.MappingProxyType(
    {
        ("tiny.runtime", "cpu"): "tiny-runtime-cpu",
        ("tiny.runtime", "python"): "tiny-tensor[python]",
        ("tiny.runtime", "null"): "tiny-tensor[null]",
        ("tiny.compiler", "llvm"): "tiny-runtime-cpu",
        ("tiny.compiler", "c"): "tiny-runtime-cpu",
        ("tiny.compiler", "python"): "tiny-tensor[python]",
        ("tiny.compiler", "null"): "tiny-tensor[null]",
        ("tiny.renderer", "llvm"): "tiny-renderers",
        ("tiny.renderer", "c"): "tiny-renderers",
        ("tiny.renderer", "python"): "tiny-renderers",
        ("tiny.codegen", "tiny"): "tiny-codegen",
    }
)
"""What to install for the names of our own: used in messages only."""


@boundary
class Registry:
    """The plugins of one Session.

    Args:
        views: show every plugin through a view that has only the names of its contract. None takes
            the setting: TINY_VIEW=1 as in our tests, and always under TYPED=1.

    Example:
        >>> try:
        ...     Registry().open_runtime("abacus")
        ... except UnknownPluginError as error:
        ...     print(error.what)
        no installed distribution offers the runtime 'abacus'
    """

    def __init__(self, views: bool | None = None) -> None:
        self.hooks = Hooks()
        self._views = settings.views() if views is None else views
        self._offers: tuple[Offer, ...] | None = None
        self._modules: dict[Offer, types.ModuleType] = {}
        self._failures: dict[Offer, PluginError] = {}
        self._has_broadcast = False
        self._lock = threading.RLock()

    # --- looking up ------------------------------------------------------------------------------

    def offers(self) -> tuple[Offer, ...]:
        """Everything that is installed, in the order of `sys.path`. Imports no plugin."""
        with self._lock:
            if self._offers is None:
                folder = settings.scan_folder()
                key = scan_key(sys.path)
                self._offers = read_scan(folder, key)
                if self._offers is None:
                    from tiny_plugin.scan import scan_distributions

                    self._offers = scan_distributions()
                    write_scan(folder, key, self._offers)
            return self._offers

    def names(self, group: str) -> tuple[str, ...]:
        """The names that are offered in a group and not blocked, sorted."""
        blocked = settings.blocked()
        return tuple(
            sorted(
                {
                    offer.name
                    for offer in self.offers()
                    if offer.group == group and not _is_blocked(offer, blocked)
                }
            )
        )

    def offer_of(self, group: str, name: str) -> Offer:
        """The one offer that serves a name.

        Raises:
            UnknownPluginError: nobody offers it, or not the distribution that a setting chooses.
            DuplicatePluginError: several distributions offer it, and no setting chooses.
            BlockedPluginError: TINY_BLOCK forbids it.
        """
        wanted = name.lower()
        offered = [o for o in self.offers() if o.group == group and o.name.lower() == wanted]
        if not offered:
            raise self._unknown(group, name)
        blocked = settings.blocked()
        allowed = [offer for offer in offered if not _is_blocked(offer, blocked)]
        if not allowed:
            raise BlockedPluginError(
                f"the {_word(group)} {name!r} of {offered[0].who} is blocked",
                why=f"TINY_BLOCK is {','.join(sorted(blocked))!r}",
                fix="take it out of TINY_BLOCK",
            )
        if len(allowed) > 1:
            return _chosen(group, name, allowed)
        self._check_choice(allowed[0])
        return allowed[0]

    def _check_choice(self, only: Offer) -> None:
        """Refuse a setting that chooses a distribution which offers nothing of that name."""
        wanted = settings.chosen_distribution(only.name)
        if wanted is None or any(
            offer.name.lower() == only.name.lower()
            and _same_distribution(offer.distribution, wanted)
            for offer in self.offers()
        ):
            return
        variable = settings.choice_variable(only.name)
        raise UnknownPluginError(
            f"the distribution {wanted!r} offers no {_word(only.group)} {only.name!r}",
            why=f"{variable} chooses it, and only {only.who} offers one",
            fix=f"unset {variable}, or set it to {only.distribution}",
        )

    def allows(self, offer: Offer) -> bool:
        """Whether TINY_BLOCK lets this offer through."""
        return not _is_blocked(offer, settings.blocked())

    def _unknown(self, group: str, name: str) -> UnknownPluginError:
        """The error for a name that nobody offers."""
        import difflib

        known = self.names(group)
        near = difflib.get_close_matches(name.lower(), known, n=1)
        cure = CURES.get((group, name.lower()))
        if cure is not None:
            fix = f"pip install {cure}"
        elif near:
            fix = f"did you mean {near[0]!r}? Else install the distribution that offers it, by pip"
        else:
            fix = "pip install the distribution that offers it; `tiny plugins` lists what is here"
        word = _word(group)
        return UnknownPluginError(
            f"no installed distribution offers the {word} {name!r}",
            why=f"installed here: {', '.join(known) or f'no {word} at all'}",
            fix=fix,
        )

    # --- opening ---------------------------------------------------------------------------------

    def open_runtime(self, name: str, ordinal: int = 0) -> Runtime:
        """Open a device.

        Args:
            name: the device: "cpu", ...
            ordinal: which one of its kind.

        Raises:
            PluginError: it is unknown, offered twice, blocked, too new, or broken.
        """
        return cast(Runtime, self._open("tiny.runtime", name, Runtime, (ordinal,)))

    def open_renderer(self, name: str, target: Target) -> Renderer:
        """Open a renderer for a target; see `open_runtime`."""
        return cast(Renderer, self._open("tiny.renderer", name, Renderer, (target,)))

    def open_compiler(self, name: str, target: Target) -> Compiler:
        """Open a compiler for a target, without its device; see `open_runtime`."""
        return cast(Compiler, self._open("tiny.compiler", name, Compiler, (target,)))

    def open_assembler(self, name: str, target: Target) -> Assembler:
        """Open what a runtime without a renderer names as its compiler; see `open_runtime`."""
        return cast(Assembler, self._open("tiny.compiler", name, Assembler, (target,)))

    def open_codegen(self, name: str | None = None) -> CodeGenerator:
        """Open a code generator: by default the one that TINY_CODEGEN names, else ours."""
        chosen = settings.code_generator() if name is None else name
        return cast(CodeGenerator, self._open("tiny.codegen", chosen, CodeGenerator, ()))

    def open_communicator(self, name: str, rank: int, size: int) -> Communicator:
        """Open the place `rank` in a group of `size` processes; see `open_runtime`."""
        return cast(Communicator, self._open("tiny.communicator", name, Communicator, (rank, size)))

    def open_command(self, name: str) -> Command:
        """Open a subcommand of `tiny`; see `open_runtime`."""
        return cast(Command, self._open("tiny.command", name, Command, ()))

    def open_loader(self, name: str) -> Loader:
        """Open a reader of files; see `open_runtime`."""
        return cast(Loader, self._open("tiny.loader", name, Loader, ()))

    def plugin_lines(self) -> tuple[PluginLine, ...]:
        """What `tiny plugins` shows: everything installed, and its state. Imports no plugin."""
        from tiny_plugin.listing import plugin_lines

        return plugin_lines(self)

    def doctor_lines(self, timeout: float = 30.0) -> Iterator[DoctorLine]:
        """What `tiny doctor` shows: each plugin is opened in a process of its own.

        Args:
            timeout: seconds that each may take.
        """
        from tiny_plugin.listing import doctor_lines

        return doctor_lines(self, timeout)

    def broadcasts(self) -> Hooks:
        """The hooks, after every plugin of the group `tiny.hooks` has been asked to join.

        One that fails is left out with a warning: nobody asked for it by name.
        """
        with self._lock:
            if not self._has_broadcast:
                self._has_broadcast = True
                for name in self.names("tiny.hooks"):
                    try:
                        self.open_hooks(name)
                    except PluginError as error:
                        warnings.warn(f"a hook is left out: {error}", stacklevel=2)
            return self.hooks

    def open_hooks(self, name: str) -> None:
        """Let one plugin of the group `tiny.hooks` join the broadcasts; see `open_runtime`."""
        offer = self.offer_of("tiny.hooks", name)
        self.hooks.add(self._made(offer, ()), _owner(offer))

    def load(self, group: str, name: str) -> None:
        """Import the module of a plugin and check its version, without making anything."""
        self._loaded(self.offer_of(group, name))

    def _open(self, group: str, name: str, contract: type, arguments: tuple[object, ...]) -> object:
        """Load, check the version, make, compare with the contract: in this order."""
        offer = self.offer_of(group, name)
        plugin = self._made(offer, arguments)
        from tiny_plugin.signatures import complaints_about
        from tiny_plugin.view import lacks_optional_methods, view_of

        try:
            complaints = complaints_about(plugin, contract)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise _broken(offer, "looked at", error) from error
        if complaints:
            raise _unlike(offer, contract.__name__, complaints)
        if self._views or lacks_optional_methods(plugin, contract):
            return view_of(plugin, contract, _owner(offer))
        return plugin

    def _made(self, offer: Offer, arguments: tuple[object, ...]) -> object:
        """What the factory of an offer returns."""
        from tiny_plugin.signatures import complaints_about_factory, takes_name

        module = self._loaded(offer)
        word = offer.group.removeprefix("tiny.")
        factory = getattr(module, word, None)
        parameters = GROUPS[offer.group].parameters
        complaints = (
            ["is missing"] if factory is None else complaints_about_factory(factory, parameters)
        )
        if complaints or factory is None:
            place = f"the factory {word}() in {offer.value}"
            raise _unlike(offer, "a plugin module", [f"{place} {text}" for text in complaints])
        given = dict(zip(parameters, arguments, strict=True))
        if takes_name(factory):
            given["name"] = offer.name
        try:
            made: object = factory(**given)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise _broken(offer, "opened", error) from error
        return made

    def _loaded(self, offer: Offer) -> types.ModuleType:
        """The module of an offer: imported once, and its version checked before all else."""
        with self._lock:
            if offer in self._failures:
                raise self._failures[offer].with_traceback(None)
            if offer not in self._modules:
                try:
                    module = _import(offer)
                    _check_version(offer, module)
                    self.hooks.add(module, _owner(offer))
                except PluginError as error:
                    self._failures[offer] = error
                    raise
                self._modules[offer] = module
            return self._modules[offer]


def _import(offer: Offer) -> types.ModuleType:
    """Import the module of an offer."""
    if not offer.value or ":" in offer.value:
        raise BrokenPluginError(
            f"the entry point {offer.name!r} of {offer.who} cannot be read",
            why=f"a line in [{offer.group}] is `name = module`; this one names {offer.value!r}",
            fix=f"pip install --upgrade {offer.distribution}, or tell its author",
        )
    try:
        return importlib.import_module(offer.value)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise _broken(offer, "imported", error) from error


def _check_version(offer: Offer, module: types.ModuleType) -> None:
    """Refuse a plugin made for another version of the door, before anything of it is called."""
    theirs = getattr(module, "TINY_API", None)
    match theirs:
        case (int(major), int(minor)):
            if major == API[0] and minor <= API[1]:
                return
            newer = (major, minor) > API
            version = f"{major}.{minor}"
        case _:
            newer = False
            version = "none" if theirs is None else repr(theirs)
    from tiny_plugin.scan import version_of

    ours = f"{API[0]}.{API[1]}"
    cure = "tiny-plugin" if newer else offer.distribution
    raise ApiVersionError(
        f"the {_word(offer.group)} {offer.name!r} of {offer.who} has TINY_API {version}; "
        f"tiny-plugin {version_of('tiny-plugin')} takes {ours}",
        why=f"a plugin works with the same first number, and a second number up to {API[1]}",
        fix=f"pip install --upgrade {cure}",
    )


def _chosen(group: str, name: str, offers: list[Offer]) -> Offer:
    """Among several offers the one that the setting names."""
    wanted = settings.chosen_distribution(name)
    variable = settings.choice_variable(name)
    for offer in offers:
        if wanted is not None and _same_distribution(offer.distribution, wanted):
            return offer
    names = " and ".join(offer.who for offer in offers)
    first = offers[0].distribution
    trouble = "" if wanted is None else f", and {variable}={wanted} is none of them"
    raise DuplicatePluginError(
        f"the {_word(group)} {name!r} is offered by {names}{trouble}",
        why="which of them serves a name is for you to say, not for the order of installation",
        fix=f"set {variable}={first}, or pip uninstall one of them",
    )


def _broken(offer: Offer, when: str, error: BaseException) -> BrokenPluginError:
    """The error for a plugin that raised something; what it raised is the cause."""
    said = error.what if isinstance(error, TinyError) else str(error)
    cause = f"{type(error).__name__}: {said}" if said else type(error).__name__
    why = f"its module {offer.value!r} raised this; nothing else depends on it"
    fix = ""
    if isinstance(error, TinyError):
        why = "; ".join([error.why.rstrip("."), why]) if error.why else why
        fix = error.fix
    own = f"pip install --upgrade {offer.distribution}, or pip uninstall {offer.distribution}"
    return BrokenPluginError(
        f"the {_word(offer.group)} {offer.name!r} of {offer.who} failed when {when}: {cause}",
        why=why,
        fix=fix or own,
    )


def _unlike(offer: Offer, contract: str, complaints: list[str]) -> SignatureError:
    """The error for a plugin that differs from its contract, with every difference."""
    listed = "; ".join(complaints)
    return SignatureError(
        f"the {_word(offer.group)} {offer.name!r} of {offer.who} does not keep the contract "
        f"{contract}: {listed}",
        why=f"its methods must be those of tiny_plugin.{contract}, or calls would go wrong later",
        fix=f"pip install --upgrade {offer.distribution}, or tell its author",
    )


def _is_blocked(offer: Offer, blocked: frozenset[str]) -> bool:
    """Whether TINY_BLOCK names an offer or its distribution."""
    return any(
        word.lower() == offer.name.lower() or _same_distribution(word, offer.distribution)
        for word in blocked
    )


def _same_distribution(one: str, other: str) -> bool:
    """Whether two spellings name one distribution."""
    return one.lower().replace("_", "-") == other.lower().replace("_", "-")


def _word(group: str) -> str:
    """What messages call a member of a group."""
    word = group.removeprefix("tiny.")
    return {"codegen": "code generator", "hooks": "hook plugin"}.get(word, word)


def _owner(offer: Offer) -> str:
    """What messages call an opened plugin."""
    return f"{offer.distribution}.{offer.name}"
