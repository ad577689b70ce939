"""Small sets of pictures: digits, clothes and things, from a folder or from the net."""

from __future__ import annotations

import math
import os
from typing import TypeAlias

from tiny_ir import FileFormatError, dtypes
from tiny_plugin import boundary
from tiny_tensor.driver import gunzipped
from tiny_tensor.engine.outside import FileName
from tiny_tensor.explained import explained
from tiny_tensor.nn.archives import bytes_of, tar_extract
from tiny_tensor.sizes import concrete_size
from tiny_tensor.tensor import Tensor

Split: TypeAlias = tuple[Tensor, Tensor, Tensor, Tensor]
"""Pictures and labels to train with, then pictures and labels to test with."""

MNIST_URL = "https://storage.googleapis.com/cvdf-datasets/mnist/"
FASHION_URL = "https://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"
CIFAR_URL = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"

MNIST_FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)
CIFAR_FOLDER = "cifar-10-batches-bin"
CIFAR_SHAPE = (3, 32, 32)
UNSIGNED_BYTES = 8
"""The code of the one type of element that these files have. Source: Y. LeCun, "The MNIST database
of handwritten digits"."""


@explained
@boundary
def mnist(
    device: str | None = None, fashion: bool = False, folder: FileName | None = None
) -> Split:
    """Handwritten digits, or clothes, of 28 x 28 pixels.

    Args:
        device: where the tensors live.
        fashion: clothes.
        folder: with the four files of the set, compressed or not; without it they are downloaded
            once, and kept (see `Tensor.from_url`).

    Returns:
        (n, 1, 28, 28) and (n,) of uint8 to train with, then the same to test with.

    Raises:
        FileFormatError: a file is not what it claims to be.
        OSError: a file cannot be read or downloaded.
    """
    images, labels, test_images, test_labels = (
        _idx(_mnist_file(name, fashion, folder, device), name) for name in MNIST_FILES
    )
    return images.unsqueeze(1), labels, test_images.unsqueeze(1), test_labels


def _mnist_file(name: str, fashion: bool, folder: FileName | None, device: str | None) -> Tensor:
    if folder is None:
        url = FASHION_URL if fashion else MNIST_URL
        return Tensor.from_url(f"{url}{name}.gz", gunzip=True, device=device)
    path = os.path.join(os.fspath(folder), name)
    if not os.path.isfile(path) and os.path.isfile(f"{path}.gz"):
        with open(f"{path}.gz", "rb") as file:
            return Tensor(gunzipped(file.read(), f"{path}.gz"), device)
    return bytes_of(path, device)


def _idx(data: Tensor, name: str) -> Tensor:
    """A file of the MNIST format as a tensor of its shape."""
    size = concrete_size(data.shape[0])
    head = bytes(data[: min(size, 16)].data())
    rank = head[3] if len(head) > 3 else 0
    start = 4 + 4 * rank
    if head[:2] != b"\0\0" or head[2:3] != bytes([UNSIGNED_BYTES]) or not 0 < rank <= 3:
        raise _refused(name, "it does not begin as one")
    shape = [int.from_bytes(head[at : at + 4], "big") for at in range(4, start, 4)]
    if size != start + math.prod(shape):
        raise _refused(name, f"its {size} bytes do not hold {shape} numbers")
    return data[start:].reshape(shape)


@explained
@boundary
def cifar(device: str | None = None, folder: FileName | None = None) -> Split:
    """Photographs of ten kinds of things, of 32 x 32 pixels in three colors (CIFAR-10).

    Args:
        device: where the tensors live.
        folder: with the six files of the binary version; without it they are downloaded once, and
            kept (see `Tensor.from_url`).

    Returns:
        (50000, 3, 32, 32) and (50000,) of uint8 to train with, then 10000 of each to test with.

    Raises:
        FileFormatError: a file is not what it claims to be.
        OSError: a file cannot be read or downloaded.
    """
    names = [*(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin"]
    if folder is None:
        members = tar_extract(Tensor.from_url(CIFAR_URL, gunzip=True, device=device))
        files = [
            members.get(f"{CIFAR_FOLDER}/{name}", Tensor([], device, "uint8")) for name in names
        ]
    else:
        files = [bytes_of(os.path.join(os.fspath(folder), name), device) for name in names]
    batches = [_cifar_rows(file, name) for file, name in zip(files, names, strict=True)]
    train = batches[0].cat(*batches[1:-1])
    return (*_cifar_parts(train), *_cifar_parts(batches[-1]))


def _cifar_rows(data: Tensor, name: str) -> Tensor:
    """One row of bytes a picture: its label, and its pixels."""
    row = 1 + math.prod(CIFAR_SHAPE)
    size = concrete_size(data.shape[0])
    if not size or size % row:
        raise _refused(name, f"its {size} bytes are no rows of {row}")
    return data.reshape(size // row, row)


def _cifar_parts(rows: Tensor) -> tuple[Tensor, Tensor]:
    return rows[:, 1:].reshape(-1, *CIFAR_SHAPE), rows[:, 0].cast(dtypes.uint8)


def _refused(name: str, reason: str) -> FileFormatError:
    return FileFormatError(
        f"{name} is not a good file of pictures or labels: {reason}.",
        why="its size must be that of what it holds.",
        fix="download it again.",
    )
