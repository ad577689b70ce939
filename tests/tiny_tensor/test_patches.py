"""Windows as columns: every element where it stands, and back with what overlaps added up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tiny_ir import ShapeError
from tiny_tensor import Tensor

pytestmark = pytest.mark.usefixtures("session")

X = np.random.RandomState(0).randint(0, 99, (2, 3, 7, 6)).astype(np.int32)


@pytest.mark.parametrize(
    "named",
    [
        {"kernel_size": (2, 3)},
        {"kernel_size": 2, "dilation": 2, "padding": 1, "stride": (2, 1)},
        {"kernel_size": (3, 2), "stride": 3},
    ],
)
def test_columns_are_windows_and_fold_back(named: dict[str, Any]) -> None:
    columns = Tensor(X).unfold2d(**named)
    identity = Tensor(np.eye(columns.shape[1] // 3, dtype=np.int32))
    kernel = named["kernel_size"]
    sizes = (kernel, kernel) if isinstance(kernel, int) else kernel
    weights = identity.reshape(-1, 1, *sizes).repeat(3, 1, 1, 1)
    rest = {name: value for name, value in named.items() if name != "kernel_size"}
    # A convolution with a one in each place picks the same elements.
    picked = Tensor(X).conv2d(weights, groups=3, **rest)
    assert columns.tolist() == picked.reshape(columns.shape).tolist()
    back = columns.fold2d((7, 6), **named)
    often = Tensor(np.ones_like(X)).unfold2d(**named).fold2d((7, 6), **named)
    assert back.tolist() == (Tensor(X) * often).tolist()


def test_mistakes_are_named() -> None:
    with pytest.raises(ShapeError, match="no windows"):
        Tensor.ones(2, 3).unfold2d(2)
    with pytest.raises(ShapeError, match="do not fill"):
        Tensor.ones(1, 4, 3).fold2d((3, 3), 2)
    with pytest.raises(ShapeError, match="do not fill"):
        Tensor.ones(1, 3, 4).fold2d((3, 3), 2)
