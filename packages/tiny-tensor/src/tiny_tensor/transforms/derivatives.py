"""Derivatives of functions of tensors: along a direction, and in all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar, cast

from tiny_ir import ArgumentError, GradientError, ShapeError, is_same_shape, substitute
from tiny_plugin import boundary
from tiny_tensor.engine.call_arguments import tensors_in, with_leaves
from tiny_tensor.engine.origins import Origins
from tiny_tensor.gradient.rule import zeros
from tiny_tensor.session import current_session
from tiny_tensor.tensor import Tensor
from tiny_tensor.transforms.forward import Forward
from tiny_tensor.transforms.rows import vmap

R = TypeVar("R")


@boundary
def jvp(
    function: Callable[..., R], primals: Sequence[Tensor], tangents: Sequence[Tensor]
) -> tuple[R, R]:
    """Compute a function and how fast its results change along a direction: forward mode.

    Args:
        function: takes tensors and returns a tensor, or nested lists, tuples and dicts of them.
        primals: what it is called with; floats.
        tangents: the direction: for each primal a tensor of its shape.

    Returns:
        What the function returns, and the same with the derivative of each tensor in its place:
        zeros where it does not depend on the primals, or is of integers. Both can be
        differentiated again, in either mode.

    Raises:
        ArgumentError: there are not as many tangents as primals.
        ShapeError: a tangent has another shape.
        GradientError: a primal is not of floats, or an op on the way has no derivative.

    Example:
        >>> from tiny_tensor import Tensor
        >>> from tiny_tensor.transforms import jvp
        >>> value, speed = jvp(lambda x: x * x, [Tensor([3.0])], [Tensor([10.0])])
        >>> value.tolist(), speed.tolist()
        ([9.0], [60.0])
    """
    _check_direction(primals, tangents)
    session = current_session()
    # Marked, so that nothing but what the function does depends on them.
    inner = [primal._apply(session.marked(primal.uop)) for primal in primals]
    given = {tensor.uop: primal.uop for tensor, primal in zip(inner, primals, strict=True)}
    seeds = {
        tensor.uop: tangent.uop.cast(tensor.dtype)
        for tensor, tangent in zip(inner, tangents, strict=True)
    }
    result = function(*inner)
    outputs = list({id(tensor): tensor for tensor in tensors_in(result)}.values())
    origins = Origins(session)
    found = [
        zeros(tensor.shape, tensor.uop) if speed is None else speed
        for tensor, speed in zip(
            outputs, Forward(seeds, origins).tangents_of([t.uop for t in outputs]), strict=True
        )
    ]
    settled = origins.settled(dict(zip(found, found, strict=True)))
    values = {id(t): t._apply(substitute(t.uop, given)) for t in outputs}
    derivatives = {
        id(t): t._apply(substitute(settled[speed], given))
        for t, speed in zip(outputs, found, strict=True)
    }
    value = with_leaves(result, lambda tensor: values[id(tensor)])
    derivative = with_leaves(result, lambda tensor: derivatives[id(tensor)])
    return cast(R, value), cast(R, derivative)


def _check_direction(primals: Sequence[Tensor], tangents: Sequence[Tensor]) -> None:
    if len(primals) != len(tangents):
        raise ArgumentError(
            f"there are {len(tangents)} tangents for {len(primals)} primals.",
            why="a direction says how fast each primal changes.",
            fix="pass a tangent for each primal; zeros where it stays.",
        )
    for primal, tangent in zip(primals, tangents, strict=True):
        if not primal.dtype.is_float or not tangent.dtype.is_float:
            raise GradientError(
                f"there is no derivative of {primal.dtype.name} along {tangent.dtype.name}.",
                why="their values have nothing in between.",
                fix="cast both to a float first.",
            )
        if not is_same_shape(primal.shape, tangent.shape):
            raise ShapeError(
                f"the tangent of a tensor of shape {primal.shape} cannot have {tangent.shape}.",
                why="it says how fast each element changes.",
                fix="expand it to the shape of the primal.",
            )


@boundary
def jacfwd(function: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """Make a function that computes all derivatives of another, forwards: good for few inputs.

    Args:
        function: takes a tensor of shape (*n,) and returns one of shape (*m,).

    Returns:
        A function of the same argument that returns (*m, *n).

    Example:
        >>> from tiny_tensor import Tensor
        >>> from tiny_tensor.transforms import jacfwd
        >>> jacfwd(lambda x: x * x)(Tensor([1.0, 2.0])).tolist()
        [[2.0, 0.0], [0.0, 4.0]]
    """

    def jacobian(x: Tensor) -> Tensor:
        def along(direction: Tensor) -> Tensor:
            return jvp(function, (x,), (direction,))[1]

        columns = vmap(along, out_axes=-1)(_directions(x))
        return columns.reshape(*columns.shape[:-1], *x.shape)

    return jacobian


@boundary
def jacrev(function: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """Make a function that computes all derivatives of another, backwards: good for few results.

    Args:
        function: takes a tensor of shape (*n,) and returns one of shape (*m,).

    Returns:
        A function of the same argument that returns (*m, *n).

    Example:
        >>> from tiny_tensor import Tensor
        >>> from tiny_tensor.transforms import jacrev
        >>> jacrev(lambda x: (x * x).sum())(Tensor([1.0, 2.0])).tolist()
        [2.0, 4.0]
    """

    def jacobian(x: Tensor) -> Tensor:
        mark = current_session().marked(x.uop)
        inner = x._apply(mark)
        result = function(inner)

        def back(direction: Tensor) -> Tensor:
            return result.gradient(inner, gradient=direction)[0]

        rows = vmap(back)(_directions(result))
        found = rows.reshape(*result.shape, *x.shape)
        return found._apply(substitute(found.uop, {mark: x.uop}))

    return jacobian


@boundary
def hessian(function: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """Make a function that computes all second derivatives of a function of one result.

    Args:
        function: takes a tensor of shape (*n,) and returns one of shape ().

    Returns:
        A function of the same argument that returns (*n, *n).

    Example:
        >>> from tiny_tensor import Tensor
        >>> from tiny_tensor.transforms import hessian
        >>> hessian(lambda x: x[0] * x[1])(Tensor([3.0, 5.0])).tolist()
        [[0.0, 1.0], [1.0, 0.0]]
    """
    return jacfwd(jacrev(function))


def _directions(like: Tensor) -> Tensor:
    """A tensor of the same shape for each element, which is 1 there and 0 elsewhere."""
    count = int(like.numel())  # type: ignore[arg-type]
    return Tensor.eye(count, dtype=like.dtype, device=like.device).reshape(count, *like.shape)
