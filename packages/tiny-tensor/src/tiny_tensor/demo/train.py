"""Digits become a trained network, step by step."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

from tiny_ir import dtypes
from tiny_plugin import record
from tiny_tensor import nn
from tiny_tensor.demo.digits import Digits
from tiny_tensor.demo.network import Network
from tiny_tensor.jit import jit
from tiny_tensor.tensor import Tensor


@record(frozen=True, slots=True)
class Plan:
    """How to train.

    Args:
        epochs: how often every image is seen.
        batch: images of a step.
        learning_rate: at first; it falls to 0 along half a cosine.
        seed: of the first weights and of the order of images.
    """

    epochs: int = 12
    batch: int = 64
    learning_rate: float = 0.004
    seed: int = 0

    def steps_an_epoch(self, digits: Digits) -> int:
        """Whole batches: what is left over is seen in another epoch, since the order changes."""
        return digits.count // self.batch


@record(frozen=True, slots=True)
class Step:
    """Where training stands.

    Args:
        epoch: from 1.
        loss: of the batch.
        accuracy: the part of the test images that are read right, after the last step of an epoch;
            else None.
    """

    epoch: int
    loss: float
    accuracy: float | None


def train(digits: Digits, plan: Plan) -> Iterator[Step]:
    """Train a network, and yield how it goes after each step."""
    Tensor.manual_seed(plan.seed)
    network = Network()
    optimizer = nn.optim.AdamW(nn.state.get_parameters(network), lr=plan.learning_rate)

    @jit
    @Tensor.train()
    def step(places: Tensor) -> Tensor:
        optimizer.zero_grad()
        scores = network(digits.images[places])
        loss = scores.sparse_categorical_crossentropy(digits.labels[places])
        loss.backward()
        optimizer.step()
        return loss

    @jit
    def accuracy() -> Tensor:
        return (network(digits.test_images).argmax(1) == digits.test_labels).mean()

    order = list(range(digits.count))
    shuffler = random.Random(plan.seed)
    steps = plan.steps_an_epoch(digits)
    for epoch in range(plan.epochs):
        shuffler.shuffle(order)
        for at in range(steps):
            done = (epoch * steps + at) / (plan.epochs * steps)
            rate = plan.learning_rate * (1 + math.cos(math.pi * done)) / 2
            optimizer.lr.assign(Tensor([rate]).reshape(()))
            places = order[at * plan.batch : (at + 1) * plan.batch]
            loss = float(step(Tensor(places, dtype=dtypes.int32)).item())
            is_last = at == steps - 1
            yield Step(epoch + 1, loss, float(accuracy().item()) if is_last else None)
