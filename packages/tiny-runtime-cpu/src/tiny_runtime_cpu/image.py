"""Read a flat image: position-independent code that is ready to map and call.

An image is the bytes that will stand in memory. A header of 32 bytes stands first, then code and
constants with all references between them resolved, then a table: exported names and their
offsets, cells that wait for the address of a C library function, fields that wait for the address
of the image itself. Most kernels have only exports, so loading is one mapping and one copy.
"""

import struct
import zlib

from tiny_plugin import record

MAGIC = b"tinyflat"
VERSION = 1
HEADER = struct.Struct("<8sHHIIIII")  # magic version machine nbytes check table names relatives
CHECK_AT = 16
NAME = struct.Struct("<IBB")  # offset, 1 for an import, length of the name, which follows
MACHINES = {"x86_64": 62, "aarch64": 183}  # e_machine of the ELF gABI


@record(frozen=True, slots=True)
class Image:
    """What the table of a flat image says.

    Args:
        machine: the ELF number of the machine.
        exports: names and their offsets.
        imports: offsets of 8-byte cells, and the C library function whose address each takes.
        relatives: offsets of 8-byte fields to which the address of the image is added.
    """

    machine: int
    exports: dict[str, int]
    imports: dict[int, str]
    relatives: tuple[int, ...]


class ImageError(ValueError):
    """The bytes are not a whole, unharmed flat image for this kind of machine."""


def read_image(data: bytes) -> Image:
    """Check an image and read its table.

    Args:
        data: the whole image.

    Returns:
        Its names and open fields.

    Raises:
        ImageError: the bytes are cut off, changed, or of another version.
    """
    if len(data) < HEADER.size or data[:8] != MAGIC:
        raise ImageError("the bytes do not begin like a flat image")
    _, version, machine, nbytes, check, table, names, fields = HEADER.unpack_from(data)
    if version != VERSION:
        raise ImageError(f"the image has version {version}, this runtime reads {VERSION}")
    if nbytes != len(data):
        raise ImageError(f"the image should have {nbytes} bytes and has {len(data)}")
    if check != check_of(data):
        raise ImageError("the check value does not agree: the bytes were changed")
    relatives = struct.unpack_from(f"<{fields}I", data, table)
    exports: dict[str, int] = {}
    imports: dict[int, str] = {}
    position = table + 4 * fields
    for _ in range(names):
        offset, is_import, length = NAME.unpack_from(data, position)
        name = data[position + NAME.size : position + NAME.size + length].decode()
        position += NAME.size + length
        if is_import:
            imports[offset] = name
        else:
            exports[name] = offset
    return Image(machine, exports, imports, relatives)


def check_of(data: bytes | bytearray) -> int:
    """The check value over everything but the check value itself."""
    view = memoryview(data)
    return zlib.crc32(view[CHECK_AT + 4 :], zlib.crc32(view[:CHECK_AT]))
