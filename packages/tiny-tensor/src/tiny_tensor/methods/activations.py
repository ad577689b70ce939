"""Activation functions: what stands between the layers of a network."""

from __future__ import annotations

import math
from typing import Self, TypeVar

from tiny_ir import ArgumentError, ShapeError, Size, UOp, is_same_size
from tiny_plugin import boundary
from tiny_tensor.choices import check_choice, check_order
from tiny_tensor.methods.functions import FunctionMethods

SELU_ALPHA = 1.6732632423543772
SELU_GAMMA = 1.0507009873554805
"""G. Klambauer et al., "Self-normalizing neural networks", 2017, section 2."""
GELU_CUBE = 0.044715
"""D. Hendrycks, K. Gimpel, "Gaussian error linear units", 2016: the approximation by tanh."""
QUICK_GELU_SLOPE = 1.702
"""The same paper: the approximation by the logistic function."""

Values = TypeVar("Values", bound=FunctionMethods)


@boundary
class ActivationMethods(FunctionMethods):
    """Activations. Where a formula has a kink, its gradient there is that of the right side at 0.

    Formulas of several steps keep at least float32 in between.
    """

    __slots__ = ()

    def relu(self) -> Self:
        """The elements above 0, and 0 for all others; NaN stays NaN.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([-1.0, 2.0]).relu().tolist()
            [0.0, 2.0]
        """
        return (self <= 0).where(0, self)

    def relu6(self) -> Self:
        """The elements kept from 0 to 6."""
        return self.clamp(0, 6)

    def leaky_relu(self, neg_slope: float = 0.01) -> Self:
        """The elements, those below 0 times `neg_slope`."""
        return (self < 0).where(self * neg_slope, self)

    def sigmoid(self) -> Self:
        """The logistic function 1 / (1 + exp(-x)), without overflow on either side.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([0.0, 1000.0]).sigmoid().tolist()
            [0.5, 1.0]
        """

        def formula(x: Self) -> Self:
            # exp(-|x|); the choice gives it a slope at 0, which |x| has not.
            small = (x < 0.0).where(x, -x).exp()
            return (x < 0.0).where(small, 1.0) / (small + 1.0)

        return self._composed(formula)

    def logsigmoid(self) -> Self:
        """The logarithm of the logistic function."""
        return -((-self._as_float()).softplus())

    def hardsigmoid(self, alpha: float = 1 / 6, beta: float = 0.5) -> Self:
        """alpha * x + beta, kept from 0 to 1."""
        return self._composed(lambda x: (x * alpha + beta).clamp(0.0, 1.0))

    def softplus(self, beta: float = 1.0) -> Self:
        """log(1 + exp(beta * x)) / beta, without overflow.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1000.0]).softplus().tolist()
            [1000.0]
        """

        def formula(x: Self) -> Self:
            y = x * beta
            small = (y < 0.0).where(y, -y).exp()
            return ((y < 0.0).where(0.0, y) + small.log1p()) / beta

        return self._composed(formula)

    def softsign(self) -> Self:
        """x / (1 + |x|)."""
        return self._composed(lambda x: x / (x.abs() + 1.0))

    def elu(self, alpha: float = 1.0) -> Self:
        """x above 0, alpha * (exp(x) - 1) below."""
        return self._composed(lambda x: (x > 0.0).where(x, _below(x).expm1() * alpha))

    def celu(self, alpha: float = 1.0) -> Self:
        """x above 0, alpha * (exp(x / alpha) - 1) below."""
        return self._composed(lambda x: (x > 0.0).where(x, (_below(x) / alpha).expm1() * alpha))

    def selu(self, alpha: float = SELU_ALPHA, gamma: float = SELU_GAMMA) -> Self:
        """gamma times elu(x, alpha).

        Source: G. Klambauer et al., "Self-normalizing neural networks", 2017.
        """
        return self.elu(alpha) * gamma

    def swish(self) -> Self:
        """x times the logistic function of x.

        Source: P. Ramachandran et al., "Searching for activation functions", 2017.
        """
        return self._composed(lambda x: x * x.sigmoid())

    def silu(self) -> Self:
        """Another name of `swish`."""
        return self.swish()

    def hardswish(self) -> Self:
        """x * relu6(x + 3) / 6.

        Source: A. Howard et al., "Searching for MobileNetV3", 2019.
        """
        return self._composed(lambda x: x * (x + 3.0).relu6() * (1 / 6))

    def hardtanh(self, min_val: float = -1.0, max_val: float = 1.0) -> Self:
        """The elements kept from `min_val` to `max_val`.

        Raises:
            ArgumentError: `min_val` is greater than `max_val`.
        """
        check_order("hardtanh", min_val, max_val)
        return self.clamp(min_val, max_val)

    def gelu(self, approximate: str = "tanh") -> Self:
        """x times the probability that a normal number is below x.

        Args:
            approximate: "tanh" for the usual approximation, "none" for the error function.

        Raises:
            ArgumentError: it is neither.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([0.0, 30.0]).gelu().tolist()
            [0.0, 30.0]

        Source: D. Hendrycks, K. Gimpel, "Gaussian error linear units", 2016.
        """
        if approximate == "none":
            return self._composed(lambda x: x * 0.5 * ((x * math.sqrt(0.5)).erf() + 1.0))
        check_choice("approximate", approximate, ("none", "tanh"))
        scale = math.sqrt(2 / math.pi)
        return self._composed(
            lambda x: x * 0.5 * (((x + x * x * x * GELU_CUBE) * scale).tanh() + 1.0)
        )

    def glu(self, dim: int = -1) -> Self:
        """The first half of an axis times the logistic function of the second.

        Raises:
            ShapeError: the axis has an odd size.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([8.0, 0.0]).glu().tolist()
            [4.0]

        Source: Y. Dauphin et al., "Language modeling with gated convolutional networks", 2017.
        """
        axis = self._resolve_axis(dim)
        size = self.shape[axis]
        if not isinstance(size, int) or size % 2:
            raise ShapeError(
                f"axis {axis} of size {size} has no halves.",
                why="one half gates the other.",
                fix="choose an axis of an even size.",
            )
        half = size // 2

        def formula(x: Self) -> Self:
            values, gates = (x._apply(_half(x.uop, axis, n, half)) for n in (0, half))
            return values * gates.sigmoid()

        return self._composed(formula)

    def prelu(self, weight: Self) -> Self:
        """The elements, those below 0 times a slope that is learned.

        Args:
            weight: one slope, (1,) or (), or one for each channel, (channels,); channels are
                axis 1, or the only axis.

        Raises:
            ShapeError: the weights do not fit.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([-4.0, 4.0]).prelu(Tensor([0.5])).tolist()
            [-2.0, 4.0]

        Source: K. He et al., "Delving deep into rectifiers", 2015.
        """
        weight = self._wrap(weight)
        axis = min(1, self.ndim - 1)
        channels = self.shape[axis] if self.ndim else 1
        is_single = weight.numel() == 1
        if weight.ndim > 1 or not (is_single or is_same_size(weight.numel(), channels)):
            raise ShapeError(
                f"slopes of shape {weight.shape} do not fit a tensor of shape {self.shape}.",
                why="there is one for all elements, or one for each channel.",
                fix="reshape them to (channels,).",
            )
        shape = [1] * self.ndim
        if not is_single:
            shape[axis] = -1
        slope = weight._apply(weight.uop.reshape([weight.numel() if n == -1 else n for n in shape]))
        return self._composed(lambda x: (x < 0.0).where(x * slope, x))

    def threshold(self, threshold: float, value: object) -> Self:
        """The elements above a threshold, and `value`, a number or a tensor, for all others.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1, 2, 3]).threshold(2, 0).tolist()
            [0, 0, 3]
        """
        return (self <= threshold).where(value, self)

    def hardshrink(self, lambd: float = 0.5) -> Self:
        """The elements, those from -lambd to lambd as 0; NaN stays NaN."""
        return ((self >= -lambd) & (self <= lambd)).where(0, self)

    def softshrink(self, lambd: float = 0.5) -> Self:
        """The elements, `lambd` nearer to 0; those that would pass it are 0.

        Raises:
            ArgumentError: `lambd` is negative.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([-2.0, 0.25, 2.0]).softshrink().tolist()
            [-1.5, 0.0, 1.5]
        """
        if not lambd >= 0:
            raise ArgumentError(
                f"elements cannot be moved nearer to 0 by {lambd}.",
                why="that would move them away.",
                fix="choose a number of 0 or more.",
            )
        return self._composed(lambda x: (x.abs() <= lambd).where(x * 0.0, x - x.sign() * lambd))

    def tanhshrink(self) -> Self:
        """x - tanh(x)."""
        return self._composed(lambda x: x - x.tanh())

    def quick_gelu(self) -> Self:
        """x times the logistic function of 1.702 x."""
        return self._composed(lambda x: x * (x * QUICK_GELU_SLOPE).sigmoid())

    def mish(self) -> Self:
        """x * tanh(softplus(x)).

        Source: D. Misra, "Mish: a self regularized non-monotonic activation function", 2019.
        """
        return self._composed(lambda x: x * x.softplus().tanh())


def _half(node: UOp, axis: int, begin: int, count: int) -> UOp:
    """`count` positions of an axis from `begin` on."""
    parts: list[tuple[Size, Size]] = [(0, size) for size in node.shape]
    parts[axis] = (begin, begin + count)
    return node.shrink(parts)


def _below(x: Values) -> Values:
    """What is below 0, and 0 elsewhere: exp of it does not overflow."""
    return (x > 0.0).where(0.0, x)
