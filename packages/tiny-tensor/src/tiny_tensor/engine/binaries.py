"""Programs become executables: compiled once, kept in memory and on disk, loaded once a process."""

from __future__ import annotations

from hashlib import sha256
from pickle import UnpicklingError
from time import perf_counter

from tiny_ir import Op, RunError, UOp, key, make
from tiny_plugin import Binary, Program
from tiny_tensor.engine.disk_cache import DiskCache
from tiny_tensor.engine.records import from_bytes, to_bytes
from tiny_tensor.session import Device, Session

KIND = "binaries"
UOPS = "programs"


class Binaries:
    """The Binaries of a Session.

    Args:
        session: opens devices and counts.
        disk: keeps Binaries between processes.
    """

    def __init__(self, session: Session, disk: DiskCache) -> None:
        self._session = session
        self._disk = disk
        self._executables: dict[str, object] = {}

    def key_of(self, program: Program, device: Device, versions: str) -> str:
        """The key of the Binary of a Program: its content, its target, and what compiles it."""
        facts = (
            program.name,
            [_size_text(size) for size in (*program.grid, *program.workgroup)],
            len(program.grid),
            program.arguments,
            program.variables,
            program.shared_nbytes,
            program.scratch_nbytes,
        )
        content = key(make(Op.SINK, None, program.uops))
        text = f"{content}\n{facts!r}\n{device.target.key()}\n{versions}"
        return sha256(text.encode()).hexdigest()

    def executable_of(self, program: Program, device: Device, binary_key: str) -> object:
        """What the device launches for a Program that has its uops."""
        found = self.kept_executable(device, binary_key)
        if found is None:
            start = perf_counter()
            binary = device.toolchain.binary_of(program)
            self._session.tell("compile", program.name, "", start, perf_counter() - start)
            self._session.counters.binaries += 1
            self._disk.write(KIND, binary_key, to_bytes(binary, {device.name: device.target}))
            sink = make(Op.SINK, None, program.uops)
            self._disk.write(UOPS, binary_key, to_bytes(sink, {}))
            found = self._load(binary, device, binary_key)
        return found

    def kept_executable(self, device: Device, binary_key: str) -> object | None:
        """What the device launches for a key, from memory or disk; None where it is not kept."""
        found = self._executables.get(f"{device.name} {binary_key}")
        if found is not None:
            return found
        data = self._disk.read(KIND, binary_key)
        if data is None:
            return None
        try:
            binary = from_bytes(data, {device.name: device.target})
        except (UnpicklingError, AttributeError, LookupError, TypeError, ValueError, EOFError):
            return None  # written by other code than its key says: as good as damaged
        if not isinstance(binary, Binary):
            return None
        self._session.counters.cached_binaries += 1
        return self._load(binary, device, binary_key)

    def uops_of(self, binary_key: str) -> tuple[UOp, ...] | None:
        """The nodes of the Program behind a key, for those who want to look at them."""
        data = self._disk.read(UOPS, binary_key)
        sink = None if data is None else from_bytes(data, {})
        return sink.src if isinstance(sink, UOp) else None

    def _load(self, binary: Binary, device: Device, binary_key: str) -> object:
        try:
            executable = device.runtime.load(binary)
        except RunError as error:
            chosen = device.toolchain.chosen_renderer
            if not chosen:
                raise
            raise RunError(
                error.what,
                why=f"{error.why.rstrip('.')}; TINY_RENDERER chose the renderer {chosen!r}, the "
                f"runtime asks for {device.runtime.renderer!r}",
                fix="unset TINY_RENDERER, or choose a renderer for which the device has a compiler",
            ) from error
        self._executables[f"{device.name} {binary_key}"] = executable
        return executable


def _size_text(size: int | UOp) -> str:
    return str(size) if isinstance(size, int) else key(size)
