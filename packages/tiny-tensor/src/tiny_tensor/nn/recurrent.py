"""Layers that carry a state from step to step: LSTMCell."""

from __future__ import annotations

from tiny_plugin import boundary
from tiny_tensor.explained import explained_methods
from tiny_tensor.nn.parameters import checked_size, uniform
from tiny_tensor.tensor import Tensor


@explained_methods
@boundary
class LSTMCell:
    """One step of a long short-term memory.

    Args:
        input_size: the size of the last axis of the input.
        hidden_size: that of the state.
        bias: add them.

    Attributes:
        weight_ih: (4 * hidden_size, input_size): input gate, forget gate, cell, output gate.
        weight_hh: (4 * hidden_size, hidden_size).
        bias_ih: (4 * hidden_size,); None without.
        bias_hh: (4 * hidden_size,); None without.

    Source: S. Hochreiter, J. Schmidhuber, "Long short-term memory", 1997; F. Gers et al.,
        "Learning to forget", 2000.

    Example:
        >>> h, c = LSTMCell(3, 5)(Tensor.ones(2, 3))
        >>> h.shape, c.shape
        ((2, 5), (2, 5))
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True) -> None:
        checked_size("input_size", input_size)
        checked_size("hidden_size", hidden_size)
        rows = 4 * hidden_size
        self.hidden_size = hidden_size
        self.weight_ih = uniform((rows, input_size), hidden_size)
        self.weight_hh = uniform((rows, hidden_size), hidden_size)
        self.bias_ih = uniform((rows,), hidden_size) if bias else None
        self.bias_hh = uniform((rows,), hidden_size) if bias else None

    def __call__(
        self, x: Tensor, state: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        """Take a step.

        Args:
            x: (batch, input_size).
            state: hidden and cell state, (batch, hidden_size) each; zeros by default.

        Returns:
            The hidden and the cell state after the step.
        """
        if state is None:
            nothing = Tensor.full((*x.shape[:-1], self.hidden_size), 0.0, x.dtype, x.device)
            state = (nothing, nothing)
        hidden, cell = state
        gates = x.linear(self.weight_ih.transpose(), self.bias_ih)
        gates = gates + hidden.linear(self.weight_hh.transpose(), self.bias_hh)
        taken, kept, new, shown = gates.chunk(4, dim=-1)
        cell = kept.sigmoid() * cell + taken.sigmoid() * new.tanh()
        return shown.sigmoid() * cell.tanh(), cell
