"""A call with something that a method does not take ends with an error about that argument."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tiny_ir import ArgumentError, ArgumentTypeError, TinyError
from tiny_tensor import Tensor, Variable, jit
from tiny_tensor.axes import resolved_axes, resolved_axis
from tiny_tensor.choices import whole_number
from tiny_tensor.explained import explained
from tiny_tensor.nn import LayerNorm
from tiny_tensor.nn.optim import SGD, Adam
from tiny_tensor.nn.state import safe_save

pytestmark = pytest.mark.usefixtures("session")

METHODS = [name for name in dir(Tensor) if callable(getattr(Tensor, name)) and name[0] != "_"]


class Odd:
    """Nothing takes this."""


def example(parameter: inspect.Parameter) -> object:
    """Something that a parameter may take, or nearly so."""
    text = str(parameter.annotation)
    if re.search("Self|Tensor|object", text):
        return Tensor([[1.0, 2.0], [3.0, 4.0]])
    return "a" if re.search("str", text) else 1


def calls_with_something_odd(name: str) -> list[Callable[[], object]]:
    """Calls of a method, each with one odd argument; those with defaults are left out."""
    method = getattr(Tensor([[1.0, 2.0], [3.0, 4.0]]), name)
    parameters = list(inspect.signature(method).parameters.values())
    calls = []
    for odd in parameters:
        named: dict[str, Any] = {}
        given: list[Any] = []
        for parameter in parameters:
            if parameter is not odd and parameter.default is not parameter.empty:
                continue
            value = Odd() if parameter is odd else example(parameter)
            if parameter.default is not parameter.empty or parameter.kind is parameter.KEYWORD_ONLY:
                named[parameter.name] = value
            elif parameter.kind is not parameter.VAR_KEYWORD:
                given.append(value)
        calls.append(lambda given=given, named=named: method(*given, **named))
    return calls


def test_numpy_scalars_are_taken_where_numbers_are() -> None:
    number: Any = np.int64
    one, x = number(1), Tensor([[1, 2, 3]])
    assert x.roll(one, one).tolist() == [[3, 1, 2]]
    assert x.pad((one, number(0))).shape == (1, 4)
    assert Tensor.arange(one, number(3)).tolist() == [1, 2]
    assert [part.shape for part in x.split([one, number(2)], dim=one)] == [(1, 1), (1, 2)]
    assert LayerNorm(number(3)).weight is not None
    with pytest.raises(ArgumentError, match="7"):
        x.topk(number(7))


def test_no_method_fails_with_an_error_of_pythons_own() -> None:
    assert len(METHODS) > 300
    raw = []
    for name in METHODS:
        for call in calls_with_something_odd(name):
            try:
                call()
            except TinyError:
                continue
            except Exception as error:  # noqa: BLE001 (these are what is looked for)
                raw.append(f"{name}: {error!r}")
    assert not raw


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda x: x.gradient(3), "targets"),
        (lambda x: x.topk("a"), "k"),
        (lambda x: Tensor.linspace(0, 1, 2.5), "steps"),
        (lambda x: x.rearrange(None), "formula"),
        (lambda x: x.shrink([("a", 1), None]), "parts"),
        (lambda x: Adam([x], b1="a"), "b1"),
        (lambda x: LayerNorm(1.5), "normalized_shape"),
        (lambda x: safe_save({"a": 3}, "never-written"), "tensors"),
    ],
)
def test_the_argument_is_named(call: Callable[[Tensor], object], name: str) -> None:
    with pytest.raises(ArgumentTypeError, match=rf"\b{name}\b"):
        call(Tensor([[1.0, 2.0], [3.0, 4.0]]))


REFUSED: dict[str, Callable[[], object]] = {
    "a learning rate below 0": lambda: SGD([Tensor([1.0])], lr=-1.0),
    "a variable without a name": lambda: Variable(3, 1, 2),  # type: ignore[arg-type]
    "a bound that is a text": lambda: Variable("n", "a", 2),  # type: ignore[arg-type]
    "a variable bound to a float": lambda: Variable("n", 1, 3).bind(2.0),  # type: ignore[arg-type]
    "a capture of a number": lambda: jit(3),  # type: ignore[arg-type,var-annotated]
    "a derivative without bound": lambda: Tensor([1.0]).polygamma(10**30),
}


@pytest.mark.parametrize("what", REFUSED)
def test_calls_that_make_no_sense_are_refused_at_once(what: str) -> None:
    with pytest.raises((ArgumentError, ArgumentTypeError)):
        REFUSED[what]()


def test_integers_of_numpy_are_integers() -> None:
    assert resolved_axis(np.int64(-1), 2) == 1  # type: ignore[arg-type]
    assert resolved_axes((np.int32(1), 0), 2) == (0, 1)  # type: ignore[arg-type]
    assert whole_number("value", np.int64(2)) == 2


def test_negative_weights_are_never_drawn() -> None:
    for again in (False, True):
        drawn = Tensor([[-1.0, 2.0]] * 5).multinomial(1, again)
        assert drawn.tolist() == [[1]] * 5


def test_an_error_of_a_right_call_stays_what_it_is() -> None:
    @explained
    def fails(x: int) -> None:
        raise KeyError(x)

    with pytest.raises(KeyError):
        fails(3)
    with pytest.raises(ArgumentTypeError, match="does not take 'a' as x") as caught:
        fails("a")  # type: ignore[arg-type]
    assert isinstance(caught.value.__cause__, KeyError)
    with pytest.raises(TypeError, match="positional argument"):
        fails()  # type: ignore[call-arg]
