"""Files of llama.cpp: every type of block equals the format's own library, and lies are refused."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest

from tiny_ir import FileFormatError, UnsupportedError, dtypes
from tiny_plugin import MissingExtraError
from tiny_tensor import Session, Tensor, nn
from tiny_tensor.nn.gguf import gguf_load
from tiny_tensor.nn.gguf.dequantize import DECODERS

pytestmark = pytest.mark.usefixtures("session")

DICE = np.random.RandomState(0)
HALVES = {"Q2_K": (80, 82), "Q3_K": (108,), "Q6_K": (208,), "MXFP4": ()}
"""Where scales in float16 begin that do not stand first."""


def blocks(kind: str, nbytes: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Three blocks of dice, whose scales are numbers."""
    data = DICE.randint(0, 256, (3, nbytes)).astype(np.uint8)
    places = HALVES.get(kind, (0, 2) if kind in ("Q4_1", "Q5_1", "Q4_K", "Q5_K") else (0,))
    for place in places:
        data[:, place : place + 2] = DICE.randn(3, 1).astype(np.float16).view(np.uint8)
    return data


def written(path: Path, tensors: dict[str, Any], alignment: int = 32, **kinds: str) -> Path:
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_custom_alignment(alignment)
    writer.add_array("tokens", ["a", "größe"])
    writer.add_float32("scale", 0.5)
    for name, data in tensors.items():
        kind = kinds.get(name)
        raw = None if kind is None else gguf.GGMLQuantizationType[kind]
        writer.add_tensor(name, data, raw_dtype=raw)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_blocks_become_what_the_library_makes_of_them(tmp_path: Path, session: Session) -> None:
    data = {kind: blocks(kind, nbytes) for kind, (_, nbytes, _) in DECODERS.items()}
    path = written(tmp_path / "x.gguf", data, **{kind: kind for kind in data})
    before = session.counters.realizes
    _, tensors = gguf_load(path)
    assert session.counters.realizes == before
    tensors["Q4_K"].realize(*tensors.values())
    for kind, raw in data.items():
        expected = gguf.quants.dequantize(raw, gguf.GGMLQuantizationType[kind])
        assert tensors[kind].dtype is dtypes.float32
        np.testing.assert_array_equal(tensors[kind].numpy(), expected, err_msg=kind)


def test_rare_blocks_are_left_to_the_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = blocks("IQ3_XXS", 98)
    path = written(tmp_path / "x.gguf", {"x": data}, x="IQ3_XXS")
    expected = gguf.quants.dequantize(data, gguf.GGMLQuantizationType.IQ3_XXS)
    np.testing.assert_array_equal(gguf_load(path)[1]["x"].numpy(), expected)

    def refuse(data: object, kind: object) -> None:
        raise NotImplementedError

    monkeypatch.setattr(gguf.quants, "dequantize", refuse)
    with pytest.raises(UnsupportedError, match="IQ3_XXS"):
        gguf_load(path)


@pytest.mark.parametrize("alignment", [32, 64, 8])
def test_each_tensor_has_its_own_bytes(alignment: int, tmp_path: Path) -> None:
    data = {name: DICE.randn(4).astype(np.float32) for name in ("a", "b", "c")}
    path = written(tmp_path / "x.gguf", data, alignment)
    for source in (path, Tensor(path.read_bytes())):
        values, tensors = nn.state.gguf_load(source)
        assert {name: tensor.tolist() for name, tensor in tensors.items()} == {
            name: numbers.tolist() for name, numbers in data.items()
        }
        assert values["tokens"] == ["a", "größe"]
        assert values["scale"] == 0.5
        assert values["general.alignment"] == alignment


def test_elements_of_ours_keep_their_dtype(tmp_path: Path) -> None:
    data = {
        "half": np.ones((2, 3), np.float16),
        "double": np.ones(2, np.float64),
        "short": np.array([-2, 3], np.int16),
        "brain": np.array([[0x80, 0x3F]], np.uint8),
    }
    _, tensors = gguf_load(written(tmp_path / "x.gguf", data, brain="BF16"))
    kinds = ["float16", "float64", "int16", "bfloat16"]
    assert [tensor.dtype.name for tensor in tensors.values()] == kinds
    assert tensors["half"].shape == (2, 3)
    assert (tensors["short"].tolist(), tensors["brain"].tolist()) == ([-2, 3], [[1.0]])


def test_parts_of_a_model_are_read_as_one(tmp_path: Path) -> None:
    for number in (1, 2):
        writer = gguf.GGUFWriter(tmp_path / f"m-{number:05}-of-00002.gguf", "llama")
        writer.add_uint16("split.count", 2)
        writer.add_tensor(f"x{number}", np.full(2, number, np.float32))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
    first = tmp_path / "m-00001-of-00002.gguf"
    _, tensors = gguf_load(first)
    assert {name: x.tolist() for name, x in tensors.items()} == {"x1": [1, 1], "x2": [2, 2]}
    with pytest.raises(FileFormatError, match="not called like the first"):
        gguf_load(tmp_path / "m-00002-of-00002.gguf")
    (tmp_path / "m-00002-of-00002.gguf").unlink()
    with pytest.raises(FileFormatError, match="is missing"):
        gguf_load(first)


def header(tensors: int = 0, values: int = 0, body: bytes = b"", version: int = 3) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, tensors, values) + body


def text(value: bytes) -> bytes:
    return struct.pack("<Q", len(value)) + value


def aligned(number: int) -> bytes:
    return text(b"general.alignment") + struct.pack("<II", 4, number)


LIES = {
    "empty": b"",
    "no magic": b"GGML" + header()[4:],
    "version": header(version=9),
    "more values than bytes": header(values=1 << 60),
    "more tensors than bytes": header(tensors=1 << 60),
    "a long text": header(values=1, body=struct.pack("<Q", 1 << 62) + b"name"),
    "a long list": header(
        values=1, body=text(b"list") + struct.pack("<IIQ", 9, 4, 1 << 60) + bytes(8)
    ),
    "an unknown kind of value": header(values=1, body=text(b"x") + struct.pack("<I", 99)),
    "an unknown type": header(
        tensors=1, body=text(b"x") + struct.pack("<IQIQ", 1, 4, 99, 0) + bytes(64)
    ),
    "a tensor behind the end": header(
        tensors=1, body=text(b"x") + struct.pack("<IQIQ", 1, 4, 0, 1 << 40) + bytes(64)
    ),
    "a tensor too large": header(
        tensors=1, body=text(b"x") + struct.pack("<I2QIQ", 2, 1 << 33, 1 << 33, 0, 0) + bytes(64)
    ),
    "no alignment": header(values=1, body=aligned(0)),
    "alignment of 48": header(values=1, body=aligned(48)),
}


@pytest.mark.parametrize("name", LIES)
def test_files_that_lie_are_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "lie.gguf"
    path.write_bytes(LIES[name])
    with pytest.raises(FileFormatError, match=r"lie\.gguf is not a good GGUF file"):
        gguf_load(path)


def test_the_library_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "gguf", None)
    with pytest.raises(MissingExtraError, match=r"tiny-tensor\[gguf\]"):
        gguf_load("x.gguf")
