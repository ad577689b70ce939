"""Names of torch and NumPy stand for what they stand for there."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tiny_tensor import Tensor

pytestmark = pytest.mark.usefixtures("session")

X = np.array([[1.5, -2.25, np.nan], [np.inf, 0.0, -np.inf]], np.float32)
WAYS: dict[str, tuple[Callable[[Tensor], Tensor], np.ndarray]] = {
    "amax": (lambda x: x.nan_to_num().amax(1), np.nan_to_num(X).max(1)),
    "count_nonzero": (lambda x: x.count_nonzero(), np.count_nonzero(X)),
    "nansum": (lambda x: x[:1].nansum(), np.nansum(X[:1])),
    "nanmean": (lambda x: x[:1].nanmean(), np.nanmean(X[:1])),
    "nan_to_num": (
        lambda x: x.nan_to_num(1.0, 2.0, 3.0),
        np.nan_to_num(X, nan=1.0, posinf=2.0, neginf=3.0),
    ),
    "movedim": (lambda x: x.reshape(1, 2, 3).movedim((0, 2), (2, 0)), X.reshape(1, 2, 3).T),
    "swapaxes": (lambda x: x.swapaxes(0, 1), X.T),
    "index_select": (lambda x: x.index_select(1, Tensor([2, 0])), X[:, [2, 0]]),
    "fliplr": (lambda x: x.fliplr(), np.fliplr(X)),
    "gt": (lambda x: x.gt(0), X > 0),
    "mm": (
        lambda x: x.nan_to_num(0, 1, 2).mm(Tensor.ones(3, 2)),
        np.nan_to_num(X, nan=0, posinf=1, neginf=2) @ np.ones((3, 2)),
    ),
}


@pytest.mark.parametrize("name", WAYS)
def test_names_mean_what_they_mean_elsewhere(name: str) -> None:
    ours, expected = WAYS[name]
    np.testing.assert_allclose(ours(Tensor(X)).numpy(), expected, rtol=1e-6)
