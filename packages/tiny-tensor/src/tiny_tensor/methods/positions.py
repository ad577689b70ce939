"""Positions along an axis, as indices of gathers and scatters."""

from __future__ import annotations

from tiny_ir import DType, Size, UOp, bounds, const, dtypes, size_node


def from_start(index: UOp, size: Size) -> UOp:
    """Positions counted from the start: negative ones count from the end of an axis of `size`.

    What is out of range stays out of range.
    """
    if index.dtype.is_unsigned or index.dtype.is_bool or bounds(index)[0] >= 0:
        return index
    narrow = not isinstance(size, int) or size <= dtypes.int32.maximum
    wide = dtypes.promote(index.dtype, dtypes.int32 if narrow else dtypes.int64)
    place = index.cast(wide)
    length = const(wide, size) if isinstance(size, int) else size_node(size).cast(wide)
    return (place < 0).where(place + length, place)


def position_dtype(count: int) -> DType:
    """The dtype of positions among `count` elements, and of their number: int32 where it fits.

    Example:
        >>> position_dtype(2**31 - 1), position_dtype(2**31)
        (dtypes.int32, dtypes.int64)
    """
    return dtypes.int32 if count <= dtypes.int32.maximum else dtypes.int64
