"""The installed distributions yield the offers they make to tiny.

Imported only when no remembered scan holds: importlib.metadata alone costs as much as a warm start.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator
from importlib.metadata import Distribution

from tiny_plugin.offers import Offer, stamp_of

__all__ = ["offers_in", "scan_distributions", "version_of"]

PREFIX = "tiny."


def scan_distributions() -> tuple[Offer, ...]:
    """All offers on `sys.path`, sorted. Of a distribution that is there twice the first counts."""
    found: dict[str, list[Offer]] = {}
    for distribution in importlib.metadata.distributions():
        text = distribution.read_text("entry_points.txt")
        if text is None or f"[{PREFIX}" not in text:
            continue
        name = distribution.metadata["Name"] or "a distribution without a name"
        key = name.lower().replace("_", "-").replace(".", "-")
        if key not in found:
            found[key] = list(_offers_of(distribution, name, text))
    every = (offer for offers in found.values() for offer in offers)
    return tuple(sorted(every, key=lambda offer: (offer.group, offer.name, offer.distribution)))


def _offers_of(distribution: Distribution, name: str, text: str) -> Iterator[Offer]:
    """The offers of one distribution."""
    folder = getattr(distribution, "_path", None)  # of installed files; other finders have none
    source = "" if folder is None else str(folder / "entry_points.txt")
    version = distribution.metadata["Version"] or "of unknown version"
    for group, point, value in offers_in(text):
        yield Offer(group, point, value, name, version, source, stamp_of(source))


def offers_in(text: str) -> Iterator[tuple[str, str, str]]:
    """Group, name and module of each line of an `entry_points.txt` that is meant for tiny.

    A line that cannot be read is an offer without a module: an error when it is asked for, and
    none to anybody else.

    Example:
        >>> list(offers_in("[tiny.runtime]\\nnpu = acme.plugin\\nbroken\\n[other]\\nx = y:z"))
        [('tiny.runtime', 'npu', 'acme.plugin'), ('tiny.runtime', 'broken', '')]
    """
    group = ""
    for line in text.splitlines():
        line = line.strip()
        if not line or line.startswith(("#", ";")):
            continue
        if line.startswith("[") and line.endswith("]"):
            group = line[1:-1].strip()
        elif group.startswith(PREFIX):
            name, _, value = line.partition("=")
            yield group, name.strip(), value.partition("[")[0].strip()


def version_of(distribution: str) -> str:
    """The installed version of a distribution."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "(not installed)"
