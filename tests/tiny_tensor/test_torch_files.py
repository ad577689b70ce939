"""Files in the formats of torch, written here by hand: read without torch, and without trust."""

from __future__ import annotations

import io
import pickle
import struct
import sys
import tarfile
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from tiny_ir import FileFormatError
from tiny_tensor import Tensor
from tiny_tensor.nn.state import torch_load

pytestmark = pytest.mark.usefixtures("session")

NUMBERS = struct.pack("<6f", *range(6))
WORDS = struct.pack("<2q", 7, -8)


class Saved:
    """A tensor, as torch pickles it."""

    def __init__(self, key: str, offset: int, size: tuple[int, ...], stride: tuple[int, ...]):
        self.parts = (key, offset, size, stride)


class Key:
    """A storage, which has a persistent name."""

    def __init__(self, key: str) -> None:
        self.key = key


@pytest.fixture
def pickled(monkeypatch: pytest.MonkeyPatch) -> Callable[..., bytes]:
    """Write pickles that name things of torch."""
    torch, inner = ModuleType("torch"), ModuleType("torch._utils")

    def _rebuild_tensor_v2() -> None: ...

    _rebuild_tensor_v2.__module__, _rebuild_tensor_v2.__qualname__ = (
        "torch._utils",
        "_rebuild_tensor_v2",
    )
    kinds = {}
    for name in ("FloatStorage", "LongStorage"):
        kinds[name] = type(name, (), {"__module__": "torch"})
        setattr(torch, name, kinds[name])
    inner._rebuild_tensor_v2 = _rebuild_tensor_v2  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch._utils", inner)
    storages = {"a": (kinds["FloatStorage"], 6), "b": (kinds["LongStorage"], 2)}

    class Writer(pickle.Pickler):
        def __init__(self, stream: io.BytesIO, *more: object) -> None:
            super().__init__(stream, 2)
            self.more = more

        def persistent_id(self, item: object) -> Any:
            if isinstance(item, Key):
                kind, count = storages[item.key]
                return ("storage", kind, item.key, "cpu", count, *self.more)
            return None

        def reducer_override(self, item: object) -> Any:
            if isinstance(item, Saved):
                key, *rest = item.parts
                return _rebuild_tensor_v2, (Key(key), *rest, False, OrderedDict())
            return NotImplemented

    def write(item: object, *more: object) -> bytes:
        stream = io.BytesIO()
        Writer(stream, *more).dump(item)
        return stream.getvalue()

    return write


def state() -> dict[str, object]:
    return OrderedDict(
        rows=Saved("a", 0, (2, 3), (3, 1)),
        columns=Saved("a", 0, (3, 2), (1, 3)),
        part=Saved("a", 1, (2, 2), (3, 1)),
        words=Saved("b", 1, (), ()),
        epoch=3,
    )


def check(found: object) -> None:
    assert isinstance(found, OrderedDict)
    assert {k: v.tolist() if isinstance(v, Tensor) else v for k, v in found.items()} == {
        "rows": [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]],
        "columns": [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]],
        "part": [[1.0, 2.0], [4.0, 5.0]],
        "words": -8,
        "epoch": 3,
    }


def archive(root: bytes, **more: bytes) -> bytes:
    members = {"data.pkl": root, "data/a": NUMBERS, "data/b": WORDS, "byteorder": b"little", **more}
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as found:
        for name, data in members.items():
            found.writestr(f"archive/{name}", data)
    return stream.getvalue()


def test_zip_archives_are_read(pickled: Callable[..., bytes]) -> None:
    check(torch_load(Tensor(archive(pickled(state())))))


def test_pickles_in_a_row_are_read(pickled: Callable[..., bytes]) -> None:
    head = [pickle.dumps(item, 2) for item in (0x1950A86A20F9469CFC6C, 1001, {"little": True})]
    tail = struct.pack("<q", 6) + NUMBERS + struct.pack("<q", 2) + WORDS
    data = b"".join((*head, pickled(state(), None), pickle.dumps(["a", "b"], 2), tail))
    check(torch_load(Tensor(data)))
    with pytest.raises(FileFormatError):
        torch_load(Tensor(data[:-1]))


def test_tar_archives_are_read(pickled: Callable[..., bytes]) -> None:
    import torch  # the stand-in

    kind: Any = torch.FloatStorage
    members = {
        "storages": pickled(1) + pickled(("a", "cpu", kind)) + struct.pack("<q", 6) + NUMBERS,
        "tensors": pickled(1)
        + pickled(("t", "a", None))
        + struct.pack("<ii5q", 2, 0, 3, 2, 1, 3, 0),
        "pickle": pickled({"x": 5}),
    }
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as found:
        for name, data in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            found.addfile(entry, io.BytesIO(data))
    assert torch_load(Tensor(stream.getvalue())) == {"x": 5}


class Evil:
    def __reduce__(self) -> tuple[object, ...]:
        return print, ("run",)


def test_a_file_runs_nothing(
    pickled: Callable[..., bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(FileFormatError, match="print"):
        torch_load(Tensor(archive(pickled(Evil()))))
    assert "run" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "saved",
    [
        Saved("a", 1, (2, 3), (3, 1)),
        Saved("a", 0, (2,), (-1,)),
        Saved("a", -1, (2,), (1,)),
        Saved("a", 0, (1 << 40,), (1,)),
    ],
)
def test_tensors_stay_within_their_storage(pickled: Callable[..., bytes], saved: Saved) -> None:
    with pytest.raises(FileFormatError, match="leaves its storage"):
        torch_load(Tensor(archive(pickled(saved))))


def test_files_that_lie_are_refused(pickled: Callable[..., bytes]) -> None:
    whole = pickled(state())
    for data in (
        archive(whole, **{"data/a": NUMBERS[:-1]}),
        archive(whole, byteorder=b"big"),
        archive(whole[:-5]),
        archive(b""),
        pickle.dumps(7),
        b"",
        b"\x80",
    ):
        with pytest.raises(FileFormatError):
            torch_load(Tensor(bytearray(data)))
