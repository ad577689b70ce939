"""Tensors that a layer is trained in: each in memory of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tiny_ir import ArgumentError
from tiny_tensor.tensor import Tensor


def parameter(values: Tensor) -> Tensor:
    """A tensor to train, with these values at first.

    Equal constants are one node of the graph, and gradients are found by node: two layers that both
    begin with zeros would share their gradient, had they not memory of their own.
    """
    return values.clone().is_param_()


def uniform(shape: Sequence[int], fan_in: int) -> Tensor:
    """A tensor to train, with uniform numbers up to 1 / sqrt(fan_in) on both sides of 0.

    Source: Y. LeCun et al., "Efficient BackProp", 1998; with the factor that torch uses.
    """
    bound = 1 / math.sqrt(fan_in) if fan_in else 0.0
    return parameter(Tensor.uniform(*shape, low=-bound, high=bound))


def checked_size(name: str, value: int, least: int = 1) -> int:
    """A size of a layer.

    Raises:
        ArgumentError: it is less than `least`.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ArgumentError(
            f"{name} cannot be {value!r}.",
            why=f"it is an integer of at least {least}.",
            fix=f"pass another {name}.",
        )
    return value
