"""Tensors like others, identities, even steps, and facts about tensors."""

from __future__ import annotations

import numpy as np
import pytest

from tiny_ir import ArgumentError, DTypeError, Op, ShapeError, VerificationError, dtypes, toposort
from tiny_tensor import Session, Tensor, Variable

pytestmark = pytest.mark.usefixtures("session")


def test_likes_have_shape_and_dtype_of_the_tensor() -> None:
    x = Tensor([[1, 2, 3]], dtype="int16")
    for like in (x.zeros_like(), x.ones_like(), x.full_like(7), x.const_like(7), x.empty_like()):
        assert (like.shape, like.dtype, like.device) == (x.shape, x.dtype, x.device)
    assert x.full_like(7).tolist() == [[7, 7, 7]]
    assert x.ones_like("bool").tolist() == [[True] * 3]
    assert x.empty_like("float64").dtype is dtypes.float64


@pytest.mark.parametrize(("n", "m"), [(3, None), (2, 4), (4, 2), (0, 3), (1, 1)])
def test_identities_equal_numpy(n: int, m: int | None) -> None:
    assert np.array_equal(Tensor.eye(n, m).numpy(), np.eye(n, m, dtype=np.float32))
    with pytest.raises(ShapeError):
        Tensor.eye(-1)


def test_even_steps_have_exact_ends() -> None:
    assert Tensor.linspace(0, 1, 5).tolist() == [0, 0.25, 0.5, 0.75, 1]
    steps = Tensor.linspace(-0.1, 0.7, 100).numpy()
    assert (steps[0], steps[-1]) == (np.float32(-0.1), np.float32(0.7))
    assert steps == pytest.approx(np.linspace(-0.1, 0.7, 100), abs=1e-7)
    assert Tensor.linspace(3, 9, 1).tolist() == [3]
    assert Tensor.linspace(3, 9, 0).shape == (0,)
    assert Tensor.linspace(0, 10, 5, dtype="int32").tolist() == [0, 2, 5, 7, 10]
    with pytest.raises(ArgumentError):
        Tensor.linspace(0, 1, -1)
    with pytest.raises(DTypeError):
        Tensor.linspace(0, 1, 2, dtype="bool")


def test_facts_need_no_computing() -> None:
    x = Tensor.zeros(2, 3, dtype="half")
    assert x.size() == x.max_shape == (2, 3)
    assert x.size(-1) == 3
    assert x.numel() == x.max_numel() == 6
    assert (x.element_size(), x.nbytes()) == (2, 12)
    assert x.is_floating_point() is True
    assert x.int().is_floating_point() is False
    with pytest.raises(IndexError):
        x.size(2)


def test_ops_of_the_language_apply_to_tensors() -> None:
    assert Tensor([1.5]).alu(Op.FMA, 2.0, Tensor([[3.0]])).tolist() == [[6.0]]
    assert Tensor([1]).alu(Op.CMPLT, 2).tolist() == [True]
    with pytest.raises(VerificationError):
        Tensor([1]).alu(Op.ADD)
    assert Tensor([1]).usum(Tensor([2]), 3, 4).tolist() == [10]
    assert Tensor([2]).uprod(Tensor([3]), 4).tolist() == [24]
    assert Tensor([1.0]).ufix(2).dtype is dtypes.float32


def test_constants_are_in_no_memory(session: Session) -> None:
    x = Tensor.const(((1, 2), (3, 4)), "int8")
    assert (x.tolist(), x.dtype) == ([[1, 2], [3, 4]], dtypes.int8)
    assert not [node for node in toposort((Tensor.const((1.0, 2.0)).uop,)) if node.op is Op.BUFFER]
    assert (Tensor.const(7).item(), Tensor.const(()).shape) == (7, (0,))
    with pytest.raises(ShapeError):
        Tensor.const(((1,), (2, 3)))


def test_a_fill_may_be_known_at_launch() -> None:
    n = Variable("n", 1, 9).bind(4)
    assert Tensor.full((2,), n + 1).tolist() == [5, 5]
    assert Tensor.full((2,), n, dtype="float32", buffer=False).tolist() == [4.0, 4.0]
