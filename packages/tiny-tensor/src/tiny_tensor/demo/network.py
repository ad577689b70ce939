"""A small convolutional network for images of 8 x 8 pixels."""

from __future__ import annotations

from tiny_tensor import nn
from tiny_tensor.tensor import Tensor


class Block:
    """A convolution, and a norm over the batch, before a ReLU.

    Args:
        in_channels: of the image.
        out_channels: of the result, which is as large.
    """

    def __init__(self, in_channels: int, out_channels: int) -> None:
        self.convolution = nn.Conv2d(in_channels, out_channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(out_channels)

    def __call__(self, x: Tensor) -> Tensor:
        return self.norm(self.convolution(x)).relu()


class Network:
    """Three blocks, with the image halved twice, and one score a digit.

    Example:
        >>> Network()(Tensor.zeros(2, 1, 8, 8)).shape
        (2, 10)
    """

    def __init__(self) -> None:
        self.first = Block(1, 16)
        self.second = Block(16, 32)
        self.third = Block(32, 32)
        self.score = nn.Linear(32 * 2 * 2, 10)

    def __call__(self, x: Tensor) -> Tensor:
        x = self.second(self.first(x)).max_pool2d((2, 2))
        x = self.third(x).max_pool2d((2, 2))
        return self.score(x.flatten(1))
