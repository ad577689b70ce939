"""An error of Python's own becomes one about the argument that is not of its type.

Arguments are not compared with their annotations before a call: that would cost time in each (see
TYPED=1 for it). Only where a call has failed are they looked at, to say which of them is wrong; or
to call again with Python numbers, where some are NumPy's.
"""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Literal, ParamSpec, TypeVar, Union, get_args, get_origin

from tiny_ir import ArgumentTypeError, Size, TinyError, UOp
from tiny_tensor.arrays import number_of

Given = TypeVar("Given")
Kind = TypeVar("Kind")
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
RAW = (AttributeError, IndexError, KeyError, TypeError, ValueError)
"""What Python raises where it is handed something else than it can deal with."""
LONGEST_TEXT = 40
"""Characters of a value that a message repeats; of a longer one it names the type."""


def explained_methods(cls: type[Kind]) -> type[Kind]:
    """A class that says which argument is wrong, of its constructor or of a public method."""
    for name in dir(cls):
        if name.startswith("_") and name not in ("__init__", "__call__"):
            continue
        member = inspect.getattr_static(cls, name)
        if isinstance(member, types.FunctionType):
            setattr(cls, name, explained(member, cls))
        elif isinstance(member, classmethod | staticmethod):
            setattr(cls, name, type(member)(explained(member.__func__, cls)))
    return cls


def explained(
    function: Callable[Parameters, Result], self_type: type | None = None
) -> Callable[Parameters, Result]:
    """A function that says which argument is wrong, where Python's error would not.

    A NumPy scalar is taken where a Python number is.

    Args:
        function: what to wrap.
        self_type: what `Self` means in its annotations.

    Example:
        >>> @explained
        ... def half(x: float) -> float:
        ...     return x / 2
        >>> half("a")
        Traceback (most recent call last):
        tiny_ir.errors.ArgumentTypeError: half() does not take 'a' as x.
          why: it takes float.
          fix: pass a value of that type.
          see: docs/reference/errors.md#tiny-161
    """

    @functools.wraps(function)
    def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except (TinyError, *RAW) as error:
            given, named = _without_numpy(args), _without_numpy(kwargs)
            if given is args and named is kwargs:
                if isinstance(error, TinyError):
                    raise
                trouble = wrong_argument(function, args, kwargs, self_type)
                if trouble is None:
                    raise
                raise trouble from error
        return call(*given, **named)

    return call


def _without_numpy(value: Given) -> Given:
    """A value with Python numbers for the NumPy scalars in it; the very same without any."""
    if isinstance(value, dict):
        named = {name: _without_numpy(part) for name, part in value.items()}
        is_same = all(named[name] is part for name, part in value.items())
        return value if is_same else typing.cast(Given, named)
    if isinstance(value, tuple | list) and type(value) in (tuple, list):
        parts = [_without_numpy(part) for part in value]
        is_same = all(new is old for new, old in zip(parts, value, strict=True))
        return value if is_same else typing.cast(Given, type(value)(parts))
    number = number_of(value)
    return value if number is None else typing.cast(Given, number)


def wrong_argument(
    function: Callable[..., object],
    args: tuple[object, ...],
    kwargs: Mapping[str, object],
    self_type: type | None,
) -> ArgumentTypeError | None:
    """The error about the first argument that its annotation does not allow; None without one."""
    signature = inspect.signature(function)
    try:
        arguments = signature.bind(*args, **kwargs).arguments
    except TypeError:
        return None  # Python has said which argument is missing, or is one too many
    names = {"Self": self_type, "Size": Size, "UOp": UOp}
    hints = typing.get_type_hints(function, localns=names)
    for name, given in arguments.items():
        for value in _values(given, signature.parameters[name].kind):
            if name in hints and not may_be(value, hints[name]):
                return ArgumentTypeError(
                    f"{_called(function, self_type)}() does not take {_named(value)} as {name}.",
                    why=f"it takes {inspect.formatannotation(hints[name])}.",
                    fix="pass a value of that type.",
                )
    return None


def _called(function: Callable[..., object], self_type: type | None) -> str:
    """What a user writes before the arguments: of a constructor, the class."""
    name = function.__name__
    return name if self_type is None or not name.startswith("__") else self_type.__name__


def _values(given: object, kind: object) -> Iterator[object]:
    """What was given for a parameter: several arguments for one with stars."""
    if kind is inspect.Parameter.VAR_POSITIONAL and isinstance(given, tuple):
        yield from given
    elif kind is inspect.Parameter.VAR_KEYWORD and isinstance(given, dict):
        yield from given.values()
    else:
        yield given


def _named(value: object) -> str:
    if value is None or isinstance(value, bool | int | float | str | list | tuple):
        text = repr(value)
        if len(text) <= LONGEST_TEXT:
            return text
    return f"a {type(value).__name__}"


def may_be(value: object, hint: object) -> bool:
    """Whether a value is of the type that an annotation names; True where that is in doubt.

    Example:
        >>> from collections.abc import Sequence
        >>> may_be(3, int | None), may_be((1, "a"), Sequence[int])
        (True, False)
    """
    if hint is None or hint is types.NoneType:
        return value is None
    if hint is int or hint is float:
        number = number_of(value)
        return isinstance(number, int) or (hint is float and number is not None)
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Union or origin is types.UnionType:
        return any(may_be(value, part) for part in parts)
    if origin is Literal:
        return value in parts
    if isinstance(origin, type):
        return _may_be_container(value, origin, parts)
    if not isinstance(hint, type) or getattr(hint, "_is_protocol", False):
        return True
    return isinstance(value, hint)


def _may_be_container(value: object, origin: type, parts: tuple[object, ...]) -> bool:
    if not isinstance(value, origin):
        return False
    if not isinstance(value, Collection) or not parts:
        return True
    if isinstance(value, Mapping):
        key, item = parts
        return all(may_be(k, key) and may_be(v, item) for k, v in value.items())
    if origin is tuple and Ellipsis not in parts:
        return len(value) == len(parts) and all(map(may_be, value, parts))
    return all(may_be(item, parts[0]) for item in value)
