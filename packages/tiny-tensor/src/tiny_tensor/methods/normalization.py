"""Softmax and its kin, and values brought to mean 0 and variance 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from tiny_ir import DType, Op, make
from tiny_plugin import boundary
from tiny_tensor.methods.recurrences import RecurrenceMethods
from tiny_tensor.methods.reductions import Axes
from tiny_tensor.methods.special import SpecialMethods
from tiny_tensor.tensor_core import concrete_dtype


@boundary
class NormalizationMethods(RecurrenceMethods, SpecialMethods):
    """Normalized values. Sums are kept in at least float32; the result has the tensor's dtype."""

    __slots__ = ()

    def _shift(self, axis: Axes) -> Self:
        """What is taken from exponents so that exp does not overflow: the largest, if finite.

        No gradient flows through it, since it changes nothing.
        """
        largest = self._apply(make(Op.DETACH, None, (self._reduce(self.uop, Op.MAX, axis, True),)))
        return largest.isfinite().where(largest, 0.0)

    def _to_normalize(self, dtype: DType | str | None) -> tuple[Self, DType]:
        x = self._as_float() if dtype is None else self.cast(dtype)
        return x._wide(), concrete_dtype(x.dtype)

    def softmax(self, axis: int = -1, dtype: DType | str | None = None) -> Self:
        """exp of the elements, divided by the sum of these along an axis.

        Args:
            axis: the axis.
            dtype: of the result; by default that of a float tensor, or the default float.

        Raises:
            AxisError: there is no such axis.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([0.0, 0.0]).softmax().tolist()
            [0.5, 0.5]
        """
        x, result = self._to_normalize(dtype)
        powers = (x - x._reduce_max(axis)).exp()
        return (powers / powers.sum(axis, keepdim=True)).cast(result)

    def _reduce_max(self, axis: Axes) -> Self:
        """The largest along an axis, which stays; no gradient flows through it."""
        largest = self._reduce(self.uop, Op.MAX, axis, True)
        return self._apply(make(Op.DETACH, None, (largest,)))

    def softmin(self, axis: int = -1, dtype: DType | str | None = None) -> Self:
        """The softmax of the negative elements."""
        return (-self).softmax(axis, dtype)

    def log_softmax(self, axis: int = -1, dtype: DType | str | None = None) -> Self:
        """The logarithm of `softmax`, without its loss of precision.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([0.0, 1000.0]).log_softmax().tolist()
            [-1000.0, 0.0]
        """
        x, result = self._to_normalize(dtype)
        shifted = x - x._reduce_max(axis)
        return (shifted - shifted.exp().sum(axis, keepdim=True).log()).cast(result)

    def logsumexp(self, axis: Axes = None, keepdim: bool = False) -> Self:
        """The logarithm of the sum of exp along axes, without overflow. That of nothing is -inf.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1000.0, float("-inf")]).logsumexp().item()
            1000.0
        """
        x, result = self._to_normalize(None)
        shift = x._shift(axis)
        total = ((x - shift).exp().sum(axis, keepdim=True)).log() + shift
        if not keepdim:
            total = total.reshape(x._reduce(x.uop, Op.ADD, axis, False).shape)
        return total.cast(result)

    def layernorm(self, axis: int | Sequence[int] = -1, eps: float = 1e-5) -> Self:
        """Bring the elements along axes to mean 0 and variance 1.

        Args:
            axis: one axis or several.
            eps: is added to the variance.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1.0, 3.0]).layernorm(eps=0.0).tolist()
            [-1.0, 1.0]

        Source: J. Ba et al., "Layer normalization", 2016.
        """
        x, result = self._to_normalize(None)
        variance, mean = x.var_mean(axis, keepdim=True, correction=0)
        return ((x - mean) * (variance + eps).rsqrt()).cast(result)

    def batchnorm(
        self,
        weight: Self | None,
        bias: Self | None,
        mean: Self,
        invstd: Self,
        axis: int | Sequence[int] = 1,
    ) -> Self:
        """(x - mean) * invstd * weight + bias, with statistics for each position of an axis.

        Args:
            weight: the scale, or None for 1.
            bias: what is added, or None for 0.
            mean: the mean.
            invstd: 1 / sqrt(variance + eps).
            axis: the axes that these four have.

        Source: S. Ioffe, C. Szegedy, "Batch normalization", 2015.
        """
        from_one = [axis] if isinstance(axis, int) else list(axis)
        axes = {self._resolve_axis(n) for n in from_one}
        shape = [size if n in axes else 1 for n, size in enumerate(self.shape)]
        x, result = self._to_normalize(None)
        mean, invstd = self._wrap(mean), self._wrap(invstd)
        x = x - mean.reshape(shape)
        if weight is not None:
            x = x * self._wrap(weight).reshape(shape)
        scale = invstd.reshape(shape) if invstd.ndim == len(axes) else invstd
        x = x * scale
        return (x if bias is None else x + self._wrap(bias).reshape(shape)).cast(result)
