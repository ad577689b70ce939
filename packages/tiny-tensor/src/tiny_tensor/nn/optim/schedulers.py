"""Learning rates change from epoch to epoch: along a plan, or as a metric says."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tiny_ir import ArgumentError, ArgumentTypeError, dtypes
from tiny_plugin import boundary
from tiny_tensor.explained import explained_methods
from tiny_tensor.nn.optim.optimizer import Optimizer
from tiny_tensor.realize import realize
from tiny_tensor.session import current_session
from tiny_tensor.tensor import Tensor


class LRScheduler:
    """What schedulers share: an optimizer, whose learning rate they write, and a count of steps.

    The next rate is computed by tensors: a step may stand in a captured function, with the step of
    the optimizer.

    Args:
        optimizer: one with a learning rate of its own.

    Attributes:
        optimizer: the optimizer.
        epoch_counter: the steps taken, (), int32.
    """

    def __init__(self, optimizer: Optimizer) -> None:
        if not isinstance(getattr(optimizer, "lr", None), Tensor):
            raise ArgumentTypeError(
                f"{type(optimizer).__name__} has no learning rate to schedule.",
                why="each optimizer of a group has one of its own.",
                fix="make a scheduler for each, and put them into an LRSchedulerGroup.",
            )
        self.optimizer = optimizer
        count = Tensor([0], optimizer.lr.device, dtypes.int32).reshape(())
        self.epoch_counter = count.clone().realize(optimizer.lr)

    def get_lr(self) -> Tensor:
        """The learning rate after as many steps as were counted."""
        raise NotImplementedError

    def schedule_step(self) -> list[Tensor]:
        """Count a step and write the learning rate, without computing them yet.

        Returns:
            What is written, to be realized together.
        """
        self.epoch_counter.assign(self.epoch_counter + 1)
        return [self.epoch_counter, self._write(self.get_lr())]

    def step(self) -> None:
        """Take the learning rate of the next epoch, now."""
        realize(self.schedule_step(), current_session())

    def _write(self, rate: Tensor) -> Tensor:
        lr = self.optimizer.lr
        return lr.assign(rate.cast(lr.dtype))

    def _begin(self) -> None:
        """Write the learning rate of the first epoch."""
        realize([self._write(self.get_lr())], current_session())

    def _epoch(self) -> Tensor:
        return self.epoch_counter.cast(dtypes.float32)


class LRSchedulerGroup:
    """Several schedulers that step together.

    Example:
        >>> from tiny_tensor.nn.optim import SGD
        >>> optimizer = SGD([Tensor([1.0])], lr=1.0)
        >>> group = LRSchedulerGroup(MultiStepLR(optimizer, [1], 0.5))
        >>> group.step()
        >>> optimizer.lr.item()
        0.5
    """

    def __init__(self, *schedulers: LRScheduler) -> None:
        self.schedulers = schedulers

    def schedule_step(self) -> list[Tensor]:
        """Write the learning rates of all without computing them yet."""
        return [tensor for scheduler in self.schedulers for tensor in scheduler.schedule_step()]

    def step(self) -> None:
        """Take the learning rates of the next epoch, now."""
        realize(self.schedule_step(), current_session())


@explained_methods
@boundary
class MultiStepLR(LRScheduler):
    """Multiplies the learning rate at some epochs.

    Args:
        optimizer: whose learning rate changes.
        milestones: the epochs; one that stands there twice counts twice.
        gamma: the factor.

    Example:
        >>> from tiny_tensor.nn.optim import SGD
        >>> optimizer = SGD([Tensor([1.0])], lr=1.0)
        >>> scheduler = MultiStepLR(optimizer, [1, 3], gamma=0.5)
        >>> rates = []
        >>> for _ in range(3):
        ...     scheduler.step()
        ...     rates.append(optimizer.lr.item())
        >>> rates
        [0.5, 0.5, 0.25]
    """

    def __init__(self, optimizer: Optimizer, milestones: Sequence[int], gamma: float = 0.1) -> None:
        super().__init__(optimizer)
        self.milestones = tuple(milestones)
        self.gamma = gamma

    def get_lr(self) -> Tensor:
        """The learning rate as it is, multiplied where a milestone is reached."""
        rate = self.optimizer.lr
        for milestone in self.milestones:
            rate = (self.epoch_counter == milestone).where(rate * self.gamma, rate)
        return rate


@explained_methods
@boundary
class CosineAnnealingLR(LRScheduler):
    """Lets the learning rate fall along half a cosine, and rise again.

    Args:
        optimizer: whose learning rate changes; that of now is the highest.
        T_max: epochs from the highest to the lowest.
        eta_min: the lowest.

    Raises:
        ArgumentError: `T_max` is not positive.

    Source: I. Loshchilov, F. Hutter, "SGDR: stochastic gradient descent with warm restarts", 2016.

    Example:
        >>> from tiny_tensor.nn.optim import SGD
        >>> optimizer = SGD([Tensor([1.0])], lr=1.0)
        >>> scheduler = CosineAnnealingLR(optimizer, T_max=2)
        >>> scheduler.step()
        >>> round(optimizer.lr.item(), 6)
        0.5
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0) -> None:  # noqa: N803
        super().__init__(optimizer)
        check_positive("T_max", T_max)
        self.t_max = T_max
        self.eta_min = eta_min
        self.eta_max = optimizer.lr.clone().realize()

    def get_lr(self) -> Tensor:
        """The learning rate of the cosine."""
        turn = (self._epoch() * (math.pi / self.t_max)).cos()
        return (self.eta_max - self.eta_min) * ((turn + 1.0) * 0.5) + self.eta_min


@explained_methods
@boundary
class CosineAnnealingLRWithWarmup(LRScheduler):
    """Lets the learning rate rise evenly, and fall along half a cosine then.

    The first epoch has the first of the rising rates already.

    Args:
        optimizer: whose learning rate changes.
        base_lr: the highest.
        end_lr: the lowest.
        warmup_steps: epochs in which it rises.
        decay_steps: epochs in which it falls.

    Raises:
        ArgumentError: a number of epochs is not positive.

    Example:
        >>> from tiny_tensor.nn.optim import SGD
        >>> optimizer = SGD([Tensor([1.0])], lr=7.0)
        >>> scheduler = CosineAnnealingLRWithWarmup(optimizer, 1.0, 0.0, 2, 2)
        >>> rates = [optimizer.lr.item()]
        >>> for _ in range(3):
        ...     scheduler.step()
        ...     rates.append(round(optimizer.lr.item(), 6))
        >>> rates
        [0.5, 1.0, 0.5, 0.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float,
        end_lr: float,
        warmup_steps: int,
        decay_steps: int,
    ) -> None:
        super().__init__(optimizer)
        check_positive("warmup_steps", warmup_steps)
        check_positive("decay_steps", decay_steps)
        self.base_lr, self.end_lr = base_lr, end_lr
        self.warmup_steps, self.decay_steps = warmup_steps, decay_steps
        self._begin()

    def get_lr(self) -> Tensor:
        """The learning rate of the line or of the cosine."""
        epoch = self._epoch() + 1.0
        rising = epoch * (self.base_lr / self.warmup_steps)
        turn = ((epoch - self.warmup_steps) * (math.pi / self.decay_steps)).cos()
        falling = (turn + 1.0) * (0.5 * (self.base_lr - self.end_lr)) + self.end_lr
        return (self.epoch_counter < self.warmup_steps).where(rising, falling)


@explained_methods
@boundary
class OneCycleLR(LRScheduler):
    """Lets the learning rate rise to its highest and fall far below where it began, once.

    The first epoch has the lowest of the rising rates already.

    Args:
        optimizer: whose learning rate changes.
        max_lr: the highest.
        total_steps: epochs of the cycle.
        pct_start: the part of them in which it rises.
        anneal_strategy: "cos" or "linear".
        div_factor: the highest divided by the first.
        final_div_factor: the first divided by the last.

    Raises:
        ArgumentError: there is no such strategy, or a number is out of its range.

    Source: L. Smith, N. Topin, "Super-convergence: very fast training of neural networks using
        large learning rates", 2017.

    Example:
        >>> from tiny_tensor.nn.optim import SGD
        >>> optimizer = SGD([Tensor([1.0])], lr=7.0)
        >>> scheduler = OneCycleLR(optimizer, 1.0, 4, pct_start=0.5, div_factor=10.0)
        >>> scheduler.step()
        >>> round(optimizer.lr.item(), 6)
        1.0
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float,
        total_steps: int,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
    ) -> None:
        super().__init__(optimizer)
        check_positive("total_steps", total_steps)
        if anneal_strategy not in ("cos", "linear"):
            raise ArgumentError(
                f"the learning rate cannot change by {anneal_strategy!r}.",
                why="it follows a cosine or a line.",
                fix="choose 'cos' or 'linear'.",
            )
        if not 0.0 <= pct_start <= 1.0:
            raise ArgumentError(
                f"pct_start cannot be {pct_start}.",
                why="it is a part of the cycle, from 0 to 1.",
                fix="choose a number in that range.",
            )
        self.max_lr = max_lr
        self.first_lr = max_lr / div_factor
        self.last_lr = self.first_lr / final_div_factor
        self.is_cosine = anneal_strategy == "cos"
        self.top = pct_start * total_steps - 1.0
        self.end = total_steps - 1.0
        self._begin()

    def get_lr(self) -> Tensor:
        """The learning rate on the way up or down."""
        epoch = self._epoch()
        up = self._between(self.first_lr, self.max_lr, epoch / (self.top or 1.0))
        down = self._between(
            self.max_lr, self.last_lr, (epoch - self.top) / ((self.end - self.top) or 1.0)
        )
        return (epoch <= self.top).where(up, down)

    def _between(self, first: float, last: float, part: Tensor) -> Tensor:
        if self.is_cosine:
            part = (1.0 - (part * math.pi).cos()) * 0.5
        return part * (last - first) + first


@explained_methods
@boundary
class ReduceLROnPlateau(LRScheduler):
    """Multiplies the learning rate where a metric gets no better for some epochs.

    Args:
        optimizer: whose learning rate changes.
        mode: "min" where a lower metric is better, "max" where a higher one is.
        factor: by which the learning rate is multiplied, below 1.
        patience: epochs without progress that are borne.
        threshold: how much better is better.
        threshold_mode: "rel" where that is a part of the best, "abs" where it is a difference.

    Raises:
        ArgumentError: there is no such mode, or the factor is not below 1.

    Example:
        >>> from tiny_tensor.nn.optim import SGD
        >>> optimizer = SGD([Tensor([1.0])], lr=1.0)
        >>> scheduler = ReduceLROnPlateau(optimizer, factor=0.5, patience=0)
        >>> for loss in (3.0, 2.0, 2.0):
        ...     scheduler.step(loss)
        >>> optimizer.lr.item()
        0.5
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
    ) -> None:
        super().__init__(optimizer)
        if mode not in ("min", "max") or threshold_mode not in ("rel", "abs"):
            raise ArgumentError(
                f"there is no mode {mode!r} with {threshold_mode!r}.",
                why="a metric is to be 'min' or 'max', and better by a 'rel' or 'abs' threshold.",
                fix="choose one of each.",
            )
        if not 0.0 < factor < 1.0:
            raise ArgumentError(
                f"a learning rate is not reduced by a factor of {factor}.",
                why="a factor lies between 0 and 1.",
                fix="choose for example 0.1.",
            )
        self.mode, self.threshold_mode = mode, threshold_mode
        self.factor, self.patience, self.threshold = factor, patience, threshold
        self.best = math.inf if mode == "min" else -math.inf
        self.bad_epochs = 0

    def step(self, current: float | Tensor | None = None) -> None:
        """Look at the metric of an epoch, and reduce the learning rate where it stands still.

        Args:
            current: the metric: a number, or a tensor of one element.

        Raises:
            ArgumentError: it is missing.
        """
        if current is None:
            raise ArgumentError(
                "there is no metric to look at.",
                why="the learning rate is reduced where the metric gets no better.",
                fix="pass it: step(loss).",
            )
        value = float(current.item() if isinstance(current, Tensor) else current)
        if self.is_better(value):
            self.best, self.bad_epochs = value, 0
        else:
            self.bad_epochs += 1
        self.epoch_counter.assign(self.epoch_counter + 1)
        written = [self.epoch_counter]
        if self.bad_epochs > self.patience:
            written.append(self._write(self.optimizer.lr * self.factor))
            self.bad_epochs = 0
        realize(written, current_session())

    def is_better(self, value: float) -> bool:
        """Whether a metric is better than the best so far by more than the threshold."""
        if self.threshold_mode == "rel":
            margin = self.best * self.threshold if math.isfinite(self.best) else 0.0
            margin = margin if self.mode == "min" else -margin
            edge = self.best - margin
        else:
            edge = self.best - (self.threshold if self.mode == "min" else -self.threshold)
        return value < edge if self.mode == "min" else value > edge


def check_positive(name: str, value: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ArgumentError(
            f"{name} cannot be {value}.",
            why="it is a number of epochs, at least 1.",
            fix="choose a positive int.",
        )
