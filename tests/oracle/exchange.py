"""Arguments of torch as arguments of ours, and our results as tensors of torch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from tiny_ir import DType, dtypes
from tiny_tensor import Tensor

OURS: dict[torch.dtype, DType] = {
    torch.bool: dtypes.bool_,
    torch.int8: dtypes.int8,
    torch.int16: dtypes.int16,
    torch.int32: dtypes.int32,
    torch.int64: dtypes.int64,
    torch.uint8: dtypes.uint8,
    torch.uint16: dtypes.uint16,
    torch.uint32: dtypes.uint32,
    torch.uint64: dtypes.uint64,
    torch.float16: dtypes.float16,
    torch.bfloat16: dtypes.bfloat16,
    torch.float32: dtypes.float32,
    torch.float64: dtypes.float64,
    torch.float8_e4m3fn: dtypes.float8_e4m3,
    torch.float8_e5m2: dtypes.float8_e5m2,
}
THEIRS = {ours: theirs for theirs, ours in OURS.items()}

MOST_AXES = 64
"""Arrays of NumPy, by way of which tensors come here, have no more axes."""


class NotRepresentableError(Exception):
    """A sample holds what no Tensor of ours can be: a complex number, a sparse tensor."""


def our_tensor(tensor: torch.Tensor, device: str) -> Tensor:
    """Return a tensor of ours with the values of one of torch."""
    if tensor.dtype not in OURS:
        raise NotRepresentableError(f"{tensor.dtype}")
    if tensor.ndim > MOST_AXES:
        raise NotRepresentableError(f"{tensor.ndim} axes")
    if tensor.layout is not torch.strided:
        raise NotRepresentableError(f"{tensor.layout}")
    plain = tensor.detach().resolve_neg().contiguous()
    if tensor.dtype in (torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2):
        bits = plain.view(torch.int16 if tensor.dtype is torch.bfloat16 else torch.uint8)
        data = Tensor(bits.numpy().copy(), device=device)
        return data.bitcast(OURS[tensor.dtype])
    return Tensor(plain.numpy().copy(), device=device)


def their_tensor(tensor: Tensor) -> torch.Tensor:
    """Return a tensor of torch with the values of one of ours."""
    array = np.ascontiguousarray(tensor.numpy()).reshape(tensor.shape)
    return torch.from_numpy(array.copy()).to(THEIRS[tensor.dtype])


class Arguments:
    """The arguments of one call, translated; remembers which tensor came from which."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.pairs: list[tuple[torch.Tensor, Tensor]] = []

    def translate(self, value: object) -> object:
        """Return a value as ours: tensors, dtypes and devices, also inside lists and tuples."""
        if isinstance(value, torch.Tensor):
            for theirs, ours in self.pairs:
                if theirs is value:
                    return ours
            made = our_tensor(value, self.device)
            self.pairs.append((value, made))
            return made
        if isinstance(value, torch.dtype):
            if value not in OURS:
                raise NotRepresentableError(f"{value}")
            return OURS[value]
        if isinstance(value, torch.Size):
            return tuple(value)
        if isinstance(value, torch.device):
            return self.device
        if isinstance(value, complex):
            raise NotRepresentableError("a complex number")
        if isinstance(value, list | tuple):
            parts = [self.translate(part) for part in value]
            return parts if isinstance(value, list) else tuple(parts)
        if isinstance(value, np.generic):
            return value.item()
        return value


def tensors_in(value: object, kind: type) -> Iterator[object]:
    """Yield the tensors in a result, in order; numbers count as tensors of no axes."""
    if isinstance(value, kind):
        yield value
    elif isinstance(value, list | tuple):
        for part in value:
            yield from tensors_in(part, kind)
