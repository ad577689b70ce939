"""Turn any Source into a Binary that holds its text, and translate nothing."""

from __future__ import annotations

from tiny_plugin import Binary, Source, Target, boundary

FORMAT = "null"


@boundary
class NullCompiler:
    """Accepts what it is given.

    Args:
        target: what to compile for.
    """

    name = "null"
    language = "c"
    format = FORMAT

    def __init__(self, target: Target) -> None:
        self.target = target

    def compile(self, source: Source) -> Binary:
        """Wrap the text."""
        facts = source.program.launch_facts()
        return Binary(source.text.encode(), FORMAT, source.entry, facts, self.fingerprint())

    def fingerprint(self) -> str:
        """Nothing but the text decides what comes out."""
        return "null-1"
