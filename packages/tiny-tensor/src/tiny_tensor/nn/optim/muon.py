"""Steps along the momentum, made orthogonal: Muon."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tiny_ir import ArgumentError
from tiny_plugin import boundary
from tiny_tensor.explained import explained_methods
from tiny_tensor.nn.optim.optimizer import Optimizer, begin, check_range, write
from tiny_tensor.sizes import concrete_shape
from tiny_tensor.tensor import Tensor

COEFFICIENTS = (3.4445, -4.775, 2.0315)
"""Of the odd polynomial that brings singular values near 1. Source: K. Jordan et al., 2024."""


@explained_methods
@boundary
class Muon(Optimizer):
    """Momentum for matrices, whose singular values all become about 1 before a step.

    Args:
        params: the matrices to train; what has more axes is one with all but the first merged.
        lr: the learning rate.
        momentum: how much of the last direction is kept.
        weight_decay: how much of the parameter itself is subtracted, times the learning rate.
        ns_steps: how often the polynomial is applied.
        ns_params: its coefficients.
        nesterov: look ahead along the momentum.

    Raises:
        ArgumentError: a parameter is no matrix: train it with AdamW, in an OptimizerGroup.

    Source: K. Jordan et al., "Muon: an optimizer for hidden layers in neural networks", 2024.

    Example:
        >>> x = Tensor([[2.0, 0.0], [0.0, 3.0]])
        >>> optimizer = Muon([x], lr=0.5)
        >>> _ = (x * x).sum().backward()
        >>> optimizer.step()
        >>> (x < Tensor([[2.0, 1.0], [1.0, 3.0]])).tolist()
        [[True, True], [True, True]]
    """

    def __init__(
        self,
        params: Sequence[Tensor],
        lr: float | Tensor = 0.001,
        momentum: float = 0.95,
        weight_decay: float = 0.1,
        ns_steps: int = 5,
        ns_params: tuple[float, float, float] = COEFFICIENTS,
        nesterov: bool = True,
    ) -> None:
        super().__init__(params, lr)
        check_range("momentum", momentum, 0.0, 1.0)
        for param in self.params:
            if param.ndim < 2:
                raise ArgumentError(
                    f"Muon cannot train a tensor of shape {param.shape}.",
                    why="it makes matrices orthogonal.",
                    fix="train it with AdamW, and put both into an OptimizerGroup.",
                )
        self.momentum = momentum
        self.weight_decay = weight_decay
        self.ns_steps = ns_steps
        self.ns_params = ns_params
        self.nesterov = nesterov
        self.velocity = self._slots()
        begin(self)

    def _state(self) -> list[Tensor]:
        return self.velocity

    def _update(self, at: int, value: Tensor, gradient: Tensor) -> Tensor:
        velocity = self.velocity[at]
        write(velocity, velocity * self.momentum + gradient)
        direction = gradient + velocity * self.momentum if self.nesterov else velocity
        matrix = direction.reshape(direction.shape[0], -1)
        rows, columns = concrete_shape(matrix.shape)
        even = matrix.newton_schulz(self.ns_steps, self.ns_params).reshape(direction.shape)
        step = even * math.sqrt(max(1.0, rows / columns))
        if self.weight_decay:
            step = step + value * self.weight_decay
        return step * self.lr
