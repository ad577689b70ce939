"""Sets of pictures from a folder."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from tiny_ir import DownloadError, FileFormatError
from tiny_tensor import Tensor
from tiny_tensor.nn import datasets

pytestmark = pytest.mark.usefixtures("session")

DICE = np.random.RandomState(0)


def idx(*shape: int) -> tuple[bytes, list[object]]:
    numbers = DICE.randint(0, 256, shape).astype(np.uint8)
    head = struct.pack(f">BBBB{len(shape)}I", 0, 0, 8, len(shape), *shape)
    return head + numbers.tobytes(), numbers.tolist()


def test_digits_are_read_compressed_or_not(tmp_path: Path) -> None:
    expected = []
    for number, (name, shape) in enumerate(
        zip(datasets.MNIST_FILES, [(3, 28, 28), (3,), (2, 28, 28), (2,)], strict=True)
    ):
        data, numbers = idx(*shape)
        expected.append(numbers)
        if number % 2:
            (tmp_path / f"{name}.gz").write_bytes(gzip.compress(data))
        else:
            (tmp_path / name).write_bytes(data)
    images, labels, test_images, test_labels = datasets.mnist(folder=tmp_path)
    assert (images.shape, test_images.shape) == ((3, 1, 28, 28), (2, 1, 28, 28))
    assert images.squeeze(1).tolist() == expected[0]
    assert (labels.tolist(), test_labels.tolist()) == (expected[1], expected[3])
    (tmp_path / datasets.MNIST_FILES[0]).write_bytes(idx(3, 28, 28)[0][:-1])
    with pytest.raises(FileFormatError, match="do not hold"):
        datasets.mnist(folder=tmp_path)
    (tmp_path / datasets.MNIST_FILES[0]).write_bytes(b"\0")
    with pytest.raises(FileFormatError, match="does not begin"):
        datasets.mnist(folder=tmp_path)


def test_photographs_are_read(tmp_path: Path) -> None:
    rows = DICE.randint(0, 256, (6, 2, 3073)).astype(np.uint8)
    for name, data in zip((*range(1, 6), "test"), rows, strict=True):
        file = "test_batch.bin" if name == "test" else f"data_batch_{name}.bin"
        (tmp_path / file).write_bytes(data.tobytes())
    images, labels, test_images, test_labels = datasets.cifar(folder=tmp_path)
    assert (images.shape, labels.shape) == ((10, 3, 32, 32), (10,))
    assert labels.tolist() == rows[:5, :, 0].ravel().tolist()
    assert np.array_equal(images.numpy()[3], rows[1, 1, 1:].reshape(3, 32, 32))
    assert (test_images.shape, test_labels.tolist()) == ((2, 3, 32, 32), rows[5, :, 0].tolist())
    (tmp_path / "test_batch.bin").write_bytes(bytes(7))
    with pytest.raises(FileFormatError, match="no rows"):
        datasets.cifar(folder=tmp_path)


def test_without_a_folder_they_are_downloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(url: str, **rest: object) -> Tensor:
        raise DownloadError(url)

    monkeypatch.setattr(Tensor, "from_url", staticmethod(refuse))
    for load, part in ((datasets.mnist, "mnist/train-images"), (datasets.cifar, "cifar-10")):
        with pytest.raises(DownloadError, match=part):
            load()
    with pytest.raises(DownloadError, match="fashion-mnist"):
        datasets.mnist(fashion=True)
