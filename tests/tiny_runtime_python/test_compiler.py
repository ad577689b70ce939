"""Text becomes a function, or an error that says what is wrong with it."""

from __future__ import annotations

import pytest

from tiny_ir import CompileError
from tiny_plugin import Program, Source
from tiny_runtime_python.compiler import PythonCompiler, function_of, tree
from tiny_runtime_python.target import python_target

TARGET = python_target()


def source(text: str) -> Source:
    return Source(text, "python", "kernel", Program("kernel", TARGET, ()))


def test_text_that_is_not_python_is_refused() -> None:
    with pytest.raises(CompileError, match="does not accept the kernel 'kernel'"):
        PythonCompiler(TARGET).compile(source("def kernel(:\n    pass\n"))


def test_text_without_the_entry_is_refused() -> None:
    with pytest.raises(CompileError, match="does not define"):
        PythonCompiler(TARGET).compile(source("def other():\n    pass\n"))


def test_the_binary_is_the_text() -> None:
    compiler = PythonCompiler(TARGET)
    binary = compiler.compile(source("def kernel():\n    pass\n"))
    assert binary.data == b"def kernel():\n    pass\n"
    assert (binary.format, binary.entry) == (compiler.format, "kernel")
    assert binary.fingerprint == compiler.fingerprint()


def test_kernels_do_not_share_names() -> None:
    function_of("count = 1\ndef first():\n    pass\n", "first")
    second = function_of("def second():\n    return count\n", "second")
    with pytest.raises(NameError):
        second()


def test_lanes_combine_as_a_tree() -> None:
    def pair(a: str, b: str) -> str:
        return f"({a}{b})"

    assert tree(pair, "a") == "a"
    assert tree(pair, "abc") == "((ab)c)"
    assert tree(pair, "abcdefgh") == "(((ae)(cg))((bf)(dh)))"
    assert tree(pair, "abcdefg") == "((((ad)(be))(cf))g)"
