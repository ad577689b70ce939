"""A plugin object beside its contract yields a list of complaints: what it does not keep.

Names, order, defaults, *args, annotations and results are compared, always, when a plugin is
opened: a wrong one would otherwise be found in the middle of a computation, or never.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Iterator

__all__ = [
    "complaints_about",
    "complaints_about_factory",
    "complaints_about_hook",
    "members_of",
    "takes_name",
]

EMPTY = inspect.Parameter.empty
BY_NAME_AND_PLACE = inspect.Parameter.POSITIONAL_OR_KEYWORD


def members_of(contract: type) -> dict[str, object]:
    """The methods and properties a contract names, in its own order."""
    return {
        name: member
        for name, member in vars(contract).items()
        if not name.startswith("_") and isinstance(member, (types.FunctionType, property))
    }


def is_optional(member: object) -> bool:
    """Whether a plugin may leave this method out."""
    return bool(getattr(member, "is_optional", False))


def complaints_about(plugin: object, contract: type) -> list[str]:
    """Everything in which a plugin object differs from its contract; empty when it keeps it."""
    found: list[str] = []
    for name, member in members_of(contract).items():
        if not hasattr(plugin, name):
            if not is_optional(member):
                kind = "property" if isinstance(member, property) else "method"
                found.append(f"the {kind} {name!r} is missing")
        elif isinstance(member, property):
            found += _about_property(name, getattr(plugin, name), member)
        elif isinstance(member, types.FunctionType):
            method = getattr(plugin, name)
            found += [f"{name}() {text}" for text in _about_method(method, member)]
    return found


def complaints_about_factory(factory: object, parameters: tuple[str, ...]) -> list[str]:
    """Whether a factory takes exactly these parameters, and `name` as well if it likes."""
    if not callable(factory):
        return [f"is not a function but {factory!r}"]
    own = tuple(name for name in inspect.signature(factory).parameters if name != "name")
    if own == parameters:
        return []
    return [f"takes ({', '.join(own)}) instead of ({', '.join(parameters)})"]


def takes_name(factory: Callable[..., object]) -> bool:
    """Whether a factory asks which of several names of its module is meant."""
    return "name" in inspect.signature(factory).parameters


def complaints_about_hook(function: Callable[..., object], spec: types.FunctionType) -> list[str]:
    """Everything that pluggy would take without a word and never pass, or pass on wrongly."""
    known = list(inspect.signature(spec).parameters)[1:]
    found = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is not BY_NAME_AND_PLACE:
            found.append(f"takes {parameter}, which a hook cannot be given")
        elif parameter.name not in known:
            found.append(f"takes {parameter.name!r}; the hook passes ({', '.join(known)})")
        elif parameter.default is not EMPTY:
            found.append(f"has a default for {parameter.name!r}, so that it is never passed")
    return found + list(_about_annotations(function, spec))


def _about_property(name: str, value: object, member: property) -> Iterator[str]:
    """Compare a value with the annotation of a property, where that is a plain class."""
    hint = typing.get_type_hints(member.fget).get("return")
    if isinstance(hint, type) and typing.get_origin(hint) is None and not isinstance(value, hint):
        yield f"the property {name!r} is {value!r}, not of type {hint.__qualname__}"


def _about_method(method: object, contract: types.FunctionType) -> Iterator[str]:
    """Compare a bound method with the function of a contract."""
    if not callable(method):
        yield f"is not a method but {method!r}"
        return
    if inspect.iscoroutinefunction(method) or inspect.isgeneratorfunction(method):
        yield "is a coroutine or a generator; it must return its result"
        return
    if not _is_written_alike(method, contract):
        expected = list(inspect.signature(contract).parameters.values())[1:]
        yield from _about_parameters(expected, inspect.signature(method).parameters.values())
    yield from _about_annotations(method, contract)


def _is_written_alike(method: object, contract: types.FunctionType) -> bool:
    """Whether both are plain functions with the same parameters: the usual case, found quickly."""
    function = getattr(method, "__func__", None)
    if not isinstance(function, types.FunctionType) or hasattr(function, "__wrapped__"):
        return False
    return _parameters_of(function) == _parameters_of(contract)


def _parameters_of(function: types.FunctionType) -> tuple[object, ...]:
    """What is written between the parentheses, without the first parameter and annotations."""
    code = function.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    rest = code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    counts = (code.co_argcount, code.co_posonlyargcount, rest)
    names = code.co_varnames[1:count]
    return counts, names, function.__defaults__, function.__kwdefaults__


def _about_parameters(
    expected: list[inspect.Parameter], own: typing.Iterable[inspect.Parameter]
) -> Iterator[str]:
    """Compare names, order, kinds and defaults."""
    by_name = {parameter.name: parameter for parameter in own}
    order = [name for name in by_name if any(name == wanted.name for wanted in expected)]
    for wanted in expected:
        mine = by_name.get(wanted.name)
        if mine is None:
            yield f"drops the parameter {wanted.name!r}"
        elif mine.kind is not wanted.kind and mine.kind is not BY_NAME_AND_PLACE:
            yield f"takes {wanted.name!r} as {mine.kind.description}"
        elif wanted.default is not EMPTY and mine.default is EMPTY:
            yield f"has no default for {wanted.name!r}; the contract's is {wanted.default!r}"
        elif wanted.default is not EMPTY and mine.default != wanted.default:
            yield f"has {mine.default!r} for {wanted.name!r}; the contract has {wanted.default!r}"
    names = [wanted.name for wanted in expected]
    if sorted(order) == sorted(names) and list(by_name)[: len(names)] != names:
        yield f"takes ({', '.join(by_name)}); the contract's order is ({', '.join(names)})"
    for name, mine in by_name.items():
        if name in names:
            continue
        if mine.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            yield f"takes {mine}, which hides what it takes"
        elif mine.default is EMPTY:
            yield f"wants {name!r}, which it is never given"


# --- annotations ---------------------------------------------------------------------------------


def _about_annotations(method: object, contract: types.FunctionType) -> Iterator[str]:
    """Compare annotations: a parameter may be wider than the contract's, a result narrower."""
    own_text = getattr(method, "__annotations__", {})
    doubtful = [
        name
        for name, text in contract.__annotations__.items()
        if name in own_text and not (isinstance(text, str) and own_text[name] == text)
    ]
    if not doubtful:
        return
    try:
        own = typing.get_type_hints(getattr(method, "__func__", method))
    except NameError as error:
        yield f"has annotations that cannot be looked up ({error}): import the names at run time"
        return
    hints = typing.get_type_hints(contract)
    for name in doubtful:
        if name == "return" and not accepts(hints[name], own[name]):
            yield f"returns {_text(own[name])}; the contract returns {_text(hints[name])}"
        elif name != "return" and not accepts(own[name], hints[name]):
            yield f"takes {_text(own[name])} as {name!r}; the contract has {_text(hints[name])}"


def accepts(wide: object, narrow: object) -> bool:
    """Whether every value of the type `narrow` is one of the type `wide`; True where in doubt.

    Example:
        >>> accepts(int | str, int), accepts(int, int | str)
        (True, False)
    """
    if wide == narrow or wide is object or "typing.Any" in (repr(wide), repr(narrow)):
        return True
    if isinstance(wide, typing.TypeVar) or isinstance(narrow, typing.TypeVar):
        return True
    if _is_union(narrow):
        return all(accepts(wide, one) for one in typing.get_args(narrow))
    if _is_union(wide):
        return any(accepts(one, narrow) for one in typing.get_args(wide))
    return _accepts_class(wide, narrow)


def _accepts_class(wide: object, narrow: object) -> bool:
    """`accepts` for classes and generic forms such as Sequence[int]."""
    if wide is float and narrow is int:
        return True
    if getattr(wide, "_is_protocol", False):
        return True
    wide_class = typing.get_origin(wide) or wide
    narrow_class = typing.get_origin(narrow) or narrow
    if not (isinstance(wide_class, type) and isinstance(narrow_class, type)):
        return wide_class == narrow_class
    if not issubclass(narrow_class, wide_class):
        return False
    wide_args = _item_types(wide)
    narrow_args = _item_types(narrow)
    if not wide_args or not narrow_args:
        return True
    if len(wide_args) != len(narrow_args):
        return len(wide_args) == 1 and all(accepts(wide_args[0], one) for one in narrow_args)
    return all(map(accepts, wide_args, narrow_args))


def _item_types(hint: object) -> tuple[object, ...]:
    """The arguments of a generic form; of tuple[int, ...] the one type of its items."""
    return tuple(arg for arg in typing.get_args(hint) if arg is not Ellipsis)


def _is_union(hint: object) -> bool:
    return typing.get_origin(hint) in (typing.Union, types.UnionType)


def _text(hint: object) -> str:
    return inspect.formatannotation(hint)
