"""Steps along the gradient, with or without momentum: SGD and LARS."""

from __future__ import annotations

from collections.abc import Sequence

from tiny_plugin import boundary
from tiny_tensor.explained import explained_methods
from tiny_tensor.nn.optim.optimizer import Optimizer, begin, check_range, norm_of, write
from tiny_tensor.tensor import Tensor


@explained_methods
@boundary
class LARS(Optimizer):
    """SGD whose steps are scaled, parameter by parameter, to the size of the parameter.

    Args:
        params: the tensors to train.
        lr: the learning rate.
        momentum: how much of the last direction is kept.
        weight_decay: added to the gradient, times the parameter.
        nesterov: look ahead along the momentum.
        classic: let the learning rate count when the momentum is built, not when it is used.
        tcoef: trust coefficient; 0 scales nothing.

    Source: Y. You et al., "Large batch training of convolutional networks", 2017.
    """

    def __init__(
        self,
        params: Sequence[Tensor],
        lr: float | Tensor = 0.001,
        momentum: float = 0.9,
        weight_decay: float = 1e-4,
        nesterov: bool = False,
        classic: bool = True,
        tcoef: float = 0.001,
    ) -> None:
        super().__init__(params, lr)
        check_range("momentum", momentum, 0.0, 1.0)
        self.momentum = momentum
        self.weight_decay = weight_decay
        self.nesterov = nesterov
        self.classic = classic
        self.tcoef = tcoef
        self.velocity = self._slots() if momentum else []
        begin(self)

    def _update(self, at: int, value: Tensor, gradient: Tensor) -> Tensor:
        if self.weight_decay:
            gradient = gradient + value * self.weight_decay
        if self.tcoef:
            gradient = gradient * self._trust(value, gradient)
        if self.classic:
            gradient = gradient * self.lr
        if self.momentum:
            velocity = self.velocity[at]
            write(velocity, velocity * self.momentum + gradient)
            gradient = gradient + velocity * self.momentum if self.nesterov else velocity
        return gradient if self.classic else gradient * self.lr

    def _state(self) -> list[Tensor]:
        return self.velocity

    def _trust(self, value: Tensor, gradient: Tensor) -> Tensor:
        size = norm_of(value)
        slope = norm_of(gradient)
        ratio = size * self.tcoef / (slope + size * self.weight_decay)
        return ((size > 0) & (slope > 0)).where(ratio, 1.0)


@explained_methods
@boundary
class SGD(LARS):
    """Stochastic gradient descent.

    Args:
        params: the tensors to train.
        lr: the learning rate.
        momentum: how much of the last direction is kept.
        weight_decay: added to the gradient, times the parameter.
        nesterov: look ahead along the momentum.
        classic: let the learning rate count when the momentum is built, not when it is used.

    Raises:
        ArgumentError: there is nothing to train, or a number is out of its range.
        ArgumentTypeError: something to train is no float tensor.

    Example:
        >>> x = Tensor([3.0])
        >>> optimizer = SGD([x], lr=0.5)
        >>> _ = (x * x).sum().backward()
        >>> optimizer.step()
        >>> x.tolist()
        [0.0]
    """

    def __init__(
        self,
        params: Sequence[Tensor],
        lr: float | Tensor = 0.001,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        classic: bool = False,
    ) -> None:
        super().__init__(params, lr, momentum, weight_decay, nesterov, classic, tcoef=0.0)
