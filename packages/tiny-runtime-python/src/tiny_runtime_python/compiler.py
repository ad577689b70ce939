"""Turn the Python text of a Program into a Binary, and a Binary into a function."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from tiny_ir import CompileError, Op, dtypes, meaning
from tiny_plugin import Binary, Source, Target, boundary
from tiny_runtime_python.driver import Scratch, Value

FORMAT = "python"


@boundary
class PythonCompiler:
    """Checks that the text is Python; the text itself is the code.

    Args:
        target: what to compile for.
    """

    name = "python"
    language = "python"
    format = FORMAT

    def __init__(self, target: Target) -> None:
        self.target = target

    def compile(self, source: Source) -> Binary:
        """Turn Python text into a Binary.

        Raises:
            CompileError: the text is not Python, or does not define its entry.
        """
        function_of(source.text, source.entry)
        facts = source.program.launch_facts()
        return Binary(source.text.encode(), FORMAT, source.entry, facts, self.fingerprint())

    def fingerprint(self) -> str:
        """The version of what the text may call; the op table's own is in the key already."""
        return "python-1"


def function_of(text: str, entry: str) -> Callable[..., None]:
    """The function that a text defines, with the names it may use bound.

    Args:
        text: what the Python renderer writes.
        entry: the name of the function.

    Raises:
        CompileError: the text is not Python, or does not define `entry`.

    Example:
        >>> function_of("def nothing():\\n    pass\\n", "nothing")()
    """
    names: dict[str, object] = dict(_PROVIDED)
    try:
        exec(compile(text, f"<kernel {entry}>", "exec"), names)
    except SyntaxError as error:
        raise CompileError(
            f"Python does not accept the kernel {entry!r}",
            why=f"{error.msg} in line {error.lineno}",
            fix="this is a mistake of the renderer: please report it with the kernel's text",
        ) from error
    function = names.get(entry)
    if not callable(function):
        raise CompileError(
            f"the text does not define the kernel {entry!r}",
            why="the entry of a Source names a function of its text.",
            fix="this is a mistake of the renderer: please report it with the kernel's text",
        )
    return function


def tree(function: Callable[[Value, Value], Value], lanes: Sequence[Value]) -> Value:
    """Combine the lanes of a wide value in the order that every renderer keeps.

    An odd last lane is set aside. The upper half is combined onto the lower half, and so on until
    one is left; then come the lanes set aside, the latest first.

    Example:
        >>> tree(lambda a, b: f"({a}{b})", "abcdef")
        '(((ad)(be))(cf))'
    """
    left, aside = list(lanes), []
    while len(left) > 1:
        if len(left) % 2:
            aside.append(left.pop())
        half = len(left) // 2
        left = [function(left[i], left[half + i]) for i in range(half)]
    result = left[0]
    for value in reversed(aside):
        result = function(result, value)
    return result


_PROVIDED: Mapping[str, object] = {
    "Op": Op,
    "dtypes": dtypes,
    "meaning": meaning,
    "nan": math.nan,
    "inf": math.inf,
    "tree": tree,
    "scratch": Scratch,
}
