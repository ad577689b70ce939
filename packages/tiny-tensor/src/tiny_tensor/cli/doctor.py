"""`tiny doctor`: opens each plugin in a process of its own, and says what to fix."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from tiny_plugin import Registry

TINY_API = (1, 0)
TIMEOUT = 30.0
"""Seconds that a plugin may take to open."""


class Doctor:
    """The command."""

    name = "doctor"
    summary = "open each plugin in a process of its own, and say what to fix"

    def run(self, arguments: Sequence[str]) -> int:
        """Print a line for each plugin as soon as it has been opened; 1 where one needs a cure."""
        parser = argparse.ArgumentParser("tiny doctor", description=f"{self.summary}.")
        parser.add_argument(
            "--timeout", type=float, default=TIMEOUT, help="seconds that a plugin may take"
        )
        parsed = parser.parse_args(arguments)
        ill = 0
        for line in Registry().doctor_lines(parsed.timeout):
            mark = "ok  " if line.good else "FAIL"
            kind = line.group.removeprefix("tiny.")
            seconds = f", {line.seconds:.2f} s" if line.seconds else ""
            print(f"{mark} {kind:<9} {line.name:<9} {line.text} ({line.who}{seconds})", flush=True)
            if line.fix:
                print(f"     fix: {line.fix}", flush=True)
            ill += not line.good
        print(f"{ill} of them need a cure." if ill else "All of them can be used.")
        return 1 if ill else 0


def command() -> Doctor:
    """Make the command."""
    return Doctor()
