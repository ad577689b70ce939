"""Steps along the mean gradient, divided by its mean size: Adam, AdamW and LAMB."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tiny_ir import Op, dtypes, make
from tiny_plugin import boundary
from tiny_tensor.explained import explained_methods
from tiny_tensor.nn.optim.optimizer import Optimizer, begin, check_range, norm_of, write
from tiny_tensor.tensor import Tensor


@explained_methods
@boundary
class LAMB(Optimizer):
    """Adam whose steps are scaled, parameter by parameter, to the size of the parameter.

    Args:
        params: the tensors to train.
        lr: the learning rate.
        b1: how much of the mean gradient is kept at a step.
        b2: how much of the mean square is kept.
        eps: added to the root of the mean square.
        weight_decay: how much of the parameter itself is subtracted, times the learning rate.
        adam: scale nothing: that is AdamW.

    Source: Y. You et al., "Large batch optimization for deep learning", 2019; D. Kingma, J. Ba,
        "Adam", 2014; I. Loshchilov, F. Hutter, "Decoupled weight decay regularization", 2017.
    """

    def __init__(
        self,
        params: Sequence[Tensor],
        lr: float | Tensor = 0.001,
        b1: float = 0.9,
        b2: float = 0.999,
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        adam: bool = False,
    ) -> None:
        super().__init__(params, lr)
        for name, value in (("b1", b1), ("b2", b2)):
            check_range(name, value, 0.0, 1.0)
        self.b1, self.b2, self.eps = b1, b2, eps
        self.weight_decay = weight_decay
        self.adam = adam
        self.steps = Tensor([0], self.params[0].device, dtypes.int32).reshape(())
        self.mean, self.square = self._slots(), self._slots()
        begin(self)

    def _state(self) -> list[Tensor]:
        return [self.steps, *self.mean, *self.square]

    def _begin_step(self) -> None:
        self.steps.assign(self.steps + 1)

    def _update(self, at: int, value: Tensor, gradient: Tensor) -> Tensor:
        mean, square = self.mean[at], self.square[at]
        write(mean, mean * self.b1 + gradient * (1 - self.b1))
        write(square, square * self.b2 + gradient * gradient * (1 - self.b2))
        slope = mean / self._part_seen(self.b1)
        size = (square / self._part_seen(self.b2)).sqrt()
        update = slope / (size + self.eps)
        if self.weight_decay:
            update = update + value * self.weight_decay
        if not self.adam:
            update = update * self._trust(value, update)
        return update * self.lr

    def _part_seen(self, kept: float) -> Tensor:
        """1 - kept ** steps, which loses no digits where `kept` is close to 1."""
        if not kept:
            return Tensor.ones((), device=self.steps.device)
        exponent = self.steps.cast(dtypes.float32) * math.log(kept)
        return -exponent._apply(make(Op.EXPM1, None, (exponent.uop,)))

    def _trust(self, value: Tensor, update: Tensor) -> Tensor:
        size, slope = norm_of(value), norm_of(update)
        return ((size > 0) & (slope > 0)).where(size / slope, 1.0)


@explained_methods
@boundary
class AdamW(LAMB):
    """Adam with weight decay that does not pass through the means.

    Args:
        params: the tensors to train.
        lr: the learning rate.
        b1: how much of the mean gradient is kept at a step.
        b2: how much of the mean square is kept.
        eps: added to the root of the mean square.
        weight_decay: how much of the parameter itself is subtracted, times the learning rate.

    Source: I. Loshchilov, F. Hutter, "Decoupled weight decay regularization", 2017.

    Example:
        >>> x = Tensor([3.0])
        >>> optimizer = AdamW([x], lr=0.5, weight_decay=0.0)
        >>> _ = (x * x).sum().backward()
        >>> optimizer.step()
        >>> x.tolist()
        [2.5]
    """

    def __init__(
        self,
        params: Sequence[Tensor],
        lr: float | Tensor = 0.001,
        b1: float = 0.9,
        b2: float = 0.999,
        eps: float = 1e-8,
        weight_decay: float = 0.01,
    ) -> None:
        super().__init__(params, lr, b1, b2, eps, weight_decay, adam=True)


@explained_methods
@boundary
class Adam(AdamW):
    """Adam: steps along the mean gradient, divided by its mean size.

    Args:
        params: the tensors to train.
        lr: the learning rate.
        b1: how much of the mean gradient is kept at a step.
        b2: how much of the mean square is kept.
        eps: added to the root of the mean square.

    Source: D. Kingma, J. Ba, "Adam: a method for stochastic optimization", 2014.

    Example:
        >>> x = Tensor([3.0])
        >>> optimizer = Adam([x], lr=0.5)
        >>> _ = (x * x).sum().backward()
        >>> optimizer.step()
        >>> x.tolist()
        [2.5]
    """

    def __init__(
        self,
        params: Sequence[Tensor],
        lr: float | Tensor = 0.001,
        b1: float = 0.9,
        b2: float = 0.999,
        eps: float = 1e-8,
    ) -> None:
        super().__init__(params, lr, b1, b2, eps, weight_decay=0.0)
