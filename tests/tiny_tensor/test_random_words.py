"""Random words from keys and counters of one's own."""

from __future__ import annotations

import pytest

from tiny_ir import ArgumentError, ArgumentTypeError, DTypeError, Op, dtypes, meaning
from tiny_tensor import Tensor

pytestmark = pytest.mark.usefixtures("session")

threefry = meaning(Op.THREEFRY, dtypes.uint64, dtypes.uint64, dtypes.uint64)


def test_threefry_is_that_of_the_op_table() -> None:
    counts = [0, 1, 2**63]
    x = Tensor(counts, dtype="uint64")
    assert x.threefry(5).tolist() == [threefry(count, 5) for count in counts]
    assert x.threefry(Tensor([[5]], dtype="uint64")).shape == (1, 3)
    with pytest.raises(DTypeError, match="uint64"):
        Tensor([1]).threefry(5)


def test_words_are_the_halves_of_counts() -> None:
    first, second = threefry(2**64 - 1, 9), threefry(0, 9)
    words = [first & 0xFFFFFFFF, first >> 32, second & 0xFFFFFFFF]
    assert Tensor.random_bits(9, 2**64 - 1, 3).tolist() == words
    key = Tensor([9, 0], dtype="uint32")
    assert Tensor.random_bits(key, Tensor([2**64 - 1], dtype="uint64"), 3).tolist() == words
    assert Tensor.random_bits(9, 0, 0).shape == (0,)
    assert Tensor.random_bits(9, 2**64 - 1, 3, "python").tolist() == words


def test_words_leave_the_stream_of_the_session_alone() -> None:
    Tensor.manual_seed(1)
    expected = Tensor.rand(3).tolist()
    Tensor.manual_seed(1)
    Tensor.random_bits(1, 0, 8)
    assert Tensor.rand(3).tolist() == expected


def test_keys_have_64_bits() -> None:
    with pytest.raises(ArgumentError, match="64 bits"):
        Tensor.random_bits(2**64, 0, 1)
    with pytest.raises(ArgumentError, match="-1 words"):
        Tensor.random_bits(0, 0, -1)
    with pytest.raises(ArgumentTypeError, match="two uint32"):
        Tensor.random_bits(Tensor([1.0]), 0, 1)
