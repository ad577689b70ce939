"""Read a relocatable ELF object: bytes to sections, symbols and relocations."""

import struct
from dataclasses import dataclass

X86_64 = 62  # e_machine, ELF gABI
AARCH64 = 183

_SHT_PROGBITS = 1
_SHT_SYMTAB = 2
_SHT_RELA = 4
_SHT_NOBITS = 8
_SHF_WRITE = 1
_SHF_ALLOC = 2
_UNDEFINED = 0
_ABSOLUTE = 0xFFF1
_RELOCATABLE = 1

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the object that must be in memory when the code runs."""

    name: str
    data: bytes
    alignment: int
    writable: bool


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name or a place; `section` is None for a symbol that another object defines."""

    name: str
    section: int | None
    value: int
    exported: bool


@dataclass(frozen=True, slots=True)
class Relocation:
    """A field at `offset` of a section that waits for the address of a symbol."""

    section: int
    offset: int
    kind: int
    symbol: Symbol
    addend: int


@dataclass(frozen=True, slots=True)
class ElfObject:
    """What a relocatable object holds, without what only debuggers and unwinders read."""

    machine: int
    sections: dict[int, Section]
    symbols: tuple[Symbol, ...]
    relocations: tuple[Relocation, ...]


class ElfError(ValueError):
    """The bytes are no 64-bit little-endian relocatable ELF object."""


def read_elf(data: bytes) -> ElfObject:
    """Read a relocatable object.

    Args:
        data: the whole file.

    Returns:
        Its loaded sections by number, its symbols, and the relocations of loaded sections.

    Raises:
        ElfError: the bytes are something else, or end too soon.
    """
    try:
        return _read(data)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise ElfError(f"the object ends too soon or points outside itself: {error}") from error


def _read(data: bytes) -> ElfObject:
    ident, kind, machine, *_ = header = _HEADER.unpack_from(data)
    if ident[:6] != b"\x7fELF\x02\x01" or kind != _RELOCATABLE:
        raise ElfError("not a 64-bit little-endian relocatable ELF object")
    table, count, names_index = header[6], header[12], header[13]
    rows = [_SECTION.unpack_from(data, table + i * _SECTION.size) for i in range(count)]
    names = _bytes_of(data, rows[names_index])
    sections = {
        index: _section(data, row, _text(names, row[0]))
        for index, row in enumerate(rows)
        if _is_loaded(row, _text(names, row[0]))
    }
    symbols = _symbols(data, rows)
    relocations = tuple(
        Relocation(row[7], offset, info & 0xFFFFFFFF, symbols[info >> 32], addend)
        for row in rows
        if row[1] == _SHT_RELA and row[7] in sections
        for offset, info, addend in _RELOCATION.iter_unpack(_bytes_of(data, row))
    )
    return ElfObject(machine, sections, symbols, relocations)


def _is_loaded(row: tuple[int, ...], name: str) -> bool:
    if not row[2] & _SHF_ALLOC or row[5] == 0:
        return False
    # Nothing unwinds through a kernel, so its frame tables stay behind.
    return row[1] in (_SHT_PROGBITS, _SHT_NOBITS) and name != ".eh_frame"


def _section(data: bytes, row: tuple[int, ...], name: str) -> Section:
    content = bytes(row[5]) if row[1] == _SHT_NOBITS else _bytes_of(data, row)
    return Section(name, content, max(row[8], 1), bool(row[2] & _SHF_WRITE))


def _symbols(data: bytes, rows: list[tuple[int, ...]]) -> tuple[Symbol, ...]:
    for row in rows:
        if row[1] == _SHT_SYMTAB:
            names = _bytes_of(data, rows[row[6]])
            return tuple(
                Symbol(
                    _text(names, name),
                    None if section in (_UNDEFINED, _ABSOLUTE) else section,
                    value,
                    info >> 4 != 0,
                )
                for name, info, _, section, value, _ in _SYMBOL.iter_unpack(_bytes_of(data, row))
            )
    return ()


def _bytes_of(data: bytes, row: tuple[int, ...]) -> bytes:
    start, nbytes = row[4], row[5]
    if start + nbytes > len(data):
        raise ElfError(f"a section of {nbytes} bytes at {start} is not in a file of {len(data)}")
    return data[start : start + nbytes]


def _text(names: bytes, start: int) -> str:
    return names[start : names.index(b"\0", start)].decode()
