"""Files that torch writes are read without it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tiny_tensor import Tensor, nn

DTYPES = ["float32", "float64", "float16", "bfloat16", "int64", "int8", "uint8", "bool"]


@pytest.mark.parametrize("zipped", [True, False])
def test_a_state_that_torch_saved_is_loaded(zipped: bool, tmp_path: Path) -> None:
    x = torch.arange(24, dtype=torch.float32).reshape(2, 3, 4)
    state: dict[str, Any] = {name: x.to(getattr(torch, name)) for name in DTYPES}
    state |= {
        "turned": x.permute(2, 0, 1),
        "part": x[:, 1:, ::2],
        "wide": x[0, 0].expand(3, 4),
        "one": torch.tensor(7),
        "none": torch.zeros(0, 3),
        "weight": torch.nn.Parameter(x),
        "more": [1, 2.5, "text", (None, True), {1, 2}],
        "size": x.shape,
    }
    path = tmp_path / "state.pt"
    torch.save(state, path, _use_new_zipfile_serialization=zipped)
    found = nn.state.torch_load(path)
    assert isinstance(found, dict)
    assert list(found) == list(state)
    for name, expected in state.items():
        if isinstance(expected, torch.Tensor):
            mine = found[name]
            assert isinstance(mine, Tensor)
            assert mine.dtype.name == str(expected.dtype).removeprefix("torch.")
            np.testing.assert_array_equal(mine.numpy(), expected.detach().float().numpy())
        else:
            assert found[name] == expected


def test_a_model_takes_the_state_of_its_twin(tmp_path: Path) -> None:
    twin = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    torch.save(twin.state_dict(), tmp_path / "twin.pt")
    model = [nn.Linear(3, 4), nn.BatchNorm(4)]
    state: Any = nn.state.torch_load(tmp_path / "twin.pt")
    nn.state.load_state_dict(model, state)
    assert model[0].weight.tolist() == twin[0].weight.tolist()
