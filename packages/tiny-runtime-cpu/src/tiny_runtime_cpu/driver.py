"""All contact with the operating system: files, mapped memory, machine code, C tools.

One object does it all, so that a test can put another in its place.
"""

import ctypes
import mmap
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tiny_ir import CompileError, OutOfMemoryError, RunError

_MEGABYTE = 1 << 20
HUGE_PAGE_NBYTES = 2 * _MEGABYTE  # x86-64 and AArch64 with 4 KiB pages
_HUGE_FROM_NBYTES = 4 * _MEGABYTE  # below, aligning to a huge page wastes more than it saves

_PROT_READ_EXECUTE = 5
_LIBRARIES = (None, "libm.so.6", "libgcc_s.so.1")  # None: the process and what it is linked with
_LARGE_COPY_NBYTES = 1 << 18  # some 20 us: below, letting other threads in costs more
_MADV_HUGEPAGE = 14  # Linux, asm-generic/mman-common.h
_MADV_WIPEONFORK = 18

Entry = Callable[..., int]
"""A function of machine code: takes and returns 64-bit integers, and runs without the GIL."""


class Block:
    """A piece of memory: its address, its bytes, and what keeps it mapped."""

    __slots__ = ("address", "data", "nbytes", "owner")

    def __init__(self, address: int, data: memoryview, owner: object) -> None:
        self.address = address
        self.data = data
        self.nbytes = len(data)
        self.owner = owner


class Driver:
    """The operating system that this process runs on."""

    def __init__(self) -> None:
        self._libraries: dict[int, ctypes.CDLL | None] = {}

    # the machine

    @property
    def system(self) -> str:
        """ "linux", "darwin" or "win32"."""
        return sys.platform

    @property
    def machine(self) -> str:
        """ "x86_64", "aarch64", ...; the names of other systems are brought to these."""
        name = (os.uname().machine if hasattr(os, "uname") else _windows_machine()).lower()
        return {"amd64": "x86_64", "arm64": "aarch64"}.get(name, name)

    @property
    def processors(self) -> int:
        """How many processors this process may use."""
        if hasattr(os, "sched_getaffinity"):
            return len(os.sched_getaffinity(0))
        return os.cpu_count() or 1

    def text(self, path: str) -> str | None:
        """The text of a file that describes the machine; None where there is none."""
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                return file.read()
        except OSError:
            return None

    def names(self, folder: str) -> tuple[str, ...]:
        """The names in a folder in order; none where the folder cannot be read."""
        try:
            return tuple(sorted(os.listdir(folder)))
        except OSError:
            return ()

    def stamp(self, path: str) -> str:
        """Size and time of a file, which change when another version is installed."""
        status = os.stat(path)
        return f"{status.st_size}-{status.st_mtime_ns}"

    def search_path(self) -> tuple[str, ...]:
        """The folders Python imports from."""
        return tuple(sys.path)

    # memory

    def allocate(self, nbytes: int) -> Block:
        """Map fresh memory, all zero, aligned to 64 bytes; in huge pages where it is big.

        Args:
            nbytes: size, at least 1.

        Returns:
            The block; its memory is given back when nothing refers to its data any more.

        Raises:
            OutOfMemoryError: the system does not give that much.
        """
        huge = nbytes >= _HUGE_FROM_NBYTES and self.system == "linux"
        try:
            area = _private_mapping(nbytes + (HUGE_PAGE_NBYTES if huge else 0))
        except (OSError, OverflowError, ValueError) as error:
            raise OutOfMemoryError(
                f"the system gave no {nbytes} bytes of memory",
                why=str(error),
                fix="free tensors that are no longer needed, or use smaller ones",
            ) from error
        if huge:
            _advise(area, _MADV_HUGEPAGE)
        start = address_of(area)
        skip = -start % HUGE_PAGE_NBYTES if huge else 0
        return Block(start + skip, memoryview(area)[skip : skip + nbytes], area)

    def block_of(self, data: memoryview) -> Block:
        """The bytes of somebody else, who is kept alive by the block."""
        return Block(address_of(data), data, data)

    def allocate_unforked(self, nbytes: int) -> Block | None:
        """Memory that a forked child sees as zeros; None where the system has no such thing."""
        area = _private_mapping(nbytes)
        if self.system != "linux" or not _advise(area, _MADV_WIPEONFORK):
            return None
        return Block(address_of(area), memoryview(area), area)

    # machine code

    def map_code(self, code: bytes, fields: Mapping[int, int], relatives: Iterable[int]) -> Block:
        """Map machine code so that it can run.

        Args:
            code: position-independent code.
            fields: offsets of 8-byte fields, and what to store there.
            relatives: offsets of 8-byte fields to which the address of the mapping is added.

        Returns:
            A block that can be read and run, but not written.

        Raises:
            RunError: the system does not allow it.
        """
        area = _private_mapping(len(code))
        area[: len(code)] = code
        start = address_of(area)
        for offset, value in fields.items():
            area[offset : offset + 8] = value.to_bytes(8, "little")
        for offset in relatives:
            value = int.from_bytes(area[offset : offset + 8], "little") + start
            area[offset : offset + 8] = (value % 2**64).to_bytes(8, "little")
        self._make_executable(start, len(code))
        return Block(start, memoryview(area)[: len(code)].toreadonly(), area)

    def _make_executable(self, start: int, nbytes: int) -> None:
        library = self._library(0)
        assert library is not None, "the process itself is always open"
        protect = library.mprotect
        protect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        if self.machine == "aarch64":
            self.function(self.symbols(["__clear_cache"])["__clear_cache"], 2)(
                start, start + nbytes
            )
        if protect(start, nbytes, _PROT_READ_EXECUTE) != 0:
            raise RunError(
                "the system does not let this process run generated code",
                why=f"mprotect failed: {os.strerror(ctypes.get_errno())}",
                fix="allow executable memory for this process, or use the device 'python'",
            )

    def function(self, address: int, parameters: int) -> Entry:
        """A function of machine code that takes `parameters` 64-bit integers and returns one.

        The GIL is released while it runs. The code must stay mapped while it is used.
        """
        kind = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * parameters)
        entry: Any = kind(address)
        return entry  # type: ignore[no-any-return]

    def symbols(self, names: Iterable[str]) -> dict[str, int]:
        """The addresses of functions of the C library and its mathematical part.

        Raises:
            RunError: a name is in neither.
        """
        return {name: self._symbol(name) for name in names}

    def _symbol(self, name: str) -> int:
        for position in range(len(_LIBRARIES)):
            library = self._library(position)
            if library is not None and hasattr(library, name):
                return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
        raise RunError(
            f"the C library has no function {name!r}",
            why="a compiled kernel calls it",
            fix="update the C library, or use the renderer 'llvm'",
        )

    def _library(self, position: int) -> ctypes.CDLL | None:
        """One of the libraries that a kernel's calls are looked up in, opened when first needed."""
        if position not in self._libraries:
            try:
                self._libraries[position] = ctypes.CDLL(_LIBRARIES[position], use_errno=True)
            except OSError:  # other systems keep these functions in the first library
                self._libraries[position] = None
        return self._libraries[position]

    # tools

    def find_tool(self, name: str) -> str | None:
        """Where a command-line tool is; None where it is not installed."""
        # A warm start finds no tool, and pays for neither import.
        import shutil

        return shutil.which(name)

    def run_tool(
        self, command: Sequence[str], source: str, suffix: str
    ) -> tuple[bytes | None, str]:
        """Run a compiler: source on its standard input, its output in a file named last.

        Args:
            command: the tool and its arguments; the name of the output file is appended.
            source: the text on standard input.
            suffix: how the name of the output file ends.

        Returns:
            The output or None, and what the tool said.

        Raises:
            CompileError: the tool cannot be started, or does not end within two minutes.
        """
        # A warm start runs no tool, and pays for neither import.
        import subprocess
        import tempfile

        with tempfile.TemporaryDirectory(prefix="tiny-") as folder:
            path = os.path.join(folder, "kernel" + suffix)
            try:
                done = subprocess.run(
                    [*command, path],
                    input=source.encode(),
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    timeout=120,
                    check=False,
                )
            except (OSError, subprocess.TimeoutExpired) as error:
                raise CompileError(
                    f"cannot run {command[0]}",
                    why=str(error),
                    fix="check that the compiler works, or set CC to one that does",
                ) from error
            message = done.stdout.decode(errors="replace")
            if done.returncode != 0 or not os.path.exists(path):
                return None, message
            with open(path, "rb") as file:
                return file.read(), message


def _windows_machine() -> str:
    # Slow to import, and needed where os.uname is missing only.
    import platform

    return platform.machine()


def address_of(buffer: object) -> int:
    """The address of the first byte of a writable buffer."""
    return ctypes.addressof(ctypes.c_char.from_buffer(buffer))  # type: ignore[arg-type]


def copy_bytes(destination: memoryview, source: memoryview) -> None:
    """Copy bytes between two views of one size; a large copy lets other threads run meanwhile."""
    if source.nbytes < _LARGE_COPY_NBYTES:
        destination[:] = source
    elif source.readonly:
        # No address is given out for constant bytes, so the copy pauses instead.
        for start in range(0, source.nbytes, _LARGE_COPY_NBYTES):
            end = start + _LARGE_COPY_NBYTES
            destination[start:end] = source[start:end]
    else:
        ctypes.memmove(address_of(destination), address_of(source), source.nbytes)


def _private_mapping(nbytes: int) -> mmap.mmap:
    if os.name == "nt":
        return mmap.mmap(-1, nbytes)
    # Python's default is a shared mapping: a forked child would write into its parent's tensors.
    return mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


def _advise(area: mmap.mmap, advice: int) -> bool:
    try:
        area.madvise(advice)
    except OSError:  # an older kernel: the memory works as it is
        return False
    return True
