"""The environment as values: this module is the only reader of it in tiny_plugin."""

from __future__ import annotations

import os

from tiny_ir import SettingError


def typed_level() -> int:
    """TYPED: 0 checks nothing, 1 checks every border, 2 checks whole packages as well."""
    text = os.environ.get("TYPED", "0") or "0"
    if text not in ("0", "1", "2"):
        raise SettingError(
            f"TYPED is {text!r}",
            why="it takes 0 (no checks), 1 (checks at every border) or 2 (whole packages as well)",
            fix="set it to one of these",
        )
    return int(text)


def blocked() -> frozenset[str]:
    """TINY_BLOCK: names of plugins or distributions, divided by commas, that are never opened."""
    return frozenset(
        word.strip() for word in os.environ.get("TINY_BLOCK", "").split(",") if word.strip()
    )


def chosen_distribution(name: str) -> str | None:
    """TINY_PLUGIN_<NAME>: the distribution that serves `name` where several offer it."""
    return os.environ.get(choice_variable(name)) or None


def choice_variable(name: str) -> str:
    """The environment variable that chooses a distribution for `name`.

    Example:
        >>> choice_variable("my-npu")
        'TINY_PLUGIN_MY_NPU'
    """
    return "TINY_PLUGIN_" + "".join(c if c.isalnum() else "_" for c in name.upper())


def code_generator() -> str:
    """TINY_CODEGEN: the name of the code generator."""
    return os.environ.get("TINY_CODEGEN") or "tiny"


def scan_folder() -> str | None:
    """The folder that keeps the scan of entry points; None where nothing is kept.

    TINY_CACHE names the folder of all caches, "" or 0 keeps none; else the system's custom holds.
    """
    chosen = os.environ.get("TINY_CACHE")
    if chosen is not None:
        return None if chosen in ("", "0") else os.path.join(chosen, "plugins")
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(cache, "tiny", "plugins")


def views() -> bool:
    """TINY_VIEW=1, or any checks: plugins are seen through views with their contract's names."""
    return os.environ.get("TINY_VIEW", "0") == "1" or typed_level() > 0
