"""Tensors and torch share memory through DLPack, both ways."""

from __future__ import annotations

import torch

from tiny_tensor import Tensor


def test_torch_reads_our_memory() -> None:
    x = Tensor([[1.0, 2.0], [3.0, 4.0]]).realize()
    one, two = torch.from_dlpack(x), torch.from_dlpack(x)
    assert one.data_ptr() == two.data_ptr()
    assert one.tolist() == x.tolist()


def test_we_read_the_memory_of_torch() -> None:
    numbers = torch.arange(6.0).reshape(2, 3)
    x = Tensor.from_dlpack(numbers)
    numbers[0, 0] = 9.0
    assert x.tolist() == numbers.tolist()
    assert torch.from_dlpack(x).data_ptr() == numbers.data_ptr()


def test_bfloat16_goes_as_integers() -> None:
    numbers = torch.tensor([1.0, -2.5], dtype=torch.bfloat16)
    x = Tensor.from_dlpack(numbers.view(torch.int16)).bitcast("bfloat16")
    assert x.tolist() == numbers.tolist()
