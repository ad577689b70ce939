"""Pack relocatable objects into one flat image, see image.py."""

import struct
from collections.abc import Iterable, Mapping, Sequence, Set

from tiny_runtime_cpu.elf import ElfError, ElfObject, Relocation, Section, Symbol, read_elf
from tiny_runtime_cpu.image import (
    CHECK_AT,
    HEADER,
    MACHINES,
    MAGIC,
    NAME,
    VERSION,
    check_of,
)
from tiny_runtime_cpu.relocate import CELL_STUBS, Place, relocate


class LinkError(ValueError):
    """The objects cannot be made into a flat image."""


def flatten(
    objects: Sequence[bytes], exports: Sequence[str], allowed_imports: Set[str] = frozenset()
) -> bytes:
    """Pack objects into one flat image.

    Args:
        objects: relocatable ELF objects for one machine.
        exports: names that a caller wants to find in the image.
        allowed_imports: C library functions that may stay open until the image is loaded.

    Returns:
        The image.

    Raises:
        LinkError: a name is not defined, a section is writable, a relocation is unknown.
    """
    return _Linker([_object(data) for data in objects], allowed_imports).image(exports)


def _object(data: bytes) -> ElfObject:
    try:
        return read_elf(data)
    except ElfError as error:
        raise LinkError(str(error)) from error


class _Linker:
    """One linking: sections get places, then cells, then every relocation is applied."""

    def __init__(self, objects: list[ElfObject], allowed_imports: Set[str]) -> None:
        machines = {each.machine for each in objects}
        if len(machines) != 1 or not machines <= set(MACHINES.values()):
            raise LinkError(f"objects of machines {sorted(machines)} do not make one image")
        self.machine = machines.pop()
        self.objects = objects
        self.allowed_imports = allowed_imports
        self.code = bytearray(HEADER.size)
        self.starts: list[dict[int, int]] = []
        self.cells: dict[str, int] = {}
        self.stubs: dict[str, int] = {}
        self.relatives: list[int] = []

    def image(self, exports: Sequence[str]) -> bytes:
        self.starts = [self._place(each.sections) for each in self.objects]
        defined = self._defined()
        missing = self._undefined(defined)
        for name in missing:
            self._add_cell(name)
        for number, each in enumerate(self.objects):
            for relocation in each.relocations:
                self._apply(number, relocation, defined)
        lacking = [name for name in exports if name not in defined]
        if lacking:
            raise LinkError(f"{lacking[0]!r} is not defined; there are {sorted(defined)}")
        return self._packed({name: defined[name] for name in exports})

    def _place(self, sections: Mapping[int, Section]) -> dict[int, int]:
        starts = {}
        for index, section in sections.items():
            if section.writable and not section.name.startswith(".data.rel.ro"):
                raise LinkError(
                    f"section {section.name!r} is writable; a kernel may run in many threads at "
                    "once and must not keep anything between calls"
                )
            self.code.extend(bytes(-len(self.code) % section.alignment))
            starts[index] = len(self.code)
            self.code.extend(section.data)
        return starts

    def _defined(self) -> dict[str, int]:
        defined: dict[str, int] = {}
        for number, each in enumerate(self.objects):
            for symbol in each.symbols:
                if symbol.exported and symbol.section is not None:
                    if symbol.name in defined:
                        raise LinkError(f"{symbol.name!r} is defined twice")
                    defined[symbol.name] = self._address(number, symbol)
        return defined

    def _undefined(self, defined: Mapping[str, int]) -> list[str]:
        wanted = {
            relocation.symbol.name
            for each in self.objects
            for relocation in each.relocations
            if relocation.symbol.section is None and relocation.symbol.name not in defined
        }
        refused = sorted(wanted - self.allowed_imports)
        if refused:
            raise LinkError(
                f"the code calls {', '.join(map(repr, refused))}, which no kernel may call"
            )
        return sorted(wanted)

    def _address(self, number: int, symbol: Symbol) -> int:
        assert symbol.section is not None
        try:
            return self.starts[number][symbol.section] + symbol.value
        except KeyError as error:
            raise LinkError(f"{symbol.name!r} stands in a section that is not loaded") from error

    def _add_cell(self, name: str) -> None:
        self.code.extend(bytes(-len(self.code) % 16))
        self.cells[name] = len(self.code)
        self.code.extend(bytes(8))
        self.stubs[name] = len(self.code)
        self.code.extend(CELL_STUBS[self.machine](self.stubs[name], self.cells[name]))

    def _apply(self, number: int, relocation: Relocation, defined: Mapping[str, int]) -> None:
        symbol = relocation.symbol
        cell = None
        if symbol.section is not None:
            target = self._address(number, symbol)
        elif symbol.name in defined:
            target = defined[symbol.name]
        else:
            target, cell = self.stubs[symbol.name], self.cells[symbol.name]
        at = self.starts[number][relocation.section] + relocation.offset
        place = Place(self.code, at, target, cell, relocation.addend)
        try:
            if relocate(self.machine, relocation.kind, place):
                self.relatives.append(at)
        except ValueError as error:
            raise LinkError(f"reference to {symbol.name!r}: {error}") from error

    def _packed(self, exports: Mapping[str, int]) -> bytes:
        self.code.extend(bytes(-len(self.code) % 8))
        table = len(self.code)
        names = [(name, offset, 0) for name, offset in exports.items()]
        names += [(name, offset, 1) for name, offset in self.cells.items()]
        self.code.extend(struct.pack(f"<{len(self.relatives)}I", *self.relatives))
        self.code.extend(b"".join(_name_rows(names)))
        counts = (table, len(names), len(self.relatives))
        HEADER.pack_into(self.code, 0, MAGIC, VERSION, self.machine, len(self.code), 0, *counts)
        struct.pack_into("<I", self.code, CHECK_AT, check_of(self.code))
        return bytes(self.code)


def _name_rows(names: Iterable[tuple[str, int, int]]) -> Iterable[bytes]:
    for name, offset, is_import in names:
        text = name.encode()
        if len(text) > 255:
            raise LinkError(f"the name {name[:40]!r}... is longer than 255 bytes")
        yield NAME.pack(offset, is_import, len(text)) + text
