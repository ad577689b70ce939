"""Gradients of Tensor: what the rules find, as tensors."""

from __future__ import annotations

from collections.abc import Collection
from typing import Self

from tiny_ir import GradientError, Op, ShapeError, UOp, is_same_shape, make
from tiny_plugin import boundary
from tiny_tensor.engine.origins import Origins
from tiny_tensor.gradient.differentiate import gradients_of
from tiny_tensor.gradient.rule import zeros
from tiny_tensor.session import current_session
from tiny_tensor.tensor_core import TensorCore


@boundary
class GradientMethods(TensorCore):
    """Differentiation."""

    __slots__ = ()

    def gradient(self, *targets: Self, gradient: Self | None = None) -> list[Self]:
        """Differentiate this tensor with respect to others.

        Args:
            targets: float tensors that it was computed from.
            gradient: what each of its elements counts, in its shape; it may be left out where there
                is one element, which counts 1.

        Returns:
            For each target a tensor of its shape and dtype; zeros where nothing depends on it. They
            can be differentiated again.

        Raises:
            GradientError: this tensor or a target is no float, `gradient` is missing, or an op on
                the way has no gradient.
            ShapeError: `gradient` has another shape.

        Example:
            >>> from tiny_tensor import Tensor
            >>> x = Tensor([1.0, 2.0])
            >>> (slope,) = (x * x).sum().gradient(x)
            >>> slope.tolist()
            [2.0, 4.0]
        """
        for target in targets:
            _check_float(target, "with respect to")
        nodes = [target.uop for target in targets]
        found = self._flow(gradient, nodes)
        return [
            target._apply(found[node] if node in found else zeros(node.shape, node))
            for target, node in zip(targets, nodes, strict=True)
        ]

    def backward(self, gradient: Self | None = None) -> Self:
        """Add to `grad` of every float tensor that this one was computed from and that is alive.

        What is added are numbers: nothing flows back through `grad`, so that a tensor that is
        written with it does not carry its past along. What `gradient()` returns can be
        differentiated again.

        Args:
            gradient: what each element counts, as for `gradient()`.

        Returns:
            The tensor itself.

        Raises:
            GradientError: as `gradient()`.
            ShapeError: as `gradient()`.

        Example:
            >>> from tiny_tensor import Tensor
            >>> x = Tensor([1.0, 2.0])
            >>> _ = (x * x).sum().backward()
            >>> x.grad.tolist()
            [2.0, 4.0]
        """
        live = [
            (tensor, tensor.uop)
            for tensor in current_session().live_tensors()
            if isinstance(tensor, type(self)) and tensor.dtype.is_float
        ]
        found = self._flow(gradient, frozenset(node for _, node in live))
        for tensor, node in live:
            if node in found:
                slope = found[node]
                if tensor.grad is not None:
                    slope = tensor.grad.uop + slope
                tensor.grad = tensor._apply(make(Op.DETACH, None, (slope,)))
        return self

    def detach(self) -> Self:
        """The same elements, through which no gradient flows.

        Example:
            >>> from tiny_tensor import Tensor
            >>> x = Tensor([3.0])
            >>> (x * x.detach()).sum().gradient(x)[0].tolist()
            [3.0]
        """
        return self._apply(make(Op.DETACH, None, (self.uop,)))

    def is_param_(self, flag: bool = True) -> Self:
        """Mark this tensor as one that is trained: optimizers do so."""
        self.is_param = flag
        return self

    def _flow(self, gradient: Self | None, targets: Collection[UOp]) -> dict[UOp, UOp]:
        """The gradients of nodes, whether what lies between was realized or not."""
        seeds = {self.uop: self._seed(gradient)}
        origins = Origins(current_session(), seeds, targets)
        return origins.settled(gradients_of(seeds, targets, origin=origins))

    def _seed(self, gradient: Self | None) -> UOp:
        """What arrives at this tensor."""
        _check_float(self, "of")
        if gradient is None:
            if self.numel() != 1:
                raise GradientError(
                    f"cannot differentiate a tensor of shape {self.shape} by itself.",
                    why="its elements have a gradient each, and it is not said what they count.",
                    fix="differentiate one number, such as its sum(), or pass gradient=...",
                )
            return zeros(self.shape, self.uop) + 1
        if not is_same_shape(gradient.shape, self.shape):
            raise ShapeError(
                f"the gradient of a tensor of shape {self.shape} cannot have {gradient.shape}.",
                why="it says what each element counts.",
                fix="expand it to the shape of the tensor.",
            )
        return self._wrap(gradient).uop.cast(self.dtype)


def _check_float(tensor: TensorCore, preposition: str) -> None:
    if not tensor.dtype.is_float:
        raise GradientError(
            f"there is no derivative {preposition} a tensor of {tensor.dtype.name}.",
            why="its values have nothing in between.",
            fix="cast it to a float first.",
        )
