"""What a Session has done so far: kernels, bytes, and seconds of compiling and running."""

from __future__ import annotations

from collections.abc import Mapping


class Counters:
    """Sums since the Session began; `reset` starts again.

    Attributes:
        kernels: launches of Programs.
        copies: copies between memories, and from and to the host.
        copied_nbytes: bytes of those copies.
        realizes: graphs that were run.
        schedules: graphs that a code generator turned into Schedules.
        cached_schedules: Schedules that were read from disk instead.
        binaries: Programs that were compiled.
        cached_binaries: Binaries that were read from disk instead.
        compile_seconds: wall time of scheduling, rendering, compiling and loading.
        run_seconds: wall time of launching and waiting.
        operations: arithmetic operations, as the Programs estimate them.
        nbytes: bytes moved to and from memory, as the Programs estimate them.
    """

    __slots__ = (
        "binaries",
        "cached_binaries",
        "cached_schedules",
        "compile_seconds",
        "copied_nbytes",
        "copies",
        "kernels",
        "nbytes",
        "operations",
        "realizes",
        "run_seconds",
        "schedules",
    )

    kernels: int
    copies: int
    copied_nbytes: int
    realizes: int
    schedules: int
    cached_schedules: int
    binaries: int
    cached_binaries: int
    compile_seconds: float
    run_seconds: float
    operations: int
    nbytes: int

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Set every sum to zero."""
        for name in self.__slots__:
            setattr(self, name, 0.0 if name.endswith("_seconds") else 0)

    def as_dict(self) -> dict[str, int | float]:
        """The sums by name.

        Example:
            >>> Counters().as_dict()["kernels"]
            0
        """
        return {name: getattr(self, name) for name in self.__slots__}

    def restore(self, sums: Mapping[str, int | float]) -> None:
        """Set every sum to what `as_dict` gave."""
        for name, value in sums.items():
            setattr(self, name, value)
