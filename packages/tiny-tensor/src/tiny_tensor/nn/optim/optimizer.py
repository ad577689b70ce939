"""What optimizers share: parameters, a learning rate, and a step that runs at once."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tiny_ir import ArgumentError, ArgumentTypeError, GradientError, dtypes
from tiny_tensor.realize import realize
from tiny_tensor.session import current_session
from tiny_tensor.tensor import Tensor


class Optimizer:
    """What all optimizers share: parameters, a learning rate, and a step that runs at once.

    Args:
        params: the tensors to train; each counts once, and is marked as a parameter.
        lr: the learning rate: a number, or a tensor of one element that is read at each step.

    Raises:
        ArgumentError: there is nothing to train, or the learning rate is negative.

    Attributes:
        params: the tensors.
        lr: the learning rate, shape (): write it with `lr.assign(...)`.
    """

    def __init__(self, params: Sequence[Tensor], lr: float | Tensor) -> None:
        self.params = checked_params(params)
        for param in self.params:
            param.is_param_()
        first = self.params[0]
        if isinstance(lr, Tensor):
            self.lr = lr.reshape(())
        else:
            check_range("lr", lr, 0.0, math.inf)
            self.lr = Tensor([lr], first.device, dtypes.float32).reshape(())

    def zero_grad(self) -> None:
        """Forget the gradients of the parameters, and of all tensors that are no parameters.

        The latter are inputs, most of all: `backward()` would add up theirs, step by step, in a
        graph that nobody computes.
        """
        for tensor in current_session().live_tensors():
            if not tensor.is_param:
                tensor.grad = None
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
            value = wide(param.detach())
            update = self._update(at, value, wide(gradient.detach()))
            write(param, value - update)
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
        >>> from tiny_tensor.nn.optim import SGD
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


def checked_params(params: Sequence[Tensor]) -> list[Tensor]:
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


def check_range(name: str, value: float, low: float, high: float) -> None:
    if not low <= value < high:
        raise ArgumentError(
            f"{name} cannot be {value}.",
            why=f"it lies from {low} up to, and without, {high}.",
            fix="choose a number in that range.",
        )


def begin(optimizer: Optimizer) -> None:
    """Have parameters and state in memory: the first step is the same graph as all others then."""
    realize((*optimizer.params, *optimizer._state()), current_session())


def write(tensor: Tensor, value: Tensor) -> None:
    """Write a tensor; no gradient flows into the step."""
    tensor.assign(value.cast(tensor.dtype).detach())


def wide(tensor: Tensor) -> Tensor:
    return tensor.cast(dtypes.sum_dtype(tensor.dtype))


def norm_of(tensor: Tensor) -> Tensor:
    return tensor.square().sum().sqrt()
