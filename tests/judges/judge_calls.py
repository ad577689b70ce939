"""Random programs in which kernels of a user read and write tensors equal NumPy."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_ir import UOp
from tiny_tensor import Tensor, jit, kernel_axis

CASES = 2000
SIZE = 6
DEVICES = ("cpu", "cpu", "python")
STEPS = (
    *("add", "kernel of a sum", "kernel of a step", "kernel of a turn", "assign", "part"),
    *("in place", "turn", "rows", "copy", "realize", "read", "captured"),
)

Array = NDArray[Any]


def _sum(out: UOp, x: UOp, y: UOp) -> UOp:
    i = kernel_axis(SIZE, 0)
    return out.index(i).store(x.index(i) + y.index(i)).end(i)


def _step(x: UOp) -> UOp:
    i = kernel_axis(SIZE, 0)
    return x.index(i).store(x.index(i) + 1.0).end(i)


def _turn(x: UOp, y: UOp) -> UOp:
    i = kernel_axis(SIZE, 0)
    return x.index(i).store(y.index(SIZE - 1 - i)).end(i)


@jit
def _captured(x: Tensor, y: Tensor) -> Tensor:
    total = Tensor.empty(SIZE, device=x.device).custom_kernel(x, y * 2.0, fxn=_sum)[0]
    return total.custom_kernel(fxn=_step)[0]


def judge(case: int) -> dict[str, str | float]:
    """Do the same to tensors and to arrays, and compare all of them.

    Raises:
        AssertionError: any of them differs.
    """
    draw = random.Random(case)
    device = draw.choice(DEVICES)
    arrays: list[Array] = [np.arange(SIZE, dtype=np.float32) * n for n in (1, 2)]
    tensors = [Tensor(array, device) for array in arrays]
    steps = [draw.choice(STEPS) for _ in range(draw.randint(3, 14))]
    for step in steps:
        a, b = draw.randrange(len(tensors)), draw.randrange(len(tensors))
        _take(step, a, b, tensors, arrays)
    order = list(range(len(tensors)))
    draw.shuffle(order)
    for at in order:
        found, expected = tensors[at].tolist(), arrays[at].tolist()
        assert found == expected, (device, steps, at, found, expected)
    return {"device": device, "steps": float(len(steps))}


def _take(step: str, a: int, b: int, tensors: list[Tensor], arrays: list[Array]) -> None:
    """One step with tensors a and b, on both sides."""
    x, y, u, v = tensors[a], tensors[b], arrays[a], arrays[b]
    made: tuple[Tensor, Array] | None = None
    match step:
        case "add":
            made = x + y, u + v
        case "kernel of a sum":
            out = Tensor.empty(SIZE, device=x.device)
            made = out.custom_kernel(x, y, fxn=_sum)[0], u + v
        case "kernel of a step":
            made = x.custom_kernel(fxn=_step)[0], u + 1
        case "kernel of a turn":
            made = x.custom_kernel(y, fxn=_turn)[0], v[::-1].copy()
        case "captured":
            made = _captured(x, y), u + v * 2 + 1
        case "turn":
            made = x.flip(0) + 0.0, u[::-1].copy()
        case "rows":
            made = (
                x.reshape(2, 3).permute(1, 0).contiguous().reshape(SIZE),
                u.reshape(2, 3).T.ravel(),
            )
        case "copy":
            made = x.clone(), u.copy()
        case "assign":
            x.assign(y)
            u[...] = v.copy()
        case "part":
            x[1:4] = y[2:5]
            u[1:4] = v[2:5].copy()
        case "in place":
            tensors[a] += 1.0
            u += 1
        case "realize":
            x.realize(y)
        case "read":
            assert x.tolist() == u.tolist(), step
    if made is not None:
        tensors.append(made[0])
        arrays.append(made[1])
