"""All contact with memory: blocks of bytes, and buffers that decode, encode and check accesses.

One object does it all, so that a test can put another in its place.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from tiny_ir import ArgumentError, DType, RunError, bits_of, value_of
from tiny_plugin import Argument, Memory

Value = Any
"""A Python bool, int or float; a list of them where an access is wide."""

_WORD_FORMATS: Any = {1: "B", 2: "H", 4: "I", 8: "Q"}
_VALUE_FORMATS: Any = {letter: letter for letter in "bBhHiIqQfd"}
"""Formats in which a memoryview gives the values themselves; NaNs may lose their bits there."""


class Driver:
    """The memory and the clock of the machine that Python runs on."""

    def __init__(self) -> None:
        self._blocks: dict[int, bytearray] = {}

    def allocate(self, nbytes: int) -> bytearray:
        """A block filled with a pattern, so that a result never depends on fresh zeros."""
        block = bytearray(b"\xcb") * nbytes
        self._blocks[id(block)] = block
        return block

    def free(self, block: bytearray) -> None:
        """Forget a block; what reads it afterwards is refused."""
        self._known(block)
        del self._blocks[id(block)]

    def view(self, memory: Memory) -> memoryview:
        """The bytes of a piece of memory."""
        block = self._known(memory.handle)
        return memoryview(block)[memory.offset : memory.offset + memory.nbytes]

    def clock(self) -> float:
        """Seconds, for differences."""
        return time.perf_counter()

    def _known(self, block: object) -> bytearray:
        if not isinstance(block, bytearray) or self._blocks.get(id(block)) is not block:
            raise ArgumentError(
                "this memory is not allocated.",
                why="it was freed before, or comes from another runtime.",
                fix="keep the block until the last launch and copy that uses it.",
            )
        return block


class Buffer:
    """The elements of one dtype in some bytes: what a kernel's text reads and writes.

    Args:
        data: the bytes.
        dtype: of its elements.
        elements: how many elements the program declares; accesses outside are refused.
        place: what messages call it: "argument 0 of kernel 'add'".
        readable: reading is allowed.
        writable: writing is allowed.
    """

    __slots__ = ("_bits", "_decode", "_dtype", "_elements", "_encode", "_place", "read", "write")

    read: Callable[[int], Value]
    write: Callable[[int, Value], None]

    def __init__(
        self,
        data: memoryview | bytearray,
        dtype: DType,
        elements: int,
        place: str,
        *,
        readable: bool = True,
        writable: bool = True,
    ) -> None:
        self._place, self._dtype = place, dtype
        self._elements = min(elements, len(data) // dtype.nbytes)
        whole = self._elements * dtype.nbytes
        self._bits = memoryview(data)[:whole].cast(_WORD_FORMATS[dtype.nbytes])
        self.read = self._reader(memoryview(data)[:whole]) if readable else self._refuse_read
        self.write = self._write if writable else self._refuse_write

    def _reader(self, data: memoryview) -> Callable[[int], Value]:
        """The function that decodes one element; NaNs keep their bits."""
        dtype, bits, elements, outside = self._dtype, self._bits, self._elements, self._outside
        values: Any = None
        if dtype.format in _VALUE_FORMATS:
            values = data.cast(_VALUE_FORMATS[dtype.format])

        def decode(index: int) -> Value:
            if not 0 <= index < elements:
                raise outside("reads", index)
            if values is None:
                return value_of(dtype, bits[index])
            value = values[index]
            return value if value == value else value_of(dtype, bits[index])

        return decode

    def _write(self, index: int, value: Value) -> None:
        if not 0 <= index < self._elements:
            raise self._outside("writes", index)
        self._bits[index] = bits_of(self._dtype, value)

    def read_lanes(
        self, offset: int, lanes: int, gate: Value = True, otherwise: Value = None
    ) -> list[Value]:
        """`lanes` elements from `offset`; lanes whose gate is false get `otherwise`."""
        return self.gather(range(offset, offset + lanes), gate, otherwise)

    def write_lanes(self, offset: int, values: Sequence[Value], gate: Value = True) -> None:
        """Put values at `offset` and behind, where the gate is true."""
        self.scatter(range(offset, offset + len(values)), values, gate)

    def gather(
        self, offsets: Sequence[int], gate: Value = True, otherwise: Value = None
    ) -> list[Value]:
        """The elements at offsets; lanes whose gate is false get `otherwise`."""
        read = self.read
        lanes = len(offsets)
        if gate is True:
            return [read(offset) for offset in offsets]
        gates, others = _spread(gate, lanes), _spread(otherwise, lanes)
        rows = zip(offsets, gates, others, strict=True)
        return [read(offset) if open_ else other for offset, open_, other in rows]

    def scatter(self, offsets: Sequence[int], values: Sequence[Value], gate: Value = True) -> None:
        """Put values at offsets where the gate is true, first lane first."""
        rows = zip(offsets, values, _spread(gate, len(offsets)), strict=True)
        for offset, value, open_ in rows:
            if open_:
                self.write(offset, value)

    def _outside(self, does: str, index: int) -> RunError:
        return RunError(
            f"{self._place} has {self._elements} elements of {self._dtype.name}; "
            f"the kernel {does} element {index}.",
            why="an access lies outside its buffer: an offset or a gate is wrong.",
            fix="look at the stage that made the offset; the kernel's text is executable Python.",
        )

    def _refuse_read(self, index: int) -> Value:
        raise RunError(
            f"{self._place} is declared as not read; the kernel reads element {index}.",
            why="arguments say whether they are read and written, and others rely on it.",
            fix="declare the argument with read=True.",
        )

    def _refuse_write(self, index: int, value: Value) -> None:
        raise RunError(
            f"{self._place} is declared as not written; the kernel writes element {index}.",
            why="arguments say whether they are read and written, and others rely on it.",
            fix="declare the argument with written=True.",
        )


class ArgumentBuffer(Buffer):
    """The buffer of one argument of a program."""

    def __init__(self, data: memoryview, argument: Argument, place: str) -> None:
        super().__init__(
            data,
            argument.dtype,
            argument.elements,
            place,
            readable=argument.read,
            writable=argument.written,
        )


class Scratch(Buffer):
    """Fresh memory of one worker; reading an element that was not written is refused."""

    def __init__(self, dtype: DType, elements: int) -> None:
        super().__init__(bytearray(elements * dtype.nbytes), dtype, elements, "scratch")
        written = bytearray(elements)
        read, write = self.read, self.write

        def read_written(index: int) -> Value:
            value = read(index)
            if not written[index]:
                raise RunError(
                    f"scratch of {elements} elements of {dtype.name}; "
                    f"the kernel reads element {index} before writing it.",
                    why="scratch holds arbitrary bytes when a worker begins.",
                    fix="store to it before the load, in the order of the program's list.",
                )
            return value

        def write_and_note(index: int, value: Value) -> None:
            write(index, value)
            written[index] = 1

        self.read, self.write = read_written, write_and_note


def _spread(value: Value, lanes: int) -> Sequence[Value]:
    return value if isinstance(value, list) else [value] * lanes
