"""Fill one field of an image that refers to another place in it.

Source: the ELF supplements of the System V ABI for AMD64 and for the Arm 64-bit architecture.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass

from tiny_runtime_cpu.elf import AARCH64, X86_64


@dataclass(frozen=True, slots=True)
class Place:
    """A field at `at` that refers to `target` plus `addend`.

    `cell` is the 8-byte cell that will hold the address of a C library function; the target is
    then a stub that jumps there.
    """

    code: bytearray
    at: int
    target: int
    cell: int | None
    addend: int


def relocate(machine: int, kind: int, place: Place) -> bool:
    """Fill the field.

    Args:
        machine: the ELF number of the machine.
        kind: the relocation's number.
        place: the field and what it refers to.

    Returns:
        True if the address of the image must still be added when it is loaded.

    Raises:
        ValueError: the relocation is unknown, or the distance does not fit.
    """
    fill = _FILL[machine].get(kind)
    if fill is None:
        raise ValueError(f"relocation {kind} of machine {machine} is not supported")
    fill(place)
    return kind == _ABSOLUTE[machine]


def _absolute(place: Place) -> None:
    struct.pack_into("<Q", place.code, place.at, place.target + place.addend)


def _distance_32(place: Place) -> None:
    _store_32(place, place.target + place.addend - place.at)


def _distance_64(place: Place) -> None:
    struct.pack_into("<q", place.code, place.at, place.target + place.addend - place.at)


def _store_32(place: Place, distance: int) -> None:
    if not -(2**31) <= distance < 2**31:
        raise ValueError(f"{distance} does not fit into 32 bits")
    struct.pack_into("<i", place.code, place.at, distance)


def _through_cell(place: Place) -> None:
    """A field that wants a table entry: the cell, or, for a place in the image, the place itself.

    `mov reg, [entry]` becomes `lea reg, [place]`, `call [entry]` becomes `call place`, as in the
    relaxations of the AMD64 supplement, section B.2.
    """
    if place.cell is not None:
        _store_32(place, place.cell + place.addend - place.at)
        return
    before = place.code[place.at - 2 : place.at]
    if before[0] == 0x8B:
        place.code[place.at - 2] = 0x8D
    elif before == b"\xff\x15":
        place.code[place.at - 2 : place.at] = b"\x67\xe8"
    else:
        raise ValueError("this use of a global offset table entry is not supported")
    _distance_32(place)


def _word(place: Place) -> int:
    word: int = struct.unpack_from("<I", place.code, place.at)[0]
    return word


def _branch_26(place: Place) -> None:
    distance = place.target + place.addend - place.at
    if distance % 4 or not -(2**27) <= distance < 2**27:
        raise ValueError(f"a branch cannot reach {distance} bytes")
    struct.pack_into("<I", place.code, place.at, _word(place) | (distance >> 2 & 0x3FFFFFF))


def _page_21(place: Place) -> None:
    # An image is mapped at the start of a page, so pages of offsets are pages of addresses.
    pages = ((place.target + place.addend) >> 12) - (place.at >> 12)
    if not -(2**20) <= pages < 2**20:
        raise ValueError(f"{pages} pages do not fit into 21 bits")
    word = _word(place) | (pages & 3) << 29 | (pages >> 2 & 0x7FFFF) << 5
    struct.pack_into("<I", place.code, place.at, word)


def _low_12(scale: int) -> Callable[[Place], None]:
    def fill(place: Place) -> None:
        low = (place.target + place.addend) & 0xFFF
        if low & ((1 << scale) - 1):
            raise ValueError(f"offset {low} is not a multiple of {1 << scale}")
        struct.pack_into("<I", place.code, place.at, _word(place) | (low >> scale) << 10)

    return fill


def _x86_stub(at: int, cell: int) -> bytes:
    return b"\xff\x25" + struct.pack("<i", cell - (at + 6)) + b"\xcc\xcc"  # jmp [cell]


def _aarch64_stub(at: int, cell: int) -> bytes:
    # ldr x16, cell ; br x16
    return struct.pack("<II", 0x58000010 | ((cell - at) >> 2 & 0x7FFFF) << 5, 0xD61F0200)


CELL_STUBS: dict[int, Callable[[int, int], bytes]] = {X86_64: _x86_stub, AARCH64: _aarch64_stub}

_ABSOLUTE = {X86_64: 1, AARCH64: 257}

_FILL: dict[int, dict[int, Callable[[Place], None]]] = {
    X86_64: {
        1: _absolute,  # R_X86_64_64
        2: _distance_32,  # PC32
        4: _distance_32,  # PLT32
        24: _distance_64,  # PC64
        9: _through_cell,  # GOTPCREL
        41: _through_cell,  # GOTPCRELX
        42: _through_cell,  # REX_GOTPCRELX
    },
    AARCH64: {
        257: _absolute,  # ABS64
        260: _distance_64,  # PREL64
        261: _distance_32,  # PREL32
        275: _page_21,  # ADR_PREL_PG_HI21
        276: _page_21,  # ADR_PREL_PG_HI21_NC
        277: _low_12(0),  # ADD_ABS_LO12_NC
        278: _low_12(0),  # LDST8_ABS_LO12_NC
        282: _branch_26,  # JUMP26
        283: _branch_26,  # CALL26
        284: _low_12(1),  # LDST16_ABS_LO12_NC
        285: _low_12(2),  # LDST32_ABS_LO12_NC
        286: _low_12(3),  # LDST64_ABS_LO12_NC
        299: _low_12(4),  # LDST128_ABS_LO12_NC
    },
}
