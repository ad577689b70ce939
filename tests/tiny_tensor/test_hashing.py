"""Hashes of bytes, compared with hashlib."""

from __future__ import annotations

import hashlib

import pytest

from tiny_ir import ArgumentError, DTypeError, ShapeError
from tiny_tensor import Tensor
from tiny_tensor.methods import hashing

pytestmark = pytest.mark.usefixtures("session")


def expected(name: str, data: bytes) -> bytes:
    return (
        hashlib.shake_128(data).digest(16)
        if name == "shake_128"
        else hashlib.new(name, data).digest()
    )


@pytest.mark.parametrize(
    ("name", "nbytes"), [("sha3_256", 0), ("sha3_256", 136), ("sha3_224", 143), ("shake_128", 337)]
)
def test_keccak_equals_hashlib(name: str, nbytes: int) -> None:
    data = bytes(number * 7 % 251 for number in range(nbytes))
    assert bytes(Tensor(data).keccak(name).tolist()) == expected(name, data)  # type: ignore[arg-type]


def test_keccak_hashes_each_row() -> None:
    rows = Tensor([[[1, 2, 3], [4, 5, 6]]], dtype="uint8")
    hashes = rows.keccak((136, 6))
    assert hashes.shape == (1, 2, 32)
    assert bytes(hashes[0, 1].tolist()) == hashlib.sha3_256(bytes([4, 5, 6])).digest()  # type: ignore[arg-type]


def tree(data: bytes, chunk: int, block: int) -> bytes:
    """The hash in Python's own words."""
    data += bytes(-len(data) % chunk or (chunk if not data else 0))
    hashes = [
        hashlib.shake_128(
            b"".join(
                hashlib.shake_128(data[at + part : at + part + block]).digest(16)
                for part in range(0, chunk, block)
            )
        ).digest(16)
        for at in range(0, len(data), chunk)
    ]
    return hashes[0] if len(hashes) == 1 else tree(b"".join(hashes), chunk, block)


def test_the_hash_is_a_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hashing, "CHUNK_NBYTES", 64)
    monkeypatch.setattr(hashing, "BLOCK_NBYTES", 32)
    x = Tensor.arange(25)
    assert bytes(x.hash().tolist()) == tree(bytes(x.data()), 64, 32)  # type: ignore[arg-type]


def test_what_cannot_be_hashed_is_refused() -> None:
    with pytest.raises(DTypeError, match="uint8"):
        Tensor([1, 2]).keccak()
    with pytest.raises(ShapeError, match=r"shape \(\)"):
        Tensor(1, dtype="uint8").keccak()
    with pytest.raises(ArgumentError, match="sha3_224"):
        Tensor(b"abc").keccak("md5")
    with pytest.raises(ArgumentError, match="blocks of 100 bytes"):
        Tensor(b"abc").keccak((100, 6))
