"""What installed distributions offer to tiny, and the file that remembers it between processes."""

from __future__ import annotations

import binascii
import os
import sys
import warnings
from collections.abc import Iterable

from tiny_plugin.records import record
from tiny_plugin.typed import boundary

__all__ = ["DoctorLine", "Offer", "PluginLine", "read_scan", "scan_key", "write_scan"]

FIRST_LINE = "offers of tiny, form 1"
LAST_LINE = "end"
METADATA_ENDINGS = (".dist-info", ".egg-info")
"""How the folders end in which installers describe a distribution."""

KEPT_SCANS = 32
"""How many scans the folder keeps; each environment has one."""


@boundary
@record(frozen=True, slots=True)
class Offer:
    """One entry point.

    Args:
        group: "tiny.runtime", ...
        name: what it is asked for by.
        value: the module it names; "" where the line could not be read.
        distribution: who offers it.
        version: the version of that distribution.
        source: the file that said so.
        stamp: time and size of that file, as text.
    """

    group: str
    name: str
    value: str
    distribution: str
    version: str
    source: str = ""
    stamp: str = ""

    @property
    def who(self) -> str:
        """The distribution with its version."""
        return f"{self.distribution} {self.version}"


@boundary
@record(frozen=True, slots=True)
class PluginLine:
    """One line of `tiny plugins`.

    Args:
        offer: what is installed.
        state: "offered", "blocked" (by TINY_BLOCK), "duplicate" (refused until a setting chooses),
            "passed over" (a setting chose another distribution) or "unreadable".
        note: what to do about it; "" where nothing need be done.
    """

    offer: Offer
    state: str
    note: str = ""


@boundary
@record(frozen=True, slots=True)
class DoctorLine:
    """What `tiny doctor` found out about one plugin.

    Args:
        group: its entry-point group.
        name: its name.
        who: its distributions, with their versions.
        good: it can be used, or is left out on purpose.
        text: what was found.
        fix: what to do; "" where it is good.
        seconds: how long it took to import and open.
    """

    group: str
    name: str
    who: str
    good: bool
    text: str
    fix: str = ""
    seconds: float = 0.0


def stamp_of(path: str) -> str:
    """The time and size of a file or folder as text; "-" where there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return "-"
    return f"{status.st_mtime_ns}:{status.st_size}"


def scan_key(path: Iterable[str]) -> str:
    """A text that changes when something is installed or removed anywhere on `path`.

    The time of a whole folder would change too often: the first one is where the user works.
    """
    finders = " ".join(getattr(finder, "__qualname__", "") for finder in sys.meta_path)
    lines = (line for folder in path for line in _installed_in(os.path.abspath(folder)))
    return "\n".join((sys.version, finders, *lines))


def _installed_in(folder: str) -> list[str]:
    """The folder itself, and each distribution in it with the time of its own folder."""
    try:
        names = [name for name in os.listdir(folder) if name.endswith(METADATA_ENDINGS)]
    except OSError:  # a zip archive, or nothing at all
        return [f"{folder} {stamp_of(folder)}"]
    return [folder, *(f"{name} {stamp_of(os.path.join(folder, name))}" for name in sorted(names))]


def read_scan(folder: str | None, key: str) -> tuple[Offer, ...] | None:
    """The offers remembered under `key`; None where there are none that still hold."""
    if folder is None or not os.path.isdir(folder) or not _is_private(folder):
        return None
    try:
        with open(_file(folder, key), encoding="utf-8", newline="") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError):
        return None
    first, _, rest = text.partition("\x1e")
    kept, _, rows = rest.partition("\x1e")
    if first != FIRST_LINE or kept != key:
        return None
    *lines, last = rows.split("\x1e")
    fields = [line.split("\x1f") for line in lines]
    if last != LAST_LINE or any(len(row) != 7 for row in fields):
        return None
    offers = tuple(Offer(*row) for row in fields)
    return offers if all(stamp_of(o.source) == o.stamp for o in offers) else None


def write_scan(folder: str | None, key: str, offers: tuple[Offer, ...]) -> None:
    """Remember offers under `key`, where the folder can be written and is the user's alone."""
    if folder is None:
        return
    rows = [
        (o.group, o.name, o.value, o.distribution, o.version, o.source, o.stamp) for o in offers
    ]
    parts = [FIRST_LINE, key, *("\x1f".join(row) for row in rows), LAST_LINE]
    if any("\x1e" in part for part in parts) or any("\x1f" in field for r in rows for field in r):
        return
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if not _is_private(folder):
            return
        whole = _file(folder, key)
        partial = f"{whole}.{os.getpid()}"
        with open(partial, "w", encoding="utf-8", newline="") as file:
            file.write("\x1e".join(parts))
        os.replace(partial, whole)
        _drop_oldest(folder)
    except OSError:
        return  # a read-only or full disk costs a scan in the next process, nothing else


def _file(folder: str, key: str) -> str:
    """Where the scan for a key lies; two keys that share a file only take turns."""
    return os.path.join(folder, f"scan-{binascii.crc32(key.encode()):08x}")


def _is_private(folder: str) -> bool:
    """Whether nobody else could have written here: what it says names modules to import."""
    if not hasattr(os, "getuid"):
        return True
    status = os.stat(folder)
    if status.st_uid == os.getuid() and not status.st_mode & 0o077:
        return True
    warnings.warn(
        f"the scan of plugins in {folder} is ignored: others may write there. "
        f"Remove the folder, or set TINY_CACHE to one of your own.",
        stacklevel=2,
    )
    return False


def _drop_oldest(folder: str) -> None:
    """Keep the folder small."""
    files = sorted(
        (entry for entry in os.scandir(folder) if entry.is_file()),
        key=lambda entry: entry.stat().st_mtime_ns,
    )
    for entry in files[:-KEPT_SCANS]:
        os.unlink(entry.path)
