"""Networks: layers, optimizers, the state of a model, and pictures to train with."""

from tiny_tensor.nn import datasets, optim, state
from tiny_tensor.nn.convolution import Conv1d, Conv2d, ConvTranspose1d, ConvTranspose2d
from tiny_tensor.nn.linear import Embedding, Linear
from tiny_tensor.nn.norms import (
    BatchNorm,
    BatchNorm2d,
    BatchNorm3d,
    GroupNorm,
    InstanceNorm,
    LayerNorm,
    LayerNorm2d,
    RMSNorm,
)
from tiny_tensor.nn.recurrent import LSTMCell

__all__ = [
    "BatchNorm",
    "BatchNorm2d",
    "BatchNorm3d",
    "Conv1d",
    "Conv2d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "Embedding",
    "GroupNorm",
    "InstanceNorm",
    "LSTMCell",
    "LayerNorm",
    "LayerNorm2d",
    "Linear",
    "RMSNorm",
    "datasets",
    "optim",
    "state",
]
