"""Files at their corners (case 67)."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from tiny_ir import FileFormatError
from tiny_tensor import Tensor
from tiny_tensor.nn.state import safe_load, safe_save


def entry(dtype: str, shape: list[int], begin: int, end: int) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def written(path: Path, header: dict[str, Any] | bytes, body: bytes) -> Path:
    """A safetensors file: the size of its header, the header, and the bytes behind it."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    file = path / "case.safetensors"
    file.write_bytes(struct.pack("<Q", len(text)) + text + body)
    return file


ONE = struct.pack("<f", 1.5)


@pytest.mark.parametrize(
    ("header", "body", "expected"),
    [
        ({"__metadata__": {}, "a": entry("F32", [1], 0, 4)}, ONE, {"a": [1.5]}),
        (
            {"a": entry("F32", [0, 3], 0, 0), "b": entry("I64", [], 0, 8)},
            struct.pack("<q", -7),
            {"a": [], "b": -7},
        ),
        ({"__metadata__": {"format": "pt"}}, b"", {}),
        (
            {"z": entry("U8", [3], 0, 3), "a": entry("F32", [1], 3, 7)},
            b"\1\2\3" + struct.pack("<f", 2.5),
            {"z": [1, 2, 3], "a": [2.5]},
        ),
    ],
    ids=["empty metadata", "no elements, and one", "only metadata", "not aligned"],
)
def test_strange_files_load(
    tmp_path: Path, header: dict[str, Any], body: bytes, expected: dict[str, object]
) -> None:
    state = safe_load(written(tmp_path, header, body))
    assert {name: tensor.tolist() for name, tensor in state.items()} == expected


@pytest.mark.parametrize(
    ("header", "body"),
    [
        ({"a": entry("F32", [1], 0, 4)}, ONE + b"\0"),
        ({"a": entry("F32", [1], 4, 8)}, ONE * 2),
        (json.dumps({"a": entry("F32", [1], 0, 4)}).encode() + b"\0\0", ONE),
        ({"a": entry("F32", [2], 0, 4)}, ONE),
        ({"a": entry("F32", [1], 0, 4), "b": entry("F32", [1], 0, 4)}, ONE),
        ({"a": entry("F99", [1], 0, 4)}, ONE),
        ({"a": entry("F32", [-1], 0, 4)}, ONE),
        ({"a": entry("F32", [2**62, 2**62], 0, 4)}, ONE),
        (b"[]", b""),
        (b"{", b""),
    ],
    ids=[
        "trailing",
        "hole",
        "nul",
        "size",
        "overlap",
        "dtype",
        "negative",
        "overflow",
        "list",
        "cut",
    ],
)
def test_files_that_lie_are_refused(tmp_path: Path, header: Any, body: bytes) -> None:
    with pytest.raises(FileFormatError):
        safe_load(written(tmp_path, header, body))


def test_files_that_end_early_are_refused(tmp_path: Path) -> None:
    whole = written(tmp_path, {"a": entry("F32", [1], 0, 4)}, ONE).read_bytes()
    for length in (0, 7, 8, 20, len(whole) - 1):
        file = tmp_path / "short.safetensors"
        file.write_bytes(whole[:length])
        with pytest.raises(FileFormatError):
            safe_load(file)


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    state = {"a": Tensor([1.5, -0.0]), "none": Tensor.zeros(0, 3), "one": Tensor(7)}
    safe_save(state, tmp_path / "state.safetensors")
    loaded = safe_load(tmp_path / "state.safetensors")
    assert {name: tensor.tolist() for name, tensor in loaded.items()} == {
        name: tensor.tolist() for name, tensor in state.items()
    }
