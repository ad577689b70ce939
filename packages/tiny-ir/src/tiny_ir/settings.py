"""What the environment says about the language: the only reader of it in this package."""

from __future__ import annotations

import os


def _check_nodes() -> bool:
    """SPEC: 1 checks every node when it is built, and levels between stages; 2 after every rule."""
    return os.environ.get("SPEC", "0") not in ("", "0")


CHECK_NODES = _check_nodes()
"""SPEC=1: every node is checked when it is built, and levels between stages."""
