"""Losses of numbers: how far predictions are from targets, element by element or row by row."""

from __future__ import annotations

import math
from typing import Self

from tiny_ir import ArgumentError
from tiny_plugin import boundary
from tiny_tensor.choices import check_choice
from tiny_tensor.methods.losses import REDUCTIONS, LossMethods


@boundary
class DistanceMethods(LossMethods):
    """Losses of numbers. `reduction` is "mean", "sum", or "none" for one loss an element.

    Formulas keep at least float32; the result has the dtype of the predictions.
    """

    __slots__ = ()

    def l1_loss(self, target: object, reduction: str = "mean") -> Self:
        """The distances to a target: |x - y|.

        Args:
            target: broadcasts with the predictions.
            reduction: "mean", "sum" or "none".

        Raises:
            ArgumentError: there is no such reduction.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1.0, 2.0]).l1_loss(Tensor([1.0, 5.0])).item()
            1.5
        """
        return self._composed(lambda x: (x - target).abs()._reduced(reduction))

    def mse_loss(self, target: object, reduction: str = "mean") -> Self:
        """The squares of the distances to a target.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1.0, 2.0]).mse_loss(Tensor([1.0, 5.0])).item()
            4.5
        """
        return self._composed(lambda x: (x - target).square()._reduced(reduction))

    def smooth_l1_loss(self, target: object, reduction: str = "mean", beta: float = 1.0) -> Self:
        """|x - y| - beta / 2; below `beta` the parabola that goes on from there.

        Args:
            target: broadcasts with the predictions.
            reduction: "mean", "sum" or "none".
            beta: the distance below which it is a parabola; 0 for `l1_loss`.

        Raises:
            ArgumentError: `beta` is negative, or there is no such reduction.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([0.0, 2.0]).smooth_l1_loss(0.0, "none").tolist()
            [0.0, 1.5]

        Source: R. Girshick, "Fast R-CNN", 2015, section 2.3.
        """
        _check_least("beta", beta, 0.0)
        if beta == 0:
            return self.l1_loss(target, reduction)

        def formula(x: Self) -> Self:
            far = (x - target).abs()
            return (far < beta).where(far * far * (0.5 / beta), far - 0.5 * beta)

        return self._composed(lambda x: formula(x)._reduced(reduction))

    def huber_loss(
        self,
        target: object,
        reduction: str = "mean",
        delta: float = 1.0,
        weight: Self | None = None,
    ) -> Self:
        """Half the square of the distance up to `delta`, and on from there in a straight line.

        Args:
            target: broadcasts with the predictions.
            reduction: "mean", "sum" or "none".
            delta: the distance from which it is straight.
            weight: a factor for each element.

        Raises:
            ArgumentError: `delta` is not above 0, or there is no such reduction.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1.0, 3.0]).huber_loss(0.0, "none").tolist()
            [0.5, 2.5]

        Source: P. Huber, "Robust estimation of a location parameter", 1964.
        """
        _check_above("delta", delta, 0.0)

        def formula(x: Self) -> Self:
            far = (x - target).abs()
            loss = (far <= delta).where(far * far * 0.5, (far - 0.5 * delta) * delta)
            return loss if weight is None else loss * weight

        return self._composed(lambda x: formula(x)._reduced(reduction))

    def kl_div(self, target: Self, reduction: str = "mean", log_target: bool = False) -> Self:
        """y * (log(y) - x): how much the probabilities y diverge from those with logarithms x.

        Args:
            target: probabilities, or their logarithms.
            reduction: "mean", "sum", "none", or "batchmean" for the sum divided by the first size.
            log_target: the target are logarithms.

        Raises:
            ArgumentError: there is no such reduction.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([0.0, 0.0]).kl_div(Tensor([1.0, 0.0]), "sum").item()
            0.0

        Source: S. Kullback, R. Leibler, "On information and sufficiency", 1951.
        """
        check_choice("reduction", reduction, (*REDUCTIONS, "batchmean"))

        def formula(x: Self) -> Self:
            y = self._wrap(target)._wide()
            loss = y.exp() * (y - x) if log_target else y.xlogy(y) - y * x
            if reduction != "batchmean":
                return loss._reduced(reduction)
            return loss.sum() / float(self._length(0) if self.ndim else 1)

        return self._composed(formula)

    def poisson_nll_loss(
        self,
        target: Self,
        log_input: bool = True,
        full: bool = False,
        eps: float = 1e-8,
        reduction: str = "mean",
    ) -> Self:
        """The negative logarithm of the probability of counts with these means.

        Args:
            target: the counts.
            log_input: these are the logarithms of the means.
            full: add what does not depend on the means, by Stirling's formula.
            eps: added to a mean of which the logarithm is taken.
            reduction: "mean", "sum" or "none".

        Raises:
            ArgumentError: there is no such reduction.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([0.0]).poisson_nll_loss(Tensor([3.0])).item()
            1.0
        """

        def formula(x: Self) -> Self:
            y = self._wrap(target)
            loss = x.exp() - y * x if log_input else x - y * (x + eps).log()
            if full:
                some = (y > 1).where(y, 2.0)
                more = some * some.log() - some + (some * (2 * math.pi)).log() * 0.5
                loss = loss + (y > 1).where(more, 0.0)
            return loss._reduced(reduction)

        return self._composed(formula)

    def gaussian_nll_loss(
        self,
        target: Self,
        var: Self | float,
        full: bool = False,
        eps: float = 1e-6,
        reduction: str = "mean",
    ) -> Self:
        """The negative logarithm of the density of targets with these means.

        Args:
            target: broadcasts with the means.
            var: the variances; of this shape, or without its last axis, or with size 1 there.
            full: add what does not depend on the prediction.
            eps: variances count as at least this, and their gradient is as if they were it.
            reduction: "mean", "sum" or "none".

        Raises:
            ArgumentError: there is no such reduction.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1.0]).gaussian_nll_loss(Tensor([3.0]), 1.0).item()
            2.0

        Source: D. Nix, A. Weigend, "Estimating the mean and variance of the target probability
        distribution", 1994.
        """
        width = self._wrap(var)
        if width.ndim == self.ndim - 1 and width.ndim:
            width = width.unsqueeze(-1)

        def formula(x: Self) -> Self:
            wide = width._wide()
            known: Self = wide.detach()  # type: ignore[attr-defined]
            kept = wide + (known.maximum(eps) - known)
            loss = (kept.log() + (x - target).square() / kept) * 0.5
            return (loss + 0.5 * math.log(2 * math.pi) if full else loss)._reduced(reduction)

        return self._composed(formula)

    # Rows.

    def cosine_similarity(self, other: object, dim: int = 1, eps: float = 1e-8) -> Self:
        """The cosine of the angle between vectors.

        Args:
            other: a tensor that broadcasts with this one.
            dim: the axis of the vectors.
            eps: a length counts as at least this.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([3.0, 0.0]).cosine_similarity(Tensor([-2.0, 0.0]), 0).item()
            -1.0
        """
        first, second = self._broadcasted(other)
        a, b = self._apply(first)._as_float(), self._apply(second)._as_float()

        def unit(x: Self) -> Self:
            return x / x.norm(dim, True).maximum(eps)

        return (unit(a._wide()) * unit(b._wide())).sum(dim).cast(a.dtype)

    def pairwise_distance(
        self, other: object, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
    ) -> Self:
        """The norm of the difference of vectors, along the last axis.

        Args:
            other: a tensor that broadcasts with this one.
            p: the power of the norm.
            eps: added to each difference.
            keepdim: keep the axis with size 1.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([[3.0, 4.0]]).pairwise_distance(Tensor([[0.0, 0.0]]), eps=0.0).tolist()
            [5.0]
        """
        return self._composed(lambda x: (x - other + eps).norm(-1, keepdim, p))


def _check_least(name: str, value: float, least: float) -> None:
    if not value >= least:
        raise ArgumentError(
            f"{name} cannot be {value}.",
            why="it is a distance.",
            fix=f"choose a number from {least} up.",
        )


def _check_above(name: str, value: float, limit: float) -> None:
    if not value > limit:
        raise ArgumentError(
            f"{name} cannot be {value}.",
            why=f"it is more than {limit}.",
            fix="choose a greater number.",
        )
