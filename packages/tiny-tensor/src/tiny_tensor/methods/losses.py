"""Losses: how far predictions are from targets."""

from __future__ import annotations

import math
from typing import Self

from tiny_ir import ArgumentError, DTypeError, ShapeError, UOp, dtypes, is_same_shape
from tiny_plugin import boundary
from tiny_tensor.broadcast import broadcast
from tiny_tensor.choices import check_choice
from tiny_tensor.methods.normalization import NormalizationMethods
from tiny_tensor.methods.triangles import counting

REDUCTIONS = ("mean", "sum", "none")
LOWEST_LOGARITHM = -100.0
"""What log(0) counts as in the loss of probabilities, so that it stays finite (as in PyTorch)."""


@boundary
class LossMethods(NormalizationMethods):
    """Losses. `reduction` is "mean", "sum", or "none" for one loss an example.

    Sums are kept in at least float32; the result has the dtype of the predictions.
    """

    __slots__ = ()

    def cross_entropy(
        self,
        target: Self,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
        *,
        weight: Self | None = None,
        ignore_index: int = -100,
    ) -> Self:
        """The negative logarithm of the probability that logits give to the target.

        Args:
            target: the class of each example, integers (batch, ...); or probabilities in the shape
                of the logits, (batch, classes, ...).
            reduction: "mean", "sum" or "none".
            label_smoothing: this part of the target is spread evenly over all classes.
            weight: (classes,), a factor for each class; the mean divides by those of the targets.
            ignore_index: examples of this class count for nothing.

        Returns:
            One number, or (batch, ...) with reduction "none".

        Raises:
            ArgumentError: there is no such reduction, or the smoothing is not from 0 to 1.
            ShapeError: the target does not fit the logits.

        Example:
            >>> from tiny_tensor import Tensor
            >>> loss = Tensor([[0.0, 0.0]]).cross_entropy(Tensor([1]))
            >>> round(loss.item(), 4)
            0.6931
        """
        check_choice("reduction", reduction, REDUCTIONS)
        if not 0.0 <= label_smoothing <= 1.0:
            raise ArgumentError(
                f"label_smoothing cannot be {label_smoothing}.",
                why="it is the part of the target that is spread over all classes.",
                fix="choose a number from 0 to 1.",
            )
        axis = self._class_axis()
        logs = self._wide().log_softmax(axis)
        target = self._wrap(target)
        if not target.dtype.is_float:
            loss = logs._class_loss(target, reduction, label_smoothing, weight, ignore_index)
            return loss.cast(self._as_float().dtype)
        if not is_same_shape(target.shape, self.shape):
            raise _misfit(self, target)
        classes = self._length(axis)
        spread = target * (1.0 - label_smoothing) + label_smoothing / classes
        terms = -(logs * spread)
        if weight is not None:
            terms = terms * _along(self._wrap(weight), self, axis)
        return terms._over_classes(axis, reduction, None).cast(self._as_float().dtype)

    def sparse_categorical_crossentropy(
        self,
        target: Self,
        ignore_index: int = -1,
        label_smoothing: float = 0.0,
        reduction: str = "mean",
    ) -> Self:
        """`cross_entropy` for classes on the last axis of the logits.

        Args:
            target: the class of each example, integers in the shape of the logits without their
                last axis.
            ignore_index: examples of this class count for nothing.
            label_smoothing: this part of the target is spread evenly over all classes.
            reduction: "mean", "sum" or "none".

        Raises:
            ArgumentError: there is no such reduction.
            ShapeError: the target does not fit the logits.

        Example:
            >>> from tiny_tensor import Tensor
            >>> loss = Tensor([[0.0, 0.0]]).sparse_categorical_crossentropy(Tensor([1]))
            >>> round(loss.item(), 4)
            0.6931
        """
        target = self._wrap(target)
        moved = self.reshape(-1, self.shape[-1]) if self.ndim > 2 else self
        flat = target.flatten() if target.ndim > 1 else target
        loss = moved.cross_entropy(flat, reduction, label_smoothing, ignore_index=ignore_index)
        return loss.reshape(target.shape) if reduction == "none" else loss

    def nll_loss(
        self,
        target: Self,
        weight: Self | None = None,
        ignore_index: int | None = None,
        reduction: str = "mean",
    ) -> Self:
        """The negative of the logarithm of a probability that belongs to the target.

        Args:
            target: the class of each example, integers (batch, ...).
            weight: (classes,), a factor for each class; the mean divides by those of the targets.
            ignore_index: examples of this class count for nothing.
            reduction: "mean", "sum" or "none".

        Returns:
            One number, or (batch, ...) with reduction "none".

        Raises:
            ArgumentError: there is no such reduction.
            ShapeError: the target does not fit; self is (batch, classes, ...).

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([[-0.5, -1.0]]).nll_loss(Tensor([1])).item()
            1.0
        """
        check_choice("reduction", reduction, REDUCTIONS)
        loss = self._wide()._class_loss(self._wrap(target), reduction, 0.0, weight, ignore_index)
        return loss.cast(self._as_float().dtype)

    def binary_crossentropy(self, target: Self, reduction: str = "mean") -> Self:
        """The loss of probabilities of two classes; the logarithm of 0 counts as -100, and is flat.

        Args:
            target: numbers from 0 to 1, of this shape.
            reduction: "mean", "sum" or "none".

        Raises:
            ArgumentError: there is no such reduction.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([0.0, 1.0]).binary_crossentropy(Tensor([1.0, 1.0])).item()
            50.0
        """

        def logarithm(x: Self) -> Self:
            # Chosen before the logarithm: 0 times its slope at 0 would be NaN.
            is_cut = (x >= 0.0) & (x <= math.exp(LOWEST_LOGARITHM))
            return is_cut.where(LOWEST_LOGARITHM, is_cut.where(1.0, x).log())

        def formula(x: Self) -> Self:
            terms = target * logarithm(x) + (1.0 - target) * logarithm(1.0 - x)
            return (-terms)._reduced(reduction)

        return self._composed(formula)

    def binary_crossentropy_logits(
        self, target: Self, reduction: str = "mean", pos_weight: Self | None = None
    ) -> Self:
        """The loss of logits of two classes, without overflow.

        Args:
            target: numbers from 0 to 1, of this shape.
            reduction: "mean", "sum" or "none".
            pos_weight: a factor for the loss of positive examples.

        Raises:
            ArgumentError: there is no such reduction.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([200.0, -200.0]).binary_crossentropy_logits(Tensor([0.0, 1.0])).item()
            200.0
        """

        def formula(x: Self) -> Self:
            positive = target * (-x).softplus()
            if pos_weight is not None:
                positive = positive * pos_weight
            return (positive + (1.0 - target) * x.softplus())._reduced(reduction)

        return self._composed(formula)

    def _reduced(self, reduction: str) -> Self:
        check_choice("reduction", reduction, REDUCTIONS)
        if reduction == "none":
            return self
        return self.mean() if reduction == "mean" else self.sum()

    def _class_axis(self) -> int:
        if self.ndim < 1:
            raise ShapeError(
                "one number is no prediction of classes.",
                why="predictions are (batch, classes, ...), or (classes,).",
                fix="reshape them first.",
            )
        return 0 if self.ndim == 1 else 1

    def _class_loss(
        self,
        target: Self,
        reduction: str,
        smoothing: float,
        weight: Self | None,
        ignore_index: int | None,
    ) -> Self:
        """The loss of logarithms for targets that are classes.

        One sum goes over examples and classes together; in it the class of the target is chosen by
        a comparison, which becomes a load.
        """
        axis = self._class_axis()
        chosen, known = self._choices(target, axis, ignore_index)
        factors = None if weight is None else _along(self._wrap(weight), self, axis)
        loss = -self if factors is None else -self * factors
        terms = chosen.where(loss, 0.0)
        if smoothing:
            terms = terms * (1.0 - smoothing) + loss * (smoothing / self._length(axis))
            terms = terms if known is None else known.unsqueeze(axis).where(terms, 0.0)
        divisor = None
        if factors is not None:
            divisor = chosen.where(factors, 0.0).sum()
        elif known is not None:
            divisor = known.cast(self.dtype).sum()
        return terms._over_classes(axis, reduction, divisor)

    def _choices(
        self, target: Self, axis: int, ignore_index: int | None
    ) -> tuple[Self, Self | None]:
        """Where the classes of the targets stand, and which examples count."""
        shape = self.shape
        if not is_same_shape((*shape[:axis], *shape[axis + 1 :]), target.shape):
            raise _misfit(self, target)
        if not target.dtype.is_int:
            raise DTypeError(
                f"targets of {target.dtype.name} are not classes.",
                why="a class is an integer.",
                fix="cast the targets to an integer first.",
            )
        wide = target.cast(dtypes.promote(target.dtype, dtypes.int32))
        classes = _line(counting(self._length(axis)).cast(wide.dtype), len(shape), axis)
        chosen = wide.unsqueeze(axis).eq(self._apply(broadcast(classes, shape)))
        if ignore_index is None:
            return chosen, None
        known = wide.ne(ignore_index)
        return chosen & known.unsqueeze(axis), known

    def _over_classes(self, axis: int, reduction: str, divisor: Self | None) -> Self:
        """Add up terms of (batch, classes, ...) as a reduction says."""
        if reduction == "none":
            return self.sum(axis)
        total = self.sum()
        if reduction == "sum":
            return total
        if divisor is not None:
            return total / divisor
        examples = math.prod(self._length(n) for n in range(self.ndim) if n != axis)
        return total / float(examples)


def _misfit(logits: LossMethods, target: LossMethods) -> ShapeError:
    return ShapeError(
        f"targets of shape {target.shape} do not fit predictions of shape {logits.shape}.",
        why="classes have the shape of the predictions without the axis of classes, which is the "
        "second one; probabilities have the same shape.",
        fix="permute the predictions, or reshape the targets.",
    )


def _line(node: UOp, rank: int, axis: int) -> UOp:
    """A node (n,) along one of `rank` axes."""
    shape = [1] * rank
    shape[axis] = -1
    size = node.shape[0]
    return node.reshape([size if n == -1 else n for n in shape])


def _along(weight: LossMethods, logits: LossMethods, axis: int) -> LossMethods:
    if not is_same_shape(weight.shape, logits.shape[axis : axis + 1]):
        raise ShapeError(
            f"weights of shape {weight.shape} do not fit predictions of shape {logits.shape}.",
            why="there is a weight for each class.",
            fix="pass as many weights as classes.",
        )
    return weight._apply(_line(weight.uop, logits.ndim, axis))
