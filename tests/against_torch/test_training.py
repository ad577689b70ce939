"""Layers and optimizers take the same steps as those of torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch

from tiny_tensor import Tensor, jit, nn

Array = np.ndarray[Any, np.dtype[Any]]
DICE = np.random.RandomState(0)


def normal(*shape: int) -> Array:
    return DICE.randn(*shape).astype(np.float32)


def copied(layer: object, twin: torch.nn.Module) -> list[tuple[Tensor, torch.Tensor]]:
    """Give both the same numbers; the pairs of their parameters."""
    theirs = twin.state_dict()
    mine = nn.state.get_state_dict(layer)
    assert set(mine) == set(theirs)
    for name, tensor in mine.items():
        theirs[name].copy_(torch.tensor(tensor.numpy()))
    named = dict(twin.named_parameters())
    return [(mine[name], parameter) for name, parameter in named.items()]


LAYERS: dict[str, tuple[Callable[[], Any], Callable[[], torch.nn.Module], tuple[int, ...]]] = {
    "Linear": (lambda: nn.Linear(5, 3), lambda: torch.nn.Linear(5, 3), (4, 5)),
    "Conv1d": (
        lambda: nn.Conv1d(4, 6, 3, stride=2, padding=1, groups=2),
        lambda: torch.nn.Conv1d(4, 6, 3, stride=2, padding=1, groups=2),
        (2, 4, 9),
    ),
    "Conv2d": (
        lambda: nn.Conv2d(3, 4, (3, 2), padding="same", dilation=(1, 2)),
        lambda: torch.nn.Conv2d(3, 4, (3, 2), padding="same", dilation=(1, 2)),
        (2, 3, 6, 5),
    ),
    "ConvTranspose2d": (
        lambda: nn.ConvTranspose2d(4, 6, 3, 2, 1, 1, groups=2),
        lambda: torch.nn.ConvTranspose2d(4, 6, 3, 2, 1, 1, groups=2),
        (2, 4, 5, 4),
    ),
    "BatchNorm": (lambda: nn.BatchNorm(3), lambda: torch.nn.BatchNorm1d(3), (4, 3)),
    "BatchNorm2d": (lambda: nn.BatchNorm2d(3), lambda: torch.nn.BatchNorm2d(3), (4, 3, 5, 5)),
    "LayerNorm": (lambda: nn.LayerNorm((4, 5)), lambda: torch.nn.LayerNorm((4, 5)), (3, 4, 5)),
    "GroupNorm": (lambda: nn.GroupNorm(2, 4), lambda: torch.nn.GroupNorm(2, 4), (3, 4, 5)),
    "InstanceNorm": (
        lambda: nn.InstanceNorm(4),
        lambda: torch.nn.InstanceNorm1d(4, affine=True),
        (3, 4, 5),
    ),
    "RMSNorm": (lambda: nn.RMSNorm(5), lambda: torch.nn.RMSNorm(5, eps=1e-6), (3, 5)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layer(name: str) -> None:
    make, make_twin, shape = LAYERS[name]
    layer, twin = make(), make_twin()
    pairs = copied(layer, twin)
    x = normal(*shape) * 2 + 1
    mine, theirs = Tensor(x), torch.tensor(x, requires_grad=True)
    with Tensor.train():
        y = layer(mine)
    expected = twin(theirs)
    weight = normal(*expected.shape)
    y.backward(Tensor(weight))
    expected.backward(torch.tensor(weight))
    close(y, expected.detach())
    assert theirs.grad is not None
    close(mine.grad, theirs.grad)
    for parameter, other in pairs:
        assert other.grad is not None
        close(parameter.grad, other.grad)
    for key, tensor in nn.state.get_state_dict(layer).items():
        close(tensor, twin.state_dict()[key])
    twin.eval()
    close(layer(mine), twin(theirs).detach())


def close(mine: Tensor | None, theirs: torch.Tensor, tolerance: float = 3e-5) -> None:
    assert mine is not None
    scale = float(theirs.abs().max())
    np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=tolerance, atol=tolerance * scale)


def test_embedding() -> None:
    layer, twin = nn.Embedding(6, 3), torch.nn.Embedding(6, 3)
    ((mine, theirs),) = copied(layer, twin)
    index = np.array([[1, 5, 1], [0, 1, 3]])
    layer(Tensor(index)).square().sum().backward()
    twin(torch.tensor(index)).square().sum().backward()
    assert theirs.grad is not None
    close(mine.grad, theirs.grad)


def test_lstm_cell() -> None:
    layer, twin = nn.LSTMCell(3, 4), torch.nn.LSTMCell(3, 4)
    pairs = copied(layer, twin)
    x = normal(2, 3)
    state, other = layer(Tensor(x)), twin(torch.tensor(x))
    state, other = layer(Tensor(x), state), twin(torch.tensor(x), other)
    (state[0].sum() + state[1].square().sum()).backward()
    (other[0].sum() + other[1].square().sum()).backward()
    for mine, theirs in pairs:
        assert theirs.grad is not None
        close(mine.grad, theirs.grad)


Make = Callable[[list[Tensor]], nn.optim.Optimizer]
MakeTwin = Callable[[Sequence[torch.nn.Parameter]], torch.optim.Optimizer]
OPTIMIZERS: dict[str, tuple[Make, MakeTwin]] = {
    "SGD": (lambda p: nn.optim.SGD(p, lr=0.05), lambda p: torch.optim.SGD(p, lr=0.05)),
    "SGD with momentum": (
        lambda p: nn.optim.SGD(p, 0.05, momentum=0.9, weight_decay=0.1),
        lambda p: torch.optim.SGD(p, 0.05, momentum=0.9, weight_decay=0.1),
    ),
    "SGD with a look ahead": (
        lambda p: nn.optim.SGD(p, 0.05, momentum=0.9, nesterov=True),
        lambda p: torch.optim.SGD(p, 0.05, momentum=0.9, nesterov=True),
    ),
    "Adam": (lambda p: nn.optim.Adam(p, lr=0.01), lambda p: torch.optim.Adam(p, lr=0.01)),
    "AdamW": (
        lambda p: nn.optim.AdamW(p, lr=0.01, weight_decay=0.1),
        lambda p: torch.optim.AdamW(p, lr=0.01, weight_decay=0.1),
    ),
}


def test_muon() -> None:
    weight, x = normal(6, 4), normal(16, 4)
    mine, theirs = Tensor(weight), torch.nn.Parameter(torch.tensor(weight))
    optimizer, other = nn.optim.Muon([mine], lr=0.02), torch.optim.Muon([theirs], lr=0.02)
    for _ in range(5):
        optimizer.zero_grad()
        (Tensor(x) @ mine.T).square().mean().backward()
        optimizer.step()
        other.zero_grad()
        (torch.tensor(x) @ theirs.T).square().mean().backward()
        other.step()
    # Torch makes its steps orthogonal in bfloat16.
    np.testing.assert_allclose(mine.numpy(), theirs.detach().numpy(), atol=5 * 0.02 * 2**-6)


@pytest.mark.parametrize("captured", [False, True])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_eight_steps(name: str, captured: bool) -> None:
    make, make_twin = OPTIMIZERS[name]
    layers = [nn.Linear(4, 8), nn.Linear(8, 2)]
    twin = torch.nn.ModuleList([torch.nn.Linear(4, 8), torch.nn.Linear(8, 2)])
    pairs = copied(layers, twin)
    x, y = normal(16, 4), normal(16, 2)
    optimizer, other = make([mine for mine, _ in pairs]), make_twin(list(twin.parameters()))

    def step(x: Tensor, y: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss = (layers[1](layers[0](x).tanh()) - y).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    run = jit(step) if captured else step
    for _ in range(8):
        mine = run(Tensor(x), Tensor(y))
        other.zero_grad()
        loss = (twin[1](twin[0](torch.tensor(x)).tanh()) - torch.tensor(y)).square().mean()
        loss.backward()
        other.step()
        close(mine, loss.detach())
    for parameter, theirs in pairs:
        close(parameter, theirs.detach(), 1e-4)
