"""Attention, and the dropout that stands between layers."""

from __future__ import annotations

import math
from typing import Self

from tiny_ir import ArgumentError, ShapeError, dtypes
from tiny_plugin import boundary
from tiny_tensor.broadcast import broadcast
from tiny_tensor.methods.linear_algebra import LinearAlgebraMethods
from tiny_tensor.methods.random import RandomMethods
from tiny_tensor.methods.triangles import counting


@boundary
class AttentionMethods(LinearAlgebraMethods, RandomMethods):
    """What transformers are made of."""

    __slots__ = ()

    def dropout(self, p: float = 0.5) -> Self:
        """In training mode, set elements to 0 at random and scale the others up.

        Args:
            p: the probability of 0. The others are divided by 1 - p.

        Returns:
            The tensor itself outside of training mode.

        Raises:
            ArgumentError: `p` is not from 0 to 1.

        Example:
            >>> from tiny_tensor import Tensor
            >>> Tensor([1.0, 2.0]).dropout(0.5).tolist()
            [1.0, 2.0]

        Source: N. Srivastava et al., "Dropout", 2014.
        """
        if not 0.0 <= p <= 1.0:
            raise ArgumentError(
                f"elements cannot be dropped with probability {p}.",
                why="a probability is a number from 0 to 1.",
                fix="choose such a number.",
            )
        if not self._session.is_training or p == 0.0:
            return self
        if p == 1.0:
            return self._apply(broadcast(self.uop.const_like(0), self.shape))
        is_kept = self.rand_like("float32") >= p
        return is_kept.where(self * (1.0 / (1.0 - p)), 0.0)

    def scaled_dot_product_attention(
        self,
        key: Self,
        value: Self,
        attn_mask: Self | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        enable_gqa: bool = False,
    ) -> Self:
        """softmax(self @ key.T / sqrt(d) + mask) @ value; self are the queries.

        Args:
            key: (..., keys, d), for queries (..., queries, d).
            value: (..., keys, n).
            attn_mask: broadcasts to (..., queries, keys). A bool says which keys a query sees;
                numbers are added.
            dropout_p: the probability that a weight is dropped, in training mode.
            is_causal: a query sees the keys up to its own position only.
            enable_gqa: queries have several times as many heads (third axis from the end) as keys
                and values, which are repeated.

        Returns:
            (..., queries, n), in the dtype of the queries; weights are computed in at least
            float32. A query that sees no key gives 0.

        Raises:
            ArgumentError: there is a mask, and the attention is causal.
            ShapeError: the sizes do not fit.

        Example:
            >>> from tiny_tensor import Tensor
            >>> x = Tensor([[1.0, 0.0]])
            >>> x.scaled_dot_product_attention(x, Tensor([[7.0]])).tolist()
            [[7.0]]

        Source: A. Vaswani et al., "Attention is all you need", 2017.
        """
        if is_causal and attn_mask is not None:
            raise ArgumentError(
                "attention cannot be causal and have a mask.",
                why="causal attention has a mask of its own.",
                fix="put the causal mask into attn_mask, or leave one of the two out.",
            )
        key, value = self._wrap(key), self._wrap(value)
        if min(self.ndim, key.ndim, value.ndim) < 2:
            raise ShapeError(
                f"attention cannot take shapes {self.shape}, {key.shape} and {value.shape}.",
                why="queries, keys and values are rows: (..., rows, numbers).",
                fix="reshape them to at least two axes.",
            )
        attn_mask = None if attn_mask is None else self._wrap(attn_mask)
        if enable_gqa:
            key, value = self._repeated_heads(key), self._repeated_heads(value)
        queries, keys = self._wide(), key._wide()
        scale = 1.0 / math.sqrt(max(1, self._length(self.ndim - 1)))
        scores = (queries * scale).matmul(keys.transpose(-1, -2))
        if is_causal:
            scores = scores._causal()
        elif attn_mask is not None and attn_mask.dtype.is_bool:
            scores = attn_mask.where(scores, -math.inf)
        elif attn_mask is not None:
            scores = scores + attn_mask
        largest = scores._shift(-1)
        powers = (scores - largest).exp()
        total = powers.sum(-1, keepdim=True)
        weights = powers / total.eq(0.0).where(1.0, total)
        weights = weights.cast(dtypes.promote(weights.dtype, dtypes.float32)).dropout(dropout_p)
        return weights.matmul(value._wide()).cast(self._as_float().dtype)

    def _repeated_heads(self, other: Self) -> Self:
        mine, theirs = self._length(self.ndim - 3), other._length(other.ndim - 3)
        if not theirs or mine % theirs:
            raise ShapeError(
                f"{mine} heads of queries do not fit {theirs} heads of keys and values.",
                why="each of these serves the same number of heads of queries.",
                fix="choose a number of heads that divides that of the queries.",
            )
        return other.repeat_interleave(mine // theirs, -3)

    def _causal(self) -> Self:
        """Scores with -inf where the key stands after the query."""
        queries, keys = self.shape[-2:]
        row = self._apply(counting(queries).cast(dtypes.int32).reshape((queries, 1)))
        column = self._apply(counting(keys).cast(dtypes.int32).reshape((1, keys)))
        return (column <= row).where(self, -math.inf)
