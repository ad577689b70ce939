"""The errors of the door: each names the distribution, the versions, the cause and the cure."""

from __future__ import annotations

from tiny_ir import ArgumentTypeError, TinyError

__all__ = [
    "ApiVersionError",
    "BlockedPluginError",
    "BoundaryError",
    "BrokenPluginError",
    "DuplicatePluginError",
    "MissingExtraError",
    "PluginError",
    "SignatureError",
    "UnknownPluginError",
]


class PluginError(TinyError, RuntimeError):
    """A plugin that cannot be used."""

    code = "tiny-300"


class UnknownPluginError(PluginError, LookupError, ValueError):
    """A name that no installed distribution offers."""

    code = "tiny-301"


class BrokenPluginError(PluginError):
    """A plugin that failed while it was loaded, opened or called by a hook; the cause is kept."""

    code = "tiny-302"


class ApiVersionError(PluginError):
    """A plugin made for another version of the door."""

    code = "tiny-303"


class SignatureError(PluginError, TypeError):
    """A plugin whose methods are not those of its contract."""

    code = "tiny-304"


class DuplicatePluginError(PluginError):
    """Two distributions that offer the same name."""

    code = "tiny-305"


class BlockedPluginError(PluginError):
    """A plugin that TINY_BLOCK forbids."""

    code = "tiny-306"


class MissingExtraError(TinyError, ImportError):
    """A package that is needed for what was asked, and is not installed."""

    code = "tiny-307"


class BoundaryError(ArgumentTypeError):
    """Under TYPED=1: a value at a border that is not of the type the border says."""

    code = "tiny-310"
