"""The command line: `tiny <command> ...`. Every command is a plugin, ours too."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tiny_ir import TinyError
from tiny_plugin import Registry

GROUP = "tiny.command"
ENDED_BY_USER = 130
"""What a shell gives back for a program that was interrupted: 128 and the number of the signal."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        arguments: the words after `tiny`; those of this process by default.

    Returns:
        The exit status: 0 where all went well, 1 after an error, 2 for a command that there is not.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    registry = Registry()
    if not words or words[0] in ("-h", "--help", "help"):
        print(usage(registry))
        return 0
    try:
        return registry.open_command(words[0]).run(words[1:])
    except TinyError as error:
        print(f"tiny: {error}", file=sys.stderr)
        return 1 if words[0] in registry.names(GROUP) else 2
    except KeyboardInterrupt:
        return ENDED_BY_USER
    except BrokenPipeError:
        # Whoever read the output has seen enough; the interpreter must not flush into it again.
        sys.stdout = None
        return 0


def usage(registry: Registry) -> str:
    """What there is, with a line for each."""
    lines = ["usage: tiny COMMAND ...", "", "commands:"]
    for name in registry.names(GROUP):
        try:
            summary = registry.open_command(name).summary
        except TinyError as error:
            summary = f"(broken) {error.what}"
        lines.append(f"  {name:<10} {summary}")
    return "\n".join([*lines, "", "`tiny COMMAND --help` says more."])
