"""Schedules and Binaries as bytes and back, without importing what made them.

A Target is left out: it belongs to the device that is open when the bytes are read. Only classes of
the language and of the door are ever made from bytes.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping

from tiny_plugin import Target

TRUSTED = ("tiny_ir", "tiny_plugin")
"""Packages whose records may come from bytes."""


def to_bytes(record: object, targets: Mapping[str, Target]) -> bytes:
    """Pickle a record; the targets of devices are named, not written."""
    names = {id(target): name for name, target in targets.items()}
    stream = io.BytesIO()
    _Writer(stream, names).dump(record)
    return stream.getvalue()


def from_bytes(data: bytes, targets: Mapping[str, Target]) -> object:
    """The record that `to_bytes` wrote; the targets are those of today.

    Raises:
        pickle.UnpicklingError: the bytes name something else than a record.
    """
    return _Reader(io.BytesIO(data), targets).load()


class _Writer(pickle.Pickler):
    def __init__(self, stream: io.BytesIO, names: Mapping[int, str]) -> None:
        super().__init__(stream, protocol=5)
        self._names = names

    def persistent_id(self, item: object) -> str | None:
        """Name a target."""
        return self._names.get(id(item)) if isinstance(item, Target) else None


class _Reader(pickle.Unpickler):
    def __init__(self, stream: io.BytesIO, targets: Mapping[str, Target]) -> None:
        super().__init__(stream)
        self._targets = targets

    def persistent_load(self, name: str) -> Target:
        """The target of a name."""
        return self._targets[name]

    def find_class(self, module: str, name: str) -> object:
        """A class or function of the language or the door."""
        if module.partition(".")[0] not in TRUSTED:
            raise pickle.UnpicklingError(f"a cache entry names {module}.{name}")
        return super().find_class(module, name)
