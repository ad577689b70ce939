"""torch, with every function compiled by its inductor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from peers.peer import Call
from peers.torch_peer import Torch, torch
from peers.torch_peer import make as make_torch
from works.work import Arrays, Work

LEFT_OUT = {"matmul", "convolution", "attention", "sort", "argsort", "cumsum", "eager_adds"}
"""Its compiler hands these to the operations of torch itself."""


class TorchCompile(Torch):
    """torch.compile, of shapes that do not change."""

    def prepare(self, work: Work, arrays: Arrays) -> Call | None:
        """Take the inputs in."""
        if work.operation in LEFT_OUT:
            return None
        torch._dynamo.reset()
        return super().prepare(work, arrays)


def make() -> Torch:
    """The peer."""
    make_torch()  # the weights

    def transform(function: Callable[..., Any]) -> Callable[..., Any]:
        compiled: Callable[..., Any] = torch.compile(function, dynamic=False)
        return compiled

    return TorchCompile(transform)
