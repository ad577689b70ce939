"""What this namespace can do: the answer of `__array_namespace_info__`."""

from __future__ import annotations

from tiny_ir import DType, dtypes
from tiny_tensor.array_api.data_types import FLOATS, KINDS, SIGNED, UNSIGNED
from tiny_tensor.session import current_session


class NamespaceInfo:
    """Capabilities, devices and dtypes."""

    def capabilities(self) -> dict[str, bool | int | None]:
        """What the standard leaves open: masks read, data-dependent shapes work, any rank."""
        return {
            "boolean indexing": True,
            "data-dependent shapes": True,
            "max dimensions": None,
        }

    def default_device(self) -> str:
        """The device of arrays that name none."""
        return current_session().default_device

    def default_dtypes(self, *, device: str | None = None) -> dict[str, DType]:
        """The dtypes of Python numbers and of positions; there is no complex one."""
        return {
            "real floating": current_session().default_float,
            "integral": dtypes.int32,
            "indexing": dtypes.int32,
        }

    def devices(self) -> list[str]:
        """The devices that some installed distribution offers."""
        return list(current_session().registry.names("tiny.runtime"))

    def dtypes(
        self, *, device: str | None = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, DType]:
        """The dtypes of the standard that there are, by name.

        Args:
            device: all have the same.
            kind: only those of a kind, or of several; see `isdtype`.
        """
        kinds = (kind,) if isinstance(kind, str) else kind
        everything = (dtypes.bool_, *SIGNED, *UNSIGNED, *FLOATS)
        chosen = {dtype for one in kinds for dtype in KINDS[one]} if kinds is not None else None
        return {dtype.name: dtype for dtype in everything if chosen is None or dtype in chosen}


def __array_namespace_info__() -> NamespaceInfo:  # noqa: N807  # the standard's name
    """What this namespace can do.

    Example:
        >>> from tiny_tensor import array_api as xp
        >>> sorted(xp.__array_namespace_info__().dtypes(kind="real floating"))
        ['float32', 'float64']
    """
    return NamespaceInfo()
