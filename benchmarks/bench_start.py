"""How long a new process takes to its first result, with an empty and with a filled disk cache.

The program is the first training step of a small convolutional net, timed from the first Tensor
operation on, with the data already loaded. The peer of the warm start is our own cold one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator

ROUNDS = 5
PROGRAM = """
import sys, time
import numpy as np
from tiny_tensor import Tensor, nn
from tiny_tensor.nn.optim import Adam
from tiny_tensor.nn.state import get_parameters

class Net:
    def __init__(self):
        self.first = nn.Conv2d(1, 16, 3, padding=1)
        self.second = nn.Conv2d(16, 32, 3, padding=1)
        self.last = nn.Linear(32 * 16, 10)
    def __call__(self, x):
        x = self.second(self.first(x).relu()).relu().max_pool2d((2, 2))
        return self.last(x.flatten(1))

images = np.random.default_rng(0).random((64, 1, 8, 8), dtype=np.float32)
labels = np.arange(64, dtype=np.int32) % 10
start = time.perf_counter()
net = Net()
optimizer = Adam(get_parameters(net), lr=1e-3)
with Tensor.train():
    loss = net(Tensor(images)).sparse_categorical_crossentropy(Tensor(labels))
    loss.backward()
    optimizer.step()
    loss.item()
seconds = time.perf_counter() - start
compilers = {"tiny_codegen", "tiny_renderers", "llvmlite"} & set(sys.modules)
print(seconds, len(compilers))
"""


def first_result(cache: str) -> tuple[float, int]:
    """Seconds to the first result in a new process, and how many compiler packages it loaded."""
    environment = os.environ | {"TINY_CACHE": cache}
    command = [sys.executable, "-c", PROGRAM]
    out = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    seconds, compilers = out.stdout.split()
    return float(seconds), int(compilers)


def measure() -> Iterator[tuple[str, float, str, float]]:
    """Yield the best warm start beside the best cold one."""
    cold: list[float] = []
    warm: list[float] = []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as cache:
            cold.append(first_result(cache)[0])
            seconds, compilers = first_result(cache)
            if compilers:
                raise SystemExit("a warm start loaded a compiler")
            warm.append(seconds)
    yield "first training step, warm", min(warm), "cold", min(cold)
