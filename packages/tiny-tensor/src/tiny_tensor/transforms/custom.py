"""A function of tensors gets a gradient that its author wrote."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import wraps
from typing import ParamSpec, TypeAlias

from tiny_ir import ArgumentTypeError, GradientError, Op, UOp, make
from tiny_plugin import boundary
from tiny_tensor.gradient.custom import gradient_of_input
from tiny_tensor.session import current_session
from tiny_tensor.tensor import Tensor

P = ParamSpec("P")

GradientFunction: TypeAlias = Callable[..., "Tensor | Sequence[Tensor | None]"]
"""From the gradient of the result, the result and the arguments to the gradients of the tensors
among the arguments, in order; None where there is none."""


@boundary
def custom_gradient(
    gradient: GradientFunction,
) -> Callable[[Callable[P, Tensor]], Callable[P, Tensor]]:
    """Say what the gradient of a function is, instead of what it does.

    The function and its gradient are written with tensors, and run with positional arguments. The
    gradient function is called while something is differentiated, and at no other time: it is in no
    key and no kernel. Only arguments get gradients: a tensor that the function uses without being
    given it is a constant. Both modes, higher orders and `vmap` work, where the gradient function
    itself is differentiable.

    Args:
        gradient: called with the gradient of the result, the result, and all arguments; returns a
            gradient for each tensor among the arguments, or one tensor where there is one.

    Returns:
        A decorator.

    Raises:
        ArgumentTypeError: (when called) an argument is no tensor and cannot be hashed, or the
            function returns something else than a tensor.
        GradientError: (when called) the result is not of floats, or (when differentiated) there
            are not as many gradients as tensors.
        ShapeError: (when differentiated) a gradient does not have the shape of its tensor.

    Example:
        >>> from tiny_tensor import Tensor
        >>> from tiny_tensor.transforms import custom_gradient
        >>> @custom_gradient(lambda g, result, x: g)
        ... def rounded(x: Tensor) -> Tensor:
        ...     return x.round()
        >>> x = Tensor([1.2, 2.7])
        >>> rounded(x).tolist(), rounded(x).sum().gradient(x)[0].tolist()
        ([1.0, 3.0], [1.0, 1.0])
    """

    def decorate(function: Callable[P, Tensor]) -> Callable[P, Tensor]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> Tensor:
            if kwargs:
                raise ArgumentTypeError(
                    f"{function.__name__} was called with {', '.join(kwargs)} by name.",
                    why="its gradient function gets the same arguments, by position.",
                    fix="pass them by position.",
                )
            return _marked(function(*args, **kwargs), args, function, gradient)

        return call

    return decorate


def _marked(
    result: object,
    args: tuple[object, ...],
    function: Callable[..., Tensor],
    gradient: GradientFunction,
) -> Tensor:
    """The result, which knows its gradient."""
    if not isinstance(result, Tensor):
        raise ArgumentTypeError(
            f"{function.__name__} returned a {type(result).__name__}.",
            why="a function with a gradient of its own returns one tensor.",
            fix="return one, or give each result a function of its own.",
        )
    if not result.dtype.is_float:
        raise GradientError(
            f"{function.__name__} returned a tensor of {result.dtype.name}.",
            why="its values have nothing in between, so that it has no gradient.",
            fix="return a tensor of floats.",
        )
    tensors = [arg for arg in args if isinstance(arg, Tensor)]
    others = tuple(None if isinstance(arg, Tensor) else arg for arg in args)
    places = tuple(isinstance(arg, Tensor) for arg in args)
    devices = tuple(tensor.device for tensor in tensors)
    rule = _Rule(gradient, others, places, devices, result.device)
    number = current_session().custom_gradients.number_of(_key_of(rule), rule.gradients)
    return result._apply(
        make(Op.CUSTOM, None, (result.uop, *(tensor.uop for tensor in tensors)), number)
    )


def _key_of(rule: _Rule) -> Hashable:
    key = (rule.gradient, rule.others, tuple(map(type, rule.others)), rule.places)
    try:
        hash(key)
    except TypeError as error:
        raise ArgumentTypeError(
            "an argument of a function with a gradient of its own cannot be hashed.",
            why="arguments that are no tensors tell calls apart.",
            fix="pass numbers, texts, or tuples of them.",
        ) from error
    return (key, rule.devices, rule.device)


class _Rule:
    """A gradient function as a rule for nodes."""

    def __init__(
        self,
        gradient: GradientFunction,
        others: tuple[object, ...],
        places: tuple[bool, ...],
        devices: tuple[str, ...],
        device: str,
    ) -> None:
        self.gradient = gradient
        self.others = others
        self.places = places
        self.devices = devices
        self.device = device

    def gradients(self, node: UOp, g: UOp) -> list[UOp]:
        """The gradients of the inputs of a CUSTOM."""
        inputs = node.src[1:]
        tensors = iter(
            [Tensor._from_uop(x, place) for x, place in zip(inputs, self.devices, strict=True)]
        )
        args = [
            next(tensors) if is_tensor else other
            for is_tensor, other in zip(self.places, self.others, strict=True)
        ]
        arriving = Tensor._from_uop(g, self.device)
        found = self.gradient(arriving, Tensor._from_uop(node, self.device), *args)
        parts = [found] if isinstance(found, Tensor) else list(found)
        if len(parts) != len(inputs):
            raise GradientError(
                f"a gradient function returned {len(parts)} gradients for {len(inputs)} tensors.",
                why="each tensor among the arguments has one.",
                fix="return a gradient for each; None where there is none.",
            )
        return [gradient_of_input(part, x) for part, x in zip(parts, inputs, strict=True)]
