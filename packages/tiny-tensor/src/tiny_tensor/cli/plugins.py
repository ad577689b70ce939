"""`tiny plugins`: lists what is installed, and imports none of it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from tiny_plugin import Registry
from tiny_tensor.cli.table import table

TINY_API = (1, 0)


class Plugins:
    """The command."""

    name = "plugins"
    summary = "list the installed plugins, without importing any"

    def run(self, arguments: Sequence[str]) -> int:
        """Print a line for each plugin."""
        argparse.ArgumentParser("tiny plugins", description=f"{self.summary}.").parse_args(
            arguments
        )
        rows = [("GROUP", "NAME", "STATE", "FROM", "")]
        rows += [
            (
                line.offer.group.removeprefix("tiny."),
                line.offer.name,
                line.state,
                line.offer.who,
                line.note,
            )
            for line in Registry().plugin_lines()
        ]
        print(table(rows))
        return 0


def command() -> Plugins:
    """Make the command."""
    return Plugins()
