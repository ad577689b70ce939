"""Gradients become better parameters: SGD, LARS, Adam, AdamW, LAMB and Muon; and schedulers."""

from tiny_tensor.nn.optim.adam import LAMB, Adam, AdamW
from tiny_tensor.nn.optim.momentum import LARS, SGD
from tiny_tensor.nn.optim.muon import Muon
from tiny_tensor.nn.optim.optimizer import Optimizer, OptimizerGroup
from tiny_tensor.nn.optim.schedulers import (
    CosineAnnealingLR,
    CosineAnnealingLRWithWarmup,
    LRScheduler,
    LRSchedulerGroup,
    MultiStepLR,
    OneCycleLR,
    ReduceLROnPlateau,
)

__all__ = [
    "LAMB",
    "LARS",
    "SGD",
    "Adam",
    "AdamW",
    "CosineAnnealingLR",
    "CosineAnnealingLRWithWarmup",
    "LRScheduler",
    "LRSchedulerGroup",
    "MultiStepLR",
    "Muon",
    "OneCycleLR",
    "Optimizer",
    "OptimizerGroup",
    "ReduceLROnPlateau",
]
