"""The convolutional net for MNIST by tiny_tensor.nn, and its training step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

from models.convnet import CONVOLUTIONS, FEATURES, LEARNING_RATE, NORMS, convnet_arrays
from tiny_tensor import Tensor, jit
from tiny_tensor.nn import BatchNorm2d, Conv2d, Linear
from tiny_tensor.nn.optim import Adam
from tiny_tensor.nn.state import get_parameters, load_state_dict


class ConvNet:
    """Twice two convolutions, batch norm and a pool; then a linear layer."""

    def __init__(self) -> None:
        self.c1, self.c2, self.c3, self.c4 = (
            Conv2d(into, out, size) for _, out, into, size in CONVOLUTIONS
        )
        self.n1, self.n2 = (
            BatchNorm2d(channels, track_running_stats=False) for _, channels in NORMS
        )
        self.last = Linear(FEATURES, 10)

    @classmethod
    def with_random_weights(cls) -> Self:
        """With the weights that every peer takes."""
        network = cls()
        weights = {name: Tensor(array) for name, array in convnet_arrays().items()}
        load_state_dict(network, weights, strict=False)
        return network

    def __call__(self, x: Tensor) -> Tensor:
        x = self.c2(self.c1(x).relu()).relu()
        x = self.n1(x).max_pool2d((2, 2))
        x = self.c4(self.c3(x).relu()).relu()
        x = self.n2(x).max_pool2d((2, 2))
        return self.last(x.flatten(1))

    def training_step(self) -> Callable[[Tensor, Tensor], Tensor]:
        """A captured step of Adam, which returns the loss it started from."""
        optimizer = Adam(get_parameters(self), lr=LEARNING_RATE)

        @jit
        def step(x: Tensor, labels: Tensor) -> Tensor:
            with Tensor.train():
                optimizer.zero_grad()
                loss = self(x).sparse_categorical_crossentropy(labels).backward()
                optimizer.step()
            return loss

        return step
