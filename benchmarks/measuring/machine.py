"""What a run should say about the machine it ran on; nothing that names it."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from measuring.limits import Limits
from peers import PEERS


def machine_facts(threads: int, limits: Limits) -> dict[str, str | int | float]:
    """The processor, cores, memory, system, load, and what could be reached at most."""
    pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    return {
        "cpu": processor(),
        "cores": os.cpu_count() or 1,
        "threads": threads,
        "memory_gib": round(pages * size / 2**30),
        "system": f"{platform.system()} {platform.machine()}",
        "load": round(os.getloadavg()[0], 1),
        "limit_gflops": round(limits.operations / 1e9, 1),
        "limit_gbs": round(limits.nbytes / 1e9, 1),
    }


def versions(names: list[str]) -> dict[str, str]:
    """Of Python and of the distributions that the peers need."""
    found = {"python": platform.python_version()}
    for name in names:
        found.update(PEERS[name].versions() or {})
    return found


def processor() -> str:
    """What the processor calls itself."""
    listing = Path("/proc/cpuinfo")
    if listing.exists():
        for line in listing.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
