"""Blocks of quantized weights become floats: tensor code for each type of block.

A block is a row of bytes: one or two scales in float16, the rest in a few bits an element. What is
written here is a graph over the bytes of the file: nothing is unpacked before it is used.

Source: ggml, `ggml-quants.c` and `ggml-common.h`; the layouts are part of the GGUF format.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from tiny_ir import dtypes
from tiny_tensor.tensor import Tensor

Decoder = Callable[[Tensor], Tensor]
"""From blocks, (n, bytes), to their elements, (n, elements), in float32."""

FOUR_BITS = (-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113)
"""What the 4 bits of IQ4 types stand for."""
E2M1 = (0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12)
"""What the 4 bits of MXFP4 stand for, doubled."""


def _half(part: Tensor) -> Tensor:
    """Two bytes of each block as a scale: (n, 1)."""
    return part.bitcast(dtypes.float16).cast(dtypes.float32)


def _fields(part: Tensor, run: int, width: int) -> Tensor:
    """The fields of some bits in each byte, lowest first; those of `run` bytes stand together.

    (n, bytes) become (n, bytes / run, 8 / width, run).
    """
    shifts = (Tensor.arange(8 // width, device=part.device) * width).cast(dtypes.uint8)
    rows = part.reshape(part.shape[0], -1, 1, run) >> shifts.reshape(1, 1, -1, 1)
    return rows & ((1 << width) - 1)


def _numbers(fields: Tensor, *shape: int) -> Tensor:
    """Fields as floats, block by block."""
    return fields.cast(dtypes.float32).reshape(fields.shape[0], *shape)


def _looked_up(fields: Tensor, table: Sequence[int]) -> Tensor:
    values = Tensor(table, fields.device, dtypes.float32)
    return values[fields.cast(dtypes.int32)]


def _scaled(scales: Tensor, numbers: Tensor) -> Tensor:
    """Numbers (n, groups, elements) times the scale of their group, (n, groups)."""
    rows = scales.reshape(scales.shape[0], -1, 1) * numbers
    return rows.reshape(numbers.shape[0], -1)


def _q4_0(blocks: Tensor) -> Tensor:
    return _half(blocks[:, :2]) * (_numbers(_fields(blocks[:, 2:], 16, 4), 32) - 8.0)


def _q4_1(blocks: Tensor) -> Tensor:
    numbers = _numbers(_fields(blocks[:, 4:], 16, 4), 32)
    return _half(blocks[:, :2]) * numbers + _half(blocks[:, 2:4])


def _fifth_bits(part: Tensor) -> Tensor:
    """One bit an element, from 4 bytes a block: (n, 32)."""
    return _fields(part, 1, 1).reshape(part.shape[0], 32) * 16


def _q5_0(blocks: Tensor) -> Tensor:
    fields = _fields(blocks[:, 6:], 16, 4).reshape(-1, 32) + _fifth_bits(blocks[:, 2:6])
    return _half(blocks[:, :2]) * (_numbers(fields, 32) - 16.0)


def _q5_1(blocks: Tensor) -> Tensor:
    fields = _fields(blocks[:, 8:], 16, 4).reshape(-1, 32) + _fifth_bits(blocks[:, 4:8])
    return _half(blocks[:, :2]) * _numbers(fields, 32) + _half(blocks[:, 2:4])


def _q8_0(blocks: Tensor) -> Tensor:
    return blocks[:, 2:].bitcast(dtypes.int8).cast(dtypes.float32) * _half(blocks[:, :2])


def _q2_k(blocks: Tensor) -> Tensor:
    scales, least = blocks[:, :16] & 15, blocks[:, :16] >> 4
    numbers = _numbers(_fields(blocks[:, 16:80], 32, 2), 16, 16)
    first = _half(blocks[:, 80:82]) * scales.cast(dtypes.float32)
    second = _half(blocks[:, 82:84]) * least.cast(dtypes.float32)
    rows = first.reshape(-1, 16, 1) * numbers - second.reshape(-1, 16, 1)
    return rows.reshape(-1, 256)


def _q3_k(blocks: Tensor) -> Tensor:
    n = blocks.shape[0]
    low = _fields(blocks[:, 96:104], 8, 4).reshape(n, 16)
    high = _fields(blocks[:, 104:108], 4, 2).reshape(n, 16)
    scales = (low + high * 16).cast(dtypes.float32) - 32.0
    bits = _numbers(_fields(blocks[:, :32], 32, 1), 16, 16)
    numbers = _numbers(_fields(blocks[:, 32:96], 32, 2), 16, 16) - (1.0 - bits) * 4.0
    return _scaled(_half(blocks[:, 108:110]) * scales, numbers)


def _scales_of_k(part: Tensor) -> tuple[Tensor, Tensor]:
    """Eight scales and eight offsets of 6 bits, from 12 bytes: (n, 8) each."""
    first, second, rest = part[:, :4], part[:, 4:8], part[:, 8:]
    scales = (first & 63).cat((rest & 15) | ((first >> 2) & 48), dim=1)
    offsets = (second & 63).cat((rest >> 4) | ((second >> 2) & 48), dim=1)
    return scales.cast(dtypes.float32), offsets.cast(dtypes.float32)


def _with_offsets(blocks: Tensor, numbers: Tensor) -> Tensor:
    """Q4_K and Q5_K: eight groups of 32, each with a scale and an offset."""
    scales, offsets = _scales_of_k(blocks[:, 4:16])
    shift = _half(blocks[:, 2:4]) * offsets
    rows = (_half(blocks[:, :2]) * scales).reshape(-1, 8, 1) * numbers
    return (rows - shift.reshape(-1, 8, 1)).reshape(-1, 256)


def _q4_k(blocks: Tensor) -> Tensor:
    return _with_offsets(blocks, _numbers(_fields(blocks[:, 16:], 32, 4), 8, 32))


def _q5_k(blocks: Tensor) -> Tensor:
    n = blocks.shape[0]
    high = _fields(blocks[:, 16:48], 32, 1).reshape(n, 8, 32)
    fields = _fields(blocks[:, 48:], 32, 4).reshape(n, 8, 32) + high * 16
    return _with_offsets(blocks, _numbers(fields, 8, 32))


def _q6_k(blocks: Tensor) -> Tensor:
    n = blocks.shape[0]
    low = _fields(blocks[:, :128], 64, 4).reshape(n, 8, 32)
    high = _fields(blocks[:, 128:192], 32, 2).reshape(n, 8, 32)
    numbers = _numbers(low + high * 16, 16, 16) - 32.0
    scales = blocks[:, 192:208].bitcast(dtypes.int8).cast(dtypes.float32)
    return _scaled(_half(blocks[:, 208:210]) * scales, numbers)


def _iq4_nl(blocks: Tensor) -> Tensor:
    fields = _fields(blocks[:, 2:], 16, 4).reshape(-1, 32)
    return _half(blocks[:, :2]) * _looked_up(fields, FOUR_BITS)


def _iq4_xs(blocks: Tensor) -> Tensor:
    n = blocks.shape[0]
    high = _fields(blocks[:, 2:4], 1, 2).reshape(n, 8)
    low = _fields(blocks[:, 4:8], 1, 4).reshape(n, 8)
    scales = (low + high * 16).cast(dtypes.float32) - 32.0
    fields = _fields(blocks[:, 8:], 16, 4).reshape(n, 8, 32)
    return _scaled(_half(blocks[:, :2]) * scales, _looked_up(fields, FOUR_BITS))


def _mxfp4(blocks: Tensor) -> Tensor:
    # A power of two, halved; the two lowest are subnormal.
    exponent = blocks[:, :1].cast(dtypes.uint32)
    bits = (exponent < 2).where((exponent * 0 + 0x00200000) << exponent, (exponent - 1) << 23)
    fields = _fields(blocks[:, 1:], 16, 4).reshape(-1, 32)
    return bits.bitcast(dtypes.float32) * _looked_up(fields, E2M1)


DECODERS: Mapping[str, tuple[int, int, Decoder]] = MappingProxyType(
    {
        "Q4_0": (32, 18, _q4_0),
        "Q4_1": (32, 20, _q4_1),
        "Q5_0": (32, 22, _q5_0),
        "Q5_1": (32, 24, _q5_1),
        "Q8_0": (32, 34, _q8_0),
        "Q2_K": (256, 84, _q2_k),
        "Q3_K": (256, 110, _q3_k),
        "Q4_K": (256, 144, _q4_k),
        "Q5_K": (256, 176, _q5_k),
        "Q6_K": (256, 210, _q6_k),
        "IQ4_NL": (32, 18, _iq4_nl),
        "IQ4_XS": (256, 136, _iq4_xs),
        "MXFP4": (32, 17, _mxfp4),
    }
)
"""Of each type the elements and the bytes of a block, and what decodes it."""
