"""The environment as values: this module is the only reader of it in tiny_tensor."""

from __future__ import annotations

import os

from tiny_ir import DType, SettingError, dtypes


def default_device() -> str:
    """TINY_DEVICE: the device of tensors that name none."""
    return os.environ.get("TINY_DEVICE", "").lower() or "cpu"


def default_float() -> DType:
    """DEFAULT_FLOAT: the dtype of Python floats in a Tensor."""
    name = os.environ.get("DEFAULT_FLOAT", "") or "float32"
    dtype = dtypes.DTYPES.get(name) or dtypes.ALIASES.get(name)
    if dtype is None or not dtype.is_float or dtype.is_weak:
        raise SettingError(
            f"DEFAULT_FLOAT is {name!r}",
            why="it names the dtype that Python floats become",
            fix="set it to float16, bfloat16, float32 or float64",
        )
    return dtype


def cache_folder() -> str | None:
    """The folder that keeps Schedules and Binaries; None where nothing is kept.

    TINY_CACHE names the folder of all caches, "" or 0 keeps none; else the system's custom holds.
    """
    return _cache("kernels")


def download_folder() -> str | None:
    """The folder that keeps what was downloaded; None where nothing is kept."""
    return _cache("downloads")


def _cache(kind: str) -> str | None:
    chosen = os.environ.get("TINY_CACHE")
    if chosen is not None:
        return None if chosen in ("", "0") else os.path.join(chosen, kind)
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(cache, "tiny", kind)


def cache_nbytes() -> int:
    """TINY_CACHE_MB: how large that folder may grow."""
    return number("TINY_CACHE_MB", 2048) << 20


def threads() -> int:
    """TINY_THREADS: how many workers a CPU kernel may use; 0 means one a core."""
    return number("TINY_THREADS", 0)


def spec() -> int:
    """SPEC: 1 verifies levels between stages, 2 also after every rule."""
    return number("SPEC", 0)


def code_generator() -> str:
    """TINY_CODEGEN: the name of the code generator."""
    return os.environ.get("TINY_CODEGEN", "") or "tiny"


def renderer() -> str:
    """TINY_RENDERER: takes the place of the renderer that the runtime names."""
    return os.environ.get("TINY_RENDERER", "")


def number(name: str, default: int) -> int:
    """A setting that is a number from 0."""
    text = os.environ.get(name, "")
    if not text:
        return default
    if not text.isdecimal():
        raise SettingError(
            f"{name} is {text!r}",
            why="it is a whole number from 0",
            fix=f"set it to a number such as {default}, or leave it out",
        )
    return int(text)
