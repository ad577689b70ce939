"""Under TYPED=1 a value of the wrong type is refused at the border; TYPED=0 adds nothing."""

from __future__ import annotations

import functools
import inspect
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, Optional, Protocol, TypeVar, Union

import pytest

import tiny_plugin
from tiny_ir import SettingError, TinyError
from tiny_plugin import BoundaryError, boundary, record, settings
from tiny_plugin.checks import checked, checked_function, predicate_for
from tiny_plugin.typed import LEVEL

Install = Callable[..., Path]
Item = TypeVar("Item")


def run_python(program: str, **environment: str) -> str:
    """What a program prints in a process with these settings."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    return done.stdout.strip() + done.stderr.strip()


# --- TYPED=0 -------------------------------------------------------------------------------------


def test_without_checks_the_decorated_function_is_the_function() -> None:
    program = """
    import sys
    from tiny_plugin import Registry, boundary
    def function(x: int) -> int:
        return x
    class Thing:
        def method(self, x: int) -> int:
            return x
    before = vars(Thing).copy()
    print(boundary(function) is function, boundary(Thing) is Thing, before == dict(vars(Thing)))
    print(hasattr(Registry.open_runtime, "__wrapped__"), "typeguard" in sys.modules)
    """
    assert run_python(program, TYPED="0") == "True True True\nFalse False"
    assert run_python(program, TYPED="") == "True True True\nFalse False"


def test_the_level_is_one_of_three(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TYPED", "yes")
    with pytest.raises(SettingError, match="TYPED is 'yes'"):
        settings.typed_level()


# --- functions -----------------------------------------------------------------------------------


@checked_function
def area(width: int, *more: int, unit: str = "m", **tags: float) -> str:
    """A function with every kind of parameter."""
    return f"{width}{len(more)}{unit}{len(tags)}" if width else 0  # type: ignore[return-value]


def test_right_values_pass() -> None:
    assert area(1, 2, 3, unit="k", a=1.5, b=2) == "12k2"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: area("1"), "argument 'width': expected int, got str '1'"),
        (lambda: area(width=None), "argument 'width': expected int, got NoneType None"),
        (lambda: area(1, 2, "3"), "argument 'more': expected int, got str"),
        (lambda: area(1, unit=5), "argument 'unit': expected str, got int 5"),
        (lambda: area(1, tag="x"), "argument 'tag': expected float, got str"),
        (lambda: area(0), "return value: expected str, got int 0"),
    ],
)
def test_a_wrong_value_is_named(call: Callable[[], object], words: str) -> None:
    with pytest.raises(BoundaryError) as caught:
        call()
    assert words in str(caught.value)
    assert "area" in str(caught.value)
    assert isinstance(caught.value, TypeError)
    assert isinstance(caught.value, TinyError)


def test_too_many_arguments_are_pythons_own_error() -> None:
    with pytest.raises(TypeError, match="positional"):
        checked_function(lambda: None)(1)  # type: ignore[call-arg]


def test_a_checked_function_keeps_its_name_and_signature() -> None:
    assert area.__name__ == "area"
    assert list(inspect.signature(area).parameters) == ["width", "more", "unit", "tags"]


class Shape(Protocol):
    """Something with an area."""

    def area(self, unit: str) -> float: ...


class Square:
    """Keeps the Protocol."""

    def area(self, unit: str) -> float:
        return 1.0


class Line:
    """Does not."""

    def area(self) -> float:
        return 0.0


@pytest.mark.parametrize(
    ("hint", "right", "wrong"),
    [
        (int, 1, 1.5),
        (float, 1, "1"),
        (bool, True, 1),
        (None, None, 0),
        (int | None, None, "1"),
        (Optional[str], "a", 1),  # noqa: UP045
        (Union[int, str], "a", 1.5),  # noqa: UP007
        (Literal["add", 1], "add", "sub"),
        (Literal[1], 1, True),
        (tuple[int, str], (1, "a"), (1, 2)),
        (tuple[int, str], (1, "a"), (1,)),
        (tuple[int, ...], (1, 2, 3), (1, 2, "3")),
        (tuple[()], (), (1,)),
        (list[int], [1, 2], [1, "2"]),
        (Sequence[int], (1, 2), (1, "2")),
        (Sequence[int], [], {1}),
        (frozenset[str], frozenset("ab"), frozenset((1,))),
        (Mapping[str, int], {"a": 1}, {"a": "1"}),
        (dict[str, int], {"a": 1}, {1: 1}),
        (dict[str, tuple[int, ...]], {"a": (1,)}, {"a": ("1",)}),
        (type[int], bool, str),
        (Callable[[int], str], str, 5),
        (Annotated[int, "metres"], 1, "1"),
        (Shape, Square(), Line()),
        (Sequence[Shape], [Square()], [Square(), Line()]),
        (Iterator[int], iter([1]), [1]),
        (object, 1, None),
    ],
)
def test_a_hint_takes_what_it_says(hint: object, right: object, wrong: object) -> None:
    def function(value: object) -> None:
        return None

    function.__annotations__["value"] = hint
    check = checked_function(function)
    check(right)
    check(right)
    if hint is not object:
        with pytest.raises(BoundaryError):
            check(wrong)
        with pytest.raises(BoundaryError):
            check(wrong)


def test_common_hints_need_no_typeguard() -> None:
    for hint, value in (
        (int, 1),
        (str | None, None),
        (tuple[int, ...], (1,) * 5),
        (Mapping[str, Sequence[int]], {"a": [1]}),
        (Callable[[int], int], abs),
    ):
        assert predicate_for(hint)(value)


def test_a_variable_takes_anything() -> None:
    def same(x: Item, y: Item) -> Item:
        return x

    assert checked_function(same)(1, 1) == 1


# --- records and classes -------------------------------------------------------------------------


def test_a_record_is_checked_when_it_is_made() -> None:
    @checked
    @record(frozen=True, slots=True)
    class Point:
        x: int
        names: tuple[str, ...] = ()

    assert Point(1, ("a",)).names == ("a",)
    with pytest.raises(BoundaryError, match="field 'x': expected int, got str 'a'"):
        Point("a")
    with pytest.raises(BoundaryError, match="field 'names'"):
        Point(1, ("a", 2))
    with pytest.raises(BoundaryError, match="field 'x'"):
        tiny_plugin.replace(Point(1), x=1.5)


def test_the_public_part_of_a_class_is_checked() -> None:
    @checked
    class Thing:
        def method(self, x: int) -> int:
            return x

        def __add__(self, other: int) -> int:
            return other

        def _private(self, x: int) -> int:
            return x

        @classmethod
        def made(cls, x: int) -> int:
            return x

        @staticmethod
        def counted(x: int) -> int:
            return x

        @property
        def size(self) -> int:
            return "big"  # type: ignore[return-value]

    thing = Thing()
    assert thing.method(1) == thing + 1 == Thing.made(1) == Thing.counted(1) == 1
    assert thing._private("a") == "a"  # type: ignore[arg-type, comparison-overlap]
    for call in (thing.method, thing.__add__, Thing.made, Thing.counted):
        with pytest.raises(BoundaryError, match=r"argument '(x|other)': expected int"):
            call("1")  # type: ignore[arg-type]
    with pytest.raises(BoundaryError, match="return value: expected int, got str 'big'"):
        thing.size  # noqa: B018


# --- whole processes -----------------------------------------------------------------------------


def test_records_are_checked_under_typed() -> None:
    program = """
    from tiny_plugin import BoundaryError, Mark
    try:
        Mark(1, 2)
    except BoundaryError as error:
        print(error.what)
    """
    said = run_python(program, TYPED="1")
    assert said == "TYPED=1: tiny_plugin.artifacts.Mark: field 'queue': expected str, got int 1"
    assert run_python(program, TYPED="0") == ""


def test_a_plugin_that_returns_the_wrong_type_is_refused_under_typed(
    install: Install, good_runtime: str
) -> None:
    module = good_runtime.replace("return 0.0", 'return "noon"')
    install("acme-npu", module)
    program = f"""
    import sys
    sys.path[:] = {sys.path!r}
    from tiny_plugin import BoundaryError, Registry
    runtime = Registry().open_runtime("npu")
    print(runtime.allocate(4).nbytes)
    for call in (runtime.clock, lambda: runtime.allocate("4"), lambda: runtime.wait(3)):
        try:
            print(call())
        except BoundaryError as error:
            print(error.what)
    """
    assert run_python(program, TYPED="1").splitlines() == [
        "4",
        "TYPED=1: acme-npu.npu.clock: return value: expected float, got str 'noon'",
        "TYPED=1: acme-npu.npu.allocate: argument 'nbytes': expected int, got str '4'",
        "TYPED=1: acme-npu.npu.wait: argument 'mark': expected tiny_plugin.artifacts.Mark, "
        "got int 3",
    ]
    assert run_python(program, TYPED="0").startswith("4\nnoon")


def test_a_view_keeps_the_contract_it_is_a_view_of(install: Install, good_runtime: str) -> None:
    install("acme-npu", good_runtime)
    program = f"""
    import sys
    sys.path[:] = {sys.path!r}
    from tiny_plugin import Registry, Runtime
    from tiny_plugin.checks import checked_value
    runtime = Registry().open_runtime("npu")
    checked_value(runtime, Runtime, "here")
    print(runtime.submit([]), runtime.target.name)
    """
    assert run_python(program, TYPED="1") == "Mark(queue='npu', number=0) toy"


def test_without_typeguard_it_is_said_what_to_install() -> None:
    program = """
    import sys
    sys.modules["typeguard"] = None
    import tiny_plugin
    """
    said = run_python(program, TYPED="1")
    assert "MissingExtraError: TYPED is set and typeguard is not installed" in said
    assert "pip install 'tiny-plugin[typed]'" in said
    assert run_python(program, TYPED="0") == ""


def test_whole_packages_are_checked_under_two(tmp_path: Path) -> None:
    (tmp_path / "tiny_toy.py").write_text("def inner(x: int) -> int:\n    return x\n")
    (tmp_path / "other_toy.py").write_text("def inner(x: int) -> int:\n    return x\n")
    program = f"""
    import sys
    sys.path.insert(0, {str(tmp_path)!r})
    import tiny_ir, tiny_plugin, tiny_toy, other_toy
    print(other_toy.inner("a"))
    try:
        print(tiny_toy.inner("a"))
    except Exception as error:
        print(type(error).__name__)
    """
    assert run_python(program, TYPED="2") == "a\nTypeCheckError"
    assert run_python(program, TYPED="1") == "a\na"


def test_every_public_function_of_the_door_is_checked_under_typed() -> None:
    program = """
    import inspect, tiny_plugin
    for name in tiny_plugin.__all__:
        thing = getattr(tiny_plugin, name)
        if inspect.isfunction(thing) and not hasattr(thing, "__wrapped__"):
            print(name)
        if isinstance(thing, type) and hasattr(thing, "__dataclass_fields__"):
            if not hasattr(thing.__init__, "__wrapped__"):
                print(name)
    for name, method in vars(tiny_plugin.Registry).items():
        if inspect.isfunction(method) and not name.startswith("_"):
            if not hasattr(method, "__wrapped__"):
                print(name)
    """
    names = run_python(program, TYPED="1").split()
    assert set(names) <= {"boundary", "hook", "record", "replace"}


def test_the_annotations_of_everything_that_is_checked_can_be_read() -> None:
    program = """
        import importlib, inspect, pkgutil, typing
        import tiny_tensor
        from tiny_plugin.checks import ALIASED
        seen = 0
        for module in pkgutil.walk_packages(tiny_tensor.__path__, "tiny_tensor."):
            if module.name.endswith("__main__"):
                continue
            things = vars(importlib.import_module(module.name)).values()
            classes = [thing for thing in things if inspect.isclass(thing)]
            for thing in (*things, *(member for one in classes for member in vars(one).values())):
                thing = getattr(thing, "__func__", getattr(thing, "fget", None) or thing)
                if inspect.isfunction(thing) and hasattr(thing, "__wrapped__"):
                    typing.get_type_hints(
                        inspect.unwrap(thing), localns={**ALIASED, "Self": object}
                    )
                    seen += 1
        print(seen > 500)
    """
    assert run_python(program, TYPED="1") == "True"


@pytest.mark.skipif(LEVEL > 0, reason="under TYPED=1 it is checked, which is what it is for")
def test_in_this_process_nothing_is_checked() -> None:
    def function(x: int) -> int:
        return x

    assert boundary(function) is function
    assert boundary(functools) is functools


def test_an_operator_may_decline() -> None:
    def __add__(other: object) -> int:  # noqa: N807
        return NotImplemented

    def add(other: object) -> int:
        return NotImplemented  # type: ignore[no-any-return]

    assert checked_function(__add__)(1) is NotImplemented
    with pytest.raises(BoundaryError):
        checked_function(add)(1)
