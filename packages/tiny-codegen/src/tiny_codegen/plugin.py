"""What the door finds: the code generator called "tiny"."""

from __future__ import annotations

from tiny_codegen.generator import Generator

TINY_API = (1, 0)


def codegen() -> Generator:
    """Open the code generator."""
    return Generator()
