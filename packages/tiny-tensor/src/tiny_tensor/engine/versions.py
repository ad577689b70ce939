"""A text that changes when the code behind a cached result changes: part of every key on disk."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from hashlib import sha256
from importlib.machinery import PathFinder

import tiny_ir
import tiny_plugin
from tiny_plugin import Offer


def version_text(offers: Iterable[Offer]) -> str:
    """What the language, the door and these plugins are made of.

    For an installed wheel that is its version and the hash of its RECORD; for an editable tree the
    sizes and times of its files. The versions of libraries that a plugin requires belong to it.
    """
    lines = {f"python {sys.version} {sys.platform}"}
    for module in (tiny_ir, tiny_plugin):
        folder = os.path.dirname(module.__file__ or "")
        lines.add(f"{module.__name__} {_stamps(folder)}")
    for offer in offers:
        lines.add(f"{offer.who} {_version_of(offer)}")
    return "\n".join(sorted(lines))


def _version_of(offer: Offer) -> str:
    package = offer.value.partition(".")[0]
    folder = os.path.dirname(offer.source)
    record = _text(os.path.join(folder, "RECORD"))
    required = " ".join(_requirements(folder))
    if f"\n{package}/" in f"\n{record}":
        return f"{sha256(record.encode()).hexdigest()} {required}"
    spec = PathFinder.find_spec(package)
    if spec is None or not spec.origin:
        return f"{offer.stamp} {required}"
    return f"{_stamps(os.path.dirname(spec.origin))} {required}"


def _stamps(folder: str) -> str:
    """A hash of the names, sizes and times of all sources below a folder."""
    found: list[str] = []
    folders = [folder]
    while folders:
        place = folders.pop()
        with os.scandir(place) as entries:
            for entry in entries:
                if entry.is_dir():
                    if entry.name != "__pycache__":
                        folders.append(entry.path)
                elif entry.name.endswith((".py", ".so", ".c", ".h")):
                    status = entry.stat()
                    found.append(f"{entry.path} {status.st_size} {status.st_mtime_ns}")
    return sha256("\n".join(sorted(found)).encode()).hexdigest()


def _requirements(folder: str) -> Iterator[str]:
    """The versions of what a distribution requires, as the names of their folders say."""
    names = {
        _normal(line.partition(":")[2].split(";")[0])
        for line in _text(os.path.join(folder, "METADATA")).splitlines()
        if line.startswith("Requires-Dist:") and "extra ==" not in line
    }
    if not names:
        return
    for entry in sorted(os.listdir(os.path.dirname(folder) or ".")):
        # In the name of that folder only the version stands after a hyphen.
        name, _, kind = entry.partition("-")
        if kind.endswith(".dist-info") and _normal(name) in names:
            yield entry


def _normal(requirement: str) -> str:
    """The name of a distribution, without version and extras, in one spelling."""
    name = requirement.strip()
    for position, letter in enumerate(name):
        if not (letter.isalnum() or letter in "-_."):
            name = name[:position]
            break
    return name.lower().replace("_", "-").replace(".", "-")


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""
