"""How many kernels a graph becomes: values that are cheap to compute again get no memory."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tiny_ir import Op, UOp, dtypes, make
from tiny_plugin import Options

from ..graphs import (
    TARGETS,
    Array,
    Sheet,
    computed,
    convolution,
    full,
    keep,
    layernorm,
    logsumexp,
    matmul,
    softmax,
)

draw = np.random.default_rng(0)
X = draw.integers(-4, 5, (6, 24)).astype(np.float32)
Y = draw.integers(-4, 5, (24, 16)).astype(np.float32)
Z = draw.integers(-4, 5, (16, 8)).astype(np.float32)
BIAS = draw.integers(-4, 5, (16,)).astype(np.float32)
IMAGES = draw.integers(-4, 5, (2, 3, 6, 8)).astype(np.float32)
FILTERS = draw.integers(-4, 5, (4, 3, 3, 3)).astype(np.float32)


def relu(x: UOp) -> UOp:
    return x.maximum(0)


def rows(x: UOp, size: int) -> UOp:
    return x.reshape((1, *x.shape)).expand((size, *x.shape))


def soft(a: Array) -> Array:
    powers = np.exp(a - a.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def normal(a: Array) -> Array:
    centered = a - a.mean(-1, keepdims=True)
    return centered / np.sqrt((centered**2).mean(-1, keepdims=True) + 1e-5)


def summed(a: Array) -> Array:
    return np.log(np.exp(a - a.max(-1, keepdims=True)).sum(-1)) + a.max(-1)


def convolved(x: Array, w: Array) -> Array:
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    return np.einsum("nchwij,ocij->nohw", windows, w)


Case = tuple[int, Callable[..., UOp], tuple[Array, ...], Callable[..., Array]]

# The number of kernels, what is built, from which arrays, and what NumPy says about it.
CASES: dict[str, Case] = {
    "a chain of elementwise ops": (
        1,
        lambda x: relu(x * 2 + 1) - x,
        (X,),
        lambda x: np.maximum(x * 2 + 1, 0) - x,
    ),
    "a reduction with its prologue and epilogue": (
        1,
        lambda x: (x * x + 1).reduce(Op.ADD, (1,)).alu(Op.SQRT) * 2,
        (X,),
        lambda x: np.sqrt((x * x + 1).sum(1)) * 2,
    ),
    "softmax": (1, softmax, (X,), soft),
    "layernorm": (1, layernorm, (X,), normal),
    "logsumexp": (2, logsumexp, (X,), summed),
    "matmul, bias, relu": (
        1,
        lambda x, y, b: relu(matmul(x, y) + rows(b, 6)),
        (X, Y, BIAS),
        lambda x, y, b: np.maximum(x @ y + b, 0),
    ),
    "two layers": (
        2,
        lambda x, y, z: matmul(relu(matmul(x, y)), z),
        (X, Y, Z),
        lambda x, y, z: np.maximum(x @ y, 0) @ z,
    ),
    "attention": (
        3,
        lambda q, k, v: matmul(softmax(matmul(q, k)), v),
        (X, Y, Z),
        lambda q, k, v: soft(q @ k) @ v,
    ),
    "convolution, bias, relu": (
        1,
        lambda x, w: relu(convolution(x, w) + 1),
        (IMAGES, FILTERS),
        lambda x, w: np.maximum(convolved(x, w) + 1, 0),
    ),
    "mean and variance of one value": (
        1,
        lambda x: (x - keep(x, Op.ADD, 1) * (1 / 24)).reduce(Op.MAX, (1,)),
        (X,),
        lambda x: (x - x.mean(1, keepdims=True)).max(1),
    ),
    "a reduction over everything": (
        1,
        lambda x: x.reduce(Op.ADD, (0, 1)).reshape((1,)),
        (X,),
        lambda x: x.sum().reshape(1),
    ),
    "movement alone": (
        1,
        lambda x: x.permute((1, 0)).pad(((1, 1), (0, 2))).flip((0,)).reshape((208,)),
        (X,),
        lambda x: np.pad(x.T, ((1, 1), (0, 2)))[::-1].reshape(208),
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_kernels_compute_what_they_should(name: str, target: object) -> None:
    _, build, arrays, expected = CASES[name]
    found = computed(build, *arrays, target=target)  # type: ignore[arg-type]
    assert np.allclose(found, expected(*arrays), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", CASES)
def test_as_few_kernels_as_are_good(name: str) -> None:
    count, build, arrays, _ = CASES[name]
    sheet = Sheet()
    sheet.output(build(*map(sheet.memory, arrays)))
    assert len(sheet.schedule().steps) == count


def test_a_reduction_that_two_reductions_need_is_computed_once() -> None:
    sheet = Sheet()
    x = sheet.memory(X)
    total = x.reduce(Op.ADD, (1,))
    spread = total.reshape((6, 1)).expand(X.shape)
    slots = [sheet.output((x * spread).reduce(Op.ADD, (axis,))) for axis in (0, 1)]
    found = sheet.run()
    assert len(sheet.schedule().steps) == 3
    for axis, slot in enumerate(slots):
        assert np.array_equal(found[slot], (X * X.sum(1, keepdims=True)).sum(axis))


def test_costly_values_that_would_be_repeated_are_stored() -> None:
    # Each element of exp(x) is needed 64 times: in every column of the product.
    sheet = Sheet()
    x, y = sheet.memory(X), sheet.memory(draw.random((24, 64), np.float32))
    sheet.output(matmul(x.alu(Op.EXP).alu(Op.SIN), y))
    assert len(sheet.schedule().steps) == 2


def test_cheap_values_that_would_be_repeated_are_not() -> None:
    sheet = Sheet()
    x, y = sheet.memory(X), sheet.memory(Y)
    sheet.output(matmul(relu(x * 2), y))
    assert len(sheet.schedule().steps) == 1


@pytest.mark.parametrize(("size", "count"), [(8, 1), (64, 2)])
def test_of_two_products_in_a_sum_each_gets_the_tiles_it_needs(size: int, count: int) -> None:
    sheet = Sheet()
    a, b, c, d = (sheet.memory(np.zeros((size, size), np.float32)) for _ in range(4))
    sheet.output(matmul(a, b) + matmul(c, d))
    assert len(sheet.schedule().steps) == count


def test_contiguous_makes_memory() -> None:
    sheet = Sheet()
    kept = make(Op.CONTIGUOUS, None, (sheet.memory(X) * 2,))
    slot = sheet.output(kept.permute((1, 0)) + 1)
    assert np.array_equal(sheet.run()[slot], X.T * 2 + 1)
    assert [slot.role for slot in sheet.schedule().slots] == ["input", "input", "temporary"]


def test_constants_need_no_memory() -> None:
    sheet = Sheet()
    slot = sheet.output(full(dtypes.float32, 3, (4, 5)).reduce(Op.ADD, (0,)) * 2)
    assert np.array_equal(sheet.run()[slot], np.full(5, 24, np.float32))
    (step,) = sheet.schedule().steps
    assert len(step.program.arguments) == 1  # type: ignore[union-attr]


@pytest.mark.parametrize("name", CASES)
def test_each_op_has_a_kernel_where_nothing_is_fused(name: str) -> None:
    _, build, arrays, expected = CASES[name]
    found = computed(build, *arrays, options=Options(spec=1, fuse=False))
    assert np.allclose(found, expected(*arrays), rtol=1e-5, atol=1e-5)
    sheet = Sheet()
    sheet.output((sheet.memory(X) * 2 + 1).alu(Op.SQRT).reduce(Op.ADD, (1,)))
    assert len(sheet.schedule(options=Options(fuse=False)).steps) == 4
