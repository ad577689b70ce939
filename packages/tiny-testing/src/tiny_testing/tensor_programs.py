"""Small computations with Tensors that every backend gets right: the last part of BackendSuite."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from tiny_ir import DType, dtypes
from tiny_tensor import Tensor


def _ramp(*shape: int, dtype: DType = dtypes.float32) -> Tensor:
    """Numbers of both signs that repeat late."""
    count = 1
    for size in shape:
        count *= size
    values = [(i * 37 % 101 - 50) / (1 if dtype.is_int else 8) for i in range(count)]
    if dtype.is_int:
        return Tensor([int(value) for value in values], dtype=dtype).reshape(*shape)
    return Tensor(values, dtype=dtype).reshape(*shape)


def _mixed_dtypes() -> Tensor:
    small = _ramp(40, dtype=dtypes.int8)
    return (
        (small * 5).cast(dtypes.int32)
        + (small > 3)
        - (small.cast(dtypes.float64) / 7).cast(dtypes.int32)
    )


def _integer_division() -> Tensor:
    x = _ramp(60, dtype=dtypes.int32)
    return x // 7 * 1000 + x % -9


def _narrow_floats() -> Tensor:
    x = _ramp(33)
    sums = x.cast(dtypes.bfloat16) * 3 + x.cast(dtypes.bfloat16)
    return sums.cast(dtypes.float32) + (x.cast(dtypes.float16) * x.cast(dtypes.float16)).cast(
        dtypes.float32
    )


def _movement() -> Tensor:
    x = _ramp(3, 4, 5).permute(2, 0, 1).flip(1)
    return x.pad(((1, 2), (0, 0), (2, 0))).reshape(-1)[3:90]


def _softmax() -> Tensor:
    x = _ramp(5, 17)
    powers = (x - x.max(axis=1, keepdim=True)).exp()
    return powers / powers.sum(axis=1, keepdim=True)


def _written_view() -> Tensor:
    x = Tensor.zeros(4, 6).contiguous().realize()
    x[1:3, 2:5] = _ramp(2, 3)
    return x * 2


def _gradient() -> Tensor:
    weight = _ramp(6, 4)
    loss = ((_ramp(3, 6) @ weight).relu() * 0.25).sum()
    return loss.gradient(weight)[0]


TENSOR_PROGRAMS: Mapping[str, Callable[[], Tensor]] = MappingProxyType(
    {
        "chain": lambda: (_ramp(300) * 2 + 1).relu() - 0.5,
        "functions": lambda: (
            (_ramp(50) * 0.3).sin() + (_ramp(50).abs() + 0.1).log2() + _ramp(50).tanh()
        ),
        "mixed_dtypes": _mixed_dtypes,
        "integer_division": _integer_division,
        "narrow_floats": _narrow_floats,
        "movement": _movement,
        "sum_of_rows": lambda: _ramp(7, 33).sum(axis=1),
        "sum_of_columns": lambda: _ramp(33, 7).sum(axis=0),
        "maximum": lambda: _ramp(9, 21).max(axis=1),
        "matmul": lambda: _ramp(19, 23) @ _ramp(23, 34),
        "softmax": _softmax,
        "gather": lambda: _ramp(10, 3)[Tensor([7, 0, 7, 2])],
        "cumulative_sum": lambda: _ramp(4, 19).cumsum(1),
        "convolution": lambda: _ramp(2, 3, 8, 8).conv2d(_ramp(4, 3, 3, 3), padding=1),
        "written_view": _written_view,
        "gradient": _gradient,
    }
)
"""Each makes its inputs on the default device and returns one Tensor, not realized."""
