"""The environment as values: this module is the only reader of it in tiny_runtime_cpu."""

import os

from tiny_ir import SettingError

_MOST_THREADS = 1024


def threads(text: str | None = None) -> int:
    """TINY_THREADS: how many threads run kernels; 0, also when unset, means one per processor.

    Args:
        text: the setting; None reads it from the environment.

    Returns:
        A number from 0 to 1024.

    Raises:
        SettingError: the text is no such number.

    Example:
        >>> threads("4")
        4
    """
    text = os.environ.get("TINY_THREADS", "") if text is None else text
    if not text:
        return 0
    if not text.isdecimal() or int(text) > _MOST_THREADS:
        raise SettingError(
            f"TINY_THREADS is {text!r}",
            why=f"it takes a number from 0 (one per processor) to {_MOST_THREADS}",
            fix="set it to one of these",
        )
    return int(text)


def c_compiler() -> str:
    """CC: the C compiler to use, with arguments if it needs any; "" chooses one."""
    return os.environ.get("CC", "")
