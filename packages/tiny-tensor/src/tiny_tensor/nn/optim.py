"""Gradients become better parameters: SGD, LARS, Adam, AdamW, LAMB and Muon."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tiny_ir import ArgumentError, ArgumentTypeError, GradientError, Op, dtypes, make
from tiny_plugin import boundary
from tiny_tensor.realize import realize
from tiny_tensor.session import current_session
from tiny_tensor.tensor import Tensor


class Optimizer:
    """What all optimizers share: parameters, a learning rate, and a step that runs at once.

    Args:
        params: the tensors to train; each counts once, and is marked as a parameter.
        lr: the learning rate: a number, or a tensor of one element that is read at each step.

    Attributes:
        params: the tensors.
        lr: the learning rate, shape (): write it with `lr.assign(...)`.
    """

    def __init__(self, params: Sequence[Tensor], lr: float | Tensor) -> None:
        self.params = _checked(params)
        for param in self.params:
            param.is_param_()
        first = self.params[0]
        if isinstance(lr, Tensor):
            self.lr = lr.reshape(())
        else:
            self.lr = Tensor([lr], first.device, dtypes.float32).reshape(())

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for param in self.params:
            param.grad = None

    def step(self) -> None:
        """Move the parameters along their gradients, now.

        Raises:
            GradientError: no parameter has a gradient.
        """
        changed = self.schedule_step()
        grads = [param.grad for param in self.params if param.grad is not None]
        realize((*changed, *grads), current_session())

    def schedule_step(self) -> list[Tensor]:
        """Write parameters and state without computing them yet.

        Returns:
            All tensors that are written, to be realized together.

        Raises:
            GradientError: no parameter has a gradient.
        """
        present = [at for at, param in enumerate(self.params) if param.grad is not None]
        if not present:
            raise GradientError(
                "there is no gradient to step along.",
                why="none of the parameters has one.",
                fix="call backward() on a loss that depends on them first, and after realizing "
                "nothing in between.",
            )
        self._begin_step()
        for at in present:
            param = self.params[at]
            gradient = param.grad
            assert gradient is not None, "only parameters with gradients are present"
            value = _wide(param.detach())
            update = self._update(at, value, _wide(gradient.detach()))
            _write(param, value - update)
        return [*(self.params[at] for at in present), *self._state()]

    def _begin_step(self) -> None:
        """What happens once a step."""

    def _update(self, at: int, value: Tensor, gradient: Tensor) -> Tensor:
        """What to subtract from parameter `at`."""
        raise NotImplementedError

    def _state(self) -> list[Tensor]:
        """What lasts from step to step, besides the parameters."""
        return []

    def _slots(self) -> list[Tensor]:
        """For each parameter a tensor of zeros, in at least float32, that lasts."""
        return [
            Tensor.zeros(
                param.shape,
                dtype=dtypes.sum_dtype(param.dtype),
                device=param.device,
            ).clone()
            for param in self.params
        ]


class OptimizerGroup(Optimizer):
    """Several optimizers, each with parameters of its own, that step together.

    Example:
        >>> a, b = Tensor([1.0]), Tensor([2.0])
        >>> group = OptimizerGroup(SGD([a], lr=0.5), SGD([b], lr=0.25))
        >>> _ = (a * b).sum().backward()
        >>> group.step()
        >>> a.tolist(), b.tolist()
        ([0.0], [1.75])
    """

    def __init__(self, *optimizers: Optimizer) -> None:
        self.optimizers = optimizers
        self.params = [param for optimizer in optimizers for param in optimizer.params]

    def schedule_step(self) -> list[Tensor]:
        """Write parameters and state of all without computing them yet."""
        return [tensor for optimizer in self.optimizers for tensor in optimizer.schedule_step()]


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
        _check_range("momentum", momentum, 0.0, 1.0)
        self.momentum = momentum
        self.weight_decay = weight_decay
        self.nesterov = nesterov
        self.classic = classic
        self.tcoef = tcoef
        self.velocity = self._slots() if momentum else []
        _begin(self)

    def _update(self, at: int, value: Tensor, gradient: Tensor) -> Tensor:
        if self.weight_decay:
            gradient = gradient + value * self.weight_decay
        if self.tcoef:
            gradient = gradient * self._trust(value, gradient)
        if self.classic:
            gradient = gradient * self.lr
        if self.momentum:
            velocity = self.velocity[at]
            _write(velocity, velocity * self.momentum + gradient)
            gradient = gradient + velocity * self.momentum if self.nesterov else velocity
        return gradient if self.classic else gradient * self.lr

    def _state(self) -> list[Tensor]:
        return self.velocity

    def _trust(self, value: Tensor, gradient: Tensor) -> Tensor:
        size = _norm(value)
        slope = _norm(gradient)
        ratio = size * self.tcoef / (slope + size * self.weight_decay)
        return ((size > 0) & (slope > 0)).where(ratio, 1.0)


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
            _check_range(name, value, 0.0, 1.0)
        self.b1, self.b2, self.eps = b1, b2, eps
        self.weight_decay = weight_decay
        self.adam = adam
        self.steps = Tensor([0], self.params[0].device, dtypes.int32).reshape(())
        self.mean, self.square = self._slots(), self._slots()
        _begin(self)

    def _state(self) -> list[Tensor]:
        return [self.steps, *self.mean, *self.square]

    def _begin_step(self) -> None:
        self.steps.assign(self.steps + 1)

    def _update(self, at: int, value: Tensor, gradient: Tensor) -> Tensor:
        mean, square = self.mean[at], self.square[at]
        _write(mean, mean * self.b1 + gradient * (1 - self.b1))
        _write(square, square * self.b2 + gradient * gradient * (1 - self.b2))
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
        size, slope = _norm(value), _norm(update)
        return ((size > 0) & (slope > 0)).where(size / slope, 1.0)


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


def _checked(params: Sequence[Tensor]) -> list[Tensor]:
    """The tensors to train, each once.

    Raises:
        ArgumentError: there is none.
        ArgumentTypeError: one is no float tensor.
    """
    found: dict[int, Tensor] = {}
    for param in params:
        if not isinstance(param, Tensor) or not param.dtype.is_float:
            raise ArgumentTypeError(
                f"cannot train {param!r}.",
                why="what is trained are Tensors of floats.",
                fix="pass nn.state.get_parameters(model), or a list of such tensors.",
            )
        found[id(param)] = param
    if not found:
        raise ArgumentError(
            "there is nothing to train.",
            why="an optimizer needs at least one parameter.",
            fix="pass nn.state.get_parameters(model), and look whether the model has any.",
        )
    return list(found.values())


def _check_range(name: str, value: float, low: float, high: float) -> None:
    if not low <= value < high:
        raise ArgumentError(
            f"{name} cannot be {value}.",
            why=f"it lies from {low} up to, and without, {high}.",
            fix="choose a number in that range.",
        )


def _begin(optimizer: Optimizer) -> None:
    """Have parameters and state in memory: the first step is the same graph as all others then."""
    realize((*optimizer.params, *optimizer._state()), current_session())


def _write(tensor: Tensor, value: Tensor) -> None:
    """Write a tensor; no gradient flows into the step."""
    tensor.assign(value.cast(tensor.dtype).detach())


def _wide(tensor: Tensor) -> Tensor:
    return tensor.cast(dtypes.sum_dtype(tensor.dtype))


def _norm(tensor: Tensor) -> Tensor:
    return tensor.square().sum().sqrt()
