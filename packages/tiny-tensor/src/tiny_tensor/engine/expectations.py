"""What was taken for granted about numbers on a device, and is looked at when some are read anyway.

For each device there is one number: 0 where all was as expected, else the first that was not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tiny_ir import ShapeError, UOp, const, dtypes

if TYPE_CHECKING:
    from tiny_tensor.tensor_core import TensorCore

HALF = 32
"""Bits: a number that was found and the one that was expected stand in the two halves of int64."""


class Expectations:
    """Numbers of values that were written through masks."""

    def __init__(self) -> None:
        self._faults: dict[str, TensorCore] = {}

    def expect(self, mask: TensorCore, found: UOp, expected: int) -> None:
        """Expect a mask to be true at as many places as there are values.

        Args:
            mask: the mask.
            found: at how many places it is true, of shape ().
            expected: how many values there are.
        """
        wide = found.cast(dtypes.int64)
        fault = (wide << HALF) | const(dtypes.int64, expected)
        fault = wide.eq(expected).where(const(dtypes.int64, 0), fault)
        earlier = self._faults.get(mask.device)
        if earlier is not None:
            fault = earlier.uop.ne(0).where(earlier.uop, fault)
        self._faults[mask.device] = mask._apply(fault)

    def tensors(self) -> list[TensorCore]:
        """What has to be computed with everything else, so that it holds nothing alive."""
        return list(self._faults.values())

    def take(self, device: str) -> TensorCore | None:
        """What is known of a device, to be looked at; it is forgotten here."""
        return self._faults.pop(device, None)


def check(fault: int) -> None:
    """Look at what was computed.

    Raises:
        ShapeError: there were not as many values as places.
    """
    if fault:
        found, expected = fault >> HALF, fault & ((1 << HALF) - 1)
        raise ShapeError(
            f"{expected} values were written where a mask is true at {found} places.",
            why="there is one value for each place; this was noticed only now, when numbers are "
            "read, since counting the places before would have waited for the device.",
            fix="pass as many values as the mask has places, or one for all of them.",
        )
