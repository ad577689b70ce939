"""A plugin object becomes a view of it that has the names of its contract, and no other."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable

from tiny_plugin.signatures import is_optional, members_of
from tiny_plugin.typed import LEVEL

if LEVEL:
    from tiny_plugin.checks import checked_function, checked_value

__all__ = ["lacks_optional_methods", "view_of"]


def lacks_optional_methods(plugin: object, contract: type) -> bool:
    """Whether some optional method must come from the contract."""
    return any(
        is_optional(member) and not hasattr(plugin, name)
        for name, member in members_of(contract).items()
    )


def view_of(plugin: object, contract: type, owner: str) -> object:
    """The view: methods of the plugin, or the contract's own where it leaves an optional one out.

    Args:
        plugin: an object that keeps the contract.
        contract: the Protocol.
        owner: what messages call the plugin.
    """
    members = members_of(contract)
    body: dict[str, object] = {
        **members,  # seen by who asks the class; an optional method also serves as its own default
        "__doc__": contract.__doc__,
        "__module__": contract.__module__,
        "__getattr__": _refuse_get(contract, owner),
        "__setattr__": _refuse_set,
        "__repr__": lambda self: f"<{contract.__name__} {owner}>",
    }
    for name, member in members.items():
        if isinstance(member, property):
            body[name] = property(_reader(plugin, name, member, owner))
    view: object = type(contract.__name__, (), body)()
    for name, member in members.items():
        if isinstance(member, types.FunctionType):
            method = getattr(plugin, name, None) or types.MethodType(member, view)
            vars(view)[name] = _checked(method, member, f"{owner}.{name}")
    return view


def _refuse_get(contract: type, owner: str) -> Callable[[object, str], object]:
    """What a view answers to a name that its contract does not have."""

    def refuse(view: object, name: str) -> object:
        raise AttributeError(
            f"{owner} is used through its contract, and {contract.__name__} has no {name!r}"
        )

    return refuse


def _refuse_set(view: object, name: str, value: object) -> None:
    """What a view answers to an assignment."""
    raise AttributeError(f"{view!r} cannot be given {name!r}: a plugin is not changed from outside")


def _checked(
    method: Callable[..., object], member: types.FunctionType, owner: str
) -> Callable[..., object]:
    """A method that is checked under TYPED=1; else the very same."""
    return checked_function(method, owner, hints_of=member) if LEVEL else method


def _reader(plugin: object, name: str, member: property, owner: str) -> Callable[[object], object]:
    """What reads a property of the plugin through the view."""
    if not LEVEL:
        return lambda view: getattr(plugin, name)
    hint = typing.get_type_hints(member.fget)["return"]

    def read(view: object) -> object:
        value: object = getattr(plugin, name)
        checked_value(value, hint, f"{owner}.{name}: value")
        return value

    return read
