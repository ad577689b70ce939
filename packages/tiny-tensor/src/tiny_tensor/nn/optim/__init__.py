"""Gradients become better parameters: SGD, LARS, Adam, AdamW, LAMB and Muon."""

from tiny_tensor.nn.optim.adam import LAMB, Adam, AdamW
from tiny_tensor.nn.optim.momentum import LARS, SGD
from tiny_tensor.nn.optim.muon import Muon
from tiny_tensor.nn.optim.optimizer import Optimizer, OptimizerGroup

__all__ = ["LAMB", "LARS", "SGD", "Adam", "AdamW", "Muon", "Optimizer", "OptimizerGroup"]
