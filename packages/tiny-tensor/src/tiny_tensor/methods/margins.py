"""Losses that are 0 from a margin on: predictions need not be better than good enough."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

from tiny_ir import ArgumentError, DTypeError, ShapeError, dtypes, is_same_shape
from tiny_plugin import boundary
from tiny_tensor.choices import check_choice
from tiny_tensor.methods.distances import DistanceMethods
from tiny_tensor.methods.gathering import GatheringMethods
from tiny_tensor.methods.losses import REDUCTIONS
from tiny_tensor.methods.triangles import counting

LEAST_SQUARE = 1e-12
"""Added to squared lengths in the cosine of embeddings, so that its slope is finite (PyTorch)."""


@boundary
class MarginMethods(DistanceMethods, GatheringMethods):
    """Losses with a margin. `reduction` is "mean", "sum", or "none" for one loss an example."""

    __slots__ = ()

    def hinge_embedding_loss(
        self, target: Self, margin: float = 1.0, reduction: str = "mean"
    ) -> Self:
        """The distances where the target is 1; what they lack to the margin where it is -1.

        Args:
            target: 1 or -1 for each element.
            margin: how far apart examples should be whose target is -1.
            reduction: "mean", "sum" or "none".

        Raises:
            ArgumentError: there is no such reduction.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([2.0, 0.25]).hinge_embedding_loss(Tensor([1, -1]), 1.0, "none").tolist()
            [2.0, 0.75]
        """

        target = self._wrap(target)

        def formula(x: Self) -> Self:
            unlike = target.ne(1).where((margin - x).relu(), 0.0)
            return (unlike + target.ne(-1).where(x, 0.0))._reduced(reduction)

        return self._composed(formula)

    def margin_ranking_loss(
        self, other: Self, target: Self, margin: float = 0.0, reduction: str = "mean"
    ) -> Self:
        """What this lacks to be greater than another by a margin; less, where the target is -1.

        Args:
            other: broadcasts with this tensor.
            target: 1 where this should be the greater one, -1 where the other should.
            margin: by how much.
            reduction: "mean", "sum" or "none".

        Raises:
            ArgumentError: there is no such reduction.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1.0]).margin_ranking_loss(Tensor([3.0]), Tensor([1])).item()
            2.0
        """
        return self._composed(
            lambda x: (margin - target * (x - other)).maximum(0.0)._reduced(reduction)
        )

    def soft_margin_loss(self, target: Self, reduction: str = "mean") -> Self:
        """log(1 + exp(-y * x)), for targets y of 1 or -1.

        Raises:
            ArgumentError: there is no such reduction.

        Example:
            >>> from tiny_tensor import Tensor
            >>> round(Tensor([0.0]).soft_margin_loss(Tensor([1.0])).item(), 4)
            0.6931
        """
        return self._composed(lambda x: (-(x * target)).softplus()._reduced(reduction))

    def multilabel_soft_margin_loss(
        self, target: Self, weight: Self | None = None, reduction: str = "mean"
    ) -> Self:
        """The loss of logits of several classes each of which applies or not, in the mean.

        Args:
            target: 1 or 0 for each class, in the shape of the logits, (..., classes).
            weight: (classes,), a factor for each class.
            reduction: "mean", "sum" or "none".

        Raises:
            ArgumentError: there is no such reduction.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([[90.0, 90.0]]).multilabel_soft_margin_loss(Tensor([[1, 0]])).item()
            45.0
        """

        def formula(x: Self) -> Self:
            loss = (-x).softplus() * target + x.softplus() * (1 - target)
            return (loss if weight is None else loss * weight).mean(-1)._reduced(reduction)

        return self._composed(formula)

    def cosine_embedding_loss(
        self, other: Self, target: Self, margin: float = 0.0, reduction: str = "mean"
    ) -> Self:
        """1 less the cosine where the target is 1; what it exceeds the margin where it is -1.

        Args:
            other: vectors on the last axis, as here.
            target: 1 or -1 for each vector.
            margin: the cosine that unlike vectors may have.
            reduction: "mean", "sum" or "none".

        Raises:
            ArgumentError: there is no such reduction.

        Example:
            >>> from tiny_tensor import Tensor
            >>> x = Tensor([[2.0, 0.0]])
            >>> x.cosine_embedding_loss(x, Tensor([-1]), 0.25).item()
            0.75
        """

        target = self._wrap(target)

        def formula(x: Self) -> Self:
            y = self._wrap(other)._wide()
            lengths = [z.square().sum(-1) + LEAST_SQUARE for z in (x, y)]
            cosine = (x * y).sum(-1) / (lengths[0] * lengths[1]).sqrt()
            alike = target.eq(1).where(1.0 - cosine, 0.0)
            unlike = target.eq(-1).where((cosine - margin).maximum(0.0), 0.0)
            return (alike + unlike)._reduced(reduction)

        return self._composed(formula)

    def triplet_margin_loss(
        self,
        positive: Self,
        negative: Self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        reduction: str = "mean",
        *,
        distance: Callable[[Self, Self], Self] | None = None,
    ) -> Self:
        """What vectors lack to be nearer to one of their kind than to another, by a margin.

        Args:
            positive: vectors of the same kind.
            negative: vectors of another kind.
            margin: by how much nearer.
            p, eps: those of `pairwise_distance`.
            swap: take the distance of `positive` and `negative` where it is the smaller one.
            reduction: "mean", "sum" or "none".
            distance: a function in the place of `pairwise_distance`.

        Raises:
            ArgumentError: the margin is not above 0, or there is no such reduction.

        Example:
            >>> from tiny_tensor import Tensor
            >>> x = Tensor([[0.0, 0.0]])
            >>> x.triplet_margin_loss(x, x).item()
            1.0

        Source: V. Balntas et al., "Learning shallow convolutional feature descriptors with triplet
        losses", 2016.
        """
        check_choice("reduction", reduction, REDUCTIONS)
        if not margin > 0:
            raise ArgumentError(
                f"a margin cannot be {margin}.",
                why="it is how much nearer the one is than the other.",
                fix="choose a number above 0.",
            )

        def apart(x: Self, y: Self) -> Self:
            return x.pairwise_distance(y, p, eps) if distance is None else distance(x, y)

        positive, negative = self._wrap(positive), self._wrap(negative)
        near, far = apart(self, positive), apart(self, negative)
        far = far.minimum(apart(positive, negative)) if swap else far
        return (near - far + margin).maximum(0.0)._reduced(reduction)

    # Classes.

    def multi_margin_loss(
        self,
        target: Self,
        p: int = 1,
        margin: float = 1.0,
        weight: Self | None = None,
        reduction: str = "mean",
    ) -> Self:
        """What the score of the target lacks to exceed those of other classes by a margin.

        Args:
            target: the class of each example, integers (batch,), or () for one.
            p: 1, or 2 for the squares.
            margin: by how much.
            weight: (classes,), a factor for the examples of each class.
            reduction: "mean", "sum" or "none".

        Returns:
            One number, or (batch,) with reduction "none"; scores are (batch, classes), or
            (classes,) for one.

        Raises:
            ArgumentError: there is no such power or reduction.
            ShapeError: the target does not fit the scores.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([[0.0, 2.0]]).multi_margin_loss(Tensor([0])).item()
            1.5
        """
        if p not in (1, 2):
            raise ArgumentError(
                f"the power of a margin cannot be {p}.",
                why="it is 1 or 2.",
                fix="choose one of them.",
            )
        axis = self._class_axis()
        chosen, _ = self._choices(self._wrap(target), axis, None)

        def formula(x: Self) -> Self:
            own = chosen.where(x, 0.0).sum(axis, True)
            lack = (margin - own + x).maximum(0.0)
            lack = lack if p == 1 else lack * lack
            if weight is not None:
                lack = lack * chosen.where(weight, 0.0).sum(axis, True)
            loss = chosen.where(0.0, lack).sum(axis) / float(self._length(axis))
            return loss._reduced(reduction)

        return self._composed(formula)

    def multilabel_margin_loss(self, target: Self, reduction: str = "mean") -> Self:
        """What the scores of several targets lack to exceed those of all other classes by 1.

        Args:
            target: the classes of each example, integers in the shape of the scores; what stands
                from the first negative one on does not count.
            reduction: "mean", "sum" or "none".

        Returns:
            One number, or (batch,) with reduction "none"; scores are (batch, classes), or
            (classes,) for one.

        Raises:
            ArgumentError: there is no such reduction.
            ShapeError: the target does not fit the scores.
            DTypeError: the target are no integers.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([[0.0, 2.0]]).multilabel_margin_loss(Tensor([[0, -1]])).item()
            1.5
        """
        self._class_axis()
        target = self._wrap(target)
        if not is_same_shape(target.shape, self.shape):
            raise ShapeError(
                f"targets of shape {target.shape} do not fit scores of shape {self.shape}.",
                why="each example lists as many classes as there are, the rest of them negative.",
                fix="fill the targets up with -1.",
            )
        if not target.dtype.is_int:
            raise DTypeError(
                f"targets of {target.dtype.name} are not classes.",
                why="a class is an integer.",
                fix="cast the targets to an integer first.",
            )
        axis = self.ndim - 1
        count = self._length(axis)
        listed = (target < 0).cast(dtypes.int32).cumsum(axis).eq(0)
        safe = listed.where(target, 0)
        classes = self._apply(counting(count).cast(target.dtype))
        is_target = (classes.eq(safe.unsqueeze(-1)) & listed.unsqueeze(-1)).any(axis)

        def formula(x: Self) -> Self:
            own = x.gather(axis, safe)
            lack = (1.0 - own.unsqueeze(-1) + x.unsqueeze(-2)).maximum(0.0)
            counts = listed.unsqueeze(-1) & ~is_target.unsqueeze(-2)
            return (counts.where(lack, 0.0).sum((-2, -1)) / float(count))._reduced(reduction)

        return self._composed(formula)
