"""A class with annotated fields becomes a frozen, slotted record, as by `dataclasses` but cheaper.

That module and the classes it makes take longer to import than all else in this package, and
`import tiny_tensor` pays for it. A record made here has the same `__init__`, equality, hash, text,
pickle and `match`, and answers `dataclasses.fields` and `dataclasses.replace`; type checkers see
the real thing. See docs/decisions/020-plugin-records.md.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

__all__ = ["record", "replace"]


def _record(*, frozen: bool, slots: bool) -> Callable[[type], type]:
    """The decorator; both flags are always True, so that the text says what the class is."""
    if not (frozen and slots):
        raise TypeError("a record is frozen and has slots")
    return _record_class


def _record_class(cls: type) -> type:
    """Make the class again, with slots and with methods generated from its annotations."""
    names = tuple(cls.__annotations__)
    kept = {name: value for name, value in cls.__dict__.items() if name not in _PER_CLASS}
    defaults = {name: kept.pop(name) for name in names if name in kept}
    kept |= {
        "__annotations__": cls.__annotations__,
        "__slots__": names,
        "__match_args__": names,
        "__dataclass_fields__": _Fields(defaults),
        "__setattr__": _refuse_set,
        "__delattr__": _refuse_delete,
        "__repr__": _repr,
        "__reduce__": _reduce,
        "__replace__": _replace,
    }
    made = type(cls)(cls.__name__, cls.__bases__, kept)
    for name, function in _methods(made, names, defaults).items():
        function.__qualname__ = f"{cls.__qualname__}.{name}"
        setattr(made, name, function)
    return made


_PER_CLASS = frozenset({"__dict__", "__weakref__"})
"""What every class gets anew."""


def _methods(
    cls: type, names: tuple[str, ...], defaults: dict[str, object]
) -> dict[str, Callable[..., object]]:
    """`__init__`, `__eq__` and `__hash__`, spelled out for these fields in one compilation."""
    parameters = "".join(f", {n}=default_{n}" if n in defaults else f", {n}" for n in names)
    stores = "".join(f"    set_{name}(self, {name})\n" for name in names)
    mine = "".join(f"self.{name}, " for name in names)
    theirs = "".join(f"other.{name}, " for name in names)
    text = (
        f"def __init__(self{parameters}):\n{stores or '    pass'}\n"
        "def __eq__(self, other):\n"
        "    if other.__class__ is not self.__class__:\n"
        "        return NotImplemented\n"
        f"    return ({mine}) == ({theirs})\n"
        f"def __hash__(self):\n"
        f"    return hash(({mine}))\n"
    )
    scope = {f"set_{name}": cls.__dict__[name].__set__ for name in names}
    scope |= {f"default_{name}": value for name, value in defaults.items()}
    made: dict[str, Callable[..., object]] = {}
    exec(text, scope, made)
    return made


def _refuse_set(self: object, name: str, value: object) -> NoReturn:
    raise AttributeError(f"{type(self).__name__} is frozen: make another one with replace()")


def _refuse_delete(self: object, name: str) -> NoReturn:
    raise AttributeError(f"{type(self).__name__} is frozen: its fields stay")


def _field_names(instance: object) -> tuple[str, ...]:
    names: tuple[str, ...] = vars(type(instance))["__slots__"]
    return names


def _repr(self: object) -> str:
    fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in _field_names(self))
    return f"{type(self).__qualname__}({fields})"


def _reduce(self: object) -> tuple[type, tuple[object, ...]]:
    return type(self), tuple([getattr(self, name) for name in _field_names(self)])


def _replace(instance: object, /, **changes: object) -> object:
    """A record like `instance` with some fields changed."""
    fields = {name: getattr(instance, name) for name in _field_names(instance)}
    return type(instance)(**(fields | changes))


class _Fields:
    """What `dataclasses` asks a class for. Whoever asks has imported that module already."""

    def __init__(self, defaults: dict[str, object]) -> None:
        self.defaults = defaults

    def __get__(self, instance: object, owner: type) -> object:
        module = sys.modules.get("dataclasses")
        if module is None:
            raise AttributeError("__dataclass_fields__")
        rows = [
            (name, kind, module.field(default=self.defaults[name]))
            if name in self.defaults
            else (name, kind)
            for name, kind in owner.__annotations__.items()
        ]
        return module.make_dataclass(owner.__name__, rows).__dataclass_fields__


if TYPE_CHECKING:
    from dataclasses import dataclass as record
    from dataclasses import replace
else:
    record = _record
    replace = _replace
