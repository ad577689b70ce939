"""ResNet-18 by tiny_tensor.nn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

from models.resnet18 import CLASSES, LAYERS, resnet18_arrays
from tiny_tensor import Tensor
from tiny_tensor.nn import BatchNorm2d, Conv2d, Linear
from tiny_tensor.nn.state import load_state_dict


class Block:
    """Two convolutions beside a shortcut."""

    def __init__(self, into: int, out: int, stride: int) -> None:
        self.conv1 = Conv2d(into, out, 3, stride=stride, padding=1, bias=False)
        self.bn1 = BatchNorm2d(out)
        self.conv2 = Conv2d(out, out, 3, padding=1, bias=False)
        self.bn2 = BatchNorm2d(out)
        self.downsample: list[Callable[[Tensor], Tensor]] = []
        if stride != 1:
            self.downsample = [Conv2d(into, out, 1, stride=stride, bias=False), BatchNorm2d(out)]

    def __call__(self, x: Tensor) -> Tensor:
        y = self.bn1(self.conv1(x)).relu()
        return (self.bn2(self.conv2(y)) + x.sequential(self.downsample)).relu()


class ResNet18:
    """The network, with torchvision's names of parameters."""

    def __init__(self) -> None:
        self.conv1 = Conv2d(3, 64, 7, stride=2, padding=3, bias=False)
        self.bn1 = BatchNorm2d(64)
        into = 64
        layers: list[list[Block]] = []
        for out, stride in LAYERS:
            layers.append([Block(into, out, stride), Block(out, out, 1)])
            into = out
        self.layer1, self.layer2, self.layer3, self.layer4 = layers
        self.fc = Linear(into, CLASSES)

    @classmethod
    def with_random_weights(cls) -> Self:
        """With the weights that every peer takes."""
        network = cls()
        weights = {name: Tensor(array) for name, array in resnet18_arrays().items()}
        load_state_dict(network, weights, strict=False)  # ours also counts batches
        return network

    def forward(self, x: Tensor) -> Tensor:
        """(n, 3, h, w) -> (n, 1000)."""
        x = self.bn1(self.conv1(x)).relu()
        x = x.max_pool2d((3, 3), stride=2, padding=1)
        for layer in (self.layer1, self.layer2, self.layer3, self.layer4):
            x = x.sequential(layer)
        return self.fc(x.mean((2, 3)))
