"""The demo: a small convolutional network learns to read handwritten digits."""

from tiny_tensor.demo.digits import Digits, digits
from tiny_tensor.demo.driver import progress_bar
from tiny_tensor.demo.network import Network
from tiny_tensor.demo.train import Plan, Step, train

__all__ = ["Digits", "Network", "Plan", "Step", "digits", "progress_bar", "train"]
