"""Layers of products and look-ups: Linear and Embedding."""

from __future__ import annotations

from tiny_plugin import boundary
from tiny_tensor.explained import explained_methods
from tiny_tensor.nn.parameters import checked_size, parameter, uniform
from tiny_tensor.tensor import Tensor


@explained_methods
@boundary
class Linear:
    """x @ weight.T + bias.

    Args:
        in_features: the size of the last axis of the input.
        out_features: that of the output.
        bias: add one.

    Attributes:
        weight: (out_features, in_features), uniform up to 1 / sqrt(in_features) at first.
        bias: (out_features,), likewise; None without one.

    Example:
        >>> Linear(3, 4)(Tensor.ones(2, 3)).shape
        (2, 4)
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        checked_size("in_features", in_features)
        checked_size("out_features", out_features)
        self.weight = uniform((out_features, in_features), in_features)
        self.bias = uniform((out_features,), in_features) if bias else None

    def __call__(self, x: Tensor) -> Tensor:
        return x.linear(self.weight.transpose(), self.bias)


@explained_methods
@boundary
class Embedding:
    """Rows of a table, by their numbers.

    Args:
        vocab_size: how many rows there are.
        embed_size: elements of a row.

    Attributes:
        weight: (vocab_size, embed_size).

    Example:
        >>> Embedding(10, 4)(Tensor([[1, 2, 3]])).shape
        (1, 3, 4)
    """

    def __init__(self, vocab_size: int, embed_size: int) -> None:
        checked_size("vocab_size", vocab_size)
        checked_size("embed_size", embed_size)
        self.weight = parameter(Tensor.glorot_uniform(vocab_size, embed_size))

    def __call__(self, index: Tensor) -> Tensor:
        return self.weight[index]
