"""Values and gradients of every differentiable function agree with torch's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812 (its customary name)
from numpy.typing import NDArray

from tiny_tensor import Tensor

RELATIVE = 2e-5  # float32: a few units in the last place, and sums in another order
ABSOLUTE = 2e-6


@dataclass(frozen=True)
class Function:
    """The same function twice, and the shapes and range of its arguments."""

    ours: Callable[..., Any]
    theirs: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...] = ((3, 4),)
    low: float = -2.0
    high: float = 2.0


def same(function: Callable[..., Any], **options: Any) -> Function:
    """A function that is spelled alike in both libraries."""
    return Function(function, function, **options)


PAIR = ((3, 4), (3, 4))
SPREAD = ((3, 4), (4,))
IMAGE = ((2, 3, 7, 8),)

FUNCTIONS: dict[str, Function] = {
    # one argument
    "abs": same(lambda x: x.abs()),
    "acos": same(lambda x: x.acos(), low=-0.9, high=0.9),
    "acosh": same(lambda x: x.acosh(), low=1.2, high=4.0),
    "asin": same(lambda x: x.asin(), low=-0.9, high=0.9),
    "asinh": same(lambda x: x.asinh()),
    "atan": same(lambda x: x.atan()),
    "atanh": same(lambda x: x.atanh(), low=-0.9, high=0.9),
    "cos": same(lambda x: x.cos()),
    "cosh": same(lambda x: x.cosh()),
    "erf": same(lambda x: x.erf()),
    "exp": same(lambda x: x.exp()),
    "exp2": same(lambda x: x.exp2()),
    "expm1": same(lambda x: x.expm1()),
    "log": same(lambda x: x.log(), low=0.1),
    "log10": same(lambda x: x.log10(), low=0.1),
    "log1p": same(lambda x: x.log1p(), low=-0.5),
    "log2": same(lambda x: x.log2(), low=0.1),
    "neg": same(lambda x: -x),
    "reciprocal": same(lambda x: x.reciprocal(), low=0.5),
    "rsqrt": same(lambda x: x.rsqrt(), low=0.5),
    "sin": same(lambda x: x.sin()),
    "sinh": same(lambda x: x.sinh()),
    "sqrt": same(lambda x: x.sqrt(), low=0.5),
    "square": same(lambda x: x.square()),
    "tan": same(lambda x: x.tan(), low=-1.0, high=1.0),
    "tanh": same(lambda x: x.tanh()),
    "floor": same(lambda x: x.floor() + x),
    "ceil": same(lambda x: x.ceil() + x),
    "trunc": same(lambda x: x.trunc() + x),
    "round": same(lambda x: x.round() + x),
    "clamp": same(lambda x: x.clamp(-0.5, 0.5)),
    # activations
    "relu": same(lambda x: x.relu()),
    "sigmoid": same(lambda x: x.sigmoid()),
    "relu6": Function(lambda x: x.relu6(), F.relu6, low=-3.0, high=9.0),
    "leaky_relu": Function(lambda x: x.leaky_relu(0.1), lambda x: F.leaky_relu(x, 0.1)),
    "logsigmoid": Function(lambda x: x.logsigmoid(), F.logsigmoid),
    "softplus": Function(lambda x: x.softplus(), F.softplus),
    "softsign": Function(lambda x: x.softsign(), F.softsign),
    "elu": Function(lambda x: x.elu(), F.elu),
    "celu": Function(lambda x: x.celu(), F.celu),
    "selu": Function(lambda x: x.selu(), F.selu),
    "silu": Function(lambda x: x.silu(), F.silu),
    "hardswish": Function(lambda x: x.hardswish(), F.hardswish, low=-4.0, high=4.0),
    "hardtanh": Function(lambda x: x.hardtanh(), F.hardtanh),
    "gelu": Function(lambda x: x.gelu("none"), F.gelu),
    "gelu tanh": Function(lambda x: x.gelu("tanh"), lambda x: F.gelu(x, approximate="tanh")),
    "mish": Function(lambda x: x.mish(), F.mish),
    # two arguments
    "add": same(lambda x, y: x + y, shapes=SPREAD),
    "sub": same(lambda x, y: x - y, shapes=SPREAD),
    "mul": same(lambda x, y: x * y, shapes=SPREAD),
    "div": same(lambda x, y: x / y, shapes=SPREAD, low=0.5),
    "pow": same(lambda x, y: x**y, shapes=SPREAD, low=0.5),
    "maximum": same(lambda x, y: x.maximum(y), shapes=PAIR),
    "minimum": same(lambda x, y: x.minimum(y), shapes=PAIR),
    "where": Function(
        lambda x, y: (x > 0).where(x * y, y), lambda x, y: torch.where(x > 0, x * y, y), PAIR
    ),
    "lerp": same(lambda x, y: x.lerp(y, 0.3), shapes=PAIR),
    "logaddexp": same(lambda x, y: x.logaddexp(y), shapes=PAIR),
    "copysign": same(lambda x, y: x.copysign(y), shapes=PAIR),
    # reductions
    "sum": same(lambda x: x.sum(1)),
    "mean": same(lambda x: x.mean(0)),
    "prod": same(lambda x: x.prod(1)),
    "max": Function(lambda x: x.max(1), lambda x: x.max(1).values),
    "min": Function(lambda x: x.min(0), lambda x: x.min(0).values),
    "var": same(lambda x: x.var(1)),
    "std": same(lambda x: x.std(0)),
    "norm": Function(lambda x: x.norm(1), lambda x: torch.linalg.vector_norm(x, dim=1)),
    "softmax": same(lambda x: x.softmax(1)),
    "log_softmax": same(lambda x: x.log_softmax(0)),
    "logsumexp": same(lambda x: x.logsumexp(1)),
    "cumsum": same(lambda x: x.cumsum(1)),
    "cumprod": same(lambda x: x.cumprod(1)),
    "cummax": Function(lambda x: x.cummax(1)[0], lambda x: x.cummax(1).values),
    "logcumsumexp": same(lambda x: x.logcumsumexp(1)),
    # movement
    "reshape": same(lambda x: x.reshape(2, 6)),
    "permute": same(lambda x: x.permute(1, 0)),
    "expand": same(lambda x: x.reshape(3, 1, 4).expand(3, 5, 4)),
    "flip": same(lambda x: x.flip(0, 1)),
    "pad": Function(lambda x: x.pad((1, 2, 0, 1)), lambda x: F.pad(x, (1, 2, 0, 1))),
    "pad reflect": Function(
        lambda x: x.pad((1, 2), mode="reflect"), lambda x: F.pad(x, (1, 2), mode="reflect")
    ),
    "part": same(lambda x: x[1:, ::2]),
    "unfold": same(lambda x: x.unfold(1, 3, 1)),
    "cat": Function(lambda x, y: x.cat(y, dim=1), lambda x, y: torch.cat((x, y), 1), PAIR),
    "stack": Function(lambda x, y: x.stack(y, dim=1), lambda x, y: torch.stack((x, y), 1), PAIR),
    "repeat": same(lambda x: x.repeat(2, 3)),
    "roll": same(lambda x: x.roll(1, 0)),
    "tril": same(lambda x: x.tril()),
    "triu": same(lambda x: x.triu(1)),
    "sort": Function(lambda x: x.sort(1)[0], lambda x: x.sort(1).values),
    "gather": Function(
        lambda x: x.gather(1, Tensor([[0, 0], [3, 1], [2, 2]])),
        lambda x: x.gather(1, torch.tensor([[0, 0], [3, 1], [2, 2]])),
    ),
    "index": Function(lambda x: x[Tensor([2, 0, 2])], lambda x: x[torch.tensor([2, 0, 2])]),
    # products
    "matmul": same(lambda x, y: x @ y, shapes=((2, 3, 4), (4, 5))),
    "dot": same(lambda x, y: x.dot(y), shapes=((5,), (5,))),
    "einsum": Function(
        lambda x, y: Tensor.einsum("bij,bjk->ik", x, y),
        lambda x, y: torch.einsum("bij,bjk->ik", x, y),
        ((2, 3, 4), (2, 4, 5)),
    ),
    "conv2d": Function(
        lambda x, w, b: x.conv2d(w, b, stride=2, padding=1, dilation=1),
        lambda x, w, b: F.conv2d(x, w, b, stride=2, padding=1),
        (*IMAGE, (4, 3, 3, 3), (4,)),
    ),
    "conv2d in groups": Function(
        lambda x, w: x.conv2d(w, groups=3),
        lambda x, w: F.conv2d(x, w, groups=3),
        (*IMAGE, (6, 1, 3, 2)),
    ),
    "conv_transpose2d": Function(
        lambda x, w: x.conv_transpose2d(w, stride=2),
        lambda x, w: F.conv_transpose2d(x, w, stride=2),
        (*IMAGE, (3, 2, 3, 3)),
    ),
    "avg_pool2d": Function(lambda x: x.avg_pool2d(2), lambda x: F.avg_pool2d(x, 2), IMAGE),
    "max_pool2d": Function(lambda x: x.max_pool2d(2), lambda x: F.max_pool2d(x, 2), IMAGE),
    "layernorm": Function(lambda x: x.layernorm(), lambda x: F.layer_norm(x, (4,))),
    "scaled_dot_product_attention": Function(
        lambda q, k, v: q.scaled_dot_product_attention(k, v, is_causal=True),
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        ((2, 3, 5, 4), (2, 3, 5, 4), (2, 3, 5, 4)),
    ),
    # losses
    "cross_entropy": Function(
        lambda x: x.cross_entropy(Tensor([1, 0, 3])),
        lambda x: F.cross_entropy(x, torch.tensor([1, 0, 3])),
    ),
    "binary_crossentropy_logits": Function(
        lambda x: x.binary_crossentropy_logits((x > 0).float()),
        lambda x: F.binary_cross_entropy_with_logits(x, (x > 0).float()),
    ),
}


def arguments_of(name: str, function: Function) -> list[NDArray[np.float32]]:
    """Draw the arguments of a function, the same ones each time."""
    draw = np.random.default_rng(sum(map(ord, name)))
    return [
        draw.uniform(function.low, function.high, shape).astype(np.float32)
        for shape in function.shapes
    ]


def assert_close(ours: Tensor, theirs: torch.Tensor, what: str) -> None:
    """Compare within what float32 can say."""
    np.testing.assert_allclose(
        ours.numpy(), theirs.detach().numpy(), RELATIVE, ABSOLUTE * 10, err_msg=what
    )


@pytest.mark.parametrize("name", FUNCTIONS)
def test_value_and_gradients_agree(name: str) -> None:
    function = FUNCTIONS[name]
    arrays = arguments_of(name, function)
    ours = [Tensor(array) for array in arrays]
    theirs = [torch.tensor(array, requires_grad=True) for array in arrays]
    our_value, their_value = function.ours(*ours), function.theirs(*theirs)
    weights = np.linspace(0.5, 1.5, their_value.numel(), dtype=np.float32)
    weights = weights.reshape(tuple(their_value.shape))
    gradients = (our_value * Tensor(weights)).sum().gradient(*ours)
    (their_value * torch.tensor(weights)).sum().backward()
    assert_close(our_value, their_value, "value")
    for number, (gradient, argument) in enumerate(zip(gradients, theirs, strict=True)):
        assert argument.grad is not None
        assert_close(gradient, argument.grad, f"gradient of argument {number}")
