"""A function, record or class becomes one that compares its values with its annotations.

Used under TYPED=1 only. Plain classes are compared with isinstance, containers item by item, and a
Protocol once for each type of object; whatever this finds wrong or does not know is judged by
typeguard, whose word is final.
"""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Callable, Collection, Mapping
from typing import Annotated, Literal, ParamSpec, TypeVar, Union, get_args, get_origin

from tiny_ir import Size, UOp
from tiny_plugin.errors import BoundaryError, MissingExtraError

try:
    import typeguard
except ImportError as error:
    raise MissingExtraError(
        "TYPED is set and typeguard is not installed",
        why="checks at the borders are done by it",
        fix="pip install 'tiny-plugin[typed]', or unset TYPED",
    ) from error

__all__ = ["check_whole_packages", "checked", "checked_function", "checked_value", "compare"]

Anything = TypeVar("Anything")
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
ALIASED: dict[str, object] = {"Size": Size, "UOp": UOp}
"""Names inside of tiny_ir's aliases, which a module that uses an alias need not import."""

Predicate = Callable[[object], bool]


def checked(thing: Anything, owner: str = "") -> Anything:
    """The checked form of a function, a record or another class.

    Args:
        thing: what to check. A class is changed in place and returned.
        owner: what messages call the place; by default the module and the qualified name.
    """
    made: object = thing
    if isinstance(thing, type):
        made = checked_record(thing) if _is_record(thing) else checked_class(thing)
    elif isinstance(thing, types.FunctionType):
        made = checked_function(thing, owner)
    return typing.cast(Anything, made)


def checked_function(
    function: Callable[Parameters, Result],
    owner: str = "",
    hints_of: object = None,
    self_type: type | None = None,
) -> Callable[Parameters, Result]:
    """A function that compares its arguments and its result with its annotations.

    Args:
        function: what to wrap.
        owner: what messages call it.
        hints_of: the contract's method whose annotations hold instead; `function` is then bound.
        self_type: what `Self` means in its annotations.
    """
    place = owner or f"{function.__module__}.{function.__qualname__}"
    border = _Border(place, hints_of or function, hints_of is not None, self_type)
    is_operator = function.__name__.startswith("__")

    @functools.wraps(function)
    def check(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        border.check_arguments(args, kwargs)
        result = function(*args, **kwargs)
        # An operator says so that the other side may know; no annotation can.
        if result is not NotImplemented or not is_operator:
            border.check("return value", "return", result)
        return result

    return check


def checked_record(cls: type) -> type:
    """A record that compares its fields with its annotations when it is made."""
    make = vars(cls)["__init__"]
    place = f"{cls.__module__}.{cls.__qualname__}"
    names = tuple(cls.__annotations__)
    border = _Border(place, cls)

    @functools.wraps(make)
    def check(self: object, *args: object, **kwargs: object) -> None:
        make(self, *args, **kwargs)
        for name in names:
            border.check(f"field {name!r}", name, getattr(self, name))

    cls.__init__ = check  # type: ignore[misc]
    return cls


def checked_class(cls: type) -> type:
    """A class whose public methods, operators and properties are checked."""
    for name, value in list(vars(cls).items()):
        if name.startswith("_") and not (name.startswith("__") and name.endswith("__")):
            continue
        made = _checked_member(value, cls)
        if made is not None:
            setattr(cls, name, made)
    return cls


def _checked_member(value: object, cls: type) -> object | None:
    """The checked form of a member of a class; None where it has none."""
    check = functools.partial(checked_function, self_type=cls)
    match value:
        case types.FunctionType() if value.__annotations__:
            return check(value)
        case staticmethod() if isinstance(value.__func__, types.FunctionType):
            return staticmethod(check(value.__func__))
        case classmethod() if isinstance(value.__func__, types.FunctionType):
            return classmethod(check(value.__func__))
        case property() if isinstance(value.fget, types.FunctionType):
            return property(check(value.fget), value.fset, value.fdel, value.__doc__)
        case _:
            return None


class _Border:
    """The annotations of one function or record, resolved and compiled when first needed."""

    def __init__(
        self,
        place: str,
        source: object,
        is_contract: bool = False,
        self_type: type | None = None,
    ) -> None:
        self.place = place
        self.names = ALIASED if self_type is None else {**ALIASED, "Self": self_type}
        self.source = source
        self.is_contract = is_contract
        self.hints: dict[str, object] | None = None
        self.predicates: dict[str, Predicate] = {}
        self.positional: tuple[str, ...] = ()
        self.rest = ""
        self.keywords = ""

    def resolve(self) -> None:
        """Look up the annotations; forward references need the whole module, hence not earlier."""
        self.hints = typing.get_type_hints(self.source, localns=self.names, include_extras=True)
        self.predicates = {name: predicate_for(hint) for name, hint in self.hints.items()}
        if isinstance(self.source, type):
            return
        assert callable(self.source)
        parameters = list(inspect.signature(self.source).parameters.values())
        for parameter in parameters[1:] if self.is_contract else parameters:
            match parameter.kind:
                case inspect.Parameter.VAR_POSITIONAL:
                    self.rest = parameter.name
                case inspect.Parameter.VAR_KEYWORD:
                    self.keywords = parameter.name
                case inspect.Parameter.KEYWORD_ONLY:
                    pass
                case _:
                    self.positional += (parameter.name,)

    def check_arguments(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> None:
        """Compare the arguments of one call. Too many or unknown ones are left to the call."""
        if self.hints is None:
            self.resolve()
        for name, value in zip(self.positional, args, strict=False):
            self.check(f"argument {name!r}", name, value)
        for value in args[len(self.positional) :]:
            self.check(f"argument {self.rest!r}", self.rest, value)
        for name, value in kwargs.items():
            known = name if name in self.predicates else self.keywords
            self.check(f"argument {name!r}", known, value)

    def check(self, what: str, name: str, value: object) -> None:
        """Compare one value with the annotation called `name`."""
        if self.hints is None:
            self.resolve()
        predicate = self.predicates.get(name)
        if predicate is None or predicate(value):
            return
        assert self.hints is not None
        compare(value, self.hints[name], f"{self.place}: {what}")


def checked_value(value: object, hint: object, place: str) -> None:
    """Compare one value with a hint, by the quick test first.

    Raises:
        BoundaryError: the value is not what the hint says.
    """
    if not predicate_for(hint)(value):
        compare(value, hint, place)


def compare(value: object, hint: object, place: str) -> None:
    """Let typeguard judge a value.

    Raises:
        BoundaryError: the value is not what the hint says.
    """
    if hint is None:
        hint = type(None)
    try:
        typeguard.check_type(
            value, hint, collection_check_strategy=typeguard.CollectionCheckStrategy.ALL_ITEMS
        )
    except typeguard.TypeCheckError as error:
        raise BoundaryError(
            f"TYPED=1: {place}: expected {inspect.formatannotation(hint)}, got {_described(value)}",
            why=f"the value {error}",
            fix="give a value of the expected type, or correct the annotation",
        ) from None


def _described(value: object) -> str:
    """A value in few words: its type, and its text where that is short."""
    text = repr(value)
    kind = type(value).__qualname__
    return f"{kind} {text}" if len(text) <= 60 else kind


# --- from a hint to a quick test -----------------------------------------------------------------


def predicate_for(hint: object) -> Predicate:
    """A quick test for a hint. False means "ask typeguard", so it may be stricter, never laxer."""
    if hint is object or isinstance(hint, TypeVar) or repr(hint) == "typing.Any":
        return _accept
    if hint is None or hint is type(None):
        return _is_none
    if hint is float:
        return functools.partial(_is_instance, (float, int))
    if isinstance(hint, type) and get_origin(hint) is None:
        return _protocol(hint) if _is_protocol(hint) else functools.partial(_is_instance, hint)
    return _predicate_for_form(get_origin(hint), get_args(hint))


def _predicate_for_form(origin: object, args: tuple[object, ...]) -> Predicate:
    """A quick test for a hint with arguments."""
    if origin is Annotated:
        return predicate_for(args[0])
    if origin is Literal:
        return functools.partial(_is_one_of, args)
    if origin is Union or origin is types.UnionType:
        return functools.partial(_is_any, tuple(predicate_for(arg) for arg in args))
    if origin is tuple and not (len(args) == 2 and args[1] is Ellipsis):
        return functools.partial(_is_row, tuple(predicate_for(arg) for arg in args))
    if origin is Callable:
        return callable
    if isinstance(origin, type) and args:
        first = predicate_for(args[0])
        if issubclass(origin, Mapping):
            return functools.partial(_is_mapping, origin, first, predicate_for(args[1]))
        if issubclass(origin, Collection):
            return functools.partial(_is_collection, origin, first)
    return _decline


def _accept(value: object) -> bool:
    return True


def _decline(value: object) -> bool:
    return False


def _is_none(value: object) -> bool:
    return value is None


def _is_instance(kind: type | tuple[type, ...], value: object) -> bool:
    return isinstance(value, kind)


def _is_one_of(values: tuple[object, ...], value: object) -> bool:
    return any(
        value is known or (type(value) is type(known) and value == known) for known in values
    )


def _is_any(predicates: tuple[Predicate, ...], value: object) -> bool:
    return any(predicate(value) for predicate in predicates)


def _is_row(predicates: tuple[Predicate, ...], value: object) -> bool:
    return (
        isinstance(value, tuple)
        and len(value) == len(predicates)
        and all(predicate(item) for predicate, item in zip(predicates, value, strict=True))
    )


def _is_collection(kind: type[Collection[object]], item: Predicate, value: object) -> bool:
    return isinstance(value, kind) and all(map(item, value))


def _is_mapping(
    kind: type[Mapping[object, object]], key: Predicate, item: Predicate, value: object
) -> bool:
    return isinstance(value, kind) and all(map(key, value)) and all(map(item, value.values()))


def _is_protocol(hint: type) -> bool:
    return bool(getattr(hint, "_is_protocol", False))


def _protocol(hint: type) -> Predicate:
    """A test for a Protocol that asks typeguard once for each type of object."""
    known: dict[type, bool] = {}

    def keeps(value: object) -> bool:
        kind = type(value)
        if kind not in known:
            try:
                typeguard.check_type(value, hint)
            except typeguard.TypeCheckError:
                return False
            known[kind] = True
        return known[kind]

    return keeps


def _is_record(cls: type) -> bool:
    return "__dataclass_fields__" in vars(cls)


# --- TYPED=2 -------------------------------------------------------------------------------------


class _OurPackages(typeguard.TypeguardFinder):
    """Takes the packages of tiny, except tiny_ir, whose nodes are checked under SPEC=1."""

    def should_instrument(self, module_name: str) -> bool:
        """Whether the import hook rewrites this module."""
        package = module_name.partition(".")[0]
        return package.startswith("tiny_") and package != "tiny_ir"


def check_whole_packages() -> None:
    """Check every function of every package of tiny that is imported from now on."""
    typeguard.install_import_hook(cls=_OurPackages)
