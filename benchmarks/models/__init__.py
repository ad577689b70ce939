"""Networks that are measured: their arrays, their answers by NumPy, and ours by tiny_tensor.nn."""

from models.convnet import convnet_arrays, convnet_loss
from models.resnet18 import resnet18_answer, resnet18_arrays

__all__ = ["convnet_arrays", "convnet_loss", "resnet18_answer", "resnet18_arrays"]
