"""A model's tensors have names, and files of them are whole, or refused."""

from __future__ import annotations

import io
import json
import os
import struct
from collections import OrderedDict, namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tiny_ir import DType, FileFormatError, ShapeError, StateError, dtypes
from tiny_tensor import Session, Tensor, jit, nn
from tiny_tensor.nn.state import (
    DTYPE_NAMES,
    get_parameters,
    get_state_dict,
    load_state_dict,
    safe_load,
    safe_load_metadata,
    safe_save,
)

pytestmark = pytest.mark.usefixtures("session")

Pair = namedtuple("Pair", ["left", "right"])


class Model:
    """A model of all kinds of parts."""

    def __init__(self) -> None:
        self.layers = [nn.Linear(2, 3), Tensor.relu, nn.Linear(3, 1, bias=False)]
        self.pair = Pair(Tensor([1.0]), "no tensor")
        self.by_name = {"scale": Tensor([2.0])}
        self.me = self
        self.step = jit(self.run)
        self.kind = Tensor

    def run(self, x: Tensor) -> Tensor:
        return x


def test_names_lead_through_the_parts() -> None:
    assert list(get_state_dict(Model())) == [
        "layers.0.weight",
        "layers.0.bias",
        "layers.2.weight",
        "pair.left",
        "by_name.scale",
    ]


def test_names_begin_with_a_prefix() -> None:
    assert list(get_state_dict(OrderedDict(a=Tensor([1]), b=(Tensor([2]),)), "x.y")) == [
        "x.y.a",
        "x.y.b.0",
    ]


def test_a_tensor_itself_has_the_prefix_as_its_name() -> None:
    assert list(get_state_dict(Tensor([1]), "w")) == ["w"]


def test_parameters_are_what_gradients_may_change() -> None:
    norm = nn.BatchNorm(2)
    found = get_parameters([norm, norm.weight])
    assert [id(p) for p in found] == [id(norm.weight), id(norm.bias)]


def test_tensors_of_a_model_that_marks_none_are_all_parameters() -> None:
    x, y = Tensor([1.0]), Tensor([2])
    assert get_parameters({"x": x, "y": y}) == [x]


# Loading.


def test_loading_writes_tensors_in_place() -> None:
    model, state = nn.Linear(2, 1), {"weight": Tensor([[5.0, 6.0]]), "bias": Tensor([7.0])}
    view = model.weight[0]
    load_state_dict(model, state)
    assert view.tolist() == [5, 6]


def test_two_loaded_models_share_nothing() -> None:
    a, b = nn.Linear(2, 1), nn.Linear(2, 1)
    load_state_dict(b, get_state_dict(a))
    (a(Tensor.ones(1, 2)) * 2 + b(Tensor.ones(1, 2)) * 3).sum().backward()
    assert a.weight.grad is not None
    assert b.weight.grad is not None
    assert (a.weight.grad.tolist(), b.weight.grad.tolist()) == ([[2, 2]], [[3, 3]])
    kept = a.weight.tolist()
    b.weight.assign(b.weight + 1)
    assert a.weight.tolist() == kept


def test_loaded_values_are_cast_to_the_dtype_of_the_model() -> None:
    model = {"x": Tensor([1.0], dtype=dtypes.float16)}
    load_state_dict(model, {"x": Tensor([2.5], dtype=dtypes.float64)})
    assert (model["x"].dtype, model["x"].tolist()) == (dtypes.float16, [2.5])


def test_one_element_fits_one_element() -> None:
    model = {"x": Tensor([1.0]).reshape(()), "y": Tensor([0.0])}
    load_state_dict(model, {"x": Tensor([2.0]), "y": Tensor([3.0]).reshape(())})
    assert (model["x"].item(), model["y"].tolist()) == (2, [3])


@pytest.mark.parametrize("given", [{"weight": 0}, {"weight": 0, "bias": 0, "other": 0}])
def test_names_must_agree(given: dict[str, int]) -> None:
    model = nn.Linear(1, 1)
    shapes = {"weight": (1, 1), "bias": (1,), "other": (1,)}
    state = {name: Tensor.zeros(*shapes[name]) for name in given}
    with pytest.raises(StateError, match=r"bias|other"):
        load_state_dict(model, state)
    assert len(load_state_dict(model, state, strict=False)) == min(2, len(given))


def test_shapes_must_agree_and_nothing_is_written_before() -> None:
    model = {"a": Tensor([1.0, 2.0]), "b": Tensor([1.0])}
    with pytest.raises(ShapeError, match="'b'"):
        load_state_dict(model, {"a": Tensor([8.0, 9.0]), "b": Tensor([1.0, 2.0])})
    assert model["a"].tolist() == [1, 2]


def test_loading_can_consume_what_it_loads() -> None:
    state = {"x": Tensor([1.0]), "y": Tensor([2.0])}
    load_state_dict({"x": Tensor([0.0])}, state, strict=False, consume=True)
    assert list(state) == ["y"]


# Files.


@pytest.mark.parametrize("dtype", DTYPE_NAMES.values(), ids=lambda dtype: dtype.name)
def test_every_dtype_comes_back(dtype: DType, tmp_path: Path) -> None:
    path = str(tmp_path / "x.safetensors")
    x = Tensor([[0, 1], [1, 0]], dtype=dtypes.int32).cast(dtype)
    safe_save({"x": x, "empty": Tensor.zeros(0, 3, dtype=dtype)}, path)
    found = safe_load(path)
    assert found["x"].dtype is dtype
    assert found["x"].tolist() == x.tolist()
    assert found["empty"].shape == (0, 3)


def test_metadata_comes_back(tmp_path: Path) -> None:
    path = str(tmp_path / "x.safetensors")
    safe_save({"x": Tensor([1])}, path, {"made by": "a test"})
    assert safe_load_metadata(path) == {"made by": "a test"}
    safe_save({"x": Tensor([1])}, path)
    assert safe_load_metadata(path) == {}


def test_views_are_saved_in_their_own_order(tmp_path: Path) -> None:
    path = str(tmp_path / "x.safetensors")
    x = Tensor([[1, 2], [3, 4]])
    safe_save({"x": x.T, "row": x[1]}, path)
    found = safe_load(path)
    assert (found["x"].tolist(), found["row"].tolist()) == ([[1, 3], [2, 4]], [3, 4])


def test_other_readers_can_read_it(tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    path = str(tmp_path / "x.safetensors")
    safe_save({"x": Tensor([[1.5, -2.0]])}, path)
    np.testing.assert_array_equal(load_file(path)["x"], [[1.5, -2.0]])
    save_file({"y": np.arange(3, dtype=np.int16)}, path)
    assert safe_load(path)["y"].tolist() == [0, 1, 2]


def test_a_model_comes_back(tmp_path: Path) -> None:
    path = str(tmp_path / "model.safetensors")
    a, b = nn.BatchNorm(2), nn.BatchNorm(2)
    with Tensor.train():
        a(Tensor([[1.0, 2.0], [3.0, 5.0]])).realize()
    safe_save(get_state_dict(a), path)
    load_state_dict(b, safe_load(path))
    assert a.running_var is not None
    assert b.running_var is not None
    assert b.running_var.tolist() == a.running_var.tolist()


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.safetensors"
    safe_save({"x": Tensor([1, 2])}, str(path))
    before = path.read_bytes()

    def broken(source: str, target: str) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", broken)
    with pytest.raises(OSError, match="disk full"):
        safe_save({"x": Tensor([3, 4])}, str(path))
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_saved_file_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    path.touch()
    path.chmod(0o640)
    safe_save({"x": Tensor([1])}, str(path))
    assert path.stat().st_mode & 0o777 == 0o640


def test_the_name_of_the_metadata_is_taken(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="__metadata__"):
        safe_save({"__metadata__": Tensor([1])}, str(tmp_path / "x"))


def test_a_missing_file_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        safe_load(str(tmp_path / "none"))


def file_of(header: object, data: bytes) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def entry(dtype: str, shape: list[int], begin: int, end: int) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


ONE = struct.pack("<f", 1.5)
A = entry("F32", [1], 0, 4)

GOOD = {
    "empty metadata": (file_of({"__metadata__": {}, "a": A}, ONE), {"a": [1.5]}),
    "no elements": (
        file_of(
            {"a": entry("F32", [0, 3], 0, 0), "b": entry("I64", [], 0, 8)}, struct.pack("<q", -7)
        ),
        {"a": [], "b": -7},
    ),
    "metadata only": (file_of({"__metadata__": {"x": "y"}}, b""), {}),
    "not aligned": (
        file_of(
            {"z": entry("U8", [3], 0, 3), "a": entry("F32", [1], 3, 7)},
            b"\1\2\3" + struct.pack("<f", 2.5),
        ),
        {"z": [1, 2, 3], "a": [2.5]},
    ),
    "spaces after the header": (file_of(json.dumps({"a": A}).encode() + b"   ", ONE), {"a": [1.5]}),
}

BAD = {
    "nothing": b"",
    "a piece of a length": b"abc",
    "a header longer than the file": struct.pack("<Q", 1 << 60) + b"{}",
    "a header that is no JSON": file_of(b"tensors", b""),
    "a header that is no object": file_of([1], b""),
    "a byte after the last tensor": file_of({"a": A}, ONE + b"x"),
    "a hole before the first tensor": file_of({"a": entry("F32", [1], 4, 8)}, ONE * 2),
    "zeros after the header": file_of(json.dumps({"a": A}).encode() + b"\0\0\0", ONE),
    "too few bytes for the shape": file_of({"a": entry("F32", [2], 0, 4)}, ONE),
    "a file that ends early": file_of({"a": A}, ONE[:3]),
    "two tensors in one place": file_of({"a": A, "b": A}, ONE),
    "a negative size": file_of({"a": entry("F32", [-1], 0, 4)}, ONE),
    "a size beyond all memory": file_of({"a": entry("F32", [1 << 62, 4], 0, 4)}, ONE),
    "an unknown dtype": file_of({"a": entry("Q9", [1], 0, 4)}, ONE),
    "a dtype that only others know": file_of({"a": entry("F4", [2], 0, 1)}, b"a"),
}


@pytest.mark.parametrize("name", GOOD)
def test_corner_of_the_format_is_read(name: str, tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    data, expected = GOOD[name]
    path.write_bytes(data)
    assert {key: value.tolist() for key, value in safe_load(str(path)).items()} == expected


@pytest.mark.parametrize("name", BAD)
def test_file_that_lies_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(BAD[name])
    with pytest.raises(FileFormatError, match=r"x\.safetensors"):
        safe_load(str(path))


@pytest.mark.parametrize("name", list(BAD)[:5])
def test_metadata_of_a_file_that_lies_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(BAD[name])
    with pytest.raises(FileFormatError):
        safe_load_metadata(str(path))


def test_files_have_paths_as_names(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    safe_save({"x": Tensor([1, 2])}, path, {"epoch": "3"})
    assert safe_load(path)["x"].tolist() == [1, 2]
    assert safe_load_metadata(path) == {"epoch": "3"}
    path.write_bytes(b"lie")
    with pytest.raises(FileFormatError, match="safetensors is not"):
        safe_load(path)


def test_a_terminal_sees_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: True)
    monkeypatch.setattr("sys.stderr", stream)
    model = [Tensor([1.0]), Tensor([2.0])]
    given = {"0": Tensor([3.0]), "1": Tensor([4.0])}
    load_state_dict(model, given, verbose=False)
    assert not stream.getvalue()
    load_state_dict(model, given)
    assert "2/2" in stream.getvalue()


def test_loading_may_stay_lazy_and_consume(session: Session) -> None:
    model, given = [Tensor([1.0]).realize()], {"0": Tensor([3.0]).realize()}
    before = session.counters.realizes
    (written,) = load_state_dict(model, given, consume=True, realize=False)
    assert (session.counters.realizes, given) == (before, {})
    assert written.tolist() == [3.0]


@pytest.mark.parametrize("device", ["cpu", "python"])
def test_tensors_of_a_file_are_its_memory(device: str, tmp_path: Path, session: Session) -> None:
    path = tmp_path / "x.safetensors"
    saved = {"a": Tensor([1.5, 2.5]), "b": Tensor([[7], [8]], dtype="int16"), "c": Tensor([True])}
    safe_save(saved, path)
    before = session.counters.kernels
    found = safe_load(path, device)
    assert [x.device for x in found.values()] == [device] * 3
    assert (found["a"].tolist(), found["b"].tolist()) == ([1.5, 2.5], [[7], [8]])
    assert session.counters.kernels == before
    found["a"].assign(Tensor([3.5, 4.5], device))
    assert (found["a"].tolist(), found["c"].tolist()) == ([3.5, 4.5], [True])
    again = safe_load(Tensor(path.read_bytes()))
    assert (again["a"].tolist(), again["b"].shape) == ([1.5, 2.5], (2, 1))
    with pytest.raises(FileFormatError, match="bytes"):
        safe_load(Tensor(b"lie"))


def test_bytes_that_lie_between_elements_are_converted(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    header = json.dumps(
        {
            "a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]},
            "b": {"dtype": "F32", "shape": [1], "data_offsets": [1, 5]},
        }
    ).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + struct.pack("<Bf", 9, 2.5))
    found = safe_load(path)
    assert (found["a"].tolist(), found["b"].tolist()) == ([9], [2.5])
